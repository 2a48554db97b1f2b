// All that the page knows of one chat, by keys. The same fact twice changes nothing, so the page shows nothing twice,
// however often the connection breaks. `items()` is the conversation in order; `view.js` draws it.

const RANK = { said: 0, woken: 0, step: 1, cut: 2, reply: 3, notice: 3, question: 3 };
const SHOWN_STEPS = 6;
const GIVEN_UP = 600; // how long unfinished text stays after the gateway cleared it: its commit may be on the way

export class Conversation {
  constructor(chat) {
    this.chat = chat;
    this.standing = null;
    this.preview = "";
    this.committed = ""; // the newest text that replaced a preview
    this.notice = null; // the gateway's own line about long work
    this.cursor = { number: 0, session: null, seq: 0 };
    this.first = 0; // the number before the first loaded delivery
    this.entries = new Map();
    this.deliveries = new Map();
    this.cuts = new Map();
    this.told = new Set(); // cuts whose resumption the page has announced
    this.watched = new Set(); // turns that ran while this page was open: their steps stay unfolded
    this.keys = new Map(); // keys of items that replaced a preview
    this.live = 1;
    this.goneAt = null;
  }

  // Hearing.

  hearStanding(standing) {
    this.standing = standing;
    for (const one of standing.said) this.hearEntry({ kind: "said", ...one }, standing.session);
    for (const one of standing.interruptions) this.cuts.set(`${one.turn}/${one.at}`, one);
    if (standing.session && standing.session !== this.cursor.session) this.hearSession(standing.session);
    if (standing.turn) this.watched.add(standing.turn.id);
    else this.hearPreview("");
  }

  /** Another session began: follow its steps from the first one. */
  hearSession(session) {
    this.cursor.session = session;
    this.cursor.seq = 0;
  }

  hearEntry(entry, session) {
    const key = `${session}/${entry.seq}`;
    const fresh = !this.entries.has(key);
    this.entries.set(key, { ...this.entries.get(key), ...entry, key, session });
    if (fresh && entry.kind === "replied" && entry.calls.length) this.#settle(`e:${key}`, entry.text);
    return fresh;
  }

  /** Add an entry from the stream and move the cursor to it. */
  hearStep(entry, session) {
    if (session !== this.cursor.session) this.hearSession(session);
    this.cursor.seq = Math.max(this.cursor.seq, entry.seq);
    return this.hearEntry(entry, session);
  }

  hearDelivery(delivery) {
    const fresh = !this.deliveries.has(delivery.number);
    this.deliveries.set(delivery.number, delivery);
    this.cursor.number = Math.max(this.cursor.number, delivery.number);
    if (fresh && delivery.kind === "reply" && !delivery.files.length) this.#settle(`d:${delivery.number}`, delivery.text);
    return fresh;
  }

  hearPreview(text) {
    // A preview may arrive after the commit of its text.
    if (text && this.committed.startsWith(text)) return;
    this.committed = "";
    if (text) {
      this.preview = text;
      this.goneAt = null;
    } else if (this.preview) {
      this.goneAt ??= Date.now();
    }
  }

  /** Remove old text that was never committed; true if some is still waited for. */
  sweep() {
    if (this.goneAt !== null && Date.now() - this.goneAt >= GIVEN_UP) this.dropPreview();
    return this.goneAt !== null;
  }

  dropPreview() {
    this.preview = "";
    this.goneAt = null;
  }

