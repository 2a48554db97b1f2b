// The list of chats at the side; on a phone it is a drawer.
import { get } from "./api.js";
import { Keyed } from "./keyed.js";
import { fillChat } from "./view.js";

const $ = (id) => document.getElementById(id);
const EVERY = 20_000;

export class Side {
  #open;
  #current;
  #chats = [];
  #list = new Keyed($("chats"), fillChat);
  #timer = 0;
  #before = null;

  /** `open(chat)` shows a chat, `current()` returns the shown one. */
  constructor(open, current) {
    this.#open = open;
    this.#current = current;
    $("new-chat").addEventListener("click", () => this.#go(newName()));
    $("side-open").addEventListener("click", () => this.#drawer(true));
    $("side-close").addEventListener("click", () => this.close());
    $("veil").addEventListener("click", () => this.close());
    $("side").addEventListener("click", (event) => event.target.closest(".chats a") && this.close());
    $("side").addEventListener("keydown", (event) => this.#arrows(event));
    addEventListener("hashchange", () => this.#named() && this.#open(this.#named()));
  }

  /** Open the chat in the address, or the last one, or a new one; then keep the list up to date. */
  begin() {
    let last = null;
    try { last = localStorage.getItem("holdfast.chat"); } catch { /* a private window */ }
    const first = this.#named() ?? last ?? newName();
    if (this.#named() === first) this.#open(first);
    else this.#go(first, true);
    this.#refresh();
    setInterval(() => document.hidden || this.#refresh(), EVERY);
  }

  /** Fetch the list soon, once for several changes. */
  later() {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#refresh(), 300);
  }

  title(chat) {
    return this.#chats.find((one) => one.chat === chat)?.title || null;
  }

  draw() {
    const current = this.#current();
    const items = this.#chats.map((one) => ({ key: one.chat, chat: one.chat, title: one.title || one.chat, running: one.running, asks: one.asks, at: one.last_at, current: one.chat === current }));
    if (current && !items.some((one) => one.current)) items.unshift({ key: current, chat: current, title: "New chat", running: false, at: null, current: true });
    this.#list.show(items, true);
  }

  focus() {
    this.#drawer(true);
    ($("chats").querySelector("[aria-current]") ?? $("new-chat")).focus();
  }

  close() {
    this.#drawer(false);
  }

  async #refresh() {
    try {
      this.#chats = (await get("/api/chats")).chats;
    } catch (fault) {
      if (fault.status === undefined) throw fault;
      return;
    }
    this.draw();
  }

  #named() {
    const name = decodeURIComponent(location.hash.slice(1));
    return name && !name.includes("/") ? name : null;
  }

  #go(chat, replace = false) {
    const hash = `#${encodeURIComponent(chat)}`;
    if (replace) history.replaceState(null, "", hash);
    else history.pushState(null, "", hash);
    this.close();
    this.#open(chat);
    $("text").focus();
  }

  #drawer(open) {
    const isDrawer = getComputedStyle($("side-open")).display !== "none";
    const was = $("side").classList.contains("open");
    $("side").classList.toggle("open", open && isDrawer);
    $("veil").hidden = !(open && isDrawer);
    $("side-open").setAttribute("aria-expanded", String(open && isDrawer));
    if (open && isDrawer && !was) {
      this.#before = document.activeElement;
      $("side-close").focus();
    } else if (!open && was) {
      this.#before?.focus();
    }
  }

  #arrows(event) {
    if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
    const links = [$("new-chat"), ...$("chats").querySelectorAll("a")];
    const at = links.indexOf(document.activeElement);
    if (at < 0) return;
    event.preventDefault();
    links[(at + (event.key === "ArrowDown" ? 1 : links.length - 1)) % links.length].focus();
  }
}

/** A random name, unique in practice; people see the title instead. */
function newName() {
  const [a, b] = crypto.getRandomValues(new Uint32Array(2));
  return `chat-${a.toString(36)}${b.toString(36).slice(0, 3)}`;
}
