// The operator pages: chooses one, draws it, and updates it after the gateway's events.

import { ask, get } from "./api.js";
import { show } from "./operator-dom.js";
import { codeForm, people } from "./operator-people.js";
import { overview } from "./operator-overview.js";
import { filters, traceList, session, sessions } from "./operator-sessions.js";
import { outbox, restart, setAside } from "./operator-upkeep.js";
import { confirmed, toast } from "./shell.js";
import { follow } from "./stream.js";

const at = (id) => document.getElementById(id);
const page = at("page"), tools = at("tools");
let typed = null; // the timer that applies the filter after a pause in typing
const SETTLE = 200, LOOK_AGAIN = 10_000, TICK = 1000, PAGE = 50;

const state = { place: null, data: null, skew: 0, asked: null, pages: 1, answering: true, asking: 0, took: 0 };
const now = () => Date.now() + state.skew;

const tell = (path, body = {}) => ask("POST", path, body);

// The pages: the data that each fetches, and its drawing.

const queryOf = (found) => new URLSearchParams(Object.entries(found).filter(([, value]) => value));
// Titles for people: the first words of each session.
const named = async (asking) => {
  const [found, { chats }] = await Promise.all([asking, get("/api/chats")]);
  return [found, new Map(chats.filter((one) => one.title).map((one) => [one.session, one.title]))];
};
const figures = async () => {
  const [[look, status], titles] = await named(Promise.all([get("/api/overview"), get("/api/status")]));
  badge("badge-outbox", look.counts.unknown);
  badge("badge-set-aside", look.counts.set_aside);
  state.skew = look.now - Date.now();
  return { look, status, titles };
};

const PLACES = {
  overview: {
    title: "Overview", topics: null, ticks: true,
    fetch: figures,
    draw: (data) => overview(data, now(), page.clientWidth),
  },
  sessions: {
    title: "Sessions", topics: ["turns", "recovery", "inbox"],
    async fetch() {
      const found = { sessions: [], next: null };
      const [status, titles] = await named(get("/api/status"));
      for (let number = 0; number < state.pages; number += 1) {
        const query = queryOf({ ...state.place.query, before: found.next, limit: PAGE });
        const more = await get(`/api/sessions?${query}`);
        found.sessions.push(...more.sessions);
        found.next = more.next;
        if (!more.next) break;
      }
      return { found, titles, platforms: [...new Set((status.platforms ?? []).map((one) => one.name))] };
    },
    tools: (data) => filters(state.place.query, data.platforms),
    draw: (data) => sessions(data, now()),
  },
  session: {
    title: "Session", topics: ["turns", "steps", "outbox", "recovery", "questions", "inbox"], ticks: true,
    async fetch() {
      const [found, titles] = await named(get(`/api/sessions/${encodeURIComponent(state.place.id)}`));
      return { found, titles };
    },
    draw: (data) => session(data, now()),
  },
  outbox: {
    title: "Outbox", topics: ["doubts", "outbox"],
    async fetch() {
      const [found, titles] = await named(get("/api/outbox"));
      return { found, titles };
    },
    draw: (data) => outbox(data, now()),
  },
  "set-aside": {
    title: "Set aside", topics: ["inbox"],
    async fetch() {
      const all = [];
      for (let number = 0; number < state.pages; number += 1) {
        const before = all.at(-1)?.id;
        const more = await get(`/api/set-aside?${queryOf({ before, limit: PAGE })}`);
        all.push(...more.set_aside);
        if (more.set_aside.length < PAGE) return { set_aside: all, more: false };
      }
      return { set_aside: all, more: true };
    },
    draw: (data) => setAside(data, now()),
  },
  people: {
    title: "People", topics: ["access"], ticks: true,
    fetch: () => get("/api/people"),
    tools: () => codeForm(),
    draw: (data) => people(data, now()),
  },
  restart: {
    title: "Restart", topics: null, ticks: true,
    async fetch() {
      const [plan, found] = await Promise.all([get("/api/plan"), figures()]);
      return { plan, ...found };
    },
    draw: (data) => restart(data, now(), state.asked),
  },
};

