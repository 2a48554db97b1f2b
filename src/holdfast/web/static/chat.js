// The chat page: opens a chat, follows it, and connects the other modules.
import { ask, chatPath, get } from "./api.js";
import { Allowed } from "./allowed.js";
import { Composer } from "./composer.js";
import { Conversation } from "./conversation.js";
import { Demo } from "./demo.js";
import { Keyed } from "./keyed.js";
import { Outbox } from "./outbox.js";
import { confirmed, toast } from "./shell.js";
import { Side } from "./side.js";
import { follow } from "./stream.js";
import { el, fillItem, fillProcess, fillWaiting, glance } from "./view.js";
import { cutLine, span } from "./words.js";

const $ = (id) => document.getElementById(id);
const PAGE = 200;
const QUIET = 20_000; // how long a turn runs before the page says that it still works
const HIDDEN = 60_000; // how long a hidden tab keeps its connection: browsers allow only a few

let talk = null; // the conversation that is shown
let stream = null;
let isAway = false;
let hasOpened = false;
let editing = null;
let drawing = false;
let spoken = "";

const outbox = new Outbox(() => draw());
const side = new Side(open, () => talk?.chat);
const composer = new Composer((text, attachments) => say(text, { attachments }), toast);
const demo = new Demo({ confirm: confirmed, toast, say, focus: () => composer.focus(), sessionTurn: () => talk?.turn });

const allowed = new Allowed(look);

const answered = new Map(); // questions answered on this page, until the ledger reports them as answered

const actions = {
  answer(question, words) {
    if (answered.has(question)) return;
    answered.set(question, words);
    say(words, { question });
  },
  command(words) {
    say(words, {});
  },
  edit(position) {
    editing = position;
    draw();
    if (position === null) composer.focus();
  },
  async save(position, text) {
    if (!text) return actions.withdraw(position);
    await orToast(() => ask("PATCH", chatPath(talk.chat, `/messages/${position}`), { text }));
    editing = null;
    await look();
    composer.focus();
  },
  async withdraw(position) {
    await orToast(() => ask("DELETE", chatPath(talk.chat, `/messages/${position}`)));
    editing = null;
    await look();
    composer.focus();
  },
  again: (id) => outbox.again(id),
  drop: (id) => outbox.drop(id),
};

/** The answer on its way to this question: from this page, or from the outbox after a reload. */
function answerTo(question, locals) {
  const mine = locals.findLast((one) => one.question === question);
  if (mine?.refused) answered.delete(question);
  return answered.get(question) ?? (mine && !mine.refused ? mine.text : null);
}

const log = new Keyed($("log"), fillItem(actions));
const waiting = new Keyed($("waiting"), fillWaiting(actions));
const beside = new Keyed($("beside-list"), fillProcess);

function say(text, more = {}) {
  pinned = true;
  outbox.add(talk.chat, text, more);
}

// Opening and following.

async function open(chat) {
  if (talk?.chat === chat) return;
  stream?.close();
  log.clear();
  waiting.clear();
  allowed.close();
  editing = null;
  pinned = true;
  spoken = "";
  hasOpened = false;
  talk = new Conversation(chat);
  try { localStorage.setItem("holdfast.chat", chat); } catch { /* a private window */ }
  side.draw();
  composer.begin(chat);
  draw();
  const mine = talk;
  await begin(mine);
  outbox.flush();
}

