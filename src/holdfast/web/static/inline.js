// The marks within a paragraph, as nodes: emphasis, code, links. All other text stays text, and only http and https
// addresses become links. The time is linear in the length of the text: one pass goes over it, and the search for each
// closing mark only moves forward.

export const make = (tag, ...inside) => {
  const node = document.createElement(tag);
  // One at a time: a call with a hundred thousand arguments fails.
  for (const one of inside.flat()) node.append(one);
  return node;
};

const DEEPEST = 8; // emphasis in emphasis; deeper marks stay text

const START = /\\|`+|!?\[|<|https?:\/\/|\*|_|~~|\n/g;
const ESCAPED = new Set("\\`*_{}[]()#+.!|>~-");
const LINK = /!?\[(?<label>(?:\[[^\[\]\n]*\]|[^\[\]])*)\]\((?<target><[^<>\n]*>|(?:\([^()\s]*\)|[^()\s])*)(?:\s+(?:"[^"\n]*"|'[^'\n]*'))?\)/y;
const ANGLED = /<(https?:\/\/[^\s<>]+)>/y;
const BARE = /https?:\/\/[^\s<>"'`]+/y;

// The pattern after an opening mark, and the pattern of a closing mark.
const MARKS = {
  strong: { mark: "**", tag: "strong", opens: /\S/, closes: /(?<=[^\s*])\*\*(?!\*)/g },
  em: { mark: "*", tag: "em", opens: /[^\s*]/, closes: /(?<=[^\s*])\*(?!\*)/g },
  strong2: { mark: "__", tag: "strong", opens: /\S/, closes: /(?<=\S)__(?!\w)/g, apart: true },
  em2: { mark: "_", tag: "em", opens: /[^\s_]/, closes: /(?<=[^\s_])_(?![\w_])/g, apart: true },
  gone: { mark: "~~", tag: "del", opens: /\S/, closes: /(?<=\S)~~/g },
};

/** The nodes and strings for this text. */
export function inline(text, deep = 0) {
  if (deep > DEEPEST) return [text];
  const nodes = [];
  const closers = new Closers(text);
  const start = new RegExp(START);
  let last = 0;
  for (let found = start.exec(text); found; found = start.exec(text)) {
    const made = construct(text, found, closers, deep);
    if (!made) continue;
    const [inside, end, from = found.index] = made;
    if (from > last) nodes.push(text.slice(last, from));
    for (const one of inside) nodes.push(one);
    last = start.lastIndex = end;
  }
  if (text.length > last) nodes.push(text.slice(last));
  return nodes;
}

/** Finds the next closing mark of each kind. Searches only move forward, so together they pass the text once. */
class Closers {
  #text;
  #found = new Map();
  #ticks = null;

  constructor(text) {
    this.#text = text;
  }

  next(kind, from) {
    const known = this.#found.get(kind);
    if (known !== undefined && known >= from) return known;
    const closes = new RegExp(MARKS[kind].closes);
    closes.lastIndex = from;
    const place = closes.exec(this.#text)?.index ?? Infinity;
    this.#found.set(kind, place);
    return place;
  }

  /** The next run of exactly this many backticks. */
  ticks(length, from) {
    if (!this.#ticks) {
      this.#ticks = new Map();
      for (const { 0: run, index } of this.#text.matchAll(/`+/g)) {
        if (!this.#ticks.has(run.length)) this.#ticks.set(run.length, { places: [], at: 0 });
        this.#ticks.get(run.length).places.push(index);
      }
    }
    const runs = this.#ticks.get(length);
    while (runs.at < runs.places.length && runs.places[runs.at] < from) runs.at += 1;
    return runs.places[runs.at] ?? Infinity;
  }
}

/** The mark that begins here: its nodes, its end, and its start if that is earlier; null for plain text. */
function construct(text, found, closers, deep) {
  const at = found.index;
  switch (found[0][0]) {
    case "\\": return escaped(text, at);
    case "`": return code(text, at, found[0].length, closers);
    case "!":
    case "[": return linked(text, at, deep);
    case "<": return angled(text, at);
    case "h": return bare(text, at);
    case "\n": return broken(text, at);
    case "*": return marked(text, at, "strong", closers, deep) ?? marked(text, at, "em", closers, deep);
    case "_": return marked(text, at, "strong2", closers, deep) ?? marked(text, at, "em2", closers, deep);
    default: return marked(text, at, "gone", closers, deep);
  }
}

function escaped(text, at) {
  const next = text[at + 1];
  if (next === "\n") return [[make("br")], at + 2];
  return ESCAPED.has(next) ? [[next], at + 2] : null;
}

function code(text, at, length, closers) {
  const end = closers.ticks(length, at + length);
  if (end === Infinity) return null;
  let words = text.slice(at + length, end).replaceAll("\n", " ");
  if (words.startsWith(" ") && words.endsWith(" ") && words.trim()) words = words.slice(1, -1);
  return [[make("code", words)], end + length];
}

function marked(text, at, kind, closers, deep) {
  const { mark, tag, opens, apart } = MARKS[kind];
  const begin = at + mark.length;
  if (!text.startsWith(mark, at) || begin >= text.length || !opens.test(text[begin])) return null;
  if (apart && at > 0 && /\w/.test(text[at - 1])) return null;
  const end = closers.next(kind, begin + 1);
  return end === Infinity ? null : [[make(tag, inline(text.slice(begin, end), deep + 1))], end + mark.length];
}

/** Two blanks at the end of a line. */
function broken(text, at) {
  let from = at;
  while (from > 0 && text[from - 1] === " ") from -= 1;
  return at - from < 2 ? null : [[make("br")], at + 1, from];
}

function linked(text, at, deep) {
  const found = matchAt(LINK, text, at);
  if (!found) return null;
  const { label, target } = found.groups;
  let words = label ? inline(label, deep + 4) : [target];
  if (make("span", words).querySelector("a")) words = [label];
  return [[link(target.replace(/^<|>$/g, ""), words) ?? words].flat(), at + found[0].length];
}

function angled(text, at) {
  const found = matchAt(ANGLED, text, at);
  const node = found && link(found[1], [found[1]]);
  return node ? [[node], at + found[0].length] : null;
}

/** The address without the punctuation of the sentence around it. */
function bare(text, at) {
  const found = matchAt(BARE, text, at);
  if (!found) return null;
  const address = found[0];
  let end = address.length;
  while (".,;:!?*_~".includes(address[end - 1])) end -= 1;
  let open = 0;
  for (const one of address.slice(0, end)) open += one === "(" ? 1 : one === ")" ? -1 : 0;
  for (; address[end - 1] === ")" && open < 0; end -= 1) open += 1;
  const target = address.slice(0, end);
  return [[link(target, [target]) ?? target, address.slice(end)], at + address.length];
}

function matchAt(pattern, text, at) {
  pattern.lastIndex = at;
  return pattern.exec(text);
}

/** A link to the web; null for any other kind of address. */
function link(target, words) {
  let url;
  try {
    url = new URL(target);
  } catch {
    return null;
  }
  if (url.protocol !== "https:" && url.protocol !== "http:") return null;
  const node = make("a", words);
  node.href = url.href;
  node.target = "_blank";
  node.rel = "noopener noreferrer nofollow";
  return node;
}
