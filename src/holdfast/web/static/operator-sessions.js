// The list of sessions with its filters, and one session with all its details.

import { h, icon, named } from "./operator-dom.js";
import { coded } from "./words.js";
import { ago, conversation, EFFECT, moment, plural, span, TONE, WHY_CUT } from "./operator-words.js";

export const pill = (state) => h("span", { class: `pill ${TONE[state] ?? ""}` }, state);

const STATES = [["", "any state"], ["running", "running"], ["queued", "in line"], ["waiting", "waiting for a person"], ["interrupted", "interrupted"],
  ["held", "held"], ["parked", "parked"], ["done", "done"], ["failed", "failed"], ["cancelled", "cancelled"], ["expired", "expired"]];

export function filters(wanted, platforms) {
  const choice = (name, label, options) => h("label", { class: "field" }, h("span", {}, label),
    h("select", { name }, options.map(([value, words]) => h("option", { value, selected: value === (wanted[name] ?? "") }, words))));
  return h("form", { class: "filters", role: "search" },
    h("label", { class: "field wide" }, h("span", {}, "Conversation or session"),
      h("input", { type: "search", name: "q", value: wanted.q ?? "", placeholder: "Part of its name, or an id", autocomplete: "off", spellcheck: "false" })),
    choice("state", "Last turn", STATES),
    choice("platform", "Platform", [["", "any platform"], ...platforms.map((name) => [name, name])]));
}

export function sessions({ found, titles }, now) {
  const rows = found.sessions.map((line) => {
    return h("tr", { "data-key": line.id },
      h("th", { scope: "row", "data-label": "Conversation" }, named(line.key, line.id, titles)),
      h("td", { "data-label": "Last turn" }, line.suspended ? pill("parked") : line.state ? pill(line.state) : "–"),
      h("td", { "data-label": "Began" }, h("time", { title: moment(line.began_at, now) }, ago(line.began_at, now))),
      cell("Last answer", line.completed_at && ago(line.completed_at, now)),
      cell("Remarks", remarks(line, now)));
  });
  return [
    rows.length > 0 && h("div", { class: "table cards" }, h("table", {},
      h("thead", {}, h("tr", {}, ["Conversation", "Last turn", "Began", "Last answer", "Remarks"].map((name) => h("th", { scope: "col" }, name)))),
      h("tbody", {}, rows))),
    rows.length === 0 && h("p", { class: "none" }, found.next ? "No match so far." : "No session matches."),
    found.next && h("button", { class: "plain more", type: "button", "data-do": "more" }, rows.length ? "Show more" : "Look further back"),
  ];
}

const cell = (name, value) => h("td", { "data-label": name, class: value ? null : "nil" }, value || "–");

function remarks(line, now) {
  return [
    line.on_hold && "its messages wait for an owner",
    line.held && `held: ${line.held.replaceAll("_", " ")}`,
    earlierStrikes(line) > 0 && plural(earlierStrikes(line), "strike"),
    line.ended_at && `ended ${ago(line.ended_at, now)}`,
    line.began !== "first" && `began: ${line.began}`,
  ].filter(Boolean).join(", ");
}

/** The strikes of earlier runs: a running turn counts one strike, which its completion removes. */
const earlierStrikes = ({ strikes, state }) => strikes - (state === "running" ? 1 : 0);

