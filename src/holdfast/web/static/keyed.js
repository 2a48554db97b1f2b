// Lists whose items come and go: an item keeps its node as long as it is in the list.

/** Keeps the children of `list` equal to the items, by key. */
export class Keyed {
  #list;
  #fill;
  #nodes = new Map();

  constructor(list, fill) {
    this.#list = list;
    this.#fill = fill;
  }

  show(items, still = false) {
    const old = this.#nodes;
    this.#nodes = new Map();
    let at = this.#list.firstElementChild;
    for (const item of items) {
      const node = old.get(item.key) ?? document.createElement("li");
      const shown = JSON.stringify(item);
      if (node.shown !== shown) {
        this.#draw(node, item);
        if (!node.shown && !still && item.kind !== "said") node.classList.add("fresh");
        node.shown = shown;
      }
      old.delete(item.key);
      this.#nodes.set(item.key, node);
      if (node === at) at = at.nextElementSibling;
      else this.#list.insertBefore(node, at);
    }
    for (const node of old.values()) node.remove();
  }

  /** Show an item that cannot be drawn as plain text, so that all others are still drawn. */
  #draw(node, item) {
    try {
      this.#fill(node, item);
    } catch (fault) {
      console.error("An item is shown as plain text:", fault);
      node.textContent = item.text || "This cannot be shown.";
    }
  }

  clear() {
    this.#nodes.clear();
    this.#list.replaceChildren();
  }
}
