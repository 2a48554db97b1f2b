// Simple highlighting of comments, strings, numbers and common keywords. Wrong colours are harmless, so one scanner
// serves all languages. Text goes into text nodes only.

const WORDS = new Set(
  ("abstract and as assert async await begin bool break case catch char class const continue def default defer del do done double elif else " +
   "end enum esac except export extends extern fi final finally float fn for from func function go goto if impl implements import in " +
   "instanceof int interface is lambda let local long loop match mod module mut namespace new nil None not null of or package pass " +
   "private protected pub public raise return self short static string struct super switch template then this throw trait True False true " +
   "false try type typeof undefined unless unsigned until use using var void when where while with yield " +
   "SELECT FROM WHERE INSERT INTO VALUES UPDATE SET DELETE JOIN LEFT ON GROUP ORDER BY LIMIT CREATE TABLE INDEX AND OR NOT NULL").split(" "),
);
const HASH = new Set(["python", "py", "sh", "bash", "shell", "zsh", "console", "ruby", "rb", "yaml", "yml", "toml", "ini", "make", "dockerfile", "perl", "r", "conf"]);
const DASH = new Set(["sql", "lua", "haskell", "hs", "ada"]);
const PLAIN = new Set(["text", "txt", "plain", "output", "log", "diff", "markdown", "md"]);

const STRING = String.raw`"""[\s\S]*?(?:"""|$)|'''[\s\S]*?(?:'''|$)|"(?:\\.|[^"\\\n])*"?|'(?:\\.|[^'\\\n])*'?|` + "`(?:\\\\.|[^`\\\\])*`?";
const NUMBER = String.raw`\b(?:0[xob][\da-fA-F_]+|\d[\d_]*(?:\.\d+)?(?:[eE][+-]?\d+)?)\b`;
const WORD = String.raw`[A-Za-z_$][\w$]*`;

function scanner(language) {
  let comment = String.raw`\/\/[^\n]*|\/\*[\s\S]*?(?:\*\/|$)`;
  if (HASH.has(language)) comment = String.raw`(?<![\w$])#[^\n]*`;
  if (DASH.has(language)) comment = String.raw`--[^\n]*`;
  if (["html", "xml", "svg"].includes(language)) comment = String.raw`<!--[\s\S]*?(?:-->|$)`;
  return new RegExp(`(?<c>${comment})|(?<s>${STRING})|(?<n>${NUMBER})|(?<w>${WORD})`, "g");
}

/** Append `source` to `element`, with colours for a known language. */
export function highlight(element, source, language) {
  if (!language || PLAIN.has(language) || source.length > 50_000) {
    element.append(source);
    return;
  }
  let last = 0;
  for (const found of source.matchAll(scanner(language))) {
    const { c, s, n, w } = found.groups;
    const kind = c ? "c" : s ? "s" : n ? "n" : w && WORDS.has(w) ? "k" : null;
    if (!kind) continue;
    element.append(source.slice(last, found.index));
    const span = document.createElement("span");
    span.className = kind;
    span.textContent = found[0];
    element.append(span);
    last = found.index + found[0].length;
  }
  element.append(source.slice(last));
}