export function session({ found, titles }, now) {
  const row = found.session;
  const { platform, name } = conversation(row.key);
  const open = found.turns[0] && !found.turns[0].ended_at ? found.turns[0] : null;
  return [
    h("section", { class: "hero session-head" },
      h("p", { class: "crumb" }, h("a", { href: "#sessions" }, "Sessions")),
      h("h2", { class: "state" }, titles.get(row.id) ?? name, h("small", {}, titles.has(row.id) ? `${platform} · ${name}` : platform)),
      h("dl", {},
        fact("last turn", row.suspended_at ? pill("parked") : found.turns[0] ? pill(found.turns[0].state) : "none"),
        fact("began", `${ago(row.began_at, now)}${row.began === "first" ? "" : ` (${row.began})`}`),
        fact("turns", found.turns.length),
        fact("strikes", earlierStrikes({ strikes: row.strikes, state: open?.state })),
        row.ended_at && fact("ended", `${ago(row.ended_at, now)}, ${row.ended_why}`),
        fact("id", h("code", {}, row.id))),
      h("div", { class: "buttons" },
        open && h("button", { class: "plain", type: "button", "data-do": "command", "data-name": "stop", "data-id": row.id }, "Stop its work"),
        found.on_hold && h("button", { class: "fill", type: "button", "data-do": "command", "data-name": "unhold", "data-id": row.id }, "Release its messages"),
        (row.suspended_at || open?.state === "interrupted") && h("button", { class: "fill", type: "button", "data-do": "command", "data-name": "resume", "data-id": row.id }, "Resume its work"),
        !open && found.turns.length > 0 && !row.ended_at && !row.suspended_at && h("button", { class: "plain", type: "button", "data-do": "command", "data-name": "retry", "data-id": row.id }, "Answer the last message again"))),
    h("div", { class: "columns" },
      h("section", { class: "panel", "aria-labelledby": "transcript" },
        h("header", {}, h("h2", { id: "transcript" }, "Transcript"),
          found.entries_before > 0 && h("p", { class: "aside" }, `${plural(found.entries_before, "earlier entry", "earlier entries")} not shown`)),
        h("ol", { class: "transcript" }, found.entries.map((one) => entry(one, now)),
          found.waiting.map((one) => h("li", { class: "said waits", "data-key": `w${one.position}` }, h("p", { class: "by" }, "waits in line", stamp(one.accepted_at, now)), h("p", { class: "words" }, one.text)))),
        found.entries.length + found.waiting.length === 0 && h("p", { class: "none" }, "Nothing has been said yet.")),
      h("div", { class: "side-panels" },
        block("decisions", "What recovery decided", null, decisions(found.decisions, now)),
        block("turns", "Turns", found.turns.length, list(found.turns.map((one) => turn(one, now)))),
        found.allowed.length > 0 && block("allowed", "Always allowed in this chat", found.allowed.length, allowed(found.allowed, now)),
        block("calls", "Tool calls", found.calls.length, calls(found.calls)),
        block("told", "Outbox", found.deliveries.length, told(found.deliveries, now)))),
  ];
}

const fact = (name, value) => h("div", {}, h("dt", {}, name), h("dd", {}, value));
const stamp = (at, now) => h("time", { datetime: new Date(at).toISOString() }, moment(at, now));

const block = (id, title, count, inside) => h("section", { class: "panel", "aria-labelledby": id },
  h("header", {}, h("h2", { id }, title), count > 0 && h("p", { class: "aside" }, count)), inside);

/** The first few items, with the others folded. */
function list(items, first = 6) {
  const rest = items.slice(first);
  return [h("ol", { class: "list" }, items.slice(0, first)),
    rest.length > 0 && h("details", { class: "fold" }, h("summary", {}, `${rest.length} earlier`), h("ol", { class: "list" }, rest))];
}

function entry(one, now) {
  const said = { said: "person", replied: "agent", returned: "tool result", noted: "note of the gateway", undone: "undone", summed: "summary" };
  const words = one.text ?? "";
  return h("li", { class: one.kind, "data-key": one.seq },
    h("p", { class: "by" }, h("span", {}, one.woken ? "wake-up" : said[one.kind] ?? one.kind), one.state && pill(one.state), stamp(one.at, now)),
    words && (one.kind === "returned" || one.kind === "noted" ? h("p", { class: "words small" }, words) : h("p", { class: "words" }, words)),
    one.calls?.length > 0 && h("ul", { class: "asked" }, one.calls.map((call) => h("li", {}, h("code", {}, call.name), h("code", { class: "given" }, call.arguments)))),
    !words && !one.calls?.length && h("p", { class: "words small" }, one.kind === "undone" ? `entries from ${one.first ?? "?"} on were removed from view` : "no text"));
}

function turn(one, now) {
  const until = one.ended_at ?? now;
  const cut = one.interruptions > 0 && `cut off ${one.interruptions === 1 ? "once" : `${one.interruptions} times`}${one.interruption ? `, last because ${WHY_CUT[one.interruption] ?? one.interruption}` : ""}`;
  return h("li", { "data-key": one.id },
    h("p", { class: "first" }, pill(one.state), h("time", {}, moment(one.begun_at, now))),
    h("p", { class: "aside" }, [`${one.ended_at ? "took" : "for"} ${span(until - one.begun_at)}`, cut, one.held && `held: ${one.held.replaceAll("_", " ")}`,
      one.stop && `${one.stop} requested`, one.why && `because: ${one.why.replaceAll("_", " ")}`].filter(Boolean).join(" · ")),
    h("details", { class: "fold", "data-trace": one.cause }, h("summary", {}, "Everything that happened"), h("div", { class: "life", "data-kept": true })));
}

