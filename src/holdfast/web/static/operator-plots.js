// Plots of the ledger: each run as a bar, turns per minute, recovery times.

import { s } from "./operator-dom.js";
import { BECAME, ENDED, ENDED_LONG, minutes, moment, plural, span } from "./operator-words.js";

export const endOf = (run) => run.ended ?? "running";

/** The runs with the latest time each can have lived: now, its orderly end, or the heartbeat that never came. */
export const dated = (runs, now, heartbeat = Infinity) => runs.map((run, place) => {
  const most = run.ended === "crashed" && place ? Math.min(run.seen_at + heartbeat, runs[place - 1].started_at) : run.seen_at;
  return { ...run, over_at: run.ended === null ? now : Math.max(run.seen_at, most) };
});

/** How long a run lived; for a crash, only the longest possible time is known. */
export const lasted = (run) => `${run.ended === "crashed" ? "within " : ""}${span(run.over_at - run.started_at)}`;

/** The work that a run left, and its outcomes, in a few words. */
export function leftWords(run) {
  if (!run.left) return run.ended === null ? "" : "not reported";
  const turns = run.left.became.reduce((sum, one) => sum + one.count, 0);
  const said = run.left.became.map((one) => `${one.count} ${BECAME[one.outcome] ?? one.outcome}`);
  if (!turns) return "nothing open";
  return `${plural(turns, "turn")}: ${said.join(", ")}`;
}

export function runWords(run, now) {
  const how = run.ended === null ? `runs since ${moment(run.started_at, now)}` : ENDED_LONG[run.ended];
  const left = run.ended === null ? "" : ` Left: ${leftWords(run)}.`;
  const back = run.down_before === null ? "" : ` Before it, the gateway was down for at most ${span(run.down_before)}.`;
  return `Process ${run.pid}, from ${moment(run.started_at, now)}, ${lasted(run)}: ${how}.${left}${back}`;
}

/** Runs as bars, oldest on top; a line leads from the end of each to the next.
 *
 * Runs last from seconds to months, so the width shows the logarithm of time. Words say how long.
 */
export function timeline(runs, now, width) {
  const shown = runs.slice(0, 12).reverse();
  const narrow = width < 640;
  const left = narrow ? 0 : 84, right = narrow ? 0 : 290, row = narrow ? 52 : 32;
  const bar = 12, height = shown.length * row + 4;
  const places = laidOut(shown, now, left + 2, width - right - 4);
  const y = (place) => place * row + (narrow ? 30 : row / 2 - bar / 2);
  return s("svg", { class: "plot timeline", width, height, viewBox: `0 0 ${width} ${height}`, role: "group",
    "aria-label": `The last ${plural(shown.length, "run")} of the gateway` },
  shown.slice(1).map((run, place) => thread(shown[place], places[place].pale, y(place) + bar / 2, places[place + 1].from, y(place + 1) + bar / 2)),
  shown.map((run, place) => {
    const { from, to, pale } = places[place];
    return s("g", { class: `run ${endOf(run)}`, tabindex: "0", role: "img", "data-key": run.id,
      "aria-label": runWords(run, now), "data-tip": runWords(run, now) },
    s("rect", { class: "hit", x: 0, y: place * row, width, height: row, rx: 8 }),
    pale > to && s("rect", { class: "maybe", x: to - 4, y: y(place), height: bar, rx: 4, width: pale - to + 4 }),
    s("rect", { class: "bar", x: from, y: y(place), width: to - from, height: bar, rx: 4 }),
    s("text", { class: "when", x: 0, y: narrow ? y(place) - 10 : y(place) + bar - 1.5 }, moment(run.started_at, now)),
    label(run, narrow, width, right, y(place) + bar),
    !narrow && run.down_before !== null && from - left > ROOM
      && s("text", { class: "down", x: from - 12, y: y(place) + bar - 1.5, "text-anchor": "end" }, `≤ ${span(run.down_before)} down`));
  }));
}

/** Pixels that the words for a gap need before their bar. */
const ROOM = 100;

