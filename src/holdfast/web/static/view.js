// Draws the items of a conversation. Each item keeps its node (`keyed.js`), and the page fills it again only when the
// item has changed.
import { bytes, get } from "./api.js";
import { showMarkdown } from "./markdown.js";
import { toast } from "./shell.js";
import { aroundCut, clock, cutLine, cutStory, dayOf, moment, offered, questionEnd, shortTime, size, span, visible } from "./words.js";

export function el(tag, className = "", ...inside) {
  const node = document.createElement(tag);
  if (className) node.className = className;
  node.append(...inside);
  return node;
}

export function icon(name) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("aria-hidden", "true");
  const use = document.createElementNS("http://www.w3.org/2000/svg", "use");
  use.setAttribute("href", `#${name}`);
  svg.append(use);
  return svg;
}

export function button(className, words, press) {
  const node = el("button", className, words);
  node.type = "button";
  node.addEventListener("click", press);
  return node;
}

// One filler for each kind of item.

const FILL = {
  said(node, item) {
    node.className = "you";
    node.replaceChildren(...saidParts(item));
  },

  live(node, item) {
    node.className = item.cut ? "answer cut-off" : "answer live";
    answer(node, item.text);
    node.querySelector(":scope > .doubt")?.remove();
    if (item.cut) node.append(el("p", "doubt", "Cut off here. The agent writes it again when the work goes on."));
  },

  output(node, item) {
    node.className = item.cut ? "answer output cut-off" : "answer live output";
    node.replaceChildren(el("pre", "", item.text.trimEnd().split("\n").slice(-LAST_LINES).join("\n")));
    if (item.cut) node.append(el("p", "doubt", "Cut off here. This is the output as far as it was recorded."));
  },

  reply(node, item) {
    node.className = "answer";
    answer(node, item.text);
    node.querySelector(":scope > .md").hidden = !item.text && item.files.length > 0;
    node.querySelector(".doubt")?.remove();
    for (const old of node.querySelectorAll(":scope > .file")) old.remove();
    node.append(...item.files.map(fileCard));
    if (item.repeated) node.append(el("p", "doubt", "This may be a repetition."));
  },

  woken(node, item) {
    node.className = "woken";
    const [first, ...rest] = item.text.split("\n").filter(Boolean);
    const words = [el("span", "sr", "Gateway: "), first];
    node.replaceChildren(rest.length ? folded(node, "", words, el("p", "", rest.join("\n"))) : el("p", "", ...words));
  },

  notice(node, item, acts) {
    node.className = "notice";
    const words = el("div", "", el("span", "", item.text));
    // The options of a notice are commands, as a person would type them.
    if (item.options?.length) words.append(el("div", "options", ...item.options.map((command) => button("plain", offered(command), () => acts.command(command)))));
    node.replaceChildren(el("span", "sr", "Gateway: "), words);
  },

  day(node, item) {
    node.className = "day";
    node.replaceChildren(el("span", "", dayOf(item.at)));
  },

  step: fillStep,

  fold(node, item) {
    const open = node.querySelector("details")?.open ?? false;
    const count = item.steps.length;
    const details = el("details", "fold", el("summary", "", `${count}${item.earlier ? " earlier" : ""} step${count === 1 ? "" : "s"}`));
    const list = el("ol");
    for (const step of item.steps) {
      const line = el("li");
      fillStep(line, step);
      list.append(line);
    }
    details.append(list);
    details.open = open;
    node.className = "folded";
    node.replaceChildren(details);
  },

  cut: fillCut,

  question: fillQuestion,
};

export const fillItem = (acts) => (node, item) => FILL[item.kind](node, item, acts);

function answer(node, text) {
  let words = node.querySelector(":scope > .md");
  if (!words) {
    words = el("div", "md");
    node.replaceChildren(el("span", "sr", "Agent: "), words);
  }
  showMarkdown(words, text);
}

