// The live page: what the stream tells, shown. No text is ever read as markup.

import { Cursor, Reader } from "/stream.js";

const ROWS = 200; // of a table or a list that are in the page at a time
const REMEMBERED = 5000; // occurrences that have ended
const SPOKEN_EVERY_MS = 5000;
const KEY = "mcpl-admin-token";

const $ = (id) => document.getElementById(id);
const unknown = "Not known yet: this page is not connected.";
const h = (name, attributes = {}, ...children) => {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === undefined || value === false) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== undefined && child !== null));
  return element;
};

// What is known.
const known = new Map(); // id -> { data, displaced, changed }
const ended = []; // ids in the order of their ends
const rows = new Map(); // id@revision -> row of the time line
const order = []; // their keys, oldest first
const producers = new Map(); // name -> { status, rates }
const displacedOf = new Map(); // subject -> how many
const deadKinds = new Map(); // kind -> how many since the page was opened
let answeredKinds = null; // kind -> how many, where /metrics says
let diary = [];
let paused = false;
let filter = "";
let said = {};
let caughtUp = false;

const token = {
  get: () => sessionStorage.getItem(KEY) ?? "",
  set: (text) => sessionStorage.setItem(KEY, text),
  drop: () => sessionStorage.removeItem(KEY),
};

async function ask(path, init = {}) {
  const headers = { ...init.headers };
  if (token.get()) headers.Authorization = `Bearer ${token.get()}`;
  return fetch(path, { ...init, headers, cache: "no-store", credentials: "omit" });
}

// Words.
const WHY = {
  reason: "Nothing asks for it yet; a newer one may still take its place",
  host: "Due, and no host is connected",
  turn: "Due; it goes when it is its turn",
  scope: "Due; the host may not be given it until its grant or its channel changes",
  retry: "The host asked for time; it is tried again",
  render: "Its producer is asked to render it",
  answer: "The host was given it and has not answered",
  operator: "Somebody has to settle it",
};
const TAGS = {
  held: ["held", ""],
  deferred: ["deferred", "warn"],
  "outcome-unknown": ["given to the host", ""],
  "manual-reconciliation": ["in doubt", "warn"],
  delivered: ["delivered", "good"],
  replaced: ["displaced", "gone"],
  withdrawn: ["withdrawn", "gone"],
  empty: ["nothing to tell", "gone"],
  lapsed: ["lapsed", "gone"],
  dropped: ["dropped", "gone"],
  expired: ["expired", "warn"],
  "dead-letter": ["refused for good", "bad"],
};
const DISPLACED = new Set(["replaced", "withdrawn"]);
const tag = (state) => h("span", { class: `tag ${TAGS[state]?.[1] ?? ""}` }, TAGS[state]?.[0] ?? state);
const mono = (text) => h("span", { class: "id" }, text || "no eventId");
const clock = (ts) => (ts ? new Date(ts).toLocaleTimeString([], { hour12: false }) : "");
const count = (number) => (number ?? 0).toLocaleString();
const bytes = (number) => {
  if (!number) return "0 B";
  const step = Math.min(3, Math.floor(Math.log2(number) / 10));
  const value = number / 1024 ** step;
  return `${value < 10 && step ? value.toFixed(1) : Math.round(value)} ${["B", "KiB", "MiB", "GiB"][step]}`;
};
const since = (ts) => {
  const s = Math.max(0, Math.round((Date.now() - Date.parse(ts)) / 1000));
  if (Number.isNaN(s)) return "";
  if (s < 60) return `${s} s`;
  if (s < 3600) return `${Math.floor(s / 60)} min`;
  if (s < 86400) return `${Math.floor(s / 3600)} h ${Math.floor((s % 3600) / 60)} min`;
  return `${Math.floor(s / 86400)} d`;
};
const belongs = (data) => data.scope?.channel ?? data.scope?.featureSet ?? "";
const kindOfScope = (data) => (data.scope?.channel !== undefined ? "channel" : data.scope ? "feature set" : "");
const named = (id) => known.get(id)?.data.eventId || id;
const subjectOf = (data) => (data.subject === undefined ? data.id : `${data.producer}#${data.subject}`);
const why = (data) => {
  const waits = data.waits;
  const status = producers.get(data.producer)?.status;
  const due = waits === "turn" || waits === "scope" || waits === "host";
  if (due && status?.served && status.session === false) return WHY.host;
  if (waits === "host" && status?.session) return WHY.turn;
  return WHY[waits] ?? "";
};

