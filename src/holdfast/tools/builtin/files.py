"""The files of a workspace: agents read, write, edit, list, search and send them, and no files outside of it.

A change is idempotent by content. Before the change, a record holds the hash of the old and of the new
content. So the same call knows, when it runs again after a crash, whether the change has happened.
"""

from __future__ import annotations

import fnmatch
import hashlib
import json
import mimetypes
import os
import shutil
import stat
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

from holdfast.model import EffectClass
from holdfast.tools.base import Tool, ToolContext, ToolFailed
from holdfast.tools.containment import is_protected
from holdfast.tools.functions import tool
from holdfast.tools.intentions import SendFile

from .safe_paths import SafePaths, folder_at, names_of, open_file, put_file, put_state, said, state_of

MOST_READ = 256_000
"""Bytes of a file that one call shows."""
MOST_CHANGED = 10_000_000
"""Bytes of a file that a call writes or edits."""
MOST_SENT = 50_000_000
"""Bytes of a file that the agent sends to a person: no known platform takes more."""
MOST_LISTED = 500
MOST_FOUND = 200
MOST_LOOKED_AT = 20_000
"""Files that one search reads."""
MOST_LOOKED_THROUGH = 50_000_000
"""Bytes of a file in which `read_file` counts lines."""
_SEARCHED = 5_000_000
_PIECE = 65_536
_LINE = 400
_BINARY = 8_192


class _Before(NamedTuple):
    """A file before a change; `data` is None if there is no file."""

    data: bytes | None
    mode: int


