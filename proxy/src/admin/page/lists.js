// What is held, and what happened: the lists that the search narrows.

import { $, h, show } from "/element.js";
import { ROWS, displacedOf, named, open, order, rows, view } from "/known.js";
import { belongs, isDisplaced, isDropped, isWithdrawal, kindOfScope, number, subjectOf } from "/occurrence.js";
import { clock, count, mono, sentence, since, tag, tries, unknown, why } from "/words.js";

export const fits = (data) =>
  !view.filter || [data.eventId, data.id, belongs(data)].some((text) => (text ?? "").toLowerCase().includes(view.filter));

export function drawHeld() {
  const all = open().filter(({ data }) => data.state !== "manual-reconciliation" && data.state !== "dead-letter");
  // Of a subject the newest is its occupant; what is on its way is shown with it.
  all.sort((a, b) => Date.parse(a.data.admitted ?? 0) - Date.parse(b.data.admitted ?? 0) || number(a.data) - number(b.data));
  const shown = all.filter(({ data }) => fits(data));
  const subjects = new Set(all.map(({ data }) => subjectOf(data)));
  const occupants = new Map(all.filter(({ data }) => data.state === "held").map(({ data }) => [subjectOf(data), data.id]));
  $("held-count").textContent = all.length ? `${count(all.length)} of ${count(subjects.size)} ${subjects.size === 1 ? "subject" : "subjects"}` : "";
  $("held-empty").hidden = shown.length > 0;
  $("held-empty").textContent = all.length
    ? "Nothing that is held fits what you look for."
    : view.caughtUp ? "Nothing is held: what comes is read, or nothing comes." : unknown;
  $("held-scroll").classList.toggle("bare", shown.length === 0);
  $("held-more").textContent = shown.length > ROWS ? `and ${count(shown.length - ROWS)} more` : "";
  show($("held").tBodies[0], shown.slice(0, ROWS).map((entry) => {
    const { data } = entry;
    const displaced = displacedOf.get(subjectOf(data)) ?? 0;
    const fresh = entry.fresh;
    entry.fresh = false;
    return {
      // A subject keeps its row: what took the place of another is seen in it. For a moment both may be known.
      key: occupants.get(subjectOf(data)) === data.id ? subjectOf(data) : data.id,
      mark: [data.id, data.revision, why(data), displaced, since(data.admitted), data.attempts].join("|"),
      // Said by name: narrow, it is not laid out as a table.
      make: () => h("tr", { role: "row", class: fresh ? "fresh" : "" },
        h("td", { role: "cell" }, mono(data.eventId), h("span", { class: "sub" }, data.id, data.notices > 1 ? ` · ${data.notices} notices` : "")),
        h("td", { role: "cell", class: "of" }, h("span", { class: "id" }, belongs(data)), h("span", { class: "sub" }, kindOfScope(data))),
        h("td", { role: "cell", class: "because" }, data.state === "held" ? "" : tag(data.state), h("span", { class: "why" }, why(data)),
          data.attempts ? h("span", { class: "sub" }, `${tries(data.attempts)}${data.notBefore ? `, next ${clock(data.notBefore)}` : ""}`) : ""),
        h("td", { role: "cell", class: "num", "data-is": "displaced" }, displaced ? count(displaced) : "–"),
        h("td", { role: "cell", class: "num", "data-is": "held for" }, since(data.admitted))),
    };
  }));
}

export function drawLine() {
  const shown = [];
  for (let at = order.length - 1; at >= 0 && shown.length < ROWS; at -= 1) {
    const row = rows.get(order[at]);
    if (row && fits(row.data)) shown.push([order[at], row]);
  }
  $("line-empty").hidden = shown.length > 0;
  $("line-empty").textContent = order.length
    ? "Nothing that happened fits what you look for."
    : view.caughtUp ? "Nothing has happened since somebody first looked: steps are noted from then on." : unknown;
  $("line").parentElement.classList.toggle("bare", shown.length === 0);
  show($("line"), shown.map(([key, { data, ts, remark }]) => {
    const displaced = isDisplaced(data);
    const by = data.replacedBy ?? data.withdrawnBy;
    return {
      key,
      mark: [data.state, remark, by && named(by.id), data.waits].join("|"),
      make: () => h("li", { class: displaced ? "is-displaced" : "" },
        h("time", ts ? { datetime: ts } : {}, ts ? clock(ts) : "meanwhile"),
        tag(isDropped(data) ? "dropped" : isWithdrawal(data) ? "withdrawal" : data.state),
        h("p", { class: displaced ? "says displaced" : "says" },
          displaced ? h("del", { class: "was" }, mono(data.eventId)) : mono(data.eventId), " ", ...sentence(data),
          remark ? ` (${remark})` : "")),
    };
  }));
}
