"""Cutting a long text into parts that a platform takes, at the best boundary, fences kept whole. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from holdfast.model import ChatAddress, Delivery

Longest = Callable[[ChatAddress], int]
"""How wide one message to this chat may be; see `width`."""

POSSIBLY_REPEATED = "(possibly repeated) "
"""The mark before a part that may have arrived before."""
MARK = 48
"""Width that every part leaves free for its mark; see `mark_for`."""
USUAL = 4096
CAPTION = 1024
"""Characters of text with a file, on the platform that takes the fewest."""

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")
_PARAGRAPH = re.compile(r"\n(?:[^\S\n]*\n)+")
_LINE = re.compile(r"\n")
_SENTENCE = re.compile(r"(?<=[.!?…])\s+")
_WORD = re.compile(r"\s+")
_IN_PROSE = ((_PARAGRAPH, 3), (_LINE, 2), (_SENTENCE, 2), (_WORD, 0))
_IN_CODE = ((_LINE, 0), (_WORD, 0))
"""Boundaries, best first. One counts only after 1/n of the room (0: anywhere), so that parts stay few."""


def usual(chat: ChatAddress) -> int:
    """The longest message that most platforms take."""
    return USUAL


def mark_for(delivery: Delivery) -> str:
    """The mark before a part that may be there twice, or that comes late."""
    if delivery.aside_at is None:
        return POSSIBLY_REPEATED if delivery.repeated else ""
    which = "" if delivery.parts == 1 else f", part {delivery.part} of {delivery.parts}"
    doubt = ", possibly repeated" if delivery.repeated else ""
    return f"(late{which}{doubt}) "


def parts_for(text: str, longest: int) -> tuple[str, ...]:
    """The text as parts of a message, each with room for a mark."""
    return split(text, max(longest - MARK, 1))


def parts_with_file(caption: str, longest: int) -> tuple[str, ...]:
    """The parts of a message with one file; a caption that is too long follows the file as text."""
    if width(caption) <= CAPTION - MARK:
        return (caption,)
    return ("", *parts_for(caption, longest))


def split(text: str, longest: int) -> tuple[str, ...]:
    """Cut a text into parts at most `longest` wide that together hold all its words, in order.

    The cut is at a paragraph, else a line, a sentence, a word, or inside a long word. A fenced block is
    closed before the cut and opened again after it, unless its fence leaves too little room.
    """
    if width(text) <= longest:
        return (text,)
    parts = tuple(part for part in _parts(text, longest) if part.strip())
    return parts or (text[:longest],)


def closed(text: str) -> str:
    """The text; if it ends inside a fenced block, with that block closed."""
    fence = _fence_after(text, "", len(text))
    return f"{text}{_closing(fence)}" if fence else text


def width(text: str) -> int:
    """The length of a text on the strictest platform: in UTF-16, where most emoji count twice."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def reach(text: str, room: int) -> int:
    """How many of the first characters fit into the room; at least one."""
    end = min(room, len(text))
    while end > 1 and (over := width(text[:end]) - room) > 0:
        end = max(end - (over + 1) // 2, 1)
    return end


def _parts(rest: str, longest: int) -> Iterator[str]:
    fence = ""
    while True:
        head = f"{fence}\n" if fence else ""
        # A text is at least as wide as it is long, so most long texts need no count of their width here.
        if len(rest) <= longest and width(head) + width(rest) <= longest:
            yield head + rest
            return
        end, start, still = _cut_with_fence(rest, longest - width(head), fence, longest // 4)
        yield head + rest[:end].rstrip() + (_closing(still) if still else "")
        rest, fence = rest[start:], still
        line, _, after = rest.partition("\n")
        if fence and _closes(line, fence):
            # The block ends here and is closed already.
            rest, fence = after, ""


def _cut_with_fence(text: str, room: int, fence: str, most: int) -> tuple[int, int, str]:
    """Where to cut, and the fence that is open there, so that its closing line still fits."""
    kept = 0
    while True:
        end, start = _cut(text, reach(text, room - kept), bool(fence))
        still = _fence_after(text[:end], fence, most)
        needed = len(_closing(still)) if still else 0
        if needed <= kept:
            return end, start, still
        kept = needed


def _cut(text: str, room: int, in_code: bool) -> tuple[int, int]:
    """Where the first part of this text ends, and where the next part starts."""
    piece = text[: room + 1]
    begins = len(piece) - len(piece.lstrip())
    for boundary, least in _IN_CODE if in_code else _IN_PROSE:
        from_ = max(room // least if least else 1, begins + 1)
        for match in reversed(list(boundary.finditer(text, 0, room + 1))):
            end = match.start()
            if end >= from_:
                opening = None if in_code else _opening_line(text, end)
                return (end, match.end()) if opening is None else (opening, opening)
    return room, room


def _opening_line(text: str, end: int) -> int | None:
    """Where the last line begins, if it opens a fenced block and text comes before it."""
    start = text.rfind("\n", 0, end) + 1
    before = text[:start]
    opens = _FENCE.fullmatch(text, start, end) and not _fence_after(before, "", len(text))
    return start if opens and before.strip() else None


def _fence_after(piece: str, fence: str, most: int) -> str:
    """The line that opened the fenced block in which this piece ends, if any; a long line opens none."""
    for line in piece.split("\n"):
        if fence:
            fence = "" if _closes(line, fence) else fence
        elif width(line) <= most and _FENCE.fullmatch(line):
            fence = line
    return fence


def _closes(line: str, fence: str) -> bool:
    found = _FENCE.fullmatch(line.rstrip())
    return bool(found and not found[2] and found[1].startswith(_closing(fence).strip()))


def _closing(fence: str) -> str:
    found = _FENCE.fullmatch(fence)
    assert found is not None
    return f"\n{found[1]}"
