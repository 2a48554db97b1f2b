// The overview: the state of the gateway, its runs, its pace, and what the last start found.

import { h, named } from "./operator-dom.js";
import { dated, endOf, lasted, leftWords, pacePlot, recoveryPlot, timeline } from "./operator-plots.js";
import { ago, BECAME, ENDED, ENDED_LONG, moment, plural, span } from "./operator-words.js";

export function overview({ look, status, titles }, now, width) {
  const runs = dated(look.runs, now, status?.heartbeat);
  const inside = Math.max(240, width);
  const half = width > 760 ? (inside - 24) / 2 : inside;
  return [
    hero(look, status, now),
    lastRestart(look.runs, now),
    tiles(look.counts),
    h("section", { class: "panel", "aria-labelledby": "runs" },
      h("header", {}, h("h2", { id: "runs" }, "Runs"), legend(runs.some((run) => run.ended === "crashed") ? { ...ENDS, maybe: "may still have run" } : ENDS)),
      runs.length ? timeline(runs, now, inside - 44) : h("p", { class: "none" }, "Nothing has run yet."),
      h("p", { class: "aside" }, "Not to scale: widths show the logarithm of time. A green line means that unfinished turns were carried over."),
      h("details", { class: "fold" }, h("summary", {}, "As a table"), runsTable(runs, now))),
    h("div", { class: "pair" },
      h("section", { class: "panel", "aria-labelledby": "pace" },
        h("header", {}, h("h2", { id: "pace" }, "Turns per minute"), h("p", { class: "aside" }, paceWords(look.pace))),
        pacePlot(look.pace, half - 44), legend(KINDS)),
      h("section", { class: "panel", "aria-labelledby": "recovery" },
        h("header", {}, h("h2", { id: "recovery" }, "Recovery after each start"), h("p", { class: "aside" }, recoveryWords(look.runs))),
        recoveryPlot(look.runs, half - 44))),
    look.last_report && report(look.last_report, titles, now),
  ];
}

function hero(look, status, now) {
  const run = look.runs[0];
  const state = status?.state ?? "away";
  const words = { running: "Running", draining: "Draining", starting: "Starting", stopped: "Stopped", away: "Not answering" };
  return h("section", { class: `hero ${state}`, "aria-label": "The gateway" },
    h("p", { class: "state" }, h("span", { class: "lamp", "aria-hidden": "true" }), words[state] ?? state),
    h("dl", {},
      run && fact("for", span(now - run.started_at)),
      status && fact("process", status.pid),
      status && fact("version", status.version),
      status && fact("supervisor", status.kept_up_by ?? "none"),
      status && fact("platforms", platforms(status.platforms))),
    status?.safe_mode && safeMode(status.safe_mode));
}

/** The last restart in one line. */
function lastRestart([run, before], now) {
  if (!before) return null;
  const down = run.down_before === null ? "" : ` The gateway was down for ${before.ended === "crashed" ? "at most " : ""}${span(run.down_before)}.`;
  return h("p", { class: "lately" }, h("b", {}, `Last restart ${ago(run.started_at, now)}. `),
    `The process before ${ENDED_LONG[before.ended] ?? "ended"}.${down} ${leftSentence(before)}`);
}

function leftSentence({ left }) {
  const became = left?.became ?? [];
  const turns = became.reduce((sum, one) => sum + one.count, 0);
  if (!left) return "Recovery is still looking at what it left.";
  if (!turns) return "It left no unfinished turn.";
  const words = became.length === 1
    ? ` ${BECAME[became[0].outcome] ?? became[0].outcome}`
    : `: ${became.map((one) => `${one.count} ${BECAME[one.outcome] ?? one.outcome}`).join(", ")}`;
  return `${plural(turns, "unfinished turn")}${words}.`;
}

const fact = (name, value) => h("div", {}, h("dt", {}, name), h("dd", {}, value));

function platforms(found) {
  const list = Array.isArray(found) ? found : Object.entries(found ?? {}).map(([name, state]) => ({ name, state }));
  return list.map((one) => `${one.name ?? one.platform} ${one.state ?? (one.connected ? "connected" : `not connected${one.trouble ? ` (${one.trouble})` : ""}`)}`).join(", ") || "none";
}

const safeMode = (found) => found.active
  && h("p", { class: "warn" }, h("b", {}, "Safe mode. "), "Interrupted work does not resume by itself for now", found.why ? `: ${found.why}.` : ".");