/** The places of the bars: the start, the last sign of life, and the latest possible end of each run. */
function laidOut(shown, now, from, to) {
  const weight = (ms) => Math.log1p(Math.max(0, ms) / 1000) + 0.4;
  const parts = shown.map((run, place) => {
    const next = shown[place + 1], seen = run.ended === null ? now : run.seen_at;
    return { known: weight(seen - run.started_at), whole: weight(run.over_at - run.started_at),
      gap: next ? weight(next.started_at - run.over_at) / 3 : 0 };
  });
  const unit = (to - from) / parts.reduce((sum, one) => sum + one.whole + one.gap, 0);
  let x = from;
  return parts.map(({ known, whole, gap }) => {
    const place = { from: x, to: x + Math.max(4, known * unit), pale: x + Math.max(4, whole * unit) };
    x += (whole + gap) * unit;
    return place;
  });
}

function label(run, narrow, width, right, base) {
  const word = run.ended === null ? "running for" : run.ended === "crashed" ? "crashed" : `${ENDED[run.ended]} after`;
  const carried = run.left?.became.reduce((sum, one) => sum + one.count, 0) ?? 0;
  const more = carried ? ` · ${narrow ? carried : plural(carried, "turn")} carried over` : "";
  const place = narrow ? { x: width, y: base - 22, "text-anchor": "end" } : { x: width - right + 14, y: base - 1.5 };
  return s("text", place, s("tspan", { class: "end" }, `${word} ${lasted(run)}`), s("tspan", { class: "more" }, more));
}

function thread(run, x1, y1, x2, y2) {
  const carried = run.left?.became.some((one) => one.count);
  const bend = Math.min(14, Math.max(4, (x2 - x1) / 2));
  return s("path", { class: carried ? "thread carried" : "thread", d: `M${x1} ${y1}C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2} ${y2}` });
}

/** Turns that started in each minute of the last hour, by state. */
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
    "aria-label": `Turns started per minute in the last hour: ${all} in all, at most ${most} in one minute` },
  s("line", { class: "base", x1: 0, x2: width, y1: base + 0.5, y2: base + 0.5 }),
  most > 0 && s("line", { class: "guide", x1: 0, x2: width, y1: base - tall(most), y2: base - tall(most) }),
  most > 0 && s("text", { x: 0, y: base - tall(most) - 4 }, most),
  bars,
  s("text", { x: 0, y: height - 4 }, minutes(pace.since)),
  s("text", { x: width, y: height - 4, "text-anchor": "end" }, "now"));
}

/** Pixels that a bar needs for words of its own above it. */
const WIDE = 48;

/** How long recovery took after each of the last starts, oldest first. */
export function recoveryPlot(runs, width) {
  const known = runs.filter((run) => run.recovered_after !== null).slice(0, 12).reverse();
  const height = 132, base = height - 20, head = 14;
  const times = known.map((run) => run.recovered_after);
  const most = Math.max(...times, 1), slot = Math.min(56, width / Math.max(known.length, 1));
  const tall = (ms) => Math.max(2, (ms / most) * (base - head));
  const words = known.length
    ? `Time from start until recovery had decided about everything, last ${plural(known.length, "start")}: newest ${span(times.at(-1))}, longest ${span(most)}`
    : "No start has been reported yet";
  return s("svg", { class: "plot recovery", width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": words },
    s("line", { class: "base", x1: 0, x2: width, y1: base + 0.5, y2: base + 0.5 }),
    known.length > 0 && s("line", { class: "guide", x1: 0, x2: width, y1: base - tall(most), y2: base - tall(most) }),
    known.length > 0 && slot < WIDE && s("text", { x: 0, y: base - tall(most) - 4 }, span(most)),
    known.map((run, place) => s("g", { "data-tip": `Start of ${moment(run.started_at)}: ${span(run.recovered_after)}${run.down_before === null ? "" : `, after ${span(run.down_before)} down`}` },
      s("rect", { class: place === known.length - 1 ? "newest" : "older", x: place * slot + slot * 0.15, y: base - tall(run.recovered_after),
        width: slot * 0.7, height: tall(run.recovered_after), rx: 3 }),
      slot >= WIDE && s("text", { x: (place + 0.5) * slot, y: base - tall(run.recovered_after) - 4, "text-anchor": "middle" }, span(run.recovered_after)))),
    known.length > 0 && s("text", { x: 0, y: height - 4 }, moment(known[0].started_at)),
    known.length > 3 && s("text", { x: known.length * slot, y: height - 4, "text-anchor": "end" }, "last"));
}
