// What is known of the journal, and of those it is of.

import { alarm, calm } from "/alarms.js";

export const ROWS = 200; // of a table or a list that are in the page at a time
const REMEMBERED = 5000; // occurrences that have ended
export const RATES_MS = 120_000; // of rates that are drawn
const LATELY_MS = 5000;
const RATED = ["accepted", "delivered", "folded"];

export const known = new Map(); // id -> { data, displaced, changed }
const ended = []; // ids in the order of their ends
export const rows = new Map(); // id@revision -> row of the time line
export const order = []; // their keys, oldest first
export const producers = new Map(); // name -> { status, steps: how many more, and when }
export const displacedOf = new Map(); // subject -> how many since the page was opened

/** One more of a subject was displaced. */
export function displace(subject) {
  const many = displacedOf.get(subject) ?? 0;
  displacedOf.delete(subject);
  displacedOf.set(subject, many + 1);
  if (displacedOf.size > REMEMBERED) displacedOf.delete(displacedOf.keys().next().value);
}

/** How it is looked at. */
export const view = {
  paused: false,
  filter: "",
  caughtUp: false,
  answeredKinds: null, // kind -> how many, where /metrics says
  diary: [],
  said: {}, // state -> how many since it was last said aloud
};

export function learn(data, ts, flash = true) {
  const before = known.get(data.id);
  if (before && before.data.revision > data.revision) return false;
  const entry = { data: { ...before?.data, ...data }, changed: ts };
  if (!data.open) {
    for (const name of ["waits", "notBefore"]) delete entry.data[name];
    if (before?.data.open !== false) ended.push(data.id);
  }
  entry.data.waits = data.waits;
  entry.fresh = flash && before?.data.revision !== data.revision;
  known.set(data.id, entry);
  while (ended.length > REMEMBERED) known.delete(ended.shift());
  return true;
}

export function tell(data, ts, remark) {
  const key = `${data.id}@${data.revision}`;
  if (!rows.has(key)) order.push(key);
  rows.set(key, { data, ts, remark });
  while (order.length > 4 * ROWS) rows.delete(order.shift());
}

export function status(data) {
  const before = producers.get(data.producer);
  // By the clock of this page: that of the sidecar may be another.
  const at = Date.now();
  const steps = (before?.steps ?? []).filter((step) => at - step.at < RATES_MS);
  if (data.counts && before?.status.counts) {
    const step = { at };
    for (const name of RATED) step[name] = Math.max(0, data.counts[name] - before.status.counts[name]);
    if (RATED.some((name) => step[name] > 0)) steps.push(step);
  }
  producers.set(data.producer, { status: data, steps });
  const gone = [...producers.values()].filter(({ status }) => status.store === "gone").map(({ status }) => status.producer);
  if (gone.length) {
    alarm("store", `The journal of ${gone.join(", ")} takes nothing.`, "New work is refused and nothing is handed over; what was accepted is safe. The log says why.");
  } else calm("store");
  const short = [...producers.values()].some(({ status }) => status.store === "short");
  if (short) alarm("short", "The journal is short of room.", "New work is refused; what was accepted is still handed over.", true);
  else calm("short");
}

/** How many a second in the last seconds. */
export const lately = (steps, name) =>
  steps.reduce((sum, step) => sum + (Date.now() - step.at < LATELY_MS ? step[name] : 0), 0) / (LATELY_MS / 1000);

export const named = (id) => known.get(id)?.data.eventId || id;
export const open = () => [...known.values()].filter(({ data }) => data.open);
