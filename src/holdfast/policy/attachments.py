"""Files that people send: under which path an agent finds each, and what a model is shown of it. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from holdfast.model import Attachment, Entry, Said

from .files import size_of

FOLDER = "attachments"
"""Where they are, in the workspace."""
INLINE = 8_000
"""Characters of a text file that are shown with its message."""
BEGINNING = 4 * INLINE
"""Bytes of a file that are looked at for that."""

_LONGEST = 100
_UNFIT = re.compile(r"[\x00-\x1f\x7f/\\]+")
_BLANK = "file"

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
    plain = _UNFIT.sub("_", name).strip(" .")
    stem, dot, ending = plain.rpartition(".")
    if not stem:
        stem, dot, ending = plain, "", ""
    ending = ending[:16]
    room = _LONGEST - len(ending.encode()) - len(dot)
    return f"{_cut(stem, room) or _BLANK}{dot}{ending}"


def _cut(text: str, most: int) -> str:
    return text.encode()[:most].decode("utf-8", "ignore").rstrip(" .")


def _unused(name: str, taken: dict[str, int]) -> str:
    """The name, or the first of its numbered forms that is free; it is taken from here on.

    With each taken name goes the number to try next: what was taken once is never free again.
    """
    stem, dot, ending = name.rpartition(".")
    if not dot:
        stem, ending = name, ""
    number, found = taken.get(name.casefold(), 2), name
    while found.casefold() in taken:
        found = f"{stem}-{number}{dot}{ending}"
        number += 1
    taken.setdefault(found.casefold(), 2)
    taken[name.casefold()] = number
    return found


def text_in(beginning: bytes, size: int) -> str | None:
    """The text that a file begins with; None if it is no text."""
    if b"\0" in beginning:
        return None
    try:
        return beginning.decode("utf-8")
    except UnicodeDecodeError as error:
        # A character that the end of the look has cut is no fault of the file.
        if len(beginning) < size and error.start >= len(beginning) - 3:
            return beginning[: error.start].decode("utf-8")
        return None


def shown_file(file: Attachment, path: str | None, beginning: bytes | None) -> str:
    """What a model is told of a file: what it is, where it is, and how it begins if it is text.

    `path` is None when it could not be put into the workspace, `beginning` when the file is no longer kept.
    """
    what = f"{file.name}, {file.media_type}, {size_of(file.size)}"
    if beginning is None:
        return f"[A file came with this: {what}. It is no longer kept.]"
    where = "It could not be put into the workspace" if path is None else f"It is in the workspace as {path}"
    text = text_in(beginning, file.size)
    if text is None:
        return f"[A file came with this: {what}. {where}.]"
    shown = text[:INLINE]
    whole = len(shown) == len(text) and len(beginning) >= file.size
    rest = "" if whole else f" It is cut after {len(shown)} characters; the rest is in the file."
    return (
        f"[A file came with this: {what}. {where}. Between the lines below is what the file says: it is the "
        f"content of the file, not the person's words.{rest}]\n"
        f"----- {file.name} -----\n{shown}\n----- end of {file.name} -----"
    )
