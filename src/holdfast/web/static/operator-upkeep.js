// The pages that need a person: unknown sends, set-aside input, and a restart with its plan.

import { h, named } from "./operator-dom.js";
import { ago, moment, plural, span } from "./operator-words.js";

export function outbox({ found, titles }, now) {
  const intro = h("p", { class: "intro" }, "The connection or the process was lost while the gateway sent these messages, so it does not know whether they arrived. ",
    "Look into the chat and record what you see. Until then the gateway sends nothing more to that chat.");
  if (!found.deliveries.length) {
    return h("div", { class: "blank" }, h("h2", {}, "No unknown sends"), h("p", {}, "The gateway knows of every message whether it arrived."));
  }
  return [intro, h("ol", { class: "doubts" }, found.deliveries.map((one) => {
    const act = (name, words, kind) => h("button", { class: kind, type: "button", "data-do": "settle", "data-name": name, "data-id": one.id }, words);
    return h("li", { class: "panel", "data-key": one.id },
      h("header", {}, h("h2", {}, named(one.chat, one.session, titles)),
        h("p", { class: "aside" }, `${one.kind}, ${ago(one.claimed_at ?? one.at, now)}`)),
      h("blockquote", {}, one.text),
      h("p", { class: "aside" }, [one.reason, plural(one.attempts, "attempt"), one.parts > 1 && `part ${one.part} of ${one.parts}`].filter(Boolean).join(" · ")),
      h("div", { class: "buttons" }, act("sent", "It arrived", "fill"), act("retry", "Send again, marked", "plain"), act("drop", "Drop it", "plain danger")));
  }))];
}

export function setAside(found, now) {
  if (!found.set_aside.length) {
    return h("div", { class: "blank" }, h("h2", {}, "Nothing is set aside"), h("p", {}, "The gateway could read all input."));
  }
  return [
    h("p", { class: "intro" }, "The gateway could not read this input. It kept the input unchanged and went on with the rest."),
    h("ol", { class: "doubts" }, found.set_aside.map((one) => h("li", { class: "panel", "data-key": one.id },
      h("header", {}, h("h2", {}, one.reason), h("p", { class: "aside" }, `${one.account}, ${moment(one.at, now)}`)),
      one.event_id && h("p", { class: "aside" }, "event ", h("code", {}, one.event_id)),
      h("pre", { class: "payload", tabindex: "0" }, pretty(one.payload))))),
    found.more && h("button", { class: "plain more", type: "button", "data-do": "more" }, "Show more"),
  ];
}

function pretty(text) {
  try { return JSON.stringify(JSON.parse(text), null, 2); } catch { return text; }
}

export function restart({ plan, status, look, titles }, now, asked) {
  const running = plan.running;
  const draining = status && status.state !== "running";
  const rows = running.map((one) => h("tr", { "data-key": one.turn },
      h("th", { scope: "row", "data-label": "Conversation" }, named(one.key ?? one.chat, one.session, titles)),
      h("td", { "data-label": "Runs for" }, span(now - one.claimed_at)),
      h("td", { "data-label": "Quiet for" }, span(now - Math.max(one.progress_at ?? 0, one.claimed_at))),
      h("td", { "data-label": "If cut" }, { never: "not resumed: this chat's setting is never", ask: "the gateway asks the person" }[one.on_interruption] ?? "resumes after the restart")));
  return [
    h("section", { class: "panel", "aria-labelledby": "plan" },
      h("header", {}, h("h2", { id: "plan" }, "What a restart would cut now"), h("p", { class: "aside" }, running.length ? plural(running.length, "running turn") : "no running turn")),
      running.length
        ? h("div", { class: "table cards" }, h("table", {},
          h("thead", {}, h("tr", {}, ["Conversation", "Runs for", "Quiet for", "If cut"].map((name) => h("th", { scope: "col" }, name)))), h("tbody", {}, rows)))
        : h("p", { class: "none" }, "No turn runs: a restart now cuts nothing."),
      h("p", { class: "note" }, "Before a restart the gateway waits for the running turns and tells each of their chats once. It cuts only turns that do not finish in time, and accepts messages all the time."),
      h("div", { class: "buttons" },
        h("button", { class: running.length ? "danger-fill" : "fill", type: "button", "data-do": "restart", disabled: draining }, "Restart now"),
        h("button", { class: "plain", type: "button", "data-do": "restart", "data-quiet": "1", disabled: draining }, "Restart when quiet"))),
    asked && progress(asked, status, look, now),
  ];
}

/** The progress of a requested restart: a run with another id is the new one. */
function progress(asked, status, look, now) {
  const run = look?.runs[0];
  const fresh = run && run.id !== asked.run;
  const steps = [
    [true, `Requested ${ago(asked.at, now)}${asked.quiet ? ", for when no turn runs" : ""}`],
    [fresh || (status && status.state !== "running"), fresh ? "The old process ended" : "The old process drains"],
    [fresh, fresh ? `A new process runs since ${moment(run.started_at, now)}` : "A new process starts"],
    [fresh && run.recovered_after !== null, fresh && run.recovered_after !== null ? `Recovery finished within ${span(run.recovered_after)}` : "Recovery decides about the interrupted work"],
  ];
  return h("section", { class: "panel", "aria-labelledby": "progress" },
    h("header", {}, h("h2", { id: "progress" }, "The restart")),
    h("ol", { class: "steps", "aria-live": "polite" }, steps.map(([done, words]) => h("li", { class: done ? "did" : "" }, words))));
}
