"""What people are told of a file that goes out: its size, why it did not arrive and how to get it. Pure."""

from __future__ import annotations

from holdfast.model import Attachment

_UNITS = ((1_000_000_000, "GB"), (1_000_000, "MB"), (1_000, "kB"))
_SLOWEST = 100_000
"""Bytes per second of a slow connection."""


def size_of(size: int) -> str:
    """A size in words for people."""
    for unit, name in _UNITS:
        if size >= unit:
            return f"{size / unit:.1f} {name}" if size < 10 * unit else f"{size // unit} {name}"
    return f"{size} bytes" if size != 1 else "1 byte"


def named(file: Attachment) -> str:
    """A file by its name and size."""
    return f"{file.name} ({size_of(file.size)})"


def fetching(file: Attachment) -> str:
    """The command by which the operator gets the file."""
    return f"holdfast file {file.digest[:12]}"


def file_line(file: Attachment) -> str:
    """The line for a file where only text can be shown."""
    return f"[File {named(file)}: {fetching(file)}]"


def too_large(files: tuple[Attachment, ...], most: int) -> str | None:
    """Why a platform that takes files of `most` bytes cannot take these; None if it can."""
    if not files:
        return None
    if not most:
        return "no files can be sent there"
    large = next((file for file in files if file.size > most), None)
    return None if large is None else f"files there have at most {size_of(most)}"


def more_time(files: tuple[Attachment, ...]) -> float:
    """Additional seconds that a message with these files may take."""
    return sum(file.size for file in files) / _SLOWEST


def unsent_line(text: str, files: tuple[Attachment, ...], may_have_arrived: bool = False) -> str:
    """The text that replaces files that could not be sent, with the message that came with them."""
    doubt = " It may have been shown all the same." if may_have_arrived else ""
    lines = [
        f"[The file {named(file)} could not be sent here.{doubt} The operator of this gateway can fetch it: "
        f"{fetching(file)}]"
        for file in files
    ]
    return "\n\n".join(filter(None, (text, *lines)))