function tiles(counts) {
  const more = (count) => (count >= 1000 ? "1,000+" : count.toLocaleString());
  const all = [
    ["running", counts.turns.running + counts.turns.queued, "#sessions?state=running", "turns at work"],
    ["waiting", counts.turns.waiting, "#sessions?state=waiting", "wait for a person"],
    ["interrupted", counts.turns.interrupted, "#sessions?state=interrupted", counts.held ? `interrupted, ${counts.held} held` : "interrupted", counts.held],
    ["queue", counts.messages_waiting, null, "messages in line"],
    ["owed", counts.owed, null, "replies owed"],
    ["unknown", counts.unknown, "#outbox", "unknown sends", counts.unknown],
    ["parked", counts.parked, "#sessions?state=parked", counts.on_hold ? `parked, ${counts.on_hold} on hold` : "parked", counts.parked],
    ["aside", more(counts.set_aside), "#set-aside", "set aside", counts.set_aside],
  ];
  return h("ul", { class: "tiles", "aria-label": "At a glance" }, all.map(([name, count, where, words, wary]) => {
    const inside = [h("b", {}, count), h("span", {}, words)];
    const classes = `tile ${wary ? "wary" : ""} ${count && count !== "0" ? "" : "zero"}`;
    return h("li", { "data-key": name }, where ? h("a", { class: classes, href: where }, inside) : h("div", { class: classes }, inside));
  }));
}

const ENDS = { running: "running", restart: "restarted", stopped: "stopped", failed: "gave up", crashed: "crashed" };
const KINDS = { done: "answered", open: "unfinished", other: "ended otherwise" };
const legend = (kinds) => h("ul", { class: "legend", "aria-hidden": "true" },
  Object.entries(kinds).map(([kind, words]) => h("li", { class: kind }, h("i"), words)));

function runsTable(runs, now) {
  const row = (run) => h("tr", { "data-key": run.id },
    h("th", { scope: "row" }, moment(run.started_at, now)),
    h("td", {}, run.pid),
    h("td", {}, lasted(run)),
    h("td", {}, h("span", { class: `pill end-${endOf(run)}` }, run.ended === null ? "running" : ENDED[run.ended])),
    h("td", {}, leftWords(run) || "–"),
    h("td", {}, run.left ? left(run.left) : "–"),
    h("td", {}, run.down_before === null ? "–" : span(run.down_before)),
    h("td", {}, run.recovered_after === null ? "–" : span(run.recovered_after)));
  return h("div", { class: "table", tabindex: "0", role: "region", "aria-label": "Runs as a table" }, h("table", {},
    h("thead", {}, h("tr", {}, ["Started", "Process", "Lasted", "Ended", "Turns it left", "Also left", "Down before, at most", "Recovered in"]
      .map((name) => h("th", { scope: "col" }, name)))),
    h("tbody", {}, runs.map(row))));
}

function left({ owed, unknown, waiting }) {
  const said = [owed && plural(owed, "reply", "replies") + " owed", unknown && `${plural(unknown, "unknown send")}`, waiting && plural(waiting, "message") + " in line"];
  return said.filter(Boolean).join(", ") || "nothing";
}

function paceWords(pace) {
  const total = pace.done.concat(pace.open, pace.other).reduce((sum, one) => sum + one, 0);
  return `${plural(total, "turn")} in the last hour`;
}

function recoveryWords(runs) {
  const newest = runs.find((run) => run.recovered_after !== null);
  return newest ? `${span(newest.recovered_after)} after the last start` : "no start reported yet";
}

/** The report of the last start in lines, with a link to each of its conversations. */
function report(found, titles, now) {
  const plain = found.lines.filter((line) => !line.startsWith("-") && !line.startsWith("…"));
  return h("section", { class: "panel report", "aria-labelledby": "last" },
    h("header", {}, h("h2", { id: "last" }, "What the last start found"), h("p", { class: "aside" }, `${moment(found.at, now)}, ${ago(found.at, now)}`)),
    h("ul", { class: "lines" }, plain.map((line) => h("li", {}, line))),
    found.fates.length > 0 && h("ul", { class: "fates" }, found.fates.map((one) => fate(one, titles))),
    found.more_fates > 0 && h("p", { class: "aside" }, `… and ${found.more_fates} more`));
}

function fate(one, titles) {
  return h("li", { "data-key": one.turn },
    h("span", { class: `pill ${{ resume: "good", done: "good", hold: "wary", ask: "wary", wait: "wary", waiting: "wary", expire: "wary", park: "bad" }[one.became] ?? ""}` }, BECAME[one.became] ?? one.became),
    h("span", { class: "what" },
      one.session ? named(one.key, one.session, titles) : one.turn,
      h("span", { class: "why" }, one.why),
      one.state && h("span", { class: "now" }, `now ${one.state}`)));
}
