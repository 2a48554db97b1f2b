// Pictures drawn from the ledger: every process run as a bar, turns per minute, recovery times.

import { s } from "./operator-dom.js";
import { BECAME, ENDED, ENDED_LONG, minutes, moment, plural, span } from "./operator-words.js";

// A process shows that it lives this often; one that crashed may have lived that much longer than anybody saw.
const BEAT = 10_000;

export const endOf = (run) => run.ended ?? "running";

/** What a run left and what became of it, in a few words. */
export function leftWords(run) {
  if (!run.left) return run.ended === null ? "" : "not reported";
  const turns = run.left.became.reduce((sum, one) => sum + one.count, 0);
  const said = run.left.became.map((one) => `${one.count} ${BECAME[one.outcome] ?? one.outcome}`);
  if (!turns) return "nothing open";
  return `${plural(turns, "turn")}: ${said.join(", ")}`;
}

export function runWords(run, now) {
  const lasted = span((run.ended === null ? now : run.seen_at) - run.started_at);
  const how = run.ended === null ? `runs since ${moment(run.started_at, now)}` : ENDED_LONG[run.ended];
  const left = run.ended === null ? "" : ` Left: ${leftWords(run)}.`;
  const back = run.down_before === null ? "" : ` Nobody was up for ${span(run.down_before)} at most before it.`;
  return `Process ${run.pid}, from ${moment(run.started_at, now)}, ${lasted}: ${how}.${left}${back}`;
}

/** Runs as bars on one axis of time, oldest on top; a thread leads from the end of each to the next. */
export function timeline(runs, now, width) {
  const shown = runs.slice(0, 12).reverse();
  const narrow = width < 640;
  const left = narrow ? 0 : 84, right = narrow ? 0 : 232, row = narrow ? 52 : 34, top = 26;
  const bar = 12, height = top + shown.length * row + 6;
  const from = shown[0].started_at, to = Math.max(now, from + 1000);
  const x = (at) => left + ((at - from) / (to - from)) * (width - left - right - 8) + 2;
  const y = (place) => top + place * row + (narrow ? 30 : row / 2 - bar / 2);
  const ends = shown.map((run) => Math.max(x(run.ended === null ? now : run.seen_at), x(run.started_at) + 5));
  const pale = shown.map((run, place) => Math.max(ends[place], lastSign(run, shown[place + 1], x)));
  return s("svg", { class: "plot timeline", width, height, viewBox: `0 0 ${width} ${height}`, role: "group",
    "aria-label": `The last ${plural(shown.length, "run")} of the gateway` },
  axis(from, to, x, height, Math.max(2, Math.floor((width - left - right) / 110))),
  shown.slice(1).map((run, place) => thread(shown[place], pale[place], y(place) + bar / 2, x(run.started_at), y(place + 1) + bar / 2)),
  shown.map((run, place) => s("g", { class: `run ${endOf(run)}`, tabindex: "0", role: "img", "data-key": run.id,
    "aria-label": runWords(run, now), "data-tip": runWords(run, now) },
  s("rect", { class: "hit", x: 0, y: top + place * row, width, height: row, rx: 8 }),
  s("rect", { class: "bar", x: x(run.started_at), y: y(place), width: ends[place] - x(run.started_at), height: bar, rx: 4 }),
  pale[place] > ends[place] && s("rect", { class: "maybe", x: ends[place] - 3, y: y(place), height: bar, rx: 4, width: pale[place] - ends[place] + 3 }),
  run.ended === "crashed" && ends[place] - x(run.started_at) > 24 && s("path", { class: "broken", d: cross(ends[place], y(place) + bar / 2) }),
  s("text", { class: "when", x: 0, y: narrow ? y(place) - 10 : y(place) + bar - 1.5 }, moment(run.started_at, now)),
  label(run, narrow, width, right, y(place) + bar)))
  );
}

function label(run, narrow, width, right, base) {
  const word = run.ended === null ? "running" : ENDED[run.ended];
  const carried = run.left?.became.reduce((sum, one) => sum + one.count, 0) ?? 0;
  const more = carried ? ` · ${plural(carried, "turn")} carried over` : "";
  const place = narrow ? { x: width, y: base - 22, "text-anchor": "end" } : { x: width - right + 14, y: base - 1.5 };
  return s("text", place, s("tspan", { class: "end" }, word), s("tspan", { class: "more" }, more));
}

/** Where a crashed run may still have lived: up to its next sign of life, or the start of the one after it. */
const lastSign = (run, next, x) => (run.ended === "crashed" && next ? x(Math.min(run.seen_at + BEAT, next.started_at)) : 0);

