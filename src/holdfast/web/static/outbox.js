// Messages that the gateway has not confirmed yet. They are in localStorage, so a reload or a dead gateway loses
// nothing. Every try carries the same event id, so the gateway keeps each message once.
import { ask, chatPath } from "./api.js";

const KEY = "holdfast.outbox";
const LONGEST = 5000;

export class Outbox {
  #changed;
  #busy = new Set();
  #waking = new Map();
  #left = [];

  constructor(changed) {
    this.#changed = changed;
    addEventListener("storage", (event) => event.key === KEY && changed());
  }

  #all() {
    try {
      return JSON.parse(localStorage.getItem(KEY) ?? "[]");
    } catch {
      return this.#left;
    }
  }

  #keep(all) {
    this.#left = all;
    try {
      localStorage.setItem(KEY, JSON.stringify(all));
    } catch { /* full or forbidden: the messages stay in memory while this page is open */ }
    this.#changed();
  }

  #change(id, change) {
    this.#keep(this.#all().flatMap((one) => (one.event_id === id ? change(one) : [one])));
  }

  of(chat) {
    return this.#all().filter((one) => one.chat === chat);
  }

  add(chat, text, more = {}) {
    const event_id = crypto.randomUUID?.() ?? Array.from(crypto.getRandomValues(new Uint32Array(4)), (n) => n.toString(36)).join("-");
    this.#keep([...this.#all(), { event_id, chat, text, at: Date.now(), ...more }]);
    this.flush();
  }

  drop(id) {
    this.#change(id, () => []);
  }

  again(id) {
    this.#change(id, (one) => [{ ...one, refused: undefined }]);
    this.flush();
  }

  /** Remove messages that the page has seen in the ledger. */
  seen(event_ids) {
    const all = this.#all();
    const left = all.filter((one) => !event_ids.has(one.event_id));
    if (left.length < all.length) this.#keep(left);
  }

  /** Send the unsent messages, in order within each chat. Where the browser has locks, one tab sends for each chat. */
  flush() {
    for (const chat of new Set(this.#all().map((one) => one.chat))) {
      this.#waking.get(chat)?.();
      if (this.#busy.has(chat)) continue;
      this.#busy.add(chat);
      const send = () => this.#send(chat);
      const sending = navigator.locks ? navigator.locks.request(`holdfast.outbox.${chat}`, send) : send();
      sending.finally(() => this.#busy.delete(chat)).then((goesOn) => goesOn && this.#next(chat) && this.flush());
    }
  }

  #next(chat) {
    return this.of(chat).find((one) => !one.position && !one.refused);
  }

  async #send(chat) {
    let wait = 250;
    for (let one = this.#next(chat); one; one = this.#next(chat)) {
      const { event_id, text, question, attachments } = one;
      const body = { text, event_id, ...(question && { question }), ...(attachments?.length && { attachments: attachments.map(({ digest, name }) => ({ digest, name })) }) };
      try {
        const kept = await ask("POST", chatPath(chat, "/messages"), body);
        this.#change(event_id, (now) => [{ ...now, position: kept.position }]);
        wait = 250;
      } catch (fault) {
        if (fault.status === undefined) throw fault;
        if (fault.status === 401) return false; // the sign-in page opens; after the sign-in this is tried again
        if (!fault.passes) {
          this.#change(event_id, (now) => [{ ...now, refused: fault.message }]);
          continue;
        }
        await new Promise((wake) => {
          this.#waking.set(chat, wake);
          setTimeout(wake, wait * (0.75 + Math.random() / 2));
        });
        wait = Math.min(wait * 2, LONGEST);
      }
    }
    return true;
  }
}
