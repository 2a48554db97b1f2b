// Server-sent events that reconnect by themselves. This uses fetch, not EventSource: so it sets the wait between two
// tries, notices a lost sign-in, and closes a connection that has gone silent.
import { Refused, send } from "./api.js";

const FIRST = 250;
const LONGEST = 5000;
const SILENT = 40_000; // the gateway sends something at least every 15 seconds

/**
 * Follow until `close()`. `where()` returns the address to read from; it contains the cursor, so no event is lost or
 * repeated. `heard(event, data, id)` gets every event, `turned(state)` gets the state of the connection.
 */
export function follow(where, heard, turned) {
  let closed = false;
  let wait = FIRST;
  let breaking = null;
  let waking = null;

  async function once() {
    breaking = new AbortController();
    let watch = setTimeout(() => breaking.abort(), SILENT);
    try {
      const answer = await send(where(), { headers: { Accept: "text/event-stream" }, signal: breaking.signal });
      if (!answer.ok || !answer.body) return;
      turned("open");
      wait = FIRST;
      const parse = events(heard);
      const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
      for (;;) {
        const { value, done } = await reader.read();
        if (done) return;
        clearTimeout(watch);
        watch = setTimeout(() => breaking.abort(), SILENT);
        parse(value);
      }
    } catch (fault) {
      if (![TypeError, DOMException, Refused].some((kind) => fault instanceof kind)) throw fault;
    } finally {
      clearTimeout(watch);
    }
  }

  async function run() {
    while (!closed) {
      await once();
      if (closed) return;
      turned("away");
      await new Promise((wake) => {
        waking = wake;
        setTimeout(wake, wait * (0.75 + Math.random() / 2));
      });
      wait = Math.min(wait * 2, LONGEST);
    }
  }

  const now = () => { wait = FIRST; waking?.(); };
  addEventListener("online", now);
  run();
  return {
    now,
    close() {
      closed = true;
      removeEventListener("online", now);
      breaking?.abort();
      waking?.();
    },
  };
}

/** A parser that takes text in any pieces and passes on each whole event. */
export function events(heard) {
  let rest = "";
  let name = "";
  let id = null;
  let data = [];
  return (piece) => {
    const lines = (rest + piece).split("\n");
    rest = lines.pop();
    for (const raw of lines) {
      const line = raw.endsWith("\r") ? raw.slice(0, -1) : raw;
      if (line === "") {
        if (data.length) heard(name || "message", JSON.parse(data.join("\n")), id);
        name = "";
        data = [];
        continue;
      }
      const colon = line.indexOf(":");
      if (colon === 0) continue;
      const field = colon < 0 ? line : line.slice(0, colon);
      const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
      if (field === "event") name = value;
      else if (field === "data") data.push(value);
      else if (field === "id") id = value;
    }
  };
}
