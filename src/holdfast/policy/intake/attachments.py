"""Files that people send: the path where an agent finds each, and what the model reads of it. Pure."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence

from holdfast.model import Attachment, Entry, Said
from holdfast.policy.delivery.files import size_of

FOLDER = "attachments"
"""Their folder in the workspace."""
INLINE = 8_000
"""Characters of a text file that the model reads with the message."""
BEGINNING = 4 * INLINE
"""Bytes of a file that the gateway reads for that."""

_LONGEST = 100
_UNFIT = re.compile(r"[/\\\ufffd]+")
_BLANK = "file"
_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""Characters that break a line, are invisible, or change the direction of the text after them."""
_WIDE = (b"\xff\xfe", b"\xfe\xff")
"""The first bytes of a text in UTF-16."""
_FENCE = 5
_ENDS = re.compile(r"^(-{5,}) end of ", re.MULTILINE)

Place = tuple[int, int]
"""A file in a transcript: its entry, and its number among the files of that entry."""


def paths_of(entries: Sequence[Entry]) -> Mapping[Place, str]:
    """The path of each file that people have sent in a session, below its folder for attachments.

    It follows from the transcript alone, so it is the same after a crash. No two files share a path, even
    with the same name; a file that is sent again gets a new path, because an agent may have changed the
    first. A file of an undone message keeps its path.
    """
    found: dict[Place, str] = {}
    taken: dict[str, int] = {}
    for entry in entries:
        if isinstance(entry.body, Said):
            for number, file in enumerate(entry.body.attachments):
                found[entry.seq, number] = _unused(_safe(file.name), taken)
    return found


def _safe(name: str) -> str:
    """A plain file name: never hidden, never a path, and short enough for every disk."""
    return _shortened(_UNFIT.sub("_", _visible(name)).strip(" ."))


def short_name(name: str) -> str:
    """The name as the gateway keeps it: a long one is cut before its ending."""
    return name if len(name.encode("utf-8", "replace")) <= _LONGEST else _shortened(name)


def _shortened(name: str) -> str:
    stem, dot, ending = name.rpartition(".")
    if not stem:
        stem, dot, ending = name, "", ""
    ending = ending[:16]
    room = _LONGEST - len(ending.encode("utf-8", "replace")) - len(dot)
    return f"{_cut(stem, room) or _BLANK}{dot}{ending}"


def _visible(name: str) -> str:
    """The name on one line, with a sign in place of each invisible character."""
    return "".join("\ufffd" if unicodedata.category(one) in _UNSEEN else one for one in name)


def _cut(text: str, most: int) -> str:
    return text.encode("utf-8", "replace")[:most].decode("utf-8", "ignore").rstrip(" .")


def _unused(name: str, taken: dict[str, int]) -> str:
    """A free name, which is taken from now on; `taken` has the next number to try for each name."""
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
    """The text at the beginning of a file; None if the file is no text."""
    encoding = "utf-16" if beginning.startswith(_WIDE) else "utf-8"
    try:
        text = beginning.decode(encoding)
    except UnicodeDecodeError as error:
        # The end of the bytes may cut a character: the file is still a text.
        if len(beginning) >= size or error.start < len(beginning) - 3:
            return None
        text = beginning[: error.start].decode(encoding)
    return None if "\0" in text else text


def shown_file(file: Attachment, path: str | None, beginning: bytes | None) -> str:
    """What a model is told of a file: what it is, where it is, and how it begins if it is text.

    `path` is None when the gateway could not put the file into the workspace, `beginning` when it no longer
    keeps the file.
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
    # The fence is longer than any in the file, so no line of the file can look like its end.
    fence = "-" * max([_FENCE, *(len(dashes) + 1 for dashes in _ENDS.findall(shown))])
    return (
        f"[A file came with this: {what}. {where}. Between the lines below is what the file says: it is the "
        f"content of the file, not the person's words.{rest}]\n"
        f"{fence} {name} {fence}\n{shown}\n{fence} end of {name} {fence}"
    )
