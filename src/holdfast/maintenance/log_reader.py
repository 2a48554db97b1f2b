"""Read the gateway's log, with or without a running gateway."""

from __future__ import annotations

import json
import os
from collections import deque
from collections.abc import AsyncIterator
from pathlib import Path

from holdfast.api.to_json import Json
from holdfast.clock import Clock
from holdfast.telemetry.log import FILE, FOLDER, KEPT

_LOOK_AGAIN = 0.25


def last_lines(home: Path, count: int) -> list[Json]:
    """The last lines, oldest first, also from rotated files."""
    found: deque[Json] = deque(maxlen=count)
    log = home / FOLDER / FILE
    for path in (*(log.with_name(f"{FILE}.{number}") for number in range(KEPT, 0, -1)), log):
        if path.exists():
            with path.open("rb") as file:
                found.extend(map(read_line, file))
    return list(found)


async def follow(home: Path, clock: Clock) -> AsyncIterator[Json]:
    """Every line that is written from now on, over rotations and restarts, without end."""
    path = home / FOLDER / FILE
    where = _end_of(path)
    kept = b""
    while True:
        for line in (found := _more(path, where)).lines:
            whole = kept + line
            kept = b"" if whole.endswith(b"\n") else whole
            if not kept:
                yield read_line(whole)
        where = found.where
        await clock.sleep(_LOOK_AGAIN)


class _Found:
    """The lines that were read, and the place after them: the file, and the offset in it."""

    def __init__(self, lines: list[bytes], where: tuple[int, int]) -> None:
        self.lines = lines
        self.where = where


def _end_of(path: Path) -> tuple[int, int]:
    try:
        found = path.stat()
    except FileNotFoundError:
        return 0, 0
    return found.st_ino, found.st_size


def _more(path: Path, where: tuple[int, int]) -> _Found:
    """The lines after this place. If the file was rotated meanwhile, the rest of the old one comes first."""
    lines: list[bytes] = []
    try:
        with path.open("rb") as file:
            number = os.fstat(file.fileno()).st_ino
            if number != where[0]:
                lines, where = _rest_of(path, where), (number, 0)
            file.seek(where[1])
            lines += file.readlines()
            return _Found(lines, (number, file.tell()))
    except FileNotFoundError:
        return _Found([], where)


def _rest_of(path: Path, where: tuple[int, int]) -> list[bytes]:
    aside = path.with_name(f"{FILE}.1")
    if not where[0] or not aside.exists() or aside.stat().st_ino != where[0]:
        return []
    with aside.open("rb") as file:
        file.seek(where[1])
        return file.readlines()


def read_line(line: bytes) -> Json:
    """One line of the log. A line that is cut off or not JSON is returned as plain text."""
    text = line.decode("utf-8", "replace").rstrip("\n")
    try:
        found = json.loads(text)
    except ValueError:
        found = None
    return found if isinstance(found, dict) else {"at": "", "level": "", "what": text}