/** Load the last deliveries, then follow the chat from there. Retries until it succeeds. */
async function begin(mine) {
  for (let wait = 250; mine === talk; wait = Math.min(wait * 2, 5000)) {
    try {
      const standing = await get(chatPath(mine.chat));
      const after = Math.max(0, (standing.cursor?.number ?? 0) - PAGE);
      const [{ messages }, past, ...before] = await Promise.all([
        get(chatPath(mine.chat, `/messages?after=${after}&limit=${PAGE}`)),
        transcript(standing.session),
        ...standing.earlier.map(transcript),
      ]);
      if (mine !== talk) return;
      mine.first = after;
      for (const one of messages) mine.hearDelivery(one);
      standing.earlier.forEach((session, at) => before[at].forEach((one) => mine.hearEntry(one, session)));
      for (const one of past) mine.hearEntry(one, standing.session);
      mine.hearStanding(standing);
      mine.resumed(); // these are old: the page does not announce them
      mine.cursor = { number: Math.max(mine.cursor.number, after), session: standing.session, seq: past.at(-1)?.seq ?? standing.cursor?.seq ?? 0 };
      setAway(false);
      hasOpened = true;
      draw(true);
      stream = follow(() => eventsOf(mine), (event, data) => onEvent(mine, event, data), (state) => mine === talk && setAway(state === "away"));
      return;
    } catch (fault) {
      if (!fault.passes && fault.status !== 404) { if (fault.status !== 401) toast(fault.message); if (fault.status === undefined) throw fault; return; }
      setAway(true);
      await new Promise((wake) => setTimeout(wake, wait));
    }
  }
}

/** The end of the session's transcript, with the steps that belong to the shown answers. */
async function transcript(session) {
  if (!session) return [];
  try {
    return (await get(`/api/sessions/${encodeURIComponent(session)}`)).entries ?? [];
  } catch (fault) {
    if (fault.status === undefined || fault.status === 0) throw fault;
    return [];
  }
}

function eventsOf({ chat, cursor }) {
  const steps = cursor.session ? `&session=${encodeURIComponent(cursor.session)}&seq=${cursor.seq}` : "";
  return chatPath(chat, `/events?after=${cursor.number}${steps}`);
}

function onEvent(mine, event, data) {
  if (mine !== talk) return;
  if (event === "standing") {
    mine.hearStanding(data);
    for (const one of mine.resumed()) speak(`Gateway: ${cutLine(one)}`);
    demo.heard(data);
    side.later();
  } else if (event === "delivery") {
    if (mine.hearDelivery(data)) announce(data);
  } else if (event === "entry") {
    mine.hearStep(data.entry, data.session);
  } else if (event === "following") {
    catchUp(mine, data);
  } else if (event === "session") {
    if (data.session !== mine.cursor.session) mine.hearSession(data.session);
  } else if (event === "working") {
    mine.notice = data.working?.notice || null;
  } else if (event === "preview") {
    mine.hearPreview(data.text);
  }
  if (mine.goneAt !== null) setTimeout(draw, 650);
  draw();
}

/** Load the steps that this page missed: a session began while the page was not connected. */
async function catchUp(mine, { session, seq }) {
  if (!session || (session === mine.cursor.session && seq <= mine.cursor.seq)) return;
  for (const one of (await orToast(() => transcript(session))) ?? []) mine.hearStep(one, session);
  draw();
}

/** Fetch the state of the chat now, without waiting for the stream. */
async function look() {
  const mine = talk;
  await orToast(async () => {
    const standing = await get(chatPath(mine.chat));
    if (mine === talk) mine.hearStanding(standing);
  });
  draw();
}

function setAway(away) {
  if (isAway && !away) {
    talk.dropPreview();
    outbox.flush();
    side.later();
  }
  isAway = away;
  document.body.classList.toggle("away", away);
  $("banner").hidden = !away;
  $("banner").textContent = away ? "The gateway does not answer. Reconnecting… Nothing is lost." : "";
  if (away) demo.away();
  draw();
}

// Drawing: at most once per frame.

function draw(still = false) {
  if (still === true) return paint(true);
  if (drawing) return;
  drawing = true;
  requestAnimationFrame(() => { drawing = false; paint(); });
  // A tab in the background gets no frames, so a timer draws it a little later.
  if (document.hidden) setTimeout(() => { if (drawing) { drawing = false; paint(); } }, 200);
}

