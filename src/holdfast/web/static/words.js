// What the page says about times, sizes and interruptions.

const WHY = {
  restart_timeout: "The gateway restarted",
  shutdown_timeout: "The gateway was shut down",
  restart_interrupted: "The gateway ended unexpectedly",
};

const HOW = {
  restart_timeout: "A restart was asked for, and this work was not done when its time to finish had run out. It was marked, then cut.",
  shutdown_timeout: "A stop was asked for, and this work was not done when its time to finish had run out. It was marked, then cut.",
  restart_interrupted: "The process was gone without a word: a crash, a kill -9, or the power. What it was doing stood in the ledger, so the next one found it.",
};

export const clock = (at, seconds = false) =>
  new Date(at).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", ...(seconds && { second: "2-digit" }) });

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

/** The one honest line where work was cut off. */
export function cutLine({ cut, since }) {
  const why = WHY[cut.reason] ?? "The work was cut off";
  if (!cut.resumed_at) return `${why}. What was done is kept; the work has not gone on yet.`;
  const gap = span(cut.resumed_at - since);
  return `${why}. It went on ${gap} later, ${cut.step ? `after step ${cut.step}` : "from the beginning"}.`;
}

/** What stands behind that line, as far as the page knows it. */
export function cutStory({ cut, since, note }) {
  const story = [HOW[cut.reason] ?? `The reason is on record as ${cut.reason ?? "missing"}.`];
  const kept = cut.step ? `${cut.step} finished step${cut.step === 1 ? " was" : "s were"} kept and not done again` : "No step was finished yet";
  const last = `The last thing on record is from ${clock(since, true)}. ${kept}`;
  story.push(cut.resumed_at ? `${last}; the work was taken up again at ${clock(cut.resumed_at, true)}.` : `${last}.`);
  if (note) story.push(`The agent was told: “${note}”`);
  return story;
}

const SUBJECTS = { inbox: "the message", row: "the message", turn: "the work", call: "a tool call", delivery: "the answer", question: "a question", session: "the session" };

/** One line of a trace, for people. */
export function happeningWords({ subject, what, detail }) {
  const [kind, id] = subject.split(":");
  const thing = SUBJECTS[kind] ?? kind;
  const name = kind === "call" && id ? ` (${id.split("/").at(-1)})` : "";
  return `${thing}${name}: ${what.replaceAll("_", " ")}${reasonIn(detail)}`;
}

function reasonIn(detail) {
  try {
    const { reason } = JSON.parse(detail ?? "{}");
    return reason ? `, ${String(reason).replaceAll("_", " ")}` : "";
  } catch {
    return "";
  }
}
