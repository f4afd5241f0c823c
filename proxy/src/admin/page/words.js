// What is said of occurrences, in words.

import { h } from "/element.js";
import { named, producers } from "/known.js";
import { isDropped, isWithdrawal } from "/occurrence.js";

export const unknown = "Not known yet: this page is not connected.";

export const WHY = {
  reason: "Nothing asks for it yet; a newer one may still take its place",
  host: "Due, and no host is connected",
  turn: "Due; it goes when it is its turn",
  scope: "Due; the host may not be given it until its grant or its channel changes",
  retry: "The host asked for time; it is tried again",
  render: "Its producer is asked to render it",
  answer: "The host was given it and has not answered",
  operator: "Somebody has to settle it",
};
export const TAGS = {
  held: ["held", ""],
  deferred: ["deferred", "warn"],
  "outcome-unknown": ["given to the host", ""],
  "manual-reconciliation": ["in doubt", "warn"],
  delivered: ["delivered", "good"],
  replaced: ["displaced", "gone"],
  withdrawn: ["withdrawn", "gone"],
  empty: ["nothing to tell", "gone"],
  lapsed: ["lapsed", "gone"],
  withdrawal: ["withdrawal", "gone"],
  dropped: ["dropped", "gone"],
  expired: ["expired", "warn"],
  "dead-letter": ["refused for good", "bad"],
};
export const tag = (state) => h("span", { class: `tag ${TAGS[state]?.[1] ?? ""}` }, TAGS[state]?.[0] ?? state);
export const mono = (text) => h("span", { class: "id" }, text || "no eventId");
export const clock = (ts) => (ts ? new Date(ts).toLocaleTimeString([], { hour12: false }) : "");
export const count = (number) => (number ?? 0).toLocaleString();
export const bytes = (number) => {
  if (!number) return "0 B";
  const step = Math.min(3, Math.floor(Math.log2(number) / 10));
  const value = number / 1024 ** step;
  return `${value < 10 && step ? value.toFixed(1) : Math.round(value)} ${["B", "KiB", "MiB", "GiB"][step]}`;
};
export const since = (ts) => {
  const s = Math.max(0, Math.round((Date.now() - Date.parse(ts)) / 1000));
  if (Number.isNaN(s)) return "";
  if (s < 60) return `${s} s`;
  if (s < 3600) return `${Math.floor(s / 60)} min`;
  if (s < 86400) return `${Math.floor(s / 3600)} h ${Math.floor((s % 3600) / 60)} min`;
  return `${Math.floor(s / 86400)} d`;
};
export const why = (data) => {
  const waits = data.waits;
  const status = producers.get(data.producer)?.status;
  const due = waits === "turn" || waits === "scope" || waits === "host";
  if (due && status?.served && status.session === false) return WHY.host;
  if (waits === "host" && status?.session) return WHY.turn;
  return WHY[waits] ?? "";
};


/** What happened, in a sentence whose subject is the eventId before it. */
export function sentence(data) {
  if (isDropped(data)) return ["dropped by an operator"];
  const by = data.replacedBy ?? data.withdrawnBy;
  switch (data.state) {
    case "held":
      if (data.coalesce?.priorEventId) return ["took the place of ", mono(data.coalesce.priorEventId)];
      return [data.notices > 1 ? `stands for ${data.notices} notices` : "waits"];
    case "replaced":
      return by ? ["displaced by ", mono(by.eventId ?? named(by.id))] : ["displaced by a newer one"];
    case "withdrawn":
      if (isWithdrawal(data)) {
        const prior = data.coalesce.priorEventId;
        return prior ? ["withdrew ", mono(prior)] : ["had nothing to take back"];
      }
      return by ? ["displaced: withdrawn by ", mono(by.eventId ?? named(by.id))] : ["withdrawn by its sender"];
    case "dead-letter":
      return [`refused: ${data.refusal?.refusal ?? "for good"}`];
    case "deferred":
      return [data.attempts ? `not taken yet, ${tries(data.attempts)}` : "not taken yet"];
    case "outcome-unknown":
      return ["handed over, not answered for"];
    case "manual-reconciliation":
      return ["handed over and never answered for"];
    case "delivered":
      return ["the host has it"];
    case "expired":
      return ["its time was over first"];
    default:
      return [];
  }
}

/** How often it was handed over, in words. */
export const tries = (count) => (count === 1 ? "tried once" : `tried ${count} times`);