/** A dead letter that was let go. */
const isDropped = (data) => data.state === "dead-letter" && data.open === false;

/** What happened, in a sentence whose subject is the eventId before it. */
function sentence(data) {
  if (isDropped(data)) return ["dropped by an operator"];
  const by = data.replacedBy ?? data.withdrawnBy;
  switch (data.state) {
    case "held":
      if (data.coalesce?.priorEventId) return ["took the place of ", mono(data.coalesce.priorEventId)];
      return [data.notices > 1 ? `stands for ${data.notices} notices` : "waits"];
    case "replaced":
      return by ? ["displaced by ", mono(by.eventId ?? named(by.id))] : ["displaced by a newer one"];
    case "withdrawn":
      return by ? ["displaced: withdrawn by ", mono(by.eventId ?? named(by.id))] : ["withdrawn by its sender"];
    case "dead-letter":
      return [`refused: ${data.refusal?.refusal ?? "for good"}`];
    case "deferred":
      return [data.attempts ? `not taken yet, ${data.attempts} tries` : "not taken yet"];
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

// What comes.
function learn(data, ts, flash = true) {
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

function tell(data, ts, remark) {
  const key = `${data.id}@${data.revision}`;
  if (!rows.has(key)) order.push(key);
  rows.set(key, { data, ts, remark });
  while (order.length > 4 * ROWS) rows.delete(order.shift());
}

const on = {
  link,
  fault: ({ error, hint, stream }) => alarm("fault", `${error}.`, hint, Boolean(stream)),
  notice({ type, data, ts }) {
    if (type === "producer.status") status(data, ts);
    if (type === "producer.diary") {
      const lines = data.text.split("\n").filter(Boolean);
      diary.push(...lines.map((line) => ({ who: data.producer, line })));
      diary = diary.slice(-ROWS);
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
    if (DISPLACED.has(data.state)) {
      const subject = subjectOf({ ...before, ...data });
      displacedOf.set(subject, (displacedOf.get(subject) ?? 0) + 1);
    }
    if (data.state === "dead-letter" && type !== "occurrence.resolved") {
      const kind = data.refusal?.refusal ?? "other";
      deadKinds.set(kind, (deadKinds.get(kind) ?? 0) + 1);
    }
    said[data.state] = (said[data.state] ?? 0) + 1;
  },
  caughtUp() {
    caughtUp = true;
    draw();
  },
};

/** What was open and is not any more: how it ended is in its receipt. */
async function lookAfter(data) {
  const path = `/v1/occurrences/${encodeURIComponent(data.eventId)}?producer=${encodeURIComponent(data.producer)}`;
  const answer = data.eventId ? await ask(path).catch(() => null) : null;
  const account = answer?.ok ? await answer.json() : null;
  const now = account?.id === data.id ? { ...data, ...account, open: Boolean(account.waits), waits: account.waits } : { ...data, open: false, waits: undefined };
  if (learn(now, null, false)) tell(now, null, "ended while this page was not connected");
  draw();
}

function status(data, ts) {
  const before = producers.get(data.producer);
  const at = Date.parse(ts);
  const rates = before?.rates ?? [];
  if (data.counts && before?.status.counts && at > before.at) {
    const s = (at - before.at) / 1000;
    const per = (name) => Math.max(0, data.counts[name] - before.status.counts[name]) / s;
    rates.push({ at, accepted: per("accepted"), delivered: per("delivered"), folded: per("folded") });
    while (rates.length > 120) rates.shift();
  }
  producers.set(data.producer, { status: data, rates, at });
  const gone = [...producers.values()].filter(({ status }) => status.store === "gone").map(({ status }) => status.producer);
  if (gone.length) {
    alarm("store", `The journal of ${gone.join(", ")} takes nothing.`, "New work is refused and nothing is handed over; what was accepted is safe. The log says why.");
  } else calm("store");
  const short = [...producers.values()].some(({ status }) => status.store === "short");
  if (short) alarm("short", "The journal is short of room.", "New work is refused; what was accepted is still handed over.", true);
  else calm("short");
}

// The connection.
function link(state, pause) {
  $("link").dataset.link = state;
  $("link-text").textContent = { wait: "connecting", live: "live", token: "token needed", gone: "not connected" }[state];
  if (state === "live") calm("link");
  if (state === "gone") {
    const next = pause >= 1000 ? `${Math.round(pause / 1000)} s` : "a moment";
    alarm("link", "The sidecar does not answer.", `What is shown is as it was. The next try is in ${next}.`);
  }
  if (state === "token") askForToken();
}

function alarm(name, text, hint, mild = false) {
  let box = document.querySelector(`[data-alarm="${name}"]`);
  if (!box) {
    box = h("p", { "data-alarm": name });
    $("alarms").append(box);
  }
  box.className = mild ? "alarm mild" : "alarm";
  const words = `${text} ${hint}`;
  if (box.textContent !== words) box.replaceChildren(h("strong", {}, text), ` ${hint}`);
}

function calm(name) {
  document.querySelector(`[data-alarm="${name}"]`)?.remove();
}

function askForToken() {
  $("ask-said").textContent = token.get() ? "That is not the token." : "";
  token.drop();
  if (!$("ask").open) $("ask").showModal();
}

$("ask-form").addEventListener("submit", (event) => {
  event.preventDefault();
  token.set($("token").value.trim());
  $("token").value = "";
  $("ask").close();
  reader.start();
});

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
    if (!paused) drawLine();
    drawProducers();
    drawRefusals();
    drawDiary();
  });
}

/** Shows a list that is made of keyed parts: what is there stays, so that focus and selection do. */
function show(parent, parts) {
  const there = new Map([...parent.children].map((child) => [child.dataset.key, child]));
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

const fits = (data) =>
  !filter || [data.eventId, data.id, belongs(data)].some((text) => (text ?? "").toLowerCase().includes(filter));
const open = () => [...known.values()].filter(({ data }) => data.open);

function drawFigures() {
  const all = [...producers.values()].map(({ status }) => status);
  const sum = (name) => all.reduce((sum, status) => sum + (status[name] ?? 0), 0);
  const rate = (name) => [...producers.values()].reduce((sum, { rates }) => sum + lately(rates, name), 0);
  const counts = (name) => all.reduce((sum, status) => sum + (status.counts?.[name] ?? 0), 0);
  const per = (name) => `${rate(name).toFixed(rate(name) < 10 ? 1 : 0)}/s`;
  const figures = [
    ["Held now", count(sum("held")), bytes(sum("heldBytes"))],
    ["Accepted", count(counts("accepted")), per("accepted")],
    ["Delivered", count(counts("delivered")), per("delivered")],
    ["Displaced", count(counts("folded")), per("folded")],
    ["Refused", count(counts("refused")), ""],
    ["In doubt", count(sum("inDoubt")), "", sum("inDoubt") ? "warn" : ""],
    ["Dead letters", count(sum("dead")), "", sum("dead") ? "bad" : ""],
  ];
  // Noughts that nobody counted are no noughts.
  const counted = all.length ? figures : figures.map(([name]) => [name, "–", ""]);
  show($("figures"), counted.map(([name, value, more, kind]) => ({
    key: name,
    mark: value + more + kind,
    make: () => h("div", { class: `figure ${kind ?? ""}` }, h("dt", {}, name), h("dd", {}, value, more ? h("small", {}, more) : "")),
  })));
}

const lately = (rates, name) => {
  const some = rates.filter(({ at }) => Date.now() - at < 5000);
  return some.length ? some.reduce((sum, rate) => sum + rate[name], 0) / some.length : 0;
};

const WORDS = {
  "manual-reconciliation": [["submitted", "The host has it"], ["not-submitted", "It does not: send it"], ["drop", "Drop it"]],
  "outcome-unknown": [],
  "dead-letter": [["again", "Send it again"], ["drop", "Drop it"]],
};

function drawNeeds() {
  const all = open().filter(({ data }) => data.state === "manual-reconciliation" || data.state === "dead-letter");
  all.sort((a, b) => (a.data.state < b.data.state ? 1 : a.data.state > b.data.state ? -1 : number(a) - number(b)));
  const shown = all.filter(({ data }) => fits(data)).slice(0, ROWS);
  $("needs-count").textContent = all.length ? `${count(all.length)} to settle` : "";
  $("needs-empty").hidden = all.length > 0;
  $("needs-empty").textContent = caughtUp ? "Nothing is in doubt, and there are no dead letters." : unknown;
  show($("needs-list"), shown.map(({ data }) => ({
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
const number = ({ data }) => Number(data.id.slice(data.id.lastIndexOf("/") + 1));

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
  const path = `/v1/work/${encodeURIComponent(data.producer)}/${number({ data })}/resolve`;
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
  else note.textContent = `${data.eventId}: ${told.error ?? "it was not done"}. ${told.hint ?? ""}`;
}

function drawHeld() {
  const all = open().filter(({ data }) => data.state !== "manual-reconciliation" && data.state !== "dead-letter");
  // Of a subject the newest is its occupant; what is on its way is shown with it.
  all.sort((a, b) => Date.parse(a.data.admitted ?? 0) - Date.parse(b.data.admitted ?? 0) || number(a) - number(b));
  const shown = all.filter(({ data }) => fits(data));
  const subjects = new Set(all.map(({ data }) => subjectOf(data)));
  $("held-count").textContent = all.length ? `${count(all.length)} of ${count(subjects.size)} ${subjects.size === 1 ? "subject" : "subjects"}` : "";
  $("held-empty").hidden = shown.length > 0;
  $("held-empty").textContent = all.length
    ? "Nothing that is held fits what you look for."
    : caughtUp ? "Nothing is held: what comes is read, or nothing comes." : unknown;
  $("held-scroll").classList.toggle("bare", shown.length === 0);
  $("held-more").textContent = shown.length > ROWS ? `and ${count(shown.length - ROWS)} more` : "";
  show($("held").tBodies[0], shown.slice(0, ROWS).map((entry) => {
    const { data } = entry;
    const displaced = displacedOf.get(subjectOf(data)) ?? 0;
    const fresh = entry.fresh;
    entry.fresh = false;
    return {
      // A subject keeps its row: what took the place of another is seen in it.
      key: data.state === "held" ? subjectOf(data) : data.id,
      mark: [data.id, data.revision, why(data), displaced, since(data.admitted), data.attempts].join("|"),
      make: () => h("tr", { class: fresh ? "fresh" : "" },
        h("td", {}, mono(data.eventId), h("span", { class: "sub" }, data.id, data.notices > 1 ? ` · ${data.notices} notices` : "")),
        h("td", {}, h("span", { class: "id" }, belongs(data)), h("span", { class: "sub" }, kindOfScope(data))),
        h("td", {}, data.state === "held" ? "" : tag(data.state), h("span", { class: "why" }, why(data)),
          data.attempts ? h("span", { class: "sub" }, `${data.attempts} tries${data.notBefore ? `, next ${clock(data.notBefore)}` : ""}`) : ""),
        h("td", { class: "num" }, displaced ? count(displaced) : "–"),
        h("td", { class: "num" }, since(data.admitted))),
    };
  }));
}

function drawLine() {
  const shown = [];
  for (let at = order.length - 1; at >= 0 && shown.length < ROWS; at -= 1) {
    const row = rows.get(order[at]);
    if (row && fits(row.data)) shown.push([order[at], row]);
  }
  $("line-empty").hidden = shown.length > 0;
  $("line-empty").textContent = order.length
    ? "Nothing that happened fits what you look for."
    : caughtUp ? "Nothing has happened yet that is remembered." : unknown;
  $("line").parentElement.classList.toggle("bare", shown.length === 0);
  show($("line"), shown.map(([key, { data, ts, remark }]) => {
    const displaced = DISPLACED.has(data.state);
    const by = data.replacedBy ?? data.withdrawnBy;
    return {
      key,
      mark: [data.state, remark, by && named(by.id), data.waits].join("|"),
      make: () => h("li", { class: displaced ? "is-displaced" : "" },
        h("time", ts ? { datetime: ts } : {}, ts ? clock(ts) : "meanwhile"),
        tag(isDropped(data) ? "dropped" : data.state),
        h("p", { class: displaced ? "says displaced" : "says" },
          displaced ? h("del", { class: "was" }, mono(data.eventId)) : mono(data.eventId), " ", ...sentence(data),
          remark ? ` (${remark})` : "")),
    };
  }));
}

function drawProducers() {
  const all = [...producers.entries()].sort(([a], [b]) => (a < b ? -1 : 1));
  $("producers-empty").hidden = all.length > 0;
  $("producers-empty").textContent = caughtUp ? "No producer is served." : unknown;
  show($("producers"), all.map(([name, { status, rates }]) => ({
    key: name,
    mark: JSON.stringify([status, rates.length]),
    make: () => {
      const pair = (dt, dd) => h("div", {}, h("dt", {}, dt), h("dd", {}, dd));
      const state = !status.served ? ["not served", "gone"] : status.session ? ["connected", "good"] : status.session === false ? ["no host", "warn"] : ["does not answer", "bad"];
      return h("li", {},
        h("div", { class: "head" }, h("h3", {}, name), h("span", { class: `tag ${state[1]}` }, state[0])),
        status.peer ? h("p", { class: "note" }, "host ", h("span", { class: "id" }, status.peer)) : "",
        status.store && status.store !== "good" ? h("p", { class: "note bad" }, status.store === "gone" ? "its journal takes nothing" : "its journal is short of room") : "",
        status.held === undefined ? "" : h("dl", { class: "pairs" },
          pair("held", count(status.held)), pair("on their way", count(status.out)), pair("subjects", count(status.subjects)),
          pair("accepted", count(status.counts?.accepted)), pair("delivered", count(status.counts?.delivered)), pair("displaced", count(status.counts?.folded))),
        spark(name, rates));
    },
  })));
}

function spark(name, rates) {
  if (rates.length < 2) return "";
  const most = Math.max(1, ...rates.map((rate) => rate.accepted));
  const now = lately(rates, "accepted");
  const points = rates.map((rate, at) => `${((at / (rates.length - 1)) * 120).toFixed(1)} ${(24 - (22 * rate.accepted) / most).toFixed(1)}`);
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  for (const [key, value] of Object.entries({ class: "spark", viewBox: "0 0 120 26", preserveAspectRatio: "none", role: "img", "aria-label": `${name}: ${now.toFixed(1)} accepted a second now, ${most.toFixed(0)} at the most` })) svg.setAttribute(key, value);
  const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
  path.setAttribute("d", `M${points.join("L")}`);
  svg.append(path);
  return svg;
}

function drawRefusals() {
  const kinds = new Map();
  const add = (kind, at, many) => kinds.set(kind, { ...kinds.get(kind), [at]: (kinds.get(kind)?.[at] ?? 0) + many });
  for (const { data } of open()) if (data.state === "dead-letter") add(data.refusal?.refusal ?? "other", "dead", 1);
  if (answeredKinds) for (const [kind, many] of answeredKinds) add(kind, "answered", many);
  else {
    const all = [...producers.values()].reduce((sum, { status }) => sum + (status.counts?.refused ?? 0), 0);
    if (all) add("any kind", "answered", all);
  }
  const all = [...kinds].sort(([a], [b]) => (a < b ? -1 : 1));
  $("refusals-empty").hidden = all.length > 0;
  $("refusals-empty").textContent = caughtUp ? "Nothing was refused." : unknown;
  $("refusals").hidden = all.length === 0;
  show($("refusals").tBodies[0], all.map(([kind, { answered, dead }]) => ({
    key: kind,
    mark: `${answered}|${dead}`,
    make: () => h("tr", {}, h("td", {}, h("code", {}, kind)), h("td", { class: "num" }, answered ? count(answered) : "–"), h("td", { class: "num" }, dead ? count(dead) : "–")),
  })));
}

function drawDiary() {
  const shown = diary.slice(-50).reverse();
  $("diary-empty").hidden = shown.length > 0;
  $("diary").parentElement.classList.toggle("bare", shown.length === 0);
  show($("diary"), shown.map(({ who, line }) => {
    const [at, ...words] = line.split(" ");
    return { key: who + line, mark: "", make: () => h("li", {}, h("time", { datetime: at }, clock(at)), " ", h("span", { class: "who" }, who), ` ${words.join(" ")}`) };
  }));
}

// Looking something up.
$("event-id").addEventListener("input", () => {
  filter = $("event-id").value.trim().toLowerCase();
  if (!paused) draw();
  else drawHeld();
});
$("find").addEventListener("submit", (event) => {
  event.preventDefault();
  lookUp($("event-id").value.trim());
});
$("found-close").addEventListener("click", closeFound);
function closeFound() {
  $("found").hidden = true;
  $("event-id").focus();
}
document.addEventListener("keydown", (event) => {
  if (event.key === "/" && !event.target.closest("input, dialog")) {
    event.preventDefault();
    $("event-id").focus();
  }
  if (event.key === "Escape" && !$("found").hidden && !$("ask").open) closeFound();
});
$("pause").addEventListener("click", () => {
  paused = !paused;
  $("pause").setAttribute("aria-pressed", String(paused));
  $("pause").textContent = paused ? "Go on" : "Pause";
  draw();
});

async function lookUp(eventId, producer) {
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
    $("found-body").replaceChildren(h("p", { class: "empty" }, "No such event is known. It was never accepted, or it ended longer ago than is remembered (retry_window_ms)."));
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
      fact("expires", it.expiresAt && new Date(it.expiresAt).toLocaleString()), fact("waits for", it.waits && (WHY[it.waits] ?? it.waits))),
    h("h3", {}, "What happened to it"),
    h("ol", {}, ...(it.history ?? []).map(({ at, says }) => h("li", {}, h("strong", {}, says), at ? ` · ${new Date(at).toLocaleString()}` : ""))),
  ];
}

// Who listens is told what happens, not each of it.
setInterval(() => {
  const words = Object.entries(said).map(([state, many]) => `${many} ${TAGS[state]?.[0] ?? state}`);
  said = {};
  if (words.length && caughtUp) $("spoken").textContent = words.join(", ");
  draw();
}, SPOKEN_EVERY_MS);
setInterval(() => {
  if (!paused) drawHeld();
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
  answeredKinds = kinds;
  draw();
}
setInterval(metrics, 5000);

draw();
reader.start().then(metrics);