function where() {
  const [path, query] = location.hash.slice(1).split("?");
  const [name, id] = path.split("/");
  const known = PLACES[name] ? name : "overview";
  return { name: known, id: id && decodeURIComponent(id), query: Object.fromEntries(new URLSearchParams(query ?? "")) };
}

// Show a page and keep it up to date.

async function go() {
  if (location.hash === "#view") return;
  const before = state.place;
  state.place = where();
  state.pages = 1;
  const moved = before?.name !== state.place.name || before?.id !== state.place.id;
  if (moved) {
    state.data = null;
    page.setAttribute("aria-busy", "true");
    show(page);
    window.scrollTo(0, 0);
  }
  clearTimeout(typed); // the last input was for the page that closes
  show(tools);
  const { title } = PLACES[state.place.name];
  at("title").textContent = title;
  document.title = `${title} · Holdfast`;
  for (const link of at("places").querySelectorAll("a")) {
    const name = link.getAttribute("href").slice(1);
    const current = name === state.place.name || (name === "sessions" && state.place.name === "session");
    if (current) link.setAttribute("aria-current", "page"); else link.removeAttribute("aria-current");
    if (current) link.scrollIntoView({ block: "nearest", inline: "nearest" });
  }
  await look();
  if (moved && before) at("view").focus({ preventScroll: true });
}

async function look() {
  const place = state.place, asking = (state.asking += 1), began = performance.now();
  try {
    const data = await PLACES[place.name].fetch();
    if (asking !== state.asking || place !== state.place) return;
    state.data = data;
    state.took = performance.now() - began;
    setAnswering(true);
    draw();
  } catch (fault) {
    if (asking !== state.asking || place !== state.place) return;
    if (fault.status === undefined) throw fault;
    if (fault.status) refused(fault); else setAnswering(false);
  }
  page.setAttribute("aria-busy", "false");
}

function draw() {
  if (!state.data) return;
  const shown = PLACES[state.place.name];
  show(tools, shown.tools ? shown.tools(state.data) : null);
  show(page, shown.draw(state.data));
}

function refused(fault) {
  setAnswering(true);
  state.data = null;
  const words = document.createElement("p");
  words.className = "none";
  words.textContent = fault.message;
  show(page, words);
}

function setAnswering(yes) {
  if (yes !== state.answering || at("live").textContent === "Connecting …") {
    at("live").textContent = yes ? "Live" : "The gateway does not answer. This is its last known state. Trying again …";
    at("live").classList.toggle("away", !yes);
  }
  state.answering = yes;
}

// Ask a busy gateway less often, and do not ask at all while the page is hidden.
let soon = null;
function lookSoon() {
  if (document.hidden) return;
  soon ??= setTimeout(() => { soon = null; look(); }, Math.max(SETTLE, 4 * state.took));
}

function listen() {
  follow(() => "/api/events", (name, { topics }) => {
    const wanted = PLACES[state.place.name].topics;
    if (!wanted || !topics || topics.some((topic) => wanted.includes(topic))) lookSoon();
  }, (turned) => (turned === "open" ? lookSoon() : setAnswering(false)));
}

// The operator's actions.

const say = (words) => toast(words, false);
const SETTLED = { sent: "Recorded as arrived.", retry: "The gateway sends it again, marked as possibly repeated.", drop: "Dropped." };
const DONE = { stop: "The work was stopped.", resume: "The work goes on.", retry: "The agent answers the last message again.", unhold: "The agent answers the messages in a new session." };

