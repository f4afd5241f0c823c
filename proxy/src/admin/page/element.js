// Elements of the page. No text is ever read as markup.

/** By its id. */
export const $ = (id) => document.getElementById(id);

/** A new one; listeners are its attributes `onX`, and children that are texts stay texts. */
export const h = (name, attributes = {}, ...children) => {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === undefined || value === false) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== undefined && child !== null));
  return element;
};

/** Shows a list that is made of keyed parts: what is there stays, so that focus and selection do. */
export function show(parent, parts) {
  const there = new Map();
  for (const child of [...parent.children]) {
    // A key that is there twice would stay for ever.
    if (there.has(child.dataset.key)) child.remove();
    else there.set(child.dataset.key, child);
  }
  let at = parent.firstElementChild;
  for (const { key, mark, make } of parts) {
    let child = there.get(key);
    there.delete(key);
    if (!child || child.dataset.mark !== mark) {
      const fresh = make();
      fresh.dataset.key = key;
      fresh.dataset.mark = mark;
      if (child) {
        if (child === at) at = fresh;
        const held = document.activeElement?.dataset.word;
        const inside = child.contains(document.activeElement);
        child.replaceWith(fresh);
        if (inside) fresh.querySelector(`[data-word="${held}"]`)?.focus();
      }
      child = fresh;
    }
    if (child === at) at = at.nextElementSibling;
    else parent.insertBefore(child, at);
  }
  for (const child of there.values()) child.remove();
}
