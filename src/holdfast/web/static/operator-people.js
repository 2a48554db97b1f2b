// The people who were let in, those who ask, and the form for their codes.

import { h } from "./operator-dom.js";
import { ago, plural, span } from "./operator-words.js";

const MAY = { owner: "may do everything", person: "may talk", chat: "a group whose members may talk" };

export function codeForm() {
  return h("form", { class: "filters" },
    h("label", { class: "field wide" }, h("span", {}, "Code that the person got"),
      h("input", { name: "code", id: "code", placeholder: "ABCD-2345", autocomplete: "off", autocapitalize: "characters", spellcheck: "false", maxlength: "20" })),
    h("button", { class: "fill", type: "button", "data-do": "pair" }, "Let them in"));
}

export function people({ grants, asking }, now) {
  const table = (id, title, aside, columns, rows) => h("section", { class: "panel", "aria-labelledby": id },
    h("header", {}, h("h2", { id }, title), h("p", { class: "aside" }, aside)),
    rows.length > 0 && h("div", { class: "table cards" }, h("table", {},
      h("thead", {}, h("tr", {}, columns.map((name) => h("th", { scope: "col" }, name)))), h("tbody", {}, rows))));
  return [
    h("p", { class: "intro" }, "A person who writes to a bot and is not let in gets a code. Ask them for it and enter it here. The gateway does not keep what they wrote before. ",
      "The people in holdfast.toml are let in as well, but not listed here."),
    table("asking", "Who asks", asking.length ? plural(asking.length, "code") : "none", ["Person", "Asked", "Code good for"], asking.map((one) =>
      h("tr", { "data-key": one.person },
        h("th", { scope: "row", "data-label": "Person" }, one.person),
        h("td", { "data-label": "Asked" }, ago(one.asked_at, now)),
        h("td", { "data-label": "Code good for" }, span(Math.max(0, one.expires_at - now)))))),
    table("grants", "Who was let in", grants.length ? "" : "none", ["Who", "What they may", "Since", ""], grants.map((one) =>
      h("tr", { "data-key": `${one.scope} ${one.subject}` },
        h("th", { scope: "row", "data-label": "Who" }, one.subject),
        h("td", { "data-label": "What they may" }, MAY[one.scope] ?? one.scope),
        h("td", { "data-label": "Since" }, ago(one.at, now)),
        h("td", {}, h("button", { class: "plain danger", type: "button", "data-do": "remove", "data-who": one.subject }, "Remove"))))),
  ];
}
