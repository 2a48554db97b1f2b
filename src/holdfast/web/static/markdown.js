// Markdown as a tree of nodes. There is no innerHTML here: text stays text whatever it holds, only http and https
// links become links, and pictures become links too.
import { highlight } from "./highlight.js";

const make = (tag, ...inside) => {
  const node = document.createElement(tag);
  node.append(...inside);
  return node;
};

/** Show `text` in `element`; blocks that have not changed keep their nodes, so a growing text does not flicker. */
export function showMarkdown(element, text) {
  const blocks = split(text.replace(/\r\n?/g, "\n").split("\n"));
  // Levels follow the page's own title without a gap, however deep the first one is written.
  let level = 1;
  for (const block of blocks) {
    if (block.kind !== "heading") continue;
    level = block.level = Math.min(block.lines[0].match(HEADING)[1].length + 1, level + 1, 6);
    block.source += level;
  }
  const before = element.blocks ?? [];
  let same = 0;
  while (same < blocks.length && same < before.length && blocks[same].source === before[same]) same += 1;
  while (element.childNodes.length > same) element.lastChild.remove();
  for (const block of blocks.slice(same)) element.append(render(block));
  element.blocks = blocks.map((block) => block.source);
}

const FENCE = /^ {0,3}(`{3,}|~{3,})\s*([\w+#.-]*)[^`]*$/;
const HEADING = /^ {0,3}(#{1,6})\s+(.*?)(?:\s+#+)?\s*$/;
const RULE = /^ {0,3}(?:(?:\*\s*){3,}|(?:-\s*){3,}|(?:_\s*){3,})$/;
const ITEM = /^( {0,3})([-*+]|\d{1,9}[.)])(\s+)(.*)$/;
const QUOTE = /^ {0,3}>/;
const DIVIDER = /^\s*\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?\s*$/;
const BLANK = /^\s*$/;

/** The blocks of these lines: what each is, its lines, and its source to know it again. */
function split(lines) {
  const blocks = [];
  let at = 0;
  while (at < lines.length) {
    if (BLANK.test(lines[at])) { at += 1; continue; }
    const kind = kindAt(lines, at);
    const end = ENDS[kind](lines, at);
    const own = lines.slice(at, end);
    blocks.push({ kind, lines: own, source: `${kind}\n${own.join("\n")}` });
    at = end;
  }
  return blocks;
}

function kindAt(lines, at) {
  const line = lines[at];
  if (FENCE.test(line)) return "code";
  if (HEADING.test(line)) return "heading";
  if (RULE.test(line)) return "rule";
  if (QUOTE.test(line)) return "quote";
  if (ITEM.test(line)) return "list";
  if (line.includes("|") && at + 1 < lines.length && lines[at + 1].includes("-") && DIVIDER.test(lines[at + 1])
    && cells(line).length === cells(lines[at + 1]).length) return "table";
  return "paragraph";
}

const next = (lines, from, goes) => {
  let end = from;
  while (end < lines.length && goes(lines[end], end)) end += 1;
  return end;
};

const ENDS = {
  heading: (_, at) => at + 1,
  rule: (_, at) => at + 1,
  code(lines, at) {
    const [, fence] = lines[at].match(FENCE);
    const end = next(lines, at + 1, (line) => !(line.trim().startsWith(fence) && BLANK.test(line.trim().replaceAll(fence[0], ""))));
    return Math.min(end + 1, lines.length);
  },
  quote: (lines, at) => next(lines, at, (line) => QUOTE.test(line)),
  table: (lines, at) => next(lines, at, (line, n) => n < at + 2 || (line.includes("|") && !BLANK.test(line))),
  list(lines, at) {
    const ordered = /\d/.test(lines[at].match(ITEM)[2]);
    return next(lines, at, (line, n) => {
      if (n === at) return true;
      if (BLANK.test(line)) return n + 1 < lines.length && (/^\s{2,}\S/.test(lines[n + 1]) || isItem(lines[n + 1], ordered));
      return /^\s{2,}\S/.test(line) || isItem(line, ordered) || (!BLANK.test(lines[n - 1]) && kindAt(lines, n) === "paragraph");
    });
  },
  paragraph: (lines, at) => next(lines, at, (line, n) => n === at || (!BLANK.test(line) && kindAt(lines, n) === "paragraph")),
};

function isItem(line, ordered) {
  const found = line.match(ITEM);
  return Boolean(found) && !RULE.test(line) && /\d/.test(found[2]) === ordered;
}

function render({ kind, lines, level }) {
  switch (kind) {
    case "code": return code(lines);
    case "heading": {
      const words = inline(lines[0].match(HEADING)[2]);
      return level ? make(`h${level}`, ...words) : make("p", make("strong", ...words));
    }
    case "rule": return make("hr");
    case "quote": return make("blockquote", ...split(lines.map((line) => line.replace(/^ {0,3}> ?/, ""))).map(render));
    case "list": return list(lines);
    case "table": return table(lines);
    default: return make("p", ...inline(lines.map((line) => line.trimStart()).join("\n")));
  }
}

function code(lines) {
  const [, fence, language] = lines[0].match(FENCE);
  const closed = lines.length > 1 && lines.at(-1).trim().startsWith(fence);
  const source = lines.slice(1, closed ? -1 : undefined).join("\n");
  const inner = make("code");
  highlight(inner, source, language.toLowerCase());
  const copy = make("button", "Copy");
  copy.type = "button";
  copy.className = "copy";
  copy.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(source);
      copy.textContent = "Copied";
    } catch {
      copy.textContent = "Not allowed";
    }
    setTimeout(() => { copy.textContent = "Copy"; }, 1500);
  });
  const pre = make("pre", inner);
  pre.tabIndex = 0;
  const figure = make("figure", make("figcaption", make("span", language || "text"), copy), pre);
  figure.className = "code";
  return figure;
}

