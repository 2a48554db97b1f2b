"""Files that people send: under which path an agent finds each, and what a model is shown of it. Pure."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence

from holdfast.model import Attachment, Entry, Said
from holdfast.policy.delivery.files import size_of

FOLDER = "attachments"
"""Where they are, in the workspace."""
INLINE = 8_000
"""Characters of a text file that are shown with its message."""
BEGINNING = 4 * INLINE
"""Bytes of a file that are looked at for that."""

_LONGEST = 100
_UNFIT = re.compile(r"[/\\\ufffd]+")
_BLANK = "file"
_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""Characters that break a line, show nothing, or turn the direction of what follows."""
_WIDE = (b"\xff\xfe", b"\xfe\xff")
"""What a text in UTF-16 begins with."""
_FENCE = 5
_ENDS = re.compile(r"^(-{5,}) end of ", re.MULTILINE)

Place = tuple[int, int]
"""A file in a transcript: its entry, and which of that entry's files it is."""


def paths_of(entries: Sequence[Entry]) -> Mapping[Place, str]:
    """The path of each file that people have sent in a session, below its folder for attachments.

    It follows from the transcript alone, so it is the same after a crash. No two are the same, whatever the
    files are called; a file that is sent again gets a path of its own, since an agent may have changed the
    first. What was undone keeps its path.
    """
    found: dict[Place, str] = {}
    taken: dict[str, int] = {}
    for entry in entries:
        if isinstance(entry.body, Said):
            for number, file in enumerate(entry.body.attachments):
                found[entry.seq, number] = _unused(_safe(file.name), taken)
    return found


def _safe(name: str) -> str:
    """A plain file name: never hidden, never a path, and no longer than every disk takes."""
    return _shortened(_UNFIT.sub("_", _visible(name)).strip(" ."))


def short_name(name: str) -> str:
    """The name as it is kept: one that is too long is cut, and keeps its ending."""
    return name if len(name.encode("utf-8", "replace")) <= _LONGEST else _shortened(name)


def _shortened(name: str) -> str:
    stem, dot, ending = name.rpartition(".")
    if not stem:
        stem, dot, ending = name, "", ""
    ending = ending[:16]
    room = _LONGEST - len(ending.encode("utf-8", "replace")) - len(dot)
    return f"{_cut(stem, room) or _BLANK}{dot}{ending}"


def _visible(name: str) -> str:
    """The name on one line, with a sign in the place of each character that nobody sees."""
    return "".join("\ufffd" if unicodedata.category(one) in _UNSEEN else one for one in name)


def _cut(text: str, most: int) -> str:
    return text.encode("utf-8", "replace")[:most].decode("utf-8", "ignore").rstrip(" .")


def _unused(name: str, taken: dict[str, int]) -> str:
    """A name that is not taken, and is from here on; `taken` has the number to try next with each."""
    stem, dot, ending = name.rpartition(".")
    if not dot:
        stem, ending = name, ""
    number, found = taken.get(name.casefold(), 2), name
    while found.casefold() in taken:
        found = f"{stem}-{number}{dot}{ending}"
        number += 1
    taken[name.casefold()] = number
    taken.setdefault(found.casefold(), 2)
    return found


def text_in(beginning: bytes, size: int) -> str | None:
    """The text that a file begins with; None if it is no text."""
    encoding = "utf-16" if beginning.startswith(_WIDE) else "utf-8"
    try:
        text = beginning.decode(encoding)
    except UnicodeDecodeError as error:
        # A character that the end of the look has cut is no fault of the file.
        if len(beginning) >= size or error.start < len(beginning) - 3:
            return None
        text = beginning[: error.start].decode(encoding)
    return None if "\0" in text else text


def shown_file(file: Attachment, path: str | None, beginning: bytes | None) -> str:
    """What a model is told of a file: what it is, where it is, and how it begins if it is text.

    `path` is None when it could not be put into the workspace, `beginning` when the file is no longer kept.
    """
    name = _visible(file.name)
    what = f"{name}, {_visible(file.media_type)}, {size_of(file.size)}"
    if beginning is None:
        return f"[A file came with this: {what}. It is no longer kept.]"
    where = "It could not be put into the workspace" if path is None else f"It is in the workspace as {path}"
    text = text_in(beginning, file.size)
    if text is None:
        return f"[A file came with this: {what}. {where}.]"
    shown = text[:INLINE]
    whole = len(shown) == len(text) and len(beginning) >= file.size
    rest = "" if whole else f" It is cut after {len(shown)} characters; the rest is in the file."
    # No line of the file can pass for the one that ends it.
    fence = "-" * max([_FENCE, *(len(dashes) + 1 for dashes in _ENDS.findall(shown))])
    return (
        f"[A file came with this: {what}. {where}. Between the lines below is what the file says: it is the "
        f"content of the file, not the person's words.{rest}]\n"
        f"{fence} {name} {fence}\n{shown}\n{fence} end of {name} {fence}"
    )
