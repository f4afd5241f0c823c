// What is wrong, above everything else, and how the connection stands.

import { askForToken } from "/access.js";
import { $, h } from "/element.js";

export function link(state, pause) {
  $("link").dataset.link = state;
  $("link-text").textContent = { wait: "connecting", live: "live", token: "token needed", gone: "not connected" }[state];
  if (state === "live") calm("link");
  if (state === "gone") {
    const next = pause >= 1000 ? `${Math.round(pause / 1000)} s` : "a moment";
    alarm("link", "The sidecar does not answer.", `What is shown is as it was. The next try is in ${next}.`);
  }
  if (state === "token") askForToken();
}

export function alarm(name, text, hint, mild = false) {
  let box = document.querySelector(`[data-alarm="${name}"]`);
  if (!box) {
    box = h("p", { "data-alarm": name });
    $("alarms").append(box);
  }
  box.className = mild ? "alarm mild" : "alarm";
  const words = `${text} ${hint}`;
  if (box.textContent !== words) box.replaceChildren(h("strong", {}, text), ` ${hint}`);
}

export function calm(name) {
  document.querySelector(`[data-alarm="${name}"]`)?.remove();
}
