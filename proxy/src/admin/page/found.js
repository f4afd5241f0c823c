// One event, looked up by its eventId.

import { ask, askForToken } from "/access.js";
import { $, h } from "/element.js";
import { belongs, kindOfScope } from "/occurrence.js";
import { bytes, mono, tag } from "/words.js";

export function closeFound() {
  $("found").hidden = true;
  $("event-id").focus();
}

export async function lookUp(eventId, producer) {
  if (!eventId) return;
  const query = producer ? `?producer=${encodeURIComponent(producer)}` : "";
  const answer = await ask(`/v1/occurrences/${encodeURIComponent(eventId)}${query}`).catch(() => null);
  const told = answer ? await answer.json().catch(() => ({})) : { error: "the sidecar does not answer", hint: "It is tried again by itself." };
  if (answer?.status === 401) return askForToken();
  $("found-h").replaceChildren("Event ", mono(eventId));
  if (answer?.ok) $("found-body").replaceChildren(...account(told));
  else if (answer?.status === 409) {
    $("found-body").replaceChildren(h("p", {}, "Several producers have an event of that id. Which one?"),
      h("div", { class: "doing" }, ...told.producers.map((name) => h("button", { type: "button", class: "plain", onclick: () => lookUp(eventId, name) }, name))));
  } else if (answer?.status === 404) {
    $("found-body").replaceChildren(h("p", { class: "empty" }, "No such event is known. Only what was accepted to be held is: not what passed straight to the host, what was refused, or what ended longer ago than is remembered (retry_window_ms). The log at debug has those."));
  } else $("found-body").replaceChildren(h("p", { class: "note bad" }, `${told.error}. ${told.hint ?? ""}`));
  $("found").hidden = false;
  $("found-h").focus();
}

function account(it) {
  const fact = (name, value) => (value === undefined || value === "" ? "" : h("div", {}, h("dt", {}, name), h("dd", {}, value)));
  const reason = it.decision.reason ? ` (${it.decision.reason})` : "";
  return [
    h("p", { class: "lead" }, tag(it.state), ` ${it.says ?? ""}`),
    h("dl", { class: "facts" },
      fact("delivery", it.delivery), fact("decision", it.decision.state + reason), fact("outcome", it.outcome), fact("revision", String(it.revision)),
      fact("id", it.id), fact(kindOfScope(it) || "belongs to", belongs(it)), fact("lane", it.lane), fact("accepted", it.admitted && new Date(it.admitted).toLocaleString()),
      fact("expires", it.expiresAt && new Date(it.expiresAt).toLocaleString())),
    h("h3", {}, "What happened to it"),
    h("ol", {}, ...(it.history ?? []).map(({ at, says }) => h("li", {}, h("strong", {}, says), at ? ` · ${new Date(at).toLocaleString()}` : ""))),
    ...content(it),
  ];
}

/** What was sent, where the sidecar shows it: text, whatever is in it. */
function content(it) {
  if (it.content === undefined && it.contentSays === undefined) {
    return [h("p", { class: "note" }, "Content is not shown here: ", h("code", {}, "show_content"), " in ", h("code", {}, "[admin]"), " is off.")];
  }
  const size = it.contentBytes === undefined ? "" : h("span", { class: "count" }, ` ${bytes(it.contentBytes)}`);
  return [
    h("h3", {}, "Content", size),
    it.content === undefined ? "" : h("pre", { class: "sent", tabindex: "0", role: "region", "aria-label": "Content" }, plain(it.content)),
    it.contentSays === undefined ? "" : h("p", { class: "note" }, `${it.contentSays[0].toUpperCase()}${it.contentSays.slice(1)}.`),
  ];
}

/** The texts of blocks of text; of anything else its JSON. */
function plain(content) {
  const shown = (part) => (part?.type === "text" && typeof part.text === "string" ? part.text : JSON.stringify(part, null, 2));
  if (typeof content === "string") return content;
  return Array.isArray(content) ? content.map(shown).join("\n") : JSON.stringify(content, null, 2);
}
