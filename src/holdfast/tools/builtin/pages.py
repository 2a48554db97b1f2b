"""Web pages as text, with the addresses of their links.

This file runs in a limited child: for some pages, the time of the parser in the standard library grows with
the square of their length.
"""

from __future__ import annotations

import re
from contextlib import suppress
from html.parser import HTMLParser

_UNREAD = frozenset({"script", "style", "noscript", "template", "svg", "head", "iframe", "object", "canvas"})
_BLOCKS = frozenset(
    {
        *(
            "address",
            "article",
            "aside",
            "blockquote",
            "br",
            "dd",
            "div",
            "dl",
            "dt",
            "fieldset",
            "figcaption",
        ),
        *(
            "figure",
            "footer",
            "form",
            "h1",
            "h2",
            "h3",
            "h4",
            "h5",
            "h6",
            "header",
            "hr",
            "li",
            "main",
            "nav",
        ),
        *("ol", "p", "pre", "section", "table", "td", "th", "tr", "ul"),
    }
)
_HEADINGS = {f"h{level}": "#" * level for level in range(1, 7)}
_SPACE = re.compile(r"[ \t\r\f\v\n]+")
_GAPS = re.compile(r"\n{3,}")


def page_bytes(data: bytes) -> bytes:
    """`page_text` for a child: UTF-8 to UTF-8."""
    return page_text(data.decode("utf-8", "replace")).encode("utf-8", "replace")


def page_text(html: str) -> str:
    """The text of a page, without the parts for machines; an incomplete page gives the text it has."""
    reader = _Reader()
    # The parser raises this for a declaration that it cannot read; the text before it is kept.
    with suppress(AssertionError):
        reader.feed(html)
        reader.close()
    return reader.text


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self._parts: list[str] = []
        self._unread = 0
        self._title = ""
        self._in_title = False
        self._links: list[str | None] = []
        self._pre = 0

    @property
    def text(self) -> str:
        lines = (line.strip() if not line.startswith("    ") else line.rstrip() for line in self._lines())
        body = _GAPS.sub("\n\n", "\n".join(lines)).strip()
        title = _SPACE.sub(" ", self._title).strip()
        return f"{title}\n\n{body}" if title and not body.startswith(title) else body

    def _lines(self) -> list[str]:
        return "".join(self._parts).split("\n")

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._in_title = self._in_title or tag == "title"
        if tag in _UNREAD:
            self._unread += 1
        if self._unread:
            return
        if tag in _BLOCKS:
            self._parts.append("\n")
        if tag in _HEADINGS:
            self._parts.append(f"\n{_HEADINGS[tag]} ")
        if tag == "li":
            self._parts.append("- ")
        if tag == "a":
            self._links.append(dict(attrs).get("href"))
        self._pre += tag == "pre"

    def handle_endtag(self, tag: str) -> None:
        self._in_title = self._in_title and tag != "title"
        if tag in _UNREAD:
            self._unread = max(0, self._unread - 1)
        if self._unread:
            return
        if tag == "a" and self._links:
            link = self._links.pop()
            if link and link.startswith(("http://", "https://", "/")):
                self._parts.append(f" ({link})")
        if tag in _BLOCKS:
            self._parts.append("\n")
        self._pre = max(0, self._pre - (tag == "pre"))

    def handle_data(self, data: str) -> None:
        if self._in_title:
            self._title += data
        elif not self._unread:
            self._parts.append(data if self._pre else _SPACE.sub(" ", data))