  /** Committed text replaces its preview in the same node, so nothing jumps. */
  #settle(key, text) {
    this.committed = text;
    if (!this.preview) return;
    this.keys.set(key, `live:${this.live}`);
    this.live += 1;
    this.dropPreview();
  }

  // Showing.

  get turn() {
    return this.standing?.turn ?? null;
  }

  /** The waiting messages. A step may report a message as taken before the chat state does: show it once. */
  get waiting() {
    const { session, seq } = this.standing?.cursor ?? {};
    const newer = [...this.entries.values()].filter((one) => one.kind === "said" && !(one.session === session && one.seq <= seq));
    return (this.standing?.waiting ?? []).filter((row) => {
      const taken = newer.findIndex((one) => one.text === row.text && one.at >= row.at);
      if (taken >= 0) newer.splice(taken, 1);
      return taken < 0 && row.state === "waiting" && row.position !== this.turn?.position;
    });
  }

  /** Whether the gateway has this message of the person, waiting or taken. */
  known(local) {
    const rows = [...(this.standing?.waiting ?? []), ...[...this.entries.values()].filter((one) => one.kind === "said")];
    if (rows.some((row) => (row.event_id && row.event_id === local.event_id) || (local.position && row.position === local.position))) return true;
    return rows.some((row) => row.text === local.text && row.at >= local.at - 2000 && (!row.position || !local.position));
  }

  items() {
    const cuts = [...this.cuts.values()].map((one) => ({ kind: "cut", key: `c:${one.turn}/${one.at}`, at: one.at, cut: one, over: one.turn !== this.turn?.id, ...this.#around(one) }));
    const streams = [...this.#transcripts(), this.#told(), cuts];
    for (const stream of streams) {
      let at = 0;
      for (const item of stream) at = item.at = Math.max(at, item.at);
    }
    const all = streams.flat().sort((a, b) => a.at - b.at || RANK[a.kind] - RANK[b.kind]);
    const items = dated(this.#folded(all));
    // Before the turn is known, the preview would come above the message that it answers.
    if (this.preview && (this.turn || this.goneAt !== null)) {
      // While a call runs, the model writes nothing: the preview is output of the tool.
      const isOutput = all.findLast((item) => item.kind === "step")?.state === "running";
      items.push({ kind: isOutput ? "output" : "live", key: `live:${this.live}`, text: this.preview });
    } else {
      items.push(...this.#cutOff());
    }
    return items;
  }

  /**
   * Unfinished text from before a cut. The reply that replaces it takes its place. A step or the answer may show that it is finished
   * before the chat state does.
   */
  #cutOff() {
    const { session, seq } = this.standing?.cursor ?? {};
    const newer = [...this.entries.values()].filter((one) => one.turn === this.turn?.id && !(one.session === session && one.seq <= seq));
    const answered = [...this.deliveries.values()].some((one) => one.kind === "reply" && one.turn === this.turn?.id && !one.files.length);
    const isFinished = (call) => (call ? newer.some((one) => one.kind === "returned" && one.call === call) : answered || newer.some((one) => one.kind === "replied"));
    return (this.turn?.cut_off ?? []).filter(({ call }) => !isFinished(call)).map(({ call, text }) =>
      call ? { kind: "output", key: `cut:${call}`, text, cut: true } : { kind: "live", key: `live:${this.live}`, text, cut: true },
    );
  }

  /** The cuts after which the work has resumed since the last call. */
  resumed() {
    const found = this.items().filter((item) => item.kind === "cut" && item.cut.resumed_at && !this.told.has(item.key));
    for (const { key } of found) this.told.add(key);
    return found;
  }

  #told() {
    const asked = new Map((this.standing?.questions ?? []).map((one) => [one.id, one]));
    // A queued message shows its own state, so the notice about it is left out.
    const worth = [...this.deliveries.values()].filter((one) => !(one.kind === "notice" && one.text.startsWith("Queued.")));
    const told = worth.sort((a, b) => b.number - a.number).map((one) => {
      const item = { kind: one.kind, key: this.keys.get(`d:${one.number}`) ?? `d:${one.number}`, at: one.at, text: one.text, files: one.files, turn: one.turn, options: one.options, repeated: one.repeated };
      // Only the last part of a long question is the card.
      if (asked.has(one.question) && one.part === one.parts) {
        item.question = asked.get(one.question);
        asked.delete(one.question);
      }
      return item;
    }).reverse();
    const left = [...asked.values()].filter((one) => one.state === "open");
    for (const one of left) told.push({ kind: "question", key: `q:${one.id}`, at: Number.MAX_SAFE_INTEGER, text: one.text, options: one.options, question: one });
    return told;
  }

  /** The transcript of each session. A resumed session may go on after a later one began. */
  #transcripts() {
    const items = this.#transcript();
    return [...new Set(items.map((item) => item.session))].map((session) => items.filter((item) => item.session === session));
  }

  /** The messages and steps, in the order of the transcript. */
  #transcript() {
    // Ids of sessions sort by their start.
    const entries = [...this.entries.values()].sort((a, b) => (a.session < b.session ? -1 : a.session > b.session ? 1 : a.seq - b.seq));
    const items = [];
    let step = null;
    let number = 0;
    let turn = null;
    for (const one of entries) {
      if (one.turn !== turn) [turn, number] = [one.turn, 0];
      if (one.kind === "said") {
        items.push({ kind: one.woken ? "woken" : "said", key: `e:${one.key}`, at: one.at, text: one.text, attachments: one.attachments ?? [], turn: one.turn, session: one.session });
      } else if (one.kind === "replied" && one.calls.length) {
        number += 1;
        const key = `e:${one.key}`;
        step = { kind: "step", key: this.keys.get(key) ?? key, at: one.at, text: one.text, calls: one.calls.map(({ id, name, arguments: given }) => ({ id, name, given, result: null })), turn: one.turn, session: one.session, number, left: one.calls.length, state: "running" };
        items.push(step);
      } else if (one.kind === "returned" && step) {
        step.left -= 1;
        if (one.state !== "done") step.state = one.state;
        else if (step.left <= 0 && step.state === "running") step.state = "done";
        const call = step.calls.find(({ id }) => id === one.call);
        if (call) call.result = one.text;
      }
    }
    for (const item of items) if (item.state === "running" && item.turn !== this.turn?.id) item.state = "cut";
    return items;
  }

  /** The last entry before a cut, and the note to the agent after it. */
  #around(cut) {
    let before = null;
    let note = null;
    for (const one of this.entries.values()) {
      if (one.turn !== cut.turn) continue;
      if (one.at <= cut.at && (!before || one.seq > before.seq)) before = one;
      if (one.kind === "noted" && one.at >= cut.at && (!note || one.seq < note.seq)) note = one;
    }
    // A crash is noticed late: the last known progress counts.
    return { since: Math.max(before?.at ?? 0, cut.progress_at ?? 0) || cut.at, note: note?.text ?? null, session: before?.session ?? null };
  }

  /** Finished steps fold away, unless they ran while this page was open; of these only the last few are shown. */
  #folded(all) {
    const items = [];
    for (let at = 0; at < all.length;) {
      if (all[at].kind !== "step") {
        items.push(all[at]);
        at += 1;
        continue;
      }
      let end = at;
      while (end < all.length && all[end].kind === "step" && all[end].turn === all[at].turn) end += 1;
      const steps = all.slice(at, end);
      const keep = this.watched.has(steps[0].turn) ? SHOWN_STEPS : 0;
      const away = steps.length > keep + 1 || !keep ? steps.splice(0, steps.length - keep) : [];
      if (away.length) items.push({ kind: "fold", key: `f:${away[0].key}`, steps: away, earlier: steps.length > 0 });
      items.push(...steps);
      at = end;
    }
    return items;
  }
}

/** Put each day above its items, except for today. */
function dated(items) {
  let last = new Date().toDateString();
  return items.flatMap((item) => {
    const day = new Date(item.at ?? item.steps[0].at).toDateString();
    if (day === last || day === "Invalid Date") return [item];
    last = day;
    return [{ kind: "day", key: `day:${day}`, at: item.at ?? item.steps[0].at }, item];
  });
}