function list(lines) {
  const ordered = /\d/.test(lines[0].match(ITEM)[2]);
  const items = [];
  let width = 0;
  for (const line of lines) {
    const found = isItem(line, ordered) ? line.match(ITEM) : null;
    if (found && (!items.length || found[1].length < width)) {
      width = found[1].length + found[2].length + Math.min(found[3].length, 4);
      items.push([found[4]]);
    } else {
      const indent = line.match(/^\s*/)[0].length;
      items.at(-1).push(line.slice(Math.min(indent, width)));
    }
  }
  const node = make(ordered ? "ol" : "ul");
  const first = ordered ? Number.parseInt(lines[0].trim(), 10) : 1;
  if (first !== 1) node.start = first;
  for (const item of items) {
    const blocks = split(item);
    const loose = item.some((line, n) => BLANK.test(line) && n + 1 < item.length);
    node.append(make("li", ...blocks.flatMap((block) =>
      block.kind === "paragraph" && !loose ? inline(block.lines.map((line) => line.trimStart()).join("\n")) : [render(block)])));
  }
  return node;
}

const cells = (line) => line.trim().replace(/^\||(?<!\\)\|$/g, "").split(/(?<!\\)\|/).map((cell) => cell.trim().replaceAll("\\|", "|"));

function table(lines) {
  const [head, marks, ...rows] = lines.map(cells);
  const sides = marks.map((mark) => (/^:-+:$/.test(mark) ? "center" : /-:$/.test(mark) ? "right" : ""));
  const row = (tag, words) => make("tr", ...sides.map((side, n) => {
    const cell = make(tag, ...inline(words[n] ?? ""));
    if (side) cell.className = side;
    return cell;
  }));
  const around = make("div", make("table", make("thead", row("th", head)), make("tbody", ...rows.map((words) => row("td", words)))));
  around.className = "table";
  around.tabIndex = 0;
  return around;
}

// Inline: the first of these that fits at a place wins. Emphasis holds more of the same, code and links do not nest.
const INLINE = new RegExp([
  String.raw`\\(?<escaped>[\\${"`"}*_{}\[\]()#+.!|>~-])`,
  String.raw`(?<ticks>${"`"}+)(?<code>[\s\S]*?[^${"`"}])\k<ticks>(?!${"`"})`,
  String.raw`!?\[(?<label>(?:\[[^\[\]\n]*\]|[^\[\]])*)\]\((?<target><[^<>\n]*>|(?:\([^()\s]*\)|[^()\s])*)(?:\s+(?:"[^"\n]*"|'[^'\n]*'))?\)`,
  String.raw`<(?<angled>https?:\/\/[^\s<>]+)>`,
  String.raw`(?<bare>https?:\/\/[^\s<>"'${"`"}]+)`,
  String.raw`\*\*(?<strong>(?=\S)[\s\S]*?[^\s*])\*\*(?!\*)|(?<![\w])__(?<strong2>(?=\S)[\s\S]*?\S)__(?!\w)`,
  String.raw`\*(?<em>(?![\s*])(?:[^*]|\*\*[^*]*\*\*)*?[^\s*])\*(?!\*)|(?<![\w])_(?<em2>(?![\s_])[^_]*?[^\s_])_(?!\w)`,
  String.raw`~~(?<gone>(?=\S)[\s\S]*?\S)~~`,
  String.raw`(?<break> {2,}\n|\\\n)`,
].join("|"), "g");

const LONGEST = 10_000; // what no person writes as one paragraph is shown as it is

export function inline(text, deep = 0) {
  const nodes = [];
  let last = 0;
  const plain = (end) => { if (end > last) nodes.push(text.slice(last, end)); };
  if (deep > 8 || text.length > LONGEST) return [text];
  for (const found of text.matchAll(INLINE)) {
    const node = inlineNode(found, deep);
    if (node === null) continue;
    plain(found.index);
    nodes.push(...[node].flat());
    last = found.index + found[0].length;
  }
  plain(text.length);
  return nodes;
}

function inlineNode(found, deep) {
  const g = found.groups;
  if (g.escaped) return g.escaped;
  if (g.code) return make("code", g.code.replace(/^ (.*\S.*) $/s, "$1").replaceAll("\n", " "));
  if (g.label !== undefined) {
    let words = g.label ? inline(g.label, deep + 4) : [g.target];
    if (make("span", ...words).querySelector("a")) words = [g.label];
    const target = link(g.target.replace(/^<|>$/g, ""), words);
    return target ?? words;
  }
  if (g.angled) return link(g.angled, [g.angled]);
  if (g.bare) return bare(g.bare);
  if (g.strong ?? g.strong2) return make("strong", ...inline(g.strong ?? g.strong2, deep + 1));
  if (g.em ?? g.em2) return make("em", ...inline(g.em ?? g.em2, deep + 1));
  if (g.gone) return make("del", ...inline(g.gone, deep + 1));
  if (g.break) return make("br");
  return null;
}

/** An address in running text ends before the sentence's own marks. */
function bare(found) {
  let end = found.replace(/[.,;:!?*_~]+$/, "");
  while (end.endsWith(")") && end.split(")").length > end.split("(").length) end = end.slice(0, -1);
  return [link(end, [end]) ?? end, found.slice(end.length)];
}

/** A link to the web, or nothing: no other kind of address is ever followed. */
function link(target, words) {
  let url;
  try {
    url = new URL(target);
  } catch {
    return null;
  }
  if (url.protocol !== "https:" && url.protocol !== "http:") return null;
  const node = make("a", ...words);
  node.href = url.href;
  node.target = "_blank";
  node.rel = "noopener noreferrer nofollow";
  return node;
}
