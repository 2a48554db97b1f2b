// Times, names and states in words.

const SECOND = 1000, MINUTE = 60 * SECOND, HOUR = 60 * MINUTE, DAY = 24 * HOUR;

/** A duration, in its two largest units. */
export function span(ms) {
  const time = Math.max(0, ms ?? 0);
  if (time < SECOND) return `${Math.round(time)} ms`;
  if (time < 10 * SECOND) return `${(time / SECOND).toFixed(1)} s`;
  if (time < MINUTE) return `${Math.floor(time / SECOND)} s`;
  if (time < HOUR) return pair(time, MINUTE, "min", SECOND, "s");
  if (time < DAY) return pair(time, HOUR, "h", MINUTE, "min");
  return pair(time, DAY, "d", HOUR, "h");
}

function pair(time, large, one, small, other) {
  const rest = Math.floor((time % large) / small);
  return `${Math.floor(time / large)} ${one}${rest ? ` ${rest} ${other}` : ""}`;
}

/** How long ago, in the largest unit. */
export function ago(at, now) {
  const time = now - at;
  if (time < 2 * SECOND) return "just now";
  const [unit, name] = [[DAY, "d"], [HOUR, "h"], [MINUTE, "min"], [SECOND, "s"]].find(([size]) => time >= size);
  return `${Math.floor(time / unit)} ${name} ago`;
}

const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" });
const short = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
const day = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short" });

/** A moment: its time, with the day unless that is today. */
export function moment(at, now = Date.now()) {
  const time = new Date(at);
  const today = new Date(now).toDateString() === time.toDateString();
  return today ? clock.format(time) : `${day.format(time)}, ${short.format(time)}`;
}

export const minutes = (at) => short.format(new Date(at));

export const plural = (count, one, many = `${one}s`) => `${count.toLocaleString()} ${count === 1 ? one : many}`;

/** The platform and the name of a conversation, from its key. */
export function conversation(key) {
  const [platform, , ...rest] = (key ?? "").split("/");
  return { platform, name: rest.map(readable).join(" / ") || key };
}

function readable(text) {
  try { return decodeURIComponent(text); } catch { return text; }
}

export const ENDED = { crashed: "crashed", restart: "restarted", stopped: "stopped", failed: "gave up" };
export const ENDED_LONG = {
  crashed: "recorded no end: a crash, a kill or a power cut",
  restart: "ended for a restart",
  stopped: "was stopped",
  failed: "gave up after an error",
};

/** Recovery's outcomes in words. */
export const BECAME = {
  resume: "resumed", hold: "held", done: "was complete", expire: "expired", park: "parked", ask: "asked about",
  wait: "waits for an answer", cancel: "stopped", park_with_session: "parked", queued: "in line", waiting: "waits for an answer",
};

export const WHY_CUT = {
  restart_interrupted: "the process died",
  restart_timeout: "it did not finish before a restart",
  shutdown_timeout: "it did not finish before a stop",
};

export const EFFECT = {
  read: "changes nothing; runs again after a cut",
  idempotent: "runs again with the same key, takes effect once",
  reconcilable: "the gateway checks it after a cut",
  effect: "never runs twice",
};

/** The colour of each state: good, busy, wary, bad or none. */
export const TONE = {
  running: "busy", queued: "busy", sending: "busy", pending: "busy", started: "busy", planned: "",
  waiting: "wary", interrupted: "wary", unknown: "wary", expired: "wary", held: "wary",
  done: "good", sent: "good", failed: "bad", parked: "bad", cancelled: "", skipped: "",
};