function paint(still = false) {
  if (!talk) return;
  talk.sweep();
  const items = talk.items();
  const locals = outbox.of(talk.chat);
  const queued = talk.waiting;
  // Without a running turn, the gateway takes a waiting message at once: show it as sent, not as queued.
  const kind = talk.turn ? "queued" : "sent";
  const mine = locals.filter((one) => !talk.known(one) && (!one.question || one.refused));
  for (const item of items) if (item.question?.state === "open") Object.assign(item, { answer: answerTo(item.question.id, locals), away: isAway });
  log.show(items, still);
  waiting.show([
    ...queued.map((one) => ({ kind, key: `p:${one.position}`, position: one.position, text: one.text, attachments: one.attachments ?? [], editing: editing === one.position })),
    ...mine.map((one) => ({ kind: "sending", key: `l:${one.event_id}`, event_id: one.event_id, text: one.text, attachments: one.attachments ?? [], kept: Boolean(one.position), refused: one.refused, away: isAway })),
  ], still);
  settle(locals);
  paintActivity();
  paintBeside();
  allowed.draw(talk.standing?.allowed ?? []);
  const isEmpty = !items.length && !queued.length && !mine.length;
  $("empty").hidden = !isEmpty || !hasOpened;
  $("earlier").hidden = talk.first === 0;
  $("title").textContent = side.title(talk.chat) ?? items.find((item) => item.kind === "said")?.text.slice(0, 80) ?? "New chat";
  document.title = `${talk.turn ? "● " : ""}${$("title").textContent} · Holdfast`;
  const session = Boolean(talk.standing?.session);
  $("do-stop").disabled = !talk.turn;
  $("do-retry").disabled = !session || Boolean(talk.turn);
  $("do-new").disabled = !session;
  demo.draw(isEmpty);
  keepPinned();
}

/** Drop a message from the outbox once the page shows it from the ledger, or once it turns out to be a command. */
function settle(locals) {
  const seen = new Set(locals.filter((one) => one.position && talk.known(one)).map((one) => one.event_id));
  for (const one of locals) if (one.position && !seen.has(one.event_id)) lookUp(one);
  if (seen.size) outbox.seen(seen);
}

const asked = new Set();

/** Look up a stored message that the page does not show: it may be merged, carried out or withdrawn elsewhere. */
async function lookUp(one) {
  if (asked.has(one.event_id)) return;
  asked.add(one.event_id);
  try {
    const { message } = await get(`/api/trace/${one.position}`);
    if (message.state !== "waiting") outbox.seen(new Set([one.event_id]));
  } catch (fault) {
    if (fault.status === 404) outbox.seen(new Set([one.event_id]));
  }
  setTimeout(() => { asked.delete(one.event_id); draw(); }, 1000);
}

let activity = "";

/** The one line about the current activity. */
function paintActivity() {
  const words = activityWords();
  $("activity").hidden = words === null;
  if (words === activity) return;
  activity = words;
  if (words === null) return;
  const dots = el("span", "dots", el("i"), el("i"), el("i"));
  $("activity").replaceChildren(...(talk.turn.state === "waiting" ? [] : [dots]), el("span", words ? "" : "sr", words || "Working"));
}

function activityWords() {
  const now = talk.turn;
  if (!now) return null;
  if (now.state === "waiting") return "Waiting for your answer";
  if (now.state === "interrupted") return now.held ? "Interrupted; on hold for now" : "Interrupted; the work resumes in a moment";
  if (isAway) return "Paused; the work goes on when the gateway is back";
  if (talk.notice) return talk.notice;
  const since = Date.now() - (now.begun_at ?? Date.now());
  if (since < QUIET) return "";
  const still = now.progress_at ? Date.now() - now.progress_at : 0;
  return `Still working · ${span(since)}${still > 30_000 ? `, last progress ${span(still)} ago` : ""}`;
}