class FileTools:
    """The tools for files of a workspace. Changes happen one after the other, so none overwrites another."""

    def __init__(self, places: SafePaths, protected: tuple[str, ...] = ()) -> None:
        self._places = places
        self._protected = protected
        self._alone = threading.Lock()

    def tools(self) -> tuple[Tool, ...]:
        looking = tool(EffectClass.READ)
        changing = tool(EffectClass.IDEMPOTENT)
        return (
            looking(self.read_file),
            changing(self.write_file),
            changing(self.edit_file),
            looking(self.list_files),
            looking(self.search_files),
            # It writes only to the gateway's own ledger, by the call's key.
            changing(self.send_file),
        )

    def read_file(self, context: ToolContext, path: str, first_line: int = 1, lines: int = 1000) -> str:
        """Show lines of a text file of the workspace.

        Args:
            path: Relative to the workspace.
            first_line: The first line to show, counted from 1.
            lines: How many lines to show at most.
        """
        first, shown, size, number, last = max(1, first_line), list[str](), 0, 0, 0
        with self._opened(context, path) as file:
            for number, line in _text_lines(file, path):
                if first <= number < first + lines and size < MOST_READ:
                    shown.append(line[: MOST_READ - size])
                    size += len(line)
                    last = number
            more = "more than " if file.read(1) else ""
        if number and not shown:
            raise ToolFailed(f"{path} has only {number} lines")
        text = "".join(shown)
        if first == 1 and last >= number and size <= MOST_READ and not more:
            return text
        if size > MOST_READ:
            text = context.secrets.closed(text)
        return f"{text}\n[lines {first} to {last} of {more}{number}]"

    def write_file(self, context: ToolContext, path: str, content: str) -> str:
        """Write a text file of the workspace. An existing file is replaced, and missing folders are made.

        Args:
            path: Relative to the workspace.
            content: The complete new text of the file.
        """
        data = content.encode("utf-8", "surrogatepass")
        there = self._change(context, path, lambda before: data, folders=True)
        return f"{'replaced' if there else 'created'} {path} ({len(data)} bytes)"

    def edit_file(self, context: ToolContext, path: str, old: str, new: str, everywhere: bool = False) -> str:
        """Replace a piece of a text file of the workspace.

        Args:
            path: Relative to the workspace.
            old: The text to replace, exactly as in the file, with all spaces and line ends.
            new: The text to put in its place.
            everywhere: Replace every occurrence. Without it, there must be exactly one.
        """

        def edited(before: bytes | None) -> bytes:
            if before is None:
                raise ToolFailed(f"{path} does not exist; create it with write_file")
            text = _decoded(before, path)
            count = text.count(old) if old else 0
            if count == 0:
                raise ToolFailed(f"{path} does not contain that text; read it and copy the text exactly")
            if count > 1 and not everywhere:
                raise ToolFailed(
                    f"{path} contains that text {count} times; give more text around it, or set everywhere"
                )
            # The size is checked first: replacing one letter everywhere can make gigabytes.
            if len(text) + count * (len(new) - len(old)) > MOST_CHANGED:
                raise _too_large(path)
            return text.replace(old, new).encode("utf-8")

        self._change(context, path, edited)
        return f"edited {path}"

    def list_files(self, context: ToolContext, path: str = ".", below: bool = False) -> str:
        """List a folder of the workspace. Folders end in a slash, files have their size in bytes.

        Args:
            path: Relative to the workspace.
            below: List everything below the folder, too.
        """
        found: list[str] = []
        for place, name, folder, kind in self._walk(context, path, below):
            if len(found) == MOST_LISTED:
                return "\n".join([*found, f"[there is more; these are the first {MOST_LISTED}]"])
            found.append(_listed(f"{place}{name}", folder, name, kind))
        return "\n".join(found) or "(nothing)"

    def search_files(
        self, context: ToolContext, text: str, path: str = ".", files: str = "*", ignore_case: bool = False
    ) -> str:
        """Find the lines of text files that contain a text. Each find has its file, line number and line.

        Args:
            text: The text to find, as it is: not a pattern.
            path: The folder of the workspace to search, with everything below it.
            files: Only files whose name matches this pattern, like *.py.
            ignore_case: Treat upper and lower case as the same.
        """
        if not text:
            raise ToolFailed("text must not be empty")
        wanted = text.casefold() if ignore_case else text
        found: list[str] = []
        looked = 0
        for place, name, folder, kind in self._walk(context, path, below=True):
            if not stat.S_ISREG(kind) or not fnmatch.fnmatch(name, files):
                continue
            looked += 1
            lines = _matches(folder, name, wanted, ignore_case)
            found += (
                f"{place}{name}:{number}: {context.secrets.cut(line.strip(), _LINE)}"
                for number, line in lines[: MOST_FOUND - len(found)]
            )
            if len(found) >= MOST_FOUND or looked >= MOST_LOOKED_AT:
                return "\n".join([*found[:MOST_FOUND], "[there may be more; search for less at once]"])
        return "\n".join(found) or f"no file contains {text!r}"

    def send_file(self, context: ToolContext, path: str, caption: str = "") -> SendFile:
        """Send the person a file of the workspace, as it is now. It arrives before your answer of this turn.

        Args:
            path: Relative to the workspace.
            caption: What to say about the file, if anything.
        """
        with self._opened(context, path) as file:
            content = file.read(MOST_SENT + 1)
        if not content:
            raise ToolFailed(f"{path} is empty; there is nothing to send")
        if len(content) > MOST_SENT:
            raise ToolFailed(
                f"{path} is larger than {MOST_SENT:,} bytes, the most that can be sent; compress it, split "
                "it, or tell the person where it is"
            )
        name = "".join(char for char in path.rpartition("/")[2] if char.isprintable()).strip() or "file"
        return SendFile(name, content, mimetypes.guess_type(name)[0] or "application/octet-stream", caption)

    def _opened(self, context: ToolContext, path: str) -> BinaryIO:
        root = self._places.files(context)
        names = names_of(path, root)
        if not names:
            raise ToolFailed(f"{path} is a folder")
        with folder_at(root, names[:-1]) as folder:
            return os.fdopen(open_file(folder, names[-1], path), "rb")

    def _walk(self, context: ToolContext, path: str, below: bool) -> Iterator[tuple[str, str, int, int]]:
        """Everything in a folder: the path to it, its name, the open folder and its kind."""
        root = self._places.files(context)
        names = names_of(path, root)
        start = "".join(f"{name}/" for name in names)
        with folder_at(root, names) as top:
            for place, folders, others, folder in os.fwalk(".", dir_fd=top, follow_symlinks=False):
                inside = start + "".join(f"{name}/" for name in place.split("/")[1:])
                folders.sort()
                for name in sorted((*folders, *others)):
                    try:
                        kind = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
                    except FileNotFoundError:
                        continue
                    yield inside, name, folder, kind
                if not below:
                    return

    def _change(
        self, context: ToolContext, path: str, make: Callable[[bytes | None], bytes], folders: bool = False
    ) -> bool:
        """Write what `make` returns for the old content; True if there was a file before."""
        root = self._places.files(context)
        names = names_of(path, root)
        if not names:
            raise ToolFailed(f"{path} is a folder")
        if is_protected(names, self._protected, not root.is_relative_to(context.workspace)):
            raise ToolFailed(f"{path} may not be changed: programs execute or trust it (tools.protected)")
        record = self._record(context)
        with self._alone, folder_at(root, names[:-1], folders) as folder:
            before = _before(folder, names[-1], path)
            known = _known(record)
            if known is not None and _digest(before.data) == known[1]:
                return known[0] != _digest(None)
            if known is not None and _digest(before.data) != known[0]:
                raise ToolFailed(
                    f"{path} was changed from elsewhere after this call was cut off; read it before you go on"
                )
            after = make(before.data)
            if len(after) > MOST_CHANGED:
                raise _too_large(path)
            put_state(record, json.dumps([_digest(before.data), _digest(after)]))
            with said(path):
                put_file(folder, names[-1], after, before.mode, context.key)
            return before.data is not None

    def _record(self, context: ToolContext) -> Path:
        """Where this call records its change; records of earlier turns are no longer needed."""
        changes = self._places.state(context) / "changes"
        mine = changes / context.turn
        for other in changes.iterdir() if changes.is_dir() else ():
            if other != mine:
                shutil.rmtree(other, ignore_errors=True)
        return mine / hashlib.sha256(context.key.encode()).hexdigest()


