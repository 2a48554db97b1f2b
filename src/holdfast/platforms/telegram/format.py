"""Turns a model's Markdown into Telegram's HTML, or into plain text if that is not possible. Pure.

Telegram refuses a whole message for one wrong tag. So this module makes the tags from a parsed text, closes
each where it opened it, and escapes every other character. It leaves out nothing that the model wrote: text
that Telegram has no form for (HTML, tables, definitions of links) is shown as it was written.
"""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Iterable

from markdown_it import MarkdownIt
from markdown_it.tree import SyntaxTreeNode

from holdfast.policy.delivery.parts import width
from holdfast.records import dataclass

LONGEST = 4096
"""The longest message, in UTF-16 units of its visible text."""
NOTHING_SEEN = "…"
"""The replacement for a text without visible characters, which Telegram refuses."""

_LONGEST_SOURCE = 2 * LONGEST
"""The most characters to parse; a longer text would not fit formatted either, and stays plain."""
_DEEPEST = 20
"""The deepest nesting of lists and quotes. Beyond it the parser would drop text, so the text stays plain.

It is low, because the parser's work for unclosed brackets grows with it.
"""
_TAGS = {"strong": "b", "em": "i", "s": "s"}
_LINKS = re.compile(r"(?:https?://|mailto:)\S+", re.IGNORECASE)
"""Addresses that may become links. Others could act inside the app, or do something unknown."""
_MADE_LIVE = re.compile(r"(tg|ton|tonsite)://(?=[a-z0-9_-])", re.IGNORECASE)
"""Telegram makes links of these by itself everywhere except in code."""
_COMMAND = re.compile(r"(?<![\w/])/(?=[A-Za-z0-9_]{1,64}(?:@[A-Za-z0-9_]+)?(?![\w/]))")
"""The slash of a text that Telegram shows as a bot command, everywhere except in code."""
_WHOLE_COMMAND = re.compile(_COMMAND.pattern + r"[A-Za-z0-9_]+(?:@[A-Za-z0-9_]+)?")
_OTHER_SLASH = "\u2215"
"""Looks like a slash but makes no command, for plain text, which has no code."""
_CODE = re.compile(r"<(code|pre)\b.*?</\1>", re.DOTALL)
_TAG = re.compile(r"<[^<>]*>")
_RULE = "———"


@dataclass(frozen=True, slots=True)
class Rendered:
    """A text for Telegram; with `html` its parse mode is HTML."""

    text: str
    html: bool

    @property
    def seen(self) -> str:
        """The visible text."""
        return html.unescape(_TAG.sub("", self.text)) if self.html else self.text


def render(markdown: str, mark: str = "", commands: bool = True) -> Rendered:
    """The text for Telegram, after the mark if there is one; plain if it does not fit formatted.

    Without `commands`, people cannot tap any command in it.
    """
    source = readable(markdown)
    if not has_something_to_see(source):
        return Rendered(mark + NOTHING_SEEN, html=False)
    formatted = _formatted(source, commands) if len(source) <= _LONGEST_SOURCE else ""
    looks = Rendered(_escaped(mark) + formatted, html=True)
    fits = width(looks.seen) <= LONGEST and has_something_to_see(Rendered(formatted, html=True).seen)
    if fits and not _has_live(looks, commands):
        return looks
    return Rendered(mark + unlinked(source, commands), html=False)


def unlinked(text: str, commands: bool = True) -> str:
    """The text with a gap in addresses that act inside the app: a model's text must not become a button.

    It is not longer than before, so it still fits.
    """
    apart = _MADE_LIVE.sub(r"\1: /", text)
    return apart if commands else _COMMAND.sub(_OTHER_SLASH, apart)


def _has_live(looks: Rendered, commands: bool) -> bool:
    """Whether pieces that are harmless alone form such an address or a command together."""
    seen = Rendered(_CODE.sub(" ", looks.text), html=True).seen
    return bool(_MADE_LIVE.search(seen) or (not commands and _COMMAND.search(seen)))