/** A question as a card: with buttons or a field while it is open, then with its outcome. */
function fillQuestion(node, item, acts) {
  const asked = item.question;
  const typed = node.querySelector("textarea")?.value ?? "";
  const isOpen = asked?.state === "open";
  const isConsent = asked?.kind === "approval";
  node.className = `question${isOpen ? " open" : ""}${isConsent ? " consent" : ""}`;
  const words = el("div", "md");
  showMarkdown(words, item.text);
  if (isConsent) setArgumentsApart(words);
  const label = isConsent ? (isOpen ? "Your permission is needed" : "Permission") : isOpen ? "A question for you" : "Question";
  node.replaceChildren(el("p", "label", label), words);
  if (!asked) return;
  if (!isOpen) return void node.append(el("p", "outcome", questionEnd(asked)));
  const send = (answer) => {
    if (!answer) return;
    for (const one of node.querySelectorAll("button, textarea")) one.disabled = true;
    acts.answer(asked.id, answer);
  };
  const ways = asked.options.length ? answerButtons(asked.options, send) : answerField(typed, send);
  node.append(ways, el("p", "expiry", answerHint(item)));
  if (item.answer) for (const one of ways.querySelectorAll("button, textarea")) one.disabled = true;
  else if (isConsent) allowOnceRead(asked.id, words, ways);
}

/** Put each argument into a block of its own with its further rows indented, so that none looks like another argument. */
function setArgumentsApart(words) {
  for (const code of words.querySelectorAll("pre > code")) {
    // Further lines of a value begin with two spaces. The line ends stay in the text, for copying.
    const texts = code.textContent.split(/(?<=\n)(?! {2})/);
    code.replaceChildren(...texts.map((text) => el("span", "argument", text)));
  }
}

const read = new Set(); // approvals whose call was in sight to its end

/** A person can allow a call only after its end was in sight; they can refuse it at any time. */
function allowOnceRead(question, words, ways) {
  const code = words.querySelector("pre");
  if (!code || read.has(question)) return;
  const allowing = [...ways.querySelectorAll("button")].filter((one) => one.dataset.option !== "deny");
  const hint = el("p", "unread", "Scroll to the end of the call to allow it.");
  for (const one of allowing) one.disabled = true;
  ways.before(hint);
  const end = el("span", "end");
  (code.querySelector(".argument:last-child") ?? code).append(end);
  const watch = new IntersectionObserver((seen) => {
    if (!seen.some((one) => one.isIntersecting)) return;
    watch.disconnect();
    read.add(question);
    hint.remove();
    for (const one of allowing) one.disabled = false;
  });
  watch.observe(end);
}

function answerButtons(options, send) {
  return el("div", "options", ...options.map((option) => {
    const node = button("plain", option, () => send(option));
    node.dataset.option = option;
    return node;
  }));
}

function answerField(typed, send) {
  const text = el("textarea");
  text.rows = 1;
  text.value = typed;
  text.setAttribute("aria-label", "Your answer");
  text.placeholder = "Your answer";
  const give = () => send(text.value.trim());
  text.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) { event.preventDefault(); give(); }
  });
  return el("div", "field", text, button("fill", "Answer", give));
}

function answerHint({ question, answer, away }) {
  if (answer) return `${away ? "Kept here, and sent when the gateway is back" : "On its way"}: ${answer}`;
  const way = question.of_owner ? "" : question.kind === "approval" ? `Or write ${question.options.length > 2 ? "yes, no or always" : "yes or no"} below. ` : question.options.length ? "Or write below; a number is enough. " : "";
  return question.expires_at ? `${way}Open until ${moment(question.expires_at)}.` : `${way}Open until safe mode ends; then the work goes on.`;
}

/** A fold; it stays open when its item is filled again. */
function folded(node, className, words, ...inside) {
  const details = el("details", className, el("summary", "", ...words), ...inside);
  details.open = node.querySelector("details")?.open ?? false;
  return details;
}

