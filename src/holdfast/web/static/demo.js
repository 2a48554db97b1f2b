// The demonstration: a button that really kills the gateway, and a tour of what to try.
import { ask, get } from "./api.js";
import { button, el, icon } from "./view.js";

const $ = (id) => document.getElementById(id);
const KEY = "holdfast.tour";

const STEPS = [
  { name: "ask", words: "Give the agent something to do", text: "Do 6 steps." },
  { name: "kill", words: "Kill the gateway while the agent works" },
  { name: "why", words: "Open the line about the cut" },
  { name: "recall", words: "Ask the agent what it did", text: "What have you done?" },
];

export class Demo {
  #on = false;
  #page;
  #killed = false;
  #did = new Set();
  #closed = false;
  #drawn = "";
  #changed = () => {};

  constructor(page) {
    this.#page = page;
    $("kill").addEventListener("click", () => this.#kill());
    document.addEventListener("toggle", (event) => {
      if (event.target.matches?.(".cut") && event.target.open) this.#done("why");
    }, true);
    try {
      const kept = JSON.parse(localStorage.getItem(KEY) ?? "{}");
      this.#did = new Set(kept.did ?? []);
      this.#closed = kept.closed ?? false;
    } catch { /* a private window, or unreadable data: the tour starts again */ }
  }

  /** Ask the gateway once whether it is a demonstration. */
  async begin(changed) {
    for (let wait = 500; ; wait = Math.min(wait * 2, 5000)) {
      try {
        const status = await get("/api/status");
        this.#on = Boolean(status.demo ?? status.status?.demo);
        break;
      } catch (fault) {
        if (!fault.passes) return;
        await new Promise((wake) => setTimeout(wake, wait));
      }
    }
    $("kill").hidden = !this.#on;
    this.#changed = changed;
    changed();
  }

  heard(standing) {
    if (standing.said.length) this.#done("ask");
    if (standing.interruptions.some((one) => one.resumed_at)) this.#done("kill");
    if (standing.said.some((one) => /what (have|did) you do/i.test(one.text))) this.#done("recall");
  }

  away() {
    this.#killed = false;
    this.#able();
  }

  /** Disable the kill buttons while the gateway is down. */
  #able() {
    const gone = document.body.classList.contains("away") || this.#killed;
    for (const one of document.querySelectorAll("[data-kill]")) one.disabled = gone;
  }

  draw(isEmpty) {
    const shown = this.#on && !this.#closed;
    $("tour").hidden = !(shown && isEmpty);
    $("next").hidden = !shown || isEmpty;
    const starters = this.#on && isEmpty && this.#closed;
    const now = JSON.stringify([shown, starters, [...this.#did]]);
    if (now === this.#drawn) return this.#able();
    this.#drawn = now;
    if (shown) this.#drawTour();
    if (shown) this.#drawNext();
    $("starters").replaceChildren(...(starters ? STEPS.filter((step) => step.text) : []).map((step) =>
      el("li", "", button("", step.text, () => this.#page.say(step.text)))));
    this.#able();
  }

  #close() {
    const away = button("icon", icon("i-close"), () => {
      this.#closed = true;
      this.#keep();
      $("text").focus();
      this.#changed();
    });
    away.setAttribute("aria-label", "Close this tour");
    return away;
  }

  #try(step, isNext) {
    const kind = `try${isNext ? " now" : ""}`;
    if (step.name !== "kill") return step.text ? [button(kind, el("span", "", step.text), () => this.#page.say(step.text))] : [];
    const kill = button(kind, el("span", "", "kill -9"), () => this.#kill());
    kill.dataset.kill = "";
    return [kill];
  }

  /** In a conversation: the next thing to try, near the message box. */
  #drawNext() {
    const at = STEPS.findIndex((step) => !this.#did.has(step.name));
    const done = [el("span", "what", "That is Holdfast: the gateway was killed in the middle, and nothing was lost or done twice.")];
    const next = () => [el("span", "what", el("span", "count", `Try ${at + 1} of ${STEPS.length}`), STEPS[at].words), ...this.#try(STEPS[at], true)];
    $("next").replaceChildren(...(at < 0 ? done : next()), this.#close());
  }

  #drawTour() {
    const next = STEPS.find((step) => !this.#did.has(step.name));
    const steps = STEPS.map((step, number) => {
      const did = this.#did.has(step.name);
      const line = el("li", did ? "did" : "", el("span", "mark", did ? "✓" : String(number + 1)), el("span", "what", step.words, did ? el("span", "sr", " (done)") : ""));
      if (!did) line.append(...this.#try(step, step === next));
      return line;
    });
    $("tour").replaceChildren(el("h2", "", this.#did.size === STEPS.length ? "That is Holdfast." : "Try to make it lose something"), el("ol", "", ...steps), this.#close());
  }

  #done(name) {
    if (!this.#on || this.#did.has(name)) return;
    this.#did.add(name);
    this.#keep();
    this.#changed();
  }

  #keep() {
    try { localStorage.setItem(KEY, JSON.stringify({ did: [...this.#did], closed: this.#closed })); } catch { /* a private window */ }
  }

  async #kill() {
    const works = this.#page.sessionTurn() ? "The agent is at work, so this cuts it off in the middle. " : "Nothing runs in this chat at the moment. ";
    const sure = await this.#page.confirm("Kill the gateway?", `${works}The process gets SIGKILL and ends at once, without any cleanup. Its supervisor starts it again, and the work goes on.`, "kill -9");
    this.#page.focus();
    if (!sure) return;
    this.#killed = true;
    this.#able();
    try {
      await ask("POST", "/api/gateway/kill", {});
    } catch (fault) {
      this.#killed = false;
      if (fault.status > 0) this.#page.toast(fault.message);
    }
  }
}