const ACTIONS = {
  async settle({ name, id }) {
    const text = "The gateway does not send it again, whether it arrived or not, and goes on with the next message.";
    if (name === "drop" && !await confirmed("Drop this message?", text, "Drop it")) return;
    await tell(`/api/outbox/${id}/${name}`);
    say(SETTLED[name]);
  },
  async command({ name, id }) {
    if (name === "stop" && !await confirmed("Stop this work?", "The turn ends. The conversation and the messages in line are kept.", "Stop it")) return;
    const said = await tell(`/api/sessions/${encodeURIComponent(id)}/${name}`);
    say(said.state === "refused" ? `Refused: ${said.reason}` : DONE[name]);
  },
  async restart({ quiet }) {
    const running = state.data.plan.running.length;
    const text = `${running === 1 ? "One turn runs" : `${running} turns run`}. A turn that does not finish in time is cut, and resumes after the restart.`;
    if (!quiet && running && !await confirmed("Restart now?", text, "Restart now")) return;
    state.asked = { at: now(), run: state.data.look.runs[0]?.id, quiet: Boolean(quiet) };
    await tell("/api/gateway/restart", { when_quiet: Boolean(quiet) });
    say(quiet ? "The gateway restarts when no turn runs." : "The restart has begun.");
  },
  async pair() {
    const { person } = await tell("/api/people/pair", { code: at("code").value.trim() || "-" });
    at("code").value = "";
    say(`${person} is let in. The gateway tells them.`);
  },
  async remove({ who }) {
    if (!await confirmed("Remove access?", `${who} can no longer write to the agent. Their queued and interrupted work is not run either.`, "Remove")) return;
    await tell("/api/people/remove", { who });
    say(`${who} has no access any more.`);
  },
  async revoke({ id }) {
    if (!await confirmed("Revoke this rule?", "The agent asks for permission before such a call again. A call that runs is not stopped.", "Revoke it")) return;
    await tell(`/api/allowed/${id}/revoke`);
    say("The rule is revoked.");
  },
  async more() { state.pages += 1; },
};

document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-do]");
  if (!button) return;
  button.disabled = true;
  try {
    await ACTIONS[button.dataset.do](button.dataset);
  } catch (fault) {
    if (fault.status === undefined) throw fault;
    toast(fault.status ? fault.message : "The gateway does not answer; nothing was done.");
  }
  button.disabled = false;
  await look();
});

// Filters are part of the address, so that a person can save and share a view.

function filtered() {
  if (state.place.name !== "sessions") return;
  const form = tools.querySelector("form");
  const wanted = queryOf(Object.fromEntries([...new FormData(form)].map(([name, value]) => [name, value.trim()])));
  const address = `#sessions${wanted.size ? `?${wanted}` : ""}`;
  if (address === location.hash) return;
  history.replaceState(null, "", address);
  state.place = where();
  state.pages = 1;
  look();
}

tools.addEventListener("input", () => { clearTimeout(typed); typed = setTimeout(filtered, SETTLE); });
tools.addEventListener("submit", (event) => {
  event.preventDefault();
  tools.querySelector("[data-do]")?.click();
  filtered();
});

// Fetch the trace of a turn when the person opens it.
page.addEventListener("toggle", async (event) => {
  const cause = event.target.dataset?.trace;
  if (!cause || !event.target.open) return;
  const box = event.target.querySelector("[data-kept]");
  try {
    show(box, traceList(await get(`/api/trace/${cause}`), now()));
  } catch (fault) {
    if (fault.status === undefined) throw fault;
    box.textContent = fault.message;
  }
}, true);

// The tooltip of the element under the pointer or with the focus.

function point(event) {
  const target = event.target.closest?.("[data-tip]");
  const tip = at("tip");
  tip.hidden = !target;
  if (!target) return;
  tip.textContent = target.dataset.tip;
  const box = target.getBoundingClientRect(), half = tip.offsetWidth / 2;
  const middle = event.clientX || box.left + box.width / 2;
  tip.style.setProperty("left", `${Math.min(Math.max(middle, half + 8), innerWidth - half - 8)}px`);
  tip.style.setProperty("top", `${box.top > tip.offsetHeight + 16 ? box.top - tip.offsetHeight - 8 : box.bottom + 8}px`);
}
for (const kind of ["pointermove", "focusin"]) document.addEventListener(kind, point);
document.addEventListener("focusout", () => { at("tip").hidden = true; });
document.addEventListener("keydown", (event) => { if (event.key === "Escape") at("tip").hidden = true; });

function badge(id, count) {
  at(id).hidden = !count;
  at(id).textContent = count >= 1000 ? "1,000+" : count;
}

addEventListener("hashchange", go);
document.addEventListener("visibilitychange", lookSoon);
new ResizeObserver(() => draw()).observe(at("view"));
setInterval(() => { if (PLACES[state.place.name].ticks && !document.hidden) draw(); }, TICK);
setInterval(() => { if (!document.hidden || !state.answering) look(); }, LOOK_AGAIN);
go().then(listen);