/** A step as one line; opened, it shows the arguments and the result of each call. */
function fillStep(node, item) {
  node.className = `step ${item.state}`;
  const words = [item.text || `Step ${item.number}`, " "];
  for (const call of item.calls) words.push(el("span", "tool-name", visible(`${call.name} ${gist(call.given)}`.trim())), " ");
  const result = item.state === "done" || item.state === "running" ? "" : STATES[item.state] ?? item.state;
  if (result) words.push(el("span", "result", result));
  const inside = item.calls.flatMap((call) => [
    el("pre", "given", visible(`${call.name} ${call.given}`.slice(0, LONGEST))),
    el("pre", "", call.result === null ? "No result yet." : call.result.slice(0, LONGEST) || "The tool returned nothing."),
  ]);
  const details = folded(node, "words", words, ...inside);
  // The output of a call whose outcome is unknown stays in sight.
  if (item.state === "unknown" && node.dataset.state !== item.state) details.open = true;
  node.dataset.state = item.state;
  node.replaceChildren(el("span", "dot"), details);
}

const LONGEST = 8000;
const LAST_LINES = 12;
const GLANCE = 60;

/** The first line of a text, cut if it is long. */
export function glance(text, most) {
  const line = text.trim().split("\n")[0];
  return line.length > most ? `${line.slice(0, most)}…` : line;
}

/** The first text among the arguments of a call, in one line: a command, a path, a question. */
function gist(given) {
  try {
    const [first] = Object.values(JSON.parse(given)).filter((one) => typeof one === "string");
    return glance(first ?? "", GLANCE);
  } catch {
    return "";
  }
}

const STATES = { failed: "failed", unknown: "outcome unknown", skipped: "skipped", cut: "not finished" };

function fillCut(node, item) {
  const open = node.querySelector("details")?.open ?? false;
  const details = el("details", "cut");
  const bolt = el("span", "bolt", icon("i-kill"));
  details.append(el("summary", "", bolt, el("span", "said", cutLine(item))));
  const why = el("div", "why", ...cutStory(item).map((line) => el("p", "", line)));
  details.append(why);
  details.addEventListener("toggle", () => details.open && addTrace(why, item), { once: !open });
  details.open = open;
  node.className = "cut-row";
  node.replaceChildren(details);
}

/** Add the trace from the ledger; the page fetches it when the person opens the cut. */
async function addTrace(why, item) {
  if (!item.cut.position || why.querySelector("dl")) return;
  const list = el("dl");
  why.append(list);
  try {
    const { happenings } = await get(`/api/trace/${item.cut.position}`);
    for (const [at, words, isCut] of aroundCut(happenings, item.cut.at)) {
      list.append(el("dt", "", clock(at, true)), el("dd", isCut ? "broke" : "", words));
    }
    if (item.session) why.append(el("p", "", operatorLink(item.session)));
  } catch (fault) {
    list.remove();
    why.append(el("p", "", `The page could not load the details: ${fault.message}`));
  }
}

function operatorLink(session) {
  const link = el("a", "", "All details on the operator pages");
  link.href = `/operator#session/${encodeURIComponent(session)}`;
  return link;
}

export function chip(one, more = []) {
  const inside = [el("span", "name", one.name), el("span", "size", size(one.size)), ...more];
  if (!one.digest || more.length) return el("span", "chip", ...inside);
  return download(el("a", "chip", ...inside), one);
}

const blobPath = (one) => `/api/blobs/${encodeURIComponent(one.digest)}?name=${encodeURIComponent(one.name)}`;
const PICTURES = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/** A file from the agent, as a download; a picture is also shown. */
function fileCard(one) {
  const node = download(el("a", "file"), one);
  if (PICTURES.includes(one.media_type)) {
    const picture = el("img");
    picture.alt = "";
    picture.hidden = true;
    node.append(picture);
    nearby(node, () => load(picture, one));
  }
  node.append(el("span", "label", icon("i-file"), el("span", "name", one.name), el("span", "size", size(one.size)), icon("i-down")));
  return node;
}

/** Download through the page: a plain link would lack the proof, so the page fetches the bytes itself. */
function download(node, one) {
  node.href = blobPath(one);
  node.setAttribute("download", one.name);
  const save = async (event) => {
    if (event.button > 1) return; // a right click opens the menu
    event.preventDefault();
    try {
      const link = el("a");
      // Never with the sender's type: the browser could open the file as a page of this origin.
      link.href = URL.createObjectURL(new Blob([await bytes(blobPath(one))], { type: "application/octet-stream" }));
      link.setAttribute("download", one.name);
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
    } catch (fault) {
      if (fault.status === undefined) throw fault;
      toast(`${one.name} could not be downloaded. ${fault.message}`);
    }
  };
  node.addEventListener("click", save);
  node.addEventListener("auxclick", save);
  return node;
}

