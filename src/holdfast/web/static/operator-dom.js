// Makes elements without markup in strings, and updates the page without losing focus, scroll or open folds.

import { conversation } from "./operator-words.js";

const SVG = "http://www.w3.org/2000/svg";

/** An HTML element; `null`, `false` and `undefined` among its attributes and children are left out. */
export const h = (name, attributes, ...children) => made(document.createElement(name), attributes, children);

/** An SVG element. */
export const s = (name, attributes, ...children) => made(document.createElementNS(SVG, name), attributes, children);

function made(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    element.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false || child === "") continue;
    element.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
  return element;
}

/** An icon of the page's own set. */
export const icon = (name) => s("svg", { viewBox: "0 0 24 24", "aria-hidden": "true" }, s("use", { href: `#${name}` }));

/** A link to a conversation, with its first words as title, and its platform and name beside it. */
export function named(key, session, titles) {
  const { platform, name } = conversation(key);
  const title = titles.get(session);
  return [
    session ? h("a", { href: `#session/${session}` }, title ?? name) : h("span", {}, name),
    h("small", {}, title ? `${platform} · ${name}` : platform),
  ];
}

/** Make `wanted` the children of `parent`, and change only what differs. */
export function show(parent, ...wanted) {
  const target = document.createDocumentFragment();
  target.append(...wanted.flat(Infinity).filter((one) => one));
  updateChildren(parent, target);
}

function updateChildren(old, fresh) {
  const wanted = [...fresh.childNodes];
  wanted.forEach((node, place) => {
    const there = old.childNodes[place];
    if (!there) old.append(node);
    else if (!isSameKind(there, node)) there.replaceWith(node);
    else if (node.nodeType === Node.TEXT_NODE) {
      if (there.data !== node.data) there.data = node.data;
    } else updateElement(there, node);
  });
  while (old.childNodes.length > wanted.length) old.lastChild.remove();
}

const isSameKind = (one, other) => one.nodeName === other.nodeName
  && one.nodeType === other.nodeType
  && (one.nodeType !== Node.ELEMENT_NODE || one.getAttribute("data-key") === other.getAttribute("data-key"));

function updateElement(old, fresh) {
  for (const { name } of [...old.attributes]) {
    // A part that the person opened stays open.
    if (!fresh.hasAttribute(name) && name !== "open") old.removeAttribute(name);
  }
  for (const { name, value } of fresh.attributes) {
    if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  }
  // Keep the person's input and choices, and content that was fetched into its place.
  if (!/^(INPUT|SELECT|TEXTAREA)$/.test(old.nodeName) && !fresh.hasAttribute("data-kept")) updateChildren(old, fresh);
}
