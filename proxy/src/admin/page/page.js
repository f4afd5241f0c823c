// The live page: what the stream tells, shown.

import { ask, onToken, token } from "/access.js";
import { alarm, calm, link } from "/alarms.js";
import { $ } from "/element.js";
import { drawDiary, drawFigures, drawProducers, drawRefusals } from "/figures.js";
import { closeFound, lookUp } from "/found.js";
import { ROWS, displace, displacedOf, known, learn, rows, status, tell, view } from "/known.js";
import { drawHeld, drawLine } from "/lists.js";
import { drawNeeds } from "/needs.js";
import { isDisplaced, isDropped, subjectOf } from "/occurrence.js";
import { Cursor, Reader } from "/stream.js";
import { TAGS } from "/words.js";

const SPOKEN_EVERY_MS = 5000;

const on = {
  link,
  fault: ({ error, hint, stream }) => alarm("fault", `${error}.`, hint, Boolean(stream)),
  notice({ type, data }) {
    if (type === "producer.status") status(data);
    if (type === "producer.diary") {
      // What is remembered is told again after the line was cut. Each line begins with its time.
      for (const line of data.text.split("\n").filter(Boolean)) {
        if (view.diary.some((one) => one.line === line && one.who === data.producer)) continue;
        view.diary.push({ who: data.producer, line });
      }
      view.diary = view.diary.slice(-ROWS);
    }
    draw();
  },
  snapshot(all, anotherRun) {
    calm("fault");
    const open = new Map(all.map((data) => [data.id, data]));
    const missing = [];
    for (const [id, { data }] of known) if (data.open && !open.has(id)) missing.push(data);
    for (const [id, data] of open) {
      const before = known.get(id);
      if (before && before.data.revision < data.revision) tell(data, null, "changed while this page was not connected");
      learn(data, null, false);
    }
    if (anotherRun) displacedOf.clear();
    // Of very much the oldest are not asked about: they would have no row.
    for (const data of missing.splice(0, Math.max(0, missing.length - ROWS))) learn(ended(data), null, false);
    for (const data of missing) lookAfter(data);
    draw();
  },
  event(event) {
    const { data, ts, type } = event;
    const before = known.get(data.id)?.data;
    const repeated = before && before.revision >= data.revision && rows.has(`${data.id}@${data.revision}`);
    if (!learn(data, ts)) {
      if (!rows.has(`${data.id}@${data.revision}`)) tell(data, ts);
      return;
    }
    tell(data, ts, type === "occurrence.resolved" && !isDropped(data) ? "settled by an operator" : undefined);
    if (repeated) return;
    if (isDisplaced(data)) {
      displace(subjectOf({ ...before, ...data }));
    }
    view.said[data.state] = (view.said[data.state] ?? 0) + 1;
  },
  caughtUp() {
    view.caughtUp = true;
    draw();
  },
};

const ended = (data) => ({ ...data, open: false, waits: undefined });

/** What was open and is not any more: how it ended is in its receipt. */
async function lookAfter(data) {
  const path = `/v1/occurrences/${encodeURIComponent(data.eventId)}?producer=${encodeURIComponent(data.producer)}`;
  const answer = data.eventId ? await ask(path).catch(() => null) : null;
  const account = answer?.ok ? await answer.json() : null;
  const now = account?.id === data.id ? { ...data, ...account, open: Boolean(account.waits), waits: account.waits } : ended(data);
  if (learn(now, null, false) && !now.open) tell(now, null, "ended while this page was not connected");
  draw();
}

const reader = new Reader({
  url: `${location.protocol === "https:" ? "wss:" : "ws:"}//${location.host}/v1/stream`,
  cursor: new Cursor(ROWS),
  token: token.get,
  on,
  async ask() {
    const answer = await ask("/v1/producers").catch(() => null);
    if (answer?.status === 401) return "token";
    return answer?.ok ? "ok" : "gone";
  },
});
onToken(() => reader.start());

// What is shown. At most once a frame, and never more rows than people read.
let asked = false;
function draw() {
  if (asked) return;
  asked = true;
  requestAnimationFrame(() => {
    asked = false;
    drawFigures();
    drawNeeds();
    drawHeld();
    if (!view.paused) drawLine();
    drawProducers();
    drawRefusals();
    drawDiary();
  });
}

// Looking something up.
$("event-id").addEventListener("input", () => {
  view.filter = $("event-id").value.trim().toLowerCase();
  if (!view.paused) draw();
  else drawHeld();
});
$("find").addEventListener("submit", (event) => {
  event.preventDefault();
  lookUp($("event-id").value.trim());
});
$("found-close").addEventListener("click", closeFound);
document.addEventListener("keydown", (event) => {
  if (event.key === "/" && !event.target.closest("input, dialog")) {
    event.preventDefault();
    $("event-id").focus();
  }
  if (event.key === "Escape" && !$("found").hidden && !$("ask").open) closeFound();
});
$("pause").addEventListener("click", () => {
  view.paused = !view.paused;
  $("pause").setAttribute("aria-pressed", String(view.paused));
  $("pause").textContent = view.paused ? "Go on" : "Pause";
  draw();
});

// Who listens is told what happens, not each of it.
setInterval(() => {
  const words = Object.entries(view.said).map(([state, many]) => `${many} ${TAGS[state]?.[0] ?? state}`);
  view.said = {};
  if (words.length && view.caughtUp) $("spoken").textContent = words.join(", ");
  draw();
}, SPOKEN_EVERY_MS);
setInterval(() => {
  if (!view.paused) drawHeld();
}, 1000);

// Refusals by kind are among the metrics, where those are served.
async function metrics() {
  const answer = $("link").dataset.link === "live" ? await ask("/metrics").catch(() => null) : null;
  if (!answer?.ok) return;
  const kinds = new Map();
  for (const line of (await answer.text()).split("\n")) {
    const found = /^mcpl_refusals_total\{(.*)\} (\S+)/.exec(line);
    const kind = found && /mcpl_refusal="([^"]*)"/.exec(found[1])?.[1];
    if (kind && Number(found[2]) > 0) kinds.set(kind, (kinds.get(kind) ?? 0) + Number(found[2]));
  }
  view.answeredKinds = kinds;
  draw();
}
setInterval(metrics, 5000);

draw();
reader.start().then(metrics);