def _too_large(path: str) -> ToolFailed:
    return ToolFailed(f"{path} would be larger than {MOST_CHANGED} bytes")


def _text_lines(file: BinaryIO, path: str) -> Iterator[tuple[int, str]]:
    """The lines of a file with their numbers; long lines in pieces, as a file may have no line end at all."""
    number, left = 1, MOST_LOOKED_THROUGH
    while left > 0 and (piece := file.readline(min(_PIECE, left))):
        if left == MOST_LOOKED_THROUGH and b"\0" in piece[:_BINARY]:
            raise ToolFailed(f"{path} is not a text file")
        left -= len(piece)
        yield number, piece.decode("utf-8", "replace")
        number += piece.endswith(b"\n")


def _decoded(data: bytes, path: str) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise ToolFailed(f"{path} is not text in UTF-8") from None


def _before(folder: int, name: str, path: str) -> _Before:
    try:
        kind = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return _Before(None, 0o600)
    if not stat.S_ISREG(kind.st_mode):
        raise ToolFailed(f"{path} is not a file (links are not followed)")
    with os.fdopen(open_file(folder, name, path), "rb") as file:
        data = file.read(MOST_CHANGED + 1)
    if len(data) > MOST_CHANGED:
        raise ToolFailed(f"{path} is larger than {MOST_CHANGED} bytes")
    return _Before(data, stat.S_IMODE(kind.st_mode))


def _known(record: Path) -> tuple[str, str] | None:
    """What this call recorded in an earlier run; no run acted on an incomplete record."""
    try:
        before, after = json.loads(state_of(record) or "null")
    except (ValueError, TypeError):
        return None
    return str(before), str(after)


def _digest(data: bytes | None) -> str:
    return "none" if data is None else hashlib.sha256(data).hexdigest()


def _listed(path: str, folder: int, name: str, kind: int) -> str:
    if stat.S_ISDIR(kind):
        return f"{path}/"
    if stat.S_ISLNK(kind):
        return f"{path} (a link, not followed)"
    return f"{path} {os.stat(name, dir_fd=folder, follow_symlinks=False).st_size}"


def _matches(folder: int, name: str, wanted: str, ignore_case: bool) -> list[tuple[int, str]]:
    """The lines of one file that contain the text; none if the file is large, gone or not text."""
    try:
        with os.fdopen(open_file(folder, name, name), "rb") as file:
            data = file.read(_SEARCHED + 1)
    except (OSError, ToolFailed):
        return []
    if len(data) > _SEARCHED or b"\0" in data[:_BINARY]:
        return []
    text = data.decode("utf-8", "replace")
    return [
        (number, line)
        for number, line in enumerate(text.splitlines(), 1)
        if wanted in (line.casefold() if ignore_case else line)
    ]
