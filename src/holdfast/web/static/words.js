// Texts of the page about times, sizes and interruptions.

const WHY = {
  restart_timeout: "The gateway restarted",
  shutdown_timeout: "The gateway was shut down",
  restart_interrupted: "The gateway ended unexpectedly",
};

const HOW = {
  restart_timeout: "The gateway was told to restart, and this work did not finish in its time. The gateway recorded the interruption, then cut the work off.",
  shutdown_timeout: "The gateway was told to stop, and this work did not finish in its time. The gateway recorded the interruption, then cut the work off.",
  restart_interrupted: "The process ended without warning: a crash, a kill -9, or a power cut. The ledger held what it was doing, so the next process found it.",
};

export const clock = (at, seconds = false) =>
  new Date(at).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", ...(seconds && { second: "2-digit" }) });

export const dayOf = (at) => new Date(at).toLocaleDateString([], { weekday: "long", day: "numeric", month: "long" });

/** The time; with the day if it is not today. */
export const moment = (at) =>
  new Date(at).toDateString() === new Date().toDateString()
    ? clock(at)
    : new Date(at).toLocaleString([], { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" });

const TAKE_UP = "The finished part is kept: write /resume to go on";

const UNANSWERED = {
  expired: {
    clarify: `No answer came in time, so the work was stopped. ${TAKE_UP}`,
    approval: "No answer came in time, so this was not allowed",
    continue: "No answer came in time, so the work was dropped. The conversation is kept",
  },
  undeliverable: { clarify: `The question could not be delivered, so the work was stopped. ${TAKE_UP}` },
};

const CLOSED = {
  set_aside: "Closed: another message came instead of an answer",
  undeliverable: "The question could not be delivered",
  cancelled: "Withdrawn: the work was stopped",
};

const UNSEEN = /[\p{C}\p{Z}\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\u{e0100}-\u{e01ef}]/u;

/** The text with names for characters that are invisible or change the direction, as on a card. */
export const visible = (text) => text.replace(/[^\n\t -~]/gu, (one) => (UNSEEN.test(one) ? `\\u{${one.codePointAt(0).toString(16)}}` : one));

/** The label of the button for a command in a notice. */
export const offered = (command) => (command.startsWith("/resume ") ? "Resume it" : command);

/** How a question was closed, by which person and when. */
export function questionEnd({ kind, state, answer, answered_by, asked_by, closed_at }) {
  const said = kind === "approval" ? { yes: "Allowed, this once", no: "Not allowed", always: "Allowed, and always in its chat" }[answer] : `Answered: ${answer ?? "(erased)"}`;
  const withdrawn = state === "expired" && asked_by === "safe_mode_suspect";
  const unanswered = withdrawn ? "Not asked any more: safe mode is over, and the work goes on" : UNANSWERED[state]?.[kind];
  const end = state === "answered" ? said : unanswered ?? CLOSED[state] ?? state;
  const by = answered_by && answered_by !== "web:local" ? `, by ${answered_by}` : "";
  return `${end}${by}${closed_at ? ` · ${moment(closed_at)}` : ""}`;
}

/** A text in pieces, each with whether it is code between backticks. */
export const coded = (text) => text.split(/`([^`]+)`/).map((piece, place) => [piece, place % 2 === 1]).filter(([piece]) => piece);

export function shortTime(at, now = Date.now()) {
  const minutes = Math.floor((now - at) / 60_000);
  if (minutes < 1) return "now";
  if (minutes < 60) return `${minutes} min`;
  if (minutes < 24 * 60) return `${Math.floor(minutes / 60)} h`;
  return new Date(at).toLocaleDateString([], { day: "numeric", month: "short" });
}

export function span(milliseconds) {
  const seconds = Math.max(0, milliseconds) / 1000;
  if (seconds < 1) return "less than a second";
  if (seconds < 10) return `${seconds.toFixed(1).replace(/\.0$/, "")} s`;
  if (seconds < 90) return `${Math.round(seconds)} s`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min`;
  return `${Math.round(seconds / 3600)} h`;
}

export const size = (bytes) =>
  bytes < 1000 ? `${bytes} B` : bytes < 1e6 ? `${Math.round(bytes / 1000)} kB` : `${(bytes / 1e6).toFixed(1)} MB`;

/** The one line about a cut. */
export function cutLine({ cut, since, over }) {
  const why = WHY[cut.reason] ?? "The work was cut off";
  if (!cut.resumed_at) return `${why}. The finished part is kept; the work ${over ? "did not resume by itself" : "has not resumed yet"}.`;
  const gap = span(cut.resumed_at - since);
  return `${why}. The work resumed ${gap} later, ${cut.step ? `after step ${cut.step}` : "in its first step"}.`;
}

/** The details of a cut, as far as the page knows them. */
export function cutStory({ cut, since, note }) {
  const story = [HOW[cut.reason] ?? `The recorded reason is ${cut.reason ?? "missing"}.`];
  const kept = cut.step ? `${cut.step} finished step${cut.step === 1 ? " was" : "s were"} kept and not done again` : "No step was finished yet";
  const last = `The last record before the cut is from ${clock(since, true)}. ${kept}`;
  story.push(cut.resumed_at ? `${last}; the work resumed at ${clock(cut.resumed_at, true)}.` : `${last}.`);
  if (note) story.push(`The gateway told the agent: “${note}”`);
  return story;
}

const THINGS = { inbox: "The message", row: "The message", turn: "The work", delivery: "The answer", question: "The question", session: "The session" };
const BEFORE = 4;
const AFTER = 6;

/** The events before and after a cut, as [time, words, whether this is the cut]. */
export function aroundCut(happenings, at) {
  const told = happenings.filter((one, place) => isWorthTelling(one, happenings.slice(place + 1)));
  const cut = Math.max(0, told.findIndex((one) => one.what === "interrupted" && one.at === at));
  return told.slice(Math.max(0, cut - BEFORE), cut + AFTER).map((one) => [one.at, happeningWords(one), one.what === "interrupted"]);
}

/** A call that started and finished is listed once; a call that started and was cut off is listed as started. */
function isWorthTelling({ subject, what }, later) {
  if (what === "planned" || what === "taken") return false;
  if (what !== "started") return true;
  return later.find((one) => one.subject === subject || one.what === "interrupted")?.subject !== subject;
}

function happeningWords({ subject, what, detail }) {
  const [kind] = subject.split(":");
  const { tool, attempt, generation, resumed, reason, rule, given_at } = parsed(detail);
  if (what === "accepted") return "The gateway kept your message";
  if (what === "allowed_by_rule") return `Rule ${rule}, given ${moment(given_at)}, allowed a call`;
  if (what === "claimed") return resumed ? "The work resumed" : generation || attempt > 1 ? "The work went on" : "The work began";
  if (what === "interrupted") return reason === "restart_interrupted" ? "A new process found the work cut off" : "The work was cut off";
  const state = { started: "started", unknown: "outcome unknown" }[what] ?? what.replaceAll("_", " ");
  return `${tool ? `${tool}:` : `${THINGS[kind] ?? kind} was`} ${state}${reason ? `, ${String(reason).replaceAll("_", " ")}` : ""}`;
}

function parsed(detail) {
  try { return JSON.parse(detail ?? "{}"); } catch { return {}; }
}