/** The rules that owners gave for the chat of this session. */
function allowed(found, now) {
  return list(found.map((one) => h("li", { "data-key": one.id },
    h("p", { class: "first" }, h("span", {}, coded(one.covers).map(([text, isCode]) => isCode ? h("code", {}, text) : text))),
    h("p", { class: "aside" }, `rule ${one.id} · by ${one.allowed_by} · `, h("time", {}, moment(one.allowed_at, now))),
    h("button", { class: "plain danger", type: "button", "data-do": "revoke", "data-id": one.id, "aria-label": `Revoke rule ${one.id}` }, "Revoke"))));
}

function calls(found) {
  if (!found.length) return h("p", { class: "none" }, "No tool was called.");
  return list(found.map((one) => h("li", { "data-key": `${one.turn}${one.id}` },
    h("p", { class: "first" }, pill(one.state), h("code", {}, one.name), one.runs > 1 && h("span", { class: "pill wary" }, `ran ${one.runs}×`)),
    h("p", { class: "aside" }, [`${one.effect}: ${EFFECT[one.effect]}`, one.started_at && one.settled_at && span(one.settled_at - one.started_at)].filter(Boolean).join(" · ")))));
}

function told(found, now) {
  if (!found.length) return h("p", { class: "none" }, "No message for this chat.");
  return list(found.map((one) => h("li", { "data-key": one.number },
    h("p", { class: "first" }, pill(one.state), h("span", {}, one.kind), h("time", {}, moment(one.at, now))),
    h("p", { class: "clip" }, one.text),
    one.reason && h("p", { class: "aside" }, one.reason))));
}

function decisions(found, now) {
  if (!found.length) return h("p", { class: "none" }, "There was nothing to decide.");
  return h("ol", { class: "list decisions" }, found.map((one, place) => h("li", { "data-key": `${one.at}${one.what}${place}` },
    h("p", { class: "first" }, h("b", {}, headline(one)), h("time", {}, moment(one.at, now))),
    (one.sentence ?? resumeSentence(one, found[place + 1])) && h("p", { class: "sentence" }, one.sentence ?? resumeSentence(one, found[place + 1])),
    one.found && h("p", { class: "aside" }, `Row ${one.row}: ${one.found}.`),
    one.facts.length > 0 && h("details", { class: "fold" }, h("summary", {}, "Facts it used"), h("ul", { class: "facts" }, one.facts.map((words) => h("li", {}, words)))))));
}

/** A resume has no record of its own: a claim after a cut means that no rule held the work back. */
const resumeSentence = (one, before) => one.what === "claimed" && before?.turn === one.turn && ["interrupted", "held"].includes(before.what)
  ? "No rule held it back (row resume): the work goes on where it was cut off." : null;

function headline(one) {
  const { detail } = one;
  if (one.what === "interrupted") return `Cut off: ${WHY_CUT[detail.reason] ?? detail.reason ?? "no reason recorded"}`;
  if (one.what === "claimed") return `Resumed after interruption ${detail.resumed}`;
  if (one.what === "put_back") return "Put back in line: it had not started";
  return one.what.replaceAll("_", " ").replace(/^./, (first) => first.toUpperCase());
}

/** The subject of an event: a call by the name of its tool, a claim with its number. */
function about(one, now) {
  let detail = {};
  try { detail = JSON.parse(one.detail ?? "{}"); } catch { /* shown without details */ }
  if (detail.resumed) return `turn, resumed after interruption ${detail.resumed}`;
  if (one.what === "allowed_by_rule") return `call ${detail.call}, by rule ${detail.rule} of ${moment(detail.given_at, now)}`;
  return detail.tool ? `call of ${detail.tool}` : one.subject.split(":")[0];
}

/** The trace of one message as a list. */
export function traceList(found, now) {
  let run = null;
  return h("ol", { class: "trace" }, found.happenings.map((one) => {
    const other = run !== null && one.instance && one.instance !== run;
    run = one.instance ?? run;
    return [other && h("li", { class: "break" }, icon("i-kill"), "the process ended here; another one went on"),
      h("li", {}, h("time", {}, moment(one.at, now)), h("span", {}, one.what.replaceAll("_", " ")), h("small", {}, about(one, now)))];
  }));
}