const cross = (x, y) => `M${x - 4} ${y - 8}l3.5 5-3 4 3.5 5M${x + 1} ${y - 8}l3.5 5-3 4 3.5 5`;

function thread(run, x1, y1, x2, y2) {
  const carried = run.left?.became.some((one) => one.count);
  return s("path", { class: carried ? "thread carried" : "thread", d: `M${x1} ${y1}C${x1 + 14} ${y1} ${x2 - 14} ${y2} ${x2} ${y2}` });
}

function axis(from, to, x, height, most) {
  const steps = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800, 2592000];
  const step = 1000 * (steps.find((one) => (to - from) / (one * 1000) <= most) ?? 2592000);
  const ticks = [];
  for (let at = Math.ceil(from / step) * step; at < to; at += step) ticks.push(at);
  const far = x(to) - 24;
  return ticks.filter((at) => x(at) < far).map((at) => s("g", { class: "tick", "aria-hidden": "true" },
    s("line", { x1: x(at), x2: x(at), y1: 18, y2: height }),
    s("text", { x: x(at), y: 11 }, step < 60_000 ? moment(at, at) : moment(at, to).replace(/:00$/, ""))));
}

/** Turns begun in each minute of the last hour, by how they stand. */
export function pacePlot(pace, width) {
  const height = 132, base = height - 20, head = 14;
  const total = pace.done.map((done, place) => done + pace.open[place] + pace.other[place]);
  const most = Math.max(...total), scale = Math.max(most, 4), each = (width - 4) / total.length;
  const tall = (count) => (count / scale) * (base - head);
  const all = total.reduce((sum, one) => sum + one, 0);
  const bars = total.map((count, place) => {
    let y = base;
    const parts = [["done", pace.done], ["open", pace.open], ["other", pace.other]].map(([kind, counts]) => {
      const size = tall(counts[place]);
      y -= size;
      return size > 0 && s("rect", { class: kind, x: 2 + place * each + 0.75, y, width: Math.max(1, each - 1.5), height: size, rx: Math.min(1.5, each / 4) });
    });
    const words = `${minutes(pace.since + place * pace.minute)}: ${plural(count, "turn")}`;
    return count > 0 && s("g", { "data-tip": words }, parts);
  });
  return s("svg", { class: "plot pace", width, height, viewBox: `0 0 ${width} ${height}`, role: "img",
    "aria-label": `Turns begun per minute in the last hour: ${all} in all, at most ${most} in one minute` },
  s("line", { class: "base", x1: 0, x2: width, y1: base + 0.5, y2: base + 0.5 }),
  most > 0 && s("line", { class: "guide", x1: 0, x2: width, y1: base - tall(most), y2: base - tall(most) }),
  most > 0 && s("text", { x: 0, y: base - tall(most) - 4 }, most),
  bars,
  s("text", { x: 0, y: height - 4 }, minutes(pace.since)),
  s("text", { x: width, y: height - 4, "text-anchor": "end" }, "now"));
}

/** How long each of the last starts took until it had decided about all it found, oldest first. */
export function recoveryPlot(runs, width) {
  const known = runs.filter((run) => run.recovered_after !== null).slice(0, 12).reverse();
  const height = 132, base = height - 20, head = 14;
  const times = known.map((run) => run.recovered_after);
  const most = Math.max(...times, 1), slot = Math.min(40, width / Math.max(known.length, 1));
  const tall = (ms) => Math.max(2, (ms / most) * (base - head));
  const words = known.length
    ? `Time from start until recovery had looked at everything, last ${plural(known.length, "start")}: newest ${span(times.at(-1))}, longest ${span(most)}`
    : "No start has been reported yet";
  return s("svg", { class: "plot recovery", width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": words },
    s("line", { class: "base", x1: 0, x2: width, y1: base + 0.5, y2: base + 0.5 }),
    known.length > 0 && s("line", { class: "guide", x1: 0, x2: width, y1: base - tall(most), y2: base - tall(most) }),
    known.length > 0 && s("text", { x: 0, y: base - tall(most) - 4 }, span(most)),
    known.map((run, place) => s("g", { "data-tip": `Start of ${moment(run.started_at)}: ${span(run.recovered_after)}${run.down_before === null ? "" : `, after ${span(run.down_before)} with nobody up`}` },
      s("rect", { class: place === known.length - 1 ? "newest" : "older", x: place * slot + slot * 0.15, y: base - tall(run.recovered_after),
        width: slot * 0.7, height: tall(run.recovered_after), rx: 3 }))),
    known.length > 0 && s("text", { x: 0, y: height - 4 }, moment(known[0].started_at)),
    known.length > 3 && s("text", { x: known.length * slot, y: height - 4, "text-anchor": "end" }, "last"));
}
