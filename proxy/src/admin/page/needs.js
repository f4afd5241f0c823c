// What waits for an operator, and the words that settle it.

import { ask, askForToken } from "/access.js";
import { $, h, show } from "/element.js";
import { ROWS, open, view } from "/known.js";
import { fits } from "/lists.js";
import { belongs, kindOfScope, number } from "/occurrence.js";
import { TAGS, count, mono, tag, unknown } from "/words.js";

const WORDS = {
  "manual-reconciliation": [["submitted", "The host has it"], ["not-submitted", "It does not: send it"], ["drop", "Drop it"]],
  "outcome-unknown": [],
  "dead-letter": [["again", "Send it again"], ["drop", "Drop it"]],
};

export function drawNeeds() {
  const all = open().filter(({ data }) => data.state === "manual-reconciliation" || data.state === "dead-letter");
  all.sort((a, b) => (a.data.state < b.data.state ? 1 : a.data.state > b.data.state ? -1 : number(a.data) - number(b.data)));
  const shown = all.filter(({ data }) => fits(data));
  $("needs-count").textContent = all.length ? `${count(all.length)} to settle` : "";
  $("needs-empty").hidden = shown.length > 0;
  $("needs-empty").textContent = all.length
    ? "Nothing that waits for you fits what you look for."
    : view.caughtUp ? "Nothing is in doubt, and there are no dead letters." : unknown;
  $("needs-more").textContent = shown.length > ROWS ? `and ${count(shown.length - ROWS)} more` : "";
  show($("needs-list"), shown.slice(0, ROWS).map(({ data }) => ({
    key: data.id,
    mark: `${data.revision}`,
    make: () => h("li", {},
      h("div", { class: "head" }, h("h3", {}, mono(data.eventId)), tag(data.state)),
      h("p", { class: "note" }, `${data.id} · ${[kindOfScope(data), belongs(data)].filter(Boolean).join(" ")} · ${data.refusal ? `the host said ${data.refusal.refusal}` : "the host never answered"} · revision ${data.revision}`),
      h("div", { class: "doing" }, ...WORDS[data.state].map(([word, text]) =>
        h("button", {
          type: "button", class: word === "drop" ? "plain" : word === "not-submitted" ? "plain" : "", "data-word": word,
          "aria-label": `${text}: ${data.eventId}`, onclick: (event) => settle(event.currentTarget, data, word, text),
        }, text)))),
  })));
}

async function settle(button, data, word, text) {
  if (word === "drop" && !button.classList.contains("sure")) {
    button.classList.add("sure");
    button.textContent = "Drop it for good?";
    button.setAttribute("aria-label", `Drop it for good? ${data.eventId}`);
    setTimeout(() => {
      button.classList.remove("sure");
      button.textContent = text;
      button.setAttribute("aria-label", `${text}: ${data.eventId}`);
    }, 5000);
    return;
  }
  const all = button.parentElement.querySelectorAll("button");
  all.forEach((other) => (other.disabled = true));
  const path = `/v1/work/${encodeURIComponent(data.producer)}/${number(data)}/resolve`;
  const body = JSON.stringify({ word, expect: data.revision });
  const answer = await ask(path, { method: "POST", body, headers: { "Content-Type": "application/json" } }).catch(() => null);
  const told = answer ? await answer.json().catch(() => ({})) : { error: "the sidecar does not answer", hint: "try again" };
  all.forEach((other) => (other.disabled = false));
  const note = $("needs-said");
  note.className = answer?.ok ? "note" : "note bad";
  if (answer?.ok) {
    note.textContent = word === "drop" ? `${data.eventId} is dropped.` : `${data.eventId} is ${TAGS[told.state]?.[0] ?? told.state} now.`;
    // The row goes with the stream; whoever uses the keyboard goes on from the heading.
    if (button.isConnected && document.activeElement === document.body) $("held-scroll").focus();
  } else if (answer?.status === 401) askForToken();
  else if (answer?.status === 412) {
    note.textContent = `${data.eventId} changed since you saw it at revision ${data.revision}: it is at ${told.revision} now. Nothing was done. Look at it again, then decide.`;
  }
  else note.textContent = `${data.eventId}: ${told.error ?? "it was not done"}. ${told.hint ?? ""}`;
}
