// The message box: text, drafts that survive a reload, and files by button, paste or drop.
import { ask } from "./api.js";
import { button, chip, el, icon } from "./view.js";

const $ = (id) => document.getElementById(id);
const LARGEST = 20_000_000;

export class Composer {
  #say;
  #toast;
  #files = [];
  #chat = null;

  constructor(say, toast) {
    this.#say = say;
    this.#toast = toast;
    const text = $("text");
    text.addEventListener("input", () => this.#changed());
    text.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
        event.preventDefault();
        this.#send();
      }
    });
    text.addEventListener("paste", (event) => {
      if (event.clipboardData.files.length) {
        event.preventDefault();
        this.#add(event.clipboardData.files);
      }
    });
    $("composer").addEventListener("submit", (event) => { event.preventDefault(); this.#send(); });
    $("attach").addEventListener("click", () => $("files").click());
    $("files").addEventListener("change", () => { this.#add($("files").files); $("files").value = ""; });
    this.#dropping();
  }

  focus() {
    if (!matchMedia("(pointer: coarse)").matches) $("text").focus();
  }

  /** Show the draft of this chat. */
  begin(chat) {
    this.#chat = chat;
    this.#files = [];
    let draft = "";
    try { draft = sessionStorage.getItem(`holdfast.draft.${chat}`) ?? ""; } catch { /* a private window */ }
    $("text").value = draft;
    this.#changed();
    this.focus();
  }

  #changed() {
    const text = $("text");
    try {
      if (text.value) sessionStorage.setItem(`holdfast.draft.${this.#chat}`, text.value);
      else sessionStorage.removeItem(`holdfast.draft.${this.#chat}`);
    } catch { /* a private window */ }
    const ready = this.#files.every((one) => one.digest);
    $("send").disabled = !ready || !(text.value.trim() || this.#files.length);
    if (!CSS.supports("field-sizing", "content")) text.rows = Math.min(10, text.value.split("\n").length);
  }

  #send() {
    if ($("send").disabled) return;
    const attachments = this.#files.map(({ digest, name, size, media_type }) => ({ digest, name, size, media_type }));
    this.#say($("text").value.trim(), attachments);
    $("text").value = "";
    this.#files = [];
    this.#changed();
    this.#draw();
  }

  #add(files) {
    for (const file of files) {
      if (file.size > LARGEST) {
        this.#toast(`${file.name} is larger than 20 MB and was not attached.`);
        continue;
      }
      if (!file.size) {
        this.#toast(`${file.name} is empty and was not attached.`);
        continue;
      }
      const one = { file, name: file.name || "pasted", size: file.size, media_type: file.type || "application/octet-stream" };
      this.#files.push(one);
      this.#upload(one);
    }
    this.#draw();
    this.focus();
  }

  async #upload(one) {
    one.fault = null;
    try {
      const kept = await ask("POST", "/api/blobs", one.file, { "Content-Type": one.media_type, "X-Name": encodeURIComponent(one.name) });
      one.digest = kept.digest;
    } catch (fault) {
      if (fault.status === undefined) throw fault;
      one.fault = fault.message;
    }
    this.#draw();
  }

  #draw() {
    $("chips").hidden = !this.#files.length;
    $("chips").replaceChildren(...this.#files.map((one) => {
      const away = button("icon", icon("i-close"), () => {
        this.#files = this.#files.filter((other) => other !== one);
        this.#draw();
      });
      away.setAttribute("aria-label", `Remove ${one.name}`);
      const more = one.fault ? [button("linkish", "Try again", () => { this.#upload(one); this.#draw(); }), away] : [away];
      const node = chip(one, more);
      if (one.fault) { node.classList.add("bad"); node.title = one.fault; }
      return el("li", "", node);
    }));
    this.#changed();
  }

  #dropping() {
    const body = document.body;
    const has = (event) => event.dataTransfer?.types.includes("Files");
    addEventListener("dragover", (event) => {
      if (!has(event)) return;
      event.preventDefault();
      body.classList.add("dragging");
    });
    addEventListener("dragleave", (event) => event.relatedTarget ?? body.classList.remove("dragging"));
    addEventListener("drop", (event) => {
      body.classList.remove("dragging");
      if (!has(event)) return;
      event.preventDefault();
      this.#add(event.dataTransfer.files);
    });
  }
}