def readable(text: str) -> str:
    """The text without single surrogates, which can be neither sent nor stored."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def has_something_to_see(text: str) -> bool:
    return any(unicodedata.category(char)[0] not in "ZC" for char in text)


def _formatted(source: str, commands: bool) -> str:
    """The text with tags; empty if it is nested too deeply."""
    tokens = _parser().parse(source)
    if any(token.level >= _DEEPEST - 1 for token in tokens):
        return ""
    return _Writer(source, commands).blocks(SyntaxTreeNode(tokens).children)


def _parser() -> MarkdownIt:
    # Definitions of links would vanish. HTML in a reply is an example to show, not markup.
    options = {"html": False, "maxNesting": _DEEPEST}
    return MarkdownIt("commonmark", options).enable(["strikethrough", "table"]).disable(["reference"])


def _escaped(text: str) -> str:
    return html.escape(text, quote=True).replace("&#x27;", "'")


class _Writer:
    def __init__(self, source: str, commands: bool) -> None:
        self._lines = source.split("\n")
        self._commands = commands

    def blocks(self, nodes: Iterable[SyntaxTreeNode], quoted: bool = False, depth: int = 0) -> str:
        written = (self._block(node, quoted, depth) for node in nodes)
        return "\n\n".join(block for block in written if block)

    def _block(self, node: SyntaxTreeNode, quoted: bool, depth: int) -> str:
        match node.type:
            case "heading":
                return f"<b>{self._inside(node)}</b>"
            case "fence" | "code_block":
                return _code(node)
            case "bullet_list" | "ordered_list":
                return self._list(node, quoted, depth)
            case "blockquote":
                # Telegram has no quotes in quotes.
                inner = self.blocks(node.children, quoted=True, depth=depth)
                return inner if quoted else f"<blockquote>{inner}</blockquote>"
            case "hr":
                return _RULE
            case "table":
                return self._as_written(node)
        return self._inside(node)

    def _list(self, node: SyntaxTreeNode, quoted: bool, depth: int) -> str:
        number = int(str(node.attrs.get("start", 1)))
        lines: list[str] = []
        for place, item in enumerate(node.children):
            sign = f"{number + place}." if node.type == "ordered_list" else "•"
            blocks = [self._block(child, quoted, depth + 1) for child in item.children]
            begins = bool(item.children) and item.children[0].type == "paragraph"
            first = f" {blocks.pop(0)}" if begins else ""
            lines += [f"{'   ' * depth}{sign}{first}", *filter(None, blocks)]
        return "\n".join(lines)

    def _as_written(self, node: SyntaxTreeNode) -> str:
        """A table as it was written, in a fixed-width font: the parser would drop surplus cells."""
        begins, ends = node.map or (0, 0)
        return f"<pre>{_escaped(chr(10).join(self._lines[begins:ends]).rstrip())}</pre>"

    def _inside(self, node: SyntaxTreeNode) -> str:
        return "".join(self._inline(child) for child in node.children)

    def _inline(self, node: SyntaxTreeNode) -> str:
        match node.type:
            case "text":
                return self._text(node.content)
            case "softbreak" | "hardbreak":
                return "\n"
            case "code_inline":
                return f"<code>{_escaped(node.content)}</code>"
            case "link":
                return _link(str(node.attrs["href"]), self._inside(node))
            case "image":
                return _link(str(node.attrs["src"]), self._inside(node))
        tag = _TAGS.get(node.type)
        inner = self._inside(node) if node.children else _escaped(node.content if node.is_root else "")
        return f"<{tag}>{inner}</{tag}>" if tag else inner

    def _text(self, text: str) -> str:
        escaped = _escaped(unlinked(text))
        return escaped if self._commands else _WHOLE_COMMAND.sub(r"<code>\g<0></code>", escaped)


def _link(address: str, words: str) -> str:
    if not words:
        return _escaped(unlinked(address))
    if _LINKS.fullmatch(address):
        return f'<a href="{_escaped(address)}">{words}</a>'
    return f"{words} ({_escaped(unlinked(address))})" if address else words


def _code(node: SyntaxTreeNode) -> str:
    language = node.info.strip() if node.type == "fence" else ""
    code = _escaped(node.content.removesuffix("\n"))
    if not code:
        return _escaped(language)
    if language:
        return f'<pre><code class="language-{_escaped(language)}">{code}</code></pre>'
    return f"<pre>{code}</pre>"
