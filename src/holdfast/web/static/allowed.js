// The rules of a chat: which calls run in it without a question, and a button that revokes each.
import { ask } from "./api.js";
import { confirmed } from "./shell.js";
import { Keyed } from "./keyed.js";
import { button, el } from "./view.js";
import { coded, moment } from "./words.js";

const $ = (id) => document.getElementById(id);

export class Allowed {
  #look;
  #list = new Keyed($("allowed-list"), (node, rule) => this.#fill(node, rule));

  /** `look()` fetches the state of the chat from the gateway. */
  constructor(look) {
    this.#look = look;
    $("do-allowed").addEventListener("click", () => {
      $("allowed-said").textContent = "";
      $("allowed").showModal();
    });
  }

  /** Show the rules of the chat that is open. */
  draw(rules) {
    $("do-allowed").hidden = !rules.length;
    $("allowed-none").hidden = rules.length > 0;
    this.#list.show(rules.map((rule) => ({ ...rule, key: rule.id })), true);
  }

  /** Close the list, because another chat opens. */
  close() {
    $("allowed").close();
  }

  #fill(node, rule) {
    const words = el("p", "covers", ...coded(rule.covers).map(([text, isCode]) => isCode ? el("code", "", text) : text));
    const revoke = button("plain", "Revoke", () => this.#revoke(rule.id, revoke));
    revoke.setAttribute("aria-label", `Revoke rule ${rule.id}`);
    node.replaceChildren(words, el("p", "meta", `Rule ${rule.id}, allowed by ${rule.allowed_by}, ${moment(rule.allowed_at)}`), revoke);
  }

  async #revoke(id, pressed) {
    if (!await confirmed("Revoke this rule?", "The agent asks for permission before such a call again. A call that runs is not stopped.", "Revoke it")) return;
    pressed.disabled = true;
    try {
      await ask("POST", `/api/allowed/${id}/revoke`);
      $("allowed-said").textContent = `Rule ${id} is revoked.`;
    } catch (fault) {
      if (fault.status === undefined) throw fault;
      $("allowed-said").textContent = fault.status ? `Nothing was changed: ${fault.message}` : "The gateway does not answer; nothing was changed.";
    }
    pressed.disabled = false;
    await this.#look();
    $("allowed-close").focus();
  }
}
