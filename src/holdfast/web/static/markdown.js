// Markdown as a tree of nodes, without innerHTML: text stays text, only http and https addresses become links, and
// pictures become links too. The time of each pattern is linear in the length of its line.
import { highlight } from "./highlight.js";
import { inline, make } from "./inline.js";

/** Show `text` in `element`; as plain text if that fails, so that all other messages are still drawn. */
export function showMarkdown(element, text) {
  try {
    draw(element, text);
  } catch (fault) {
    console.error("A message is shown without its marks:", fault);
    element.blocks = undefined;
    element.replaceChildren(make("pre", text));
  }
}

/** Draw the blocks. Unchanged blocks keep their nodes, so a growing text does not flicker. */
function draw(element, text) {
  const blocks = split(text.replace(/\r\n?/g, "\n").split("\n"));
  // Heading levels start right below the page's title, without a gap.
  let level = 1;
  for (const block of blocks) {
    if (block.kind !== "heading") continue;
    level = block.level = Math.min(headingOf(block.lines[0]).level + 1, level + 1, 6);
    block.source += level;
  }
  const before = element.blocks ?? [];
  let same = 0;
  while (same < blocks.length && same < before.length && blocks[same].source === before[same]) same += 1;
  while (element.childNodes.length > same) element.lastChild.remove();
  for (const block of blocks.slice(same)) element.append(render(block));
  element.blocks = blocks.map((block) => block.source);
}

const DEEPEST = 16; // quotes and lists in each other; deeper ones are shown as text
const FENCE = /^ {0,3}(`{3,}|~{3,})/;
const HEADING = /^ {0,3}(#{1,6})(?=\s)/;
const RULE = /^ {0,3}(?:(?:\*\s*){3,}|(?:-\s*){3,}|(?:_\s*){3,})$/;
const ITEM = /^( {0,3})([-*+]|\d{1,9}[.)])(\s+)(.*)$/s;
const QUOTE = /^ {0,3}>/;
const DIVIDER = /^:?-+:?$/;
const BLANK = /^\s*$/;

/** The fence and the language of a line that begins a code block; null for any other line. */
function fenceOf(line) {
  const found = line.match(FENCE);
  const after = found && line.slice(found[0].length);
  return found && !after.includes("`") ? { fence: found[1], language: after.trim().match(/^[\w+#.-]*/)[0] } : null;
}

/** The level and the text of a heading; null for any other line. */
function headingOf(line) {
  const found = line.match(HEADING);
  if (!found) return null;
  const words = line.slice(found[0].length).trim();
  let end = words.length;
  while (words[end - 1] === "#") end -= 1;
  const isClosed = end > 0 && end < words.length && /\s/.test(words[end - 1]);
  return { level: found[1].length, words: isClosed ? words.slice(0, end).trimEnd() : words };
}

/** The blocks of these lines: the kind, the lines and the source of each, to recognise it later. */
function split(lines, depth = 0) {
  if (depth > DEEPEST) return [{ kind: "paragraph", lines, depth }];
  const blocks = [];
  let at = 0;
  while (at < lines.length) {
    if (BLANK.test(lines[at])) { at += 1; continue; }
    const kind = kindAt(lines, at);
    const end = ENDS[kind](lines, at);
    const own = lines.slice(at, end);
    blocks.push({ kind, lines: own, depth, source: `${kind}\n${own.join("\n")}` });
    at = end;
  }
  return blocks;
}

function kindAt(lines, at) {
  const line = lines[at];
  if (fenceOf(line)) return "code";
  if (headingOf(line)) return "heading";
  if (RULE.test(line)) return "rule";
  if (QUOTE.test(line)) return "quote";
  if (ITEM.test(line)) return "list";
  if (line.includes("|") && at + 1 < lines.length && isDivider(lines[at + 1], cells(line).length)) return "table";
  return "paragraph";
}

function isDivider(line, columns) {
  const marks = line.includes("-") ? cells(line) : [];
  return marks.length === columns && marks.every((mark) => DIVIDER.test(mark));
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
    const { fence } = fenceOf(lines[at]);
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

function render({ kind, lines, level, depth }) {
  switch (kind) {
    case "code": return code(lines);
    case "heading": {
      const words = inline(headingOf(lines[0]).words);
      return level ? make(`h${level}`, words) : make("p", make("strong", words));
    }
    case "rule": return make("hr");
    case "quote": return make("blockquote", split(lines.map((line) => line.replace(/^ {0,3}> ?/, "")), depth + 1).map(render));
    case "list": return list(lines, depth + 1);
    case "table": return table(lines);
    default: return make("p", inline(lines.map((line) => line.trimStart()).join("\n")));
  }
}

function code(lines) {
  const { fence, language } = fenceOf(lines[0]);
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

function list(lines, depth) {
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
    const blocks = split(item, depth);
    const loose = item.some((line, n) => BLANK.test(line) && n + 1 < item.length);
    node.append(make("li", blocks.flatMap((block) =>
      block.kind === "paragraph" && !loose ? inline(block.lines.map((line) => line.trimStart()).join("\n")) : [render(block)])));
  }
  return node;
}

const cells = (line) => line.trim().replace(/^\||(?<!\\)\|$/g, "").split(/(?<!\\)\|/).map((cell) => cell.trim().replaceAll("\\|", "|"));

function table(lines) {
  const [head, marks, ...rows] = lines.map(cells);
  const sides = marks.map((mark) => (/^:-+:$/.test(mark) ? "center" : /-:$/.test(mark) ? "right" : ""));
  const row = (tag, words) => {
    const shown = words.slice(0, sides.length).map((word, n) => {
      const cell = make(tag, inline(word));
      if (sides[n]) cell.className = sides[n];
      return cell;
    });
    // One wide cell for all missing cells: otherwise the short rows of a wide table would need too many nodes.
    if (shown.length < sides.length) shown.push(Object.assign(make(tag), { colSpan: sides.length - shown.length }));
    return make("tr", shown);
  };
  const around = make("div", make("table", make("thead", row("th", head)), make("tbody", rows.map((words) => row("td", words)))));
  around.className = "table";
  around.tabIndex = 0;
  return around;
}
