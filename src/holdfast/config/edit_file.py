"""Edit `holdfast.toml`: everything else in it stays unchanged, and either all is written or nothing."""

from __future__ import annotations

import contextlib
import json
import os
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path

from holdfast.errors import Unusable

_TABLE = re.compile(r"(?m)^[ \t]*\[")
_SECRET_MODE = 0o600


class NotWritten(Unusable):
    """The configuration could not be changed. Nothing was changed."""


def with_lines(text: str, top: Mapping[str, object], table: str, keys: Mapping[str, object]) -> str:
    """The file with these keys at its top and these in a table; raises `NotWritten` with what to do by hand.

    A key that the file has already gets its new value in its place. Comments and order stay.
    """
    wanted = tomllib.loads(text)
    text = text if not text or text.endswith("\n") else f"{text}\n"
    wanted.update(top)
    wanted[table] = {**wanted.get(table, {}), **keys}
    begins = _TABLE.search(text)
    head, tail = (text[: begins.start()], text[begins.start() :]) if begins else (text, "")
    head = _with_keys(head, top)
    header = re.search(rf"(?m)^[ \t]*\[{re.escape(table)}\][^\n]*(?:\n|\Z)", tail)
    if header is None:
        tail = f"{tail.rstrip()}\n\n" if tail.strip() else tail
        tail += _with_keys(f"[{table}]\n", keys)
    else:
        after = _TABLE.search(tail, header.end())
        end = after.start() if after else len(tail)
        tail = tail[: header.end()] + _with_keys(tail[header.end() : end], keys) + tail[end:]
    made = f"{head.rstrip()}\n\n{tail}" if head.strip() and tail else head + tail
    if not _reads_as(made, wanted):
        lines = "".join(_line(name, value) for name, value in top.items())
        lines += f"[{table}]\n" + "".join(_line(name, value) for name, value in keys.items())
        raise NotWritten(
            f"this command cannot edit the file without changing more; add these lines yourself:\n{lines}"
        )
    return made


def _with_keys(block: str, keys: Mapping[str, object]) -> str:
    for name, value in keys.items():
        there = re.compile(rf"(?m)^[ \t]*{re.escape(name)}[ \t]*=[^\n]*\n?")
        line, found = _line(name, value), there.search(block)
        if found is not None:
            block = block[: found.start()] + line + block[found.end() :]
        else:
            gap = "\n" if block.endswith("\n\n") else ""
            block = f"{block.rstrip()}\n{line}{gap}" if block.strip() else line + gap
    return block


def _line(name: str, value: object) -> str:
    return f"{name} = {json.dumps(value)}\n"


def _reads_as(text: str, wanted: Mapping[str, object]) -> bool:
    try:
        return tomllib.loads(text) == wanted
    except tomllib.TOMLDecodeError:
        return False


def write_all(files: Mapping[Path, str], secret: frozenset[Path] = frozenset()) -> None:
    """Write all of these files, synced, or none; raises `NotWritten`. Only their owner can read secrets."""
    beside: dict[Path, Path] = {}
    before: dict[Path, bytes | None] = {}
    try:
        for path, text in files.items():
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            before[path] = path.read_bytes() if path.exists() else None
            beside[path] = path.with_name(f".{path.name}.new")
            _write(beside[path], text.encode(), _mode(path, path in secret))
        for path, new in beside.items():
            os.replace(new, path)
    except OSError as error:
        for path, was in before.items():
            with contextlib.suppress(OSError):
                _put_back(path, was)
        raise NotWritten(
            f"{error.filename or 'a file'} cannot be written ({error.strerror}); nothing was changed"
        ) from None
    finally:
        for new in beside.values():
            new.unlink(missing_ok=True)


def _mode(path: Path, secret: bool) -> int:
    return _SECRET_MODE if secret or not path.exists() else path.stat().st_mode & 0o777


def _write(path: Path, content: bytes, mode: int) -> None:
    path.unlink(missing_ok=True)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _put_back(path: Path, was: bytes | None) -> None:
    """Restore a file. A file that has not changed is not touched."""
    now = path.read_bytes() if path.exists() else None
    if now == was:
        return
    if was is None:
        path.unlink()
    else:
        _write(path.with_name(f".{path.name}.new"), was, _mode(path, secret=False))
        os.replace(path.with_name(f".{path.name}.new"), path)