/** Fetch a picture. If the gateway does not answer, retry with growing waits. */
async function load(picture, one, wait = 1000) {
  try {
    const address = URL.createObjectURL(await bytes(blobPath(one)));
    picture.onload = () => { picture.hidden = false; URL.revokeObjectURL(address); };
    picture.onerror = () => URL.revokeObjectURL(address); // the bytes are no picture: the card stays without one
    picture.src = address;
  } catch (fault) {
    if (fault.status === undefined) throw fault;
    if (wait < 300_000 && picture.isConnected) setTimeout(() => load(picture, one, 2 * wait), wait);
  }
}

const waiting = new WeakMap();
const near = new IntersectionObserver((seen) => {
  for (const { target, isIntersecting } of seen) {
    if (!isIntersecting) continue;
    near.unobserve(target);
    waiting.get(target)();
  }
}, { rootMargin: "800px" });

/** Call `act` once, when the node is in sight or close to it. */
function nearby(node, act) {
  waiting.set(node, act);
  near.observe(node);
}

export function saidParts(item) {
  const parts = [el("span", "sr", "You: ")];
  if (item.attachments?.length) parts.push(el("span", "meta", ...item.attachments.map((one) => chip(one))));
  if (item.text) parts.push(el("div", "bubble", item.text));
  return parts;
}

// The other lists: waiting messages, processes and chats.

/** A message that is being sent or waits; the person can still change it. */
export const fillWaiting = (acts) => (node, item) => {
  if (item.kind === "queued" && item.editing) return fillEditor(node, item, acts);
  node.className = `you ${item.kind}`;
  const meta = el("span", "meta");
  if (item.kind === "queued") {
    meta.append(el("span", "state", "Queued"), button("linkish", "Edit", () => acts.edit(item.position)), button("linkish", "Withdraw", () => acts.withdraw(item.position)));
  } else if (item.refused) {
    meta.append(el("span", "state wrong", `Not taken: ${item.refused}`), button("linkish", "Try again", () => acts.again(item.event_id)), button("linkish", "Discard", () => acts.drop(item.event_id)));
  } else if (item.kind === "sending") {
    meta.append(el("span", "state", item.kept ? "Kept" : item.away ? "Kept here; sent when the gateway is back" : "Sending…"));
  }
  node.replaceChildren(...saidParts(item), ...(meta.childNodes.length ? [meta] : []));
};

function fillEditor(node, item, acts) {
  node.className = "you queued editing";
  const text = el("textarea");
  text.value = item.text;
  text.rows = Math.min(8, item.text.split("\n").length);
  text.setAttribute("aria-label", "Edit the queued message");
  const save = () => acts.save(item.position, text.value.trim());
  text.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) { event.preventDefault(); save(); }
    if (event.key === "Escape") { event.stopPropagation(); acts.edit(null); }
  });
  const buttons = el("div", "edit-buttons", button("plain", "Cancel", () => acts.edit(null)), button("fill", "Save", save));
  node.replaceChildren(el("div", "edit", text, buttons));
  requestAnimationFrame(() => text.focus());
}

/** A background process: its command, how long it runs, and the last line of its output. */
export function fillProcess(node, item) {
  const line = el("code", "", item.command);
  line.title = item.command;
  node.replaceChildren(line, el("span", "when", `for ${span(item.for)}`), el("span", "last", item.last_line));
}

export function fillChat(node, item) {
  const link = el("a", "", el("span", "name", item.title));
  link.href = `#${encodeURIComponent(item.chat)}`;
  if (item.current) link.setAttribute("aria-current", "page");
  if (item.asks) link.append(el("span", "asks", "asks you"));
  else if (item.running) link.append(el("span", "busy"), el("span", "sr", "working"));
  else if (item.at) link.append(el("span", "when", shortTime(item.at)));
  node.replaceChildren(link);
}
