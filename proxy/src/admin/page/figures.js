// Sums and rates: of all, of each producer, of refusals by kind; and what its sessions did.

import { $, h, show } from "/element.js";
import { RATES_MS, lately, open, producers, view } from "/known.js";
import { bytes, clock, count, unknown } from "/words.js";

const BAR_MS = 2000;

export function drawFigures() {
  const all = [...producers.values()].map(({ status }) => status);
  const sum = (name) => all.reduce((sum, status) => sum + (status[name] ?? 0), 0);
  const rate = (name) => [...producers.values()].reduce((sum, { steps }) => sum + lately(steps, name), 0);
  const counts = (name) => all.reduce((sum, status) => sum + (status.counts?.[name] ?? 0), 0);
  const per = (name) => `${rate(name).toFixed(rate(name) > 0 && rate(name) < 10 ? 1 : 0)}/s`;
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

export function drawProducers() {
  const all = [...producers.entries()].sort(([a], [b]) => (a < b ? -1 : 1));
  $("producers-empty").hidden = all.length > 0;
  $("producers-empty").textContent = view.caughtUp ? "No producer is served." : unknown;
  show($("producers"), all.map(([name, { status, steps }]) => ({
    key: name,
    // What is drawn of the rates moves on while nothing comes.
    mark: JSON.stringify([status, steps.length, steps.length > 0 && Math.floor(Date.now() / BAR_MS)]),
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
        spark(name, steps));
    },
  })));
}

/** What was accepted in the last two minutes, a bar for some seconds each. */
function spark(name, steps) {
  if (!steps.length) return "";
  const bars = new Array(RATES_MS / BAR_MS).fill(0);
  for (const step of steps) {
    const at = bars.length - 1 - Math.floor((Date.now() - step.at) / BAR_MS);
    if (at >= 0) bars[at] += step.accepted / (BAR_MS / 1000);
  }
  const most = Math.max(...bars);
  const now = lately(steps, "accepted");
  const points = bars.map((bar, at) => `${at * 2} ${(25 - (23 * bar) / Math.max(1, most)).toFixed(1)}H${at * 2 + 2}`);
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  for (const [key, value] of Object.entries({ class: "spark", viewBox: `0 0 ${2 * bars.length} 26`, preserveAspectRatio: "none", role: "img", "aria-label": `${name}, the last two minutes: ${now.toFixed(1)} accepted a second now, ${most.toFixed(0)} at the most` })) svg.setAttribute(key, value);
  const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
  path.setAttribute("d", `M${points.join("L")}`);
  svg.append(path);
  return svg;
}

export function drawRefusals() {
  const kinds = new Map();
  const add = (kind, at, many) => kinds.set(kind, { ...kinds.get(kind), [at]: (kinds.get(kind)?.[at] ?? 0) + many });
  for (const { data } of open()) if (data.state === "dead-letter") add(data.refusal?.refusal ?? "other", "dead", 1);
  if (view.answeredKinds) for (const [kind, many] of view.answeredKinds) add(kind, "answered", many);
  else {
    const all = [...producers.values()].reduce((sum, { status }) => sum + (status.counts?.refused ?? 0), 0);
    if (all) add("any kind", "answered", all);
  }
  const all = [...kinds].sort(([a], [b]) => (a < b ? -1 : 1));
  $("refusals-empty").hidden = all.length > 0;
  $("refusals-empty").textContent = view.caughtUp ? "Nothing was refused." : unknown;
  $("refusals").hidden = all.length === 0;
  show($("refusals").tBodies[0], all.map(([kind, { answered, dead }]) => ({
    key: kind,
    mark: `${answered}|${dead}`,
    make: () => h("tr", {}, h("td", {}, h("code", {}, kind)), h("td", { class: "num" }, answered ? count(answered) : "–"), h("td", { class: "num" }, dead ? count(dead) : "–")),
  })));
}

export function drawDiary() {
  const shown = view.diary.slice(-50).reverse();
  $("diary-empty").hidden = shown.length > 0;
  $("diary").parentElement.classList.toggle("bare", shown.length === 0);
  show($("diary"), shown.map(({ who, line }) => {
    const [at, ...words] = line.split(" ");
    return { key: who + line, mark: "", make: () => h("li", {}, h("time", { datetime: at }, clock(at)), " ", h("span", { class: "who" }, who), ` ${words.join(" ")}`) };
  }));
}
