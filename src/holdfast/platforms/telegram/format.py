"""Markdown, as models write it, as the HTML that Telegram shows; and as plain text where that cannot be.

Telegram refuses a whole message for one wrong tag. So tags are made here from a parsed text, each closed
where it was opened, and every character that is not ours is escaped. Nothing a model wrote is left out: what
Telegram has no form for (HTML, tables, definitions of links) is shown as it was written. Pure.
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
"""What one message may have, in UTF-16 units, as it is seen."""
NOTHING_SEEN = "…"
"""Instead of a text without anything to see, which Telegram does not take."""

_LONGEST_SOURCE = 2 * LONGEST
"""Characters that are parsed; what is longer does not fit with its looks either, and stays plain."""
_DEEPEST = 20
"""Lists and quotes in each other; beyond this a parser would leave text out, so such a text stays plain.

Few: for brackets that are never closed, what the parser does grows with this as well.
"""
_TAGS = {"strong": "b", "em": "i", "s": "s"}
_LINKS = re.compile(r"(?:https?://|mailto:)\S+", re.IGNORECASE)
"""Addresses that may be followed by a tap. Others do something in the app itself, or nobody knows what."""
_MADE_LIVE = re.compile(r"(tg|ton|tonsite)://(?=[a-z0-9_-])", re.IGNORECASE)
"""Telegram makes links of these by itself, wherever they stand, except in code."""
_COMMAND = re.compile(r"(?<![\w/])/(?=[A-Za-z0-9_]{1,64}(?:@[A-Za-z0-9_]+)?(?![\w/]))")
"""The slash of what Telegram takes for a command of a bot, wherever it stands, except in code."""
_WHOLE_COMMAND = re.compile(_COMMAND.pattern + r"[A-Za-z0-9_]+(?:@[A-Za-z0-9_]+)?")
_OTHER_SLASH = "\u2215"
"""Looks like a slash and makes no command; where there is no code to put a command into."""
_CODE = re.compile(r"<(code|pre)\b.*?</\1>", re.DOTALL)
_TAG = re.compile(r"<[^<>]*>")
_RULE = "———"


@dataclass(frozen=True, slots=True)
class Rendered:
    """A text for Telegram; with `html`, its parse mode is HTML."""

    text: str
    html: bool

    @property
    def seen(self) -> str:
        """What people read of it."""
        return html.unescape(_TAG.sub("", self.text)) if self.html else self.text


def render(markdown: str, mark: str = "", commands: bool = True) -> Rendered:
    """The text as Telegram shows it, behind a mark if there is one; plain if its looks do not fit.

    Without `commands` no command in it can be tapped.
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
    """The text with a gap in addresses that do something in the app: what a model writes is no button.

    It is not longer than before, so that it still fits.
    """
    apart = _MADE_LIVE.sub(r"\1: /", text)
    return apart if commands else _COMMAND.sub(_OTHER_SLASH, apart)


def _has_live(looks: Rendered, commands: bool) -> bool:
    """Whether such an address, or a command, is left in pieces that each look harmless."""
    seen = Rendered(_CODE.sub(" ", looks.text), html=True).seen
    return bool(_MADE_LIVE.search(seen) or (not commands and _COMMAND.search(seen)))


def readable(text: str) -> str:
    """Without halves of characters, which cannot be sent, nor be kept."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def has_something_to_see(text: str) -> bool:
    return any(unicodedata.category(char)[0] not in "ZC" for char in text)


def _formatted(source: str, commands: bool) -> str:
    """The text with tags; nothing if it is nested too deep."""
    tokens = _parser().parse(source)
    if any(token.level >= _DEEPEST - 1 for token in tokens):
        return ""
    return _Writer(source, commands).blocks(SyntaxTreeNode(tokens).children)


def _parser() -> MarkdownIt:
    # Definitions of links would vanish, and HTML is what a model shows, not what it means.
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
        """A table in type of one width; cells that are too many would be left out by the parser."""
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