/** The background processes: one line, and a list that a person can open. */
function paintBeside() {
  const found = talk.standing?.processes ?? [];
  $("beside").hidden = !found.length;
  if (!found.length) return;
  const now = Date.now();
  const last = found.at(-1);
  const what = found.length === 1 ? glance(last.command, 40) : `${found.length} processes`;
  $("beside-words").textContent = [`In the background: ${what}`, last.last_line].filter(Boolean).join(" · ");
  beside.show(found.map((one) => ({ ...one, key: one.id, for: Math.floor((now - one.started_at) / 1000) * 1000 })), true);
}

setInterval(() => {
  if (talk?.turn) paintActivity();
  if (talk && $("beside").open) paintBeside();
}, 1000);

/** Screen readers announce whole answers only, not each word as it comes. */
function announce(delivery) {
  const words = delivery.text.replace(/[`*_#|>]/g, "").slice(0, 2000);
  if (words === spoken) return;
  spoken = words;
  speak(`${{ reply: "Answer", question: "Question" }[delivery.kind] ?? "Gateway"}: ${words}`);
}

function speak(words) {
  $("spoken").textContent = words;
}

// Stay at the end, unless the person scrolled up.

let pinned = true;
let place = 0; // the last scroll position
const scroll = $("scroll");

function keepPinned() {
  if (pinned) scroll.scrollTop = scroll.scrollHeight;
  place = scroll.scrollTop;
  $("to-end").hidden = pinned || !hasOpened;
}

scroll.addEventListener("scroll", () => {
  const room = scroll.scrollHeight - scroll.scrollTop - scroll.clientHeight;
  // Only scrolling up leaves the end; growing text does not.
  const follows = pinned && scroll.scrollTop >= place;
  place = scroll.scrollTop;
  pinned = follows || room < 48;
  if (follows) keepPinned();
  $("to-end").hidden = pinned;
}, { passive: true });
// The content may also grow by itself: pictures load late.
const resized = new ResizeObserver(() => pinned && keepPinned());
for (const one of [scroll, scroll.firstElementChild]) resized.observe(one);
$("to-end").addEventListener("click", () => { pinned = true; keepPinned(); composer.focus(); });

$("earlier").addEventListener("click", () => orToast(async () => {
  const mine = talk;
  const after = Math.max(0, mine.first - PAGE);
  const { messages } = await get(chatPath(mine.chat, `/messages?after=${after}&limit=${mine.first - after}`));
  const before = scroll.scrollHeight - scroll.scrollTop;
  mine.first = after;
  for (const one of messages) mine.hearDelivery(one);
  paint(true);
  scroll.scrollTop = scroll.scrollHeight - before;
}));

// Commands, keys and visibility.

for (const one of document.querySelectorAll("[data-command]")) {
  one.addEventListener("click", () => command(one.dataset.command));
}

async function command(name) {
  const session = talk.standing?.session;
  if (!session) return;
  if (name === "new" && !(await confirmed("Start over in this chat?", "This ends the conversation, the current task and the waiting messages. The gateway keeps the transcript.", "Start over"))) return;
  await orToast(() => ask("POST", `/api/sessions/${encodeURIComponent(session)}/${name}`, {}));
  await look();
  composer.focus();
}

async function orToast(act) {
  try {
    return await act();
  } catch (fault) {
    if (fault.status === undefined) throw fault;
    if (fault.status !== 401) toast(fault.message);
    return undefined;
  }
}

addEventListener("keydown", (event) => {
  if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") {
    event.preventDefault();
    side.focus();
  } else if (event.key === "Escape" && !document.querySelector("dialog[open]")) {
    side.close();
    composer.focus();
  }
});

let resting = 0;
document.addEventListener("visibilitychange", () => {
  clearTimeout(resting);
  if (document.hidden) {
    resting = setTimeout(() => { stream?.close(); stream = null; }, HIDDEN);
  } else if (talk && hasOpened) {
    const mine = talk;
    stream ??= follow(() => eventsOf(mine), (event, data) => onEvent(mine, event, data), (state) => mine === talk && setAway(state === "away"));
    stream.now();
    outbox.flush();
    side.later();
  }
});

demo.begin(() => draw());
side.begin();
