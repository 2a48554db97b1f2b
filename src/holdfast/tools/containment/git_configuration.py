"""Which files and folders a Git configuration names: read from the files, without running Git.

The reader takes more than Git would: every value instead of the last one, and the rest of a file after a line
that Git refuses. A place too many only stays read-only; code in a missing place would be executed.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path

from holdfast.records import dataclass
from holdfast.tools.base import ToolFailed

_LARGEST = 1_000_000
_MOST_INCLUDED = 100
_ESCAPES = {"n": "\n", "t": "\t", "b": "\b"}
_SECTION = re.compile(r'\s*+\[([A-Za-z0-9-]*+)[^\]"]*+(?:"(?:[^"\\]|\\.)*+"\s*+)?+\]')
_CONTINUED = re.compile(r"(?<!\\)((?:\\\\)*)\\\n")
_HUSKY = "_"
"""The folder of hooks that husky makes; these hooks run scripts in the folder around it."""


@dataclass(frozen=True, slots=True)
class Named:
    """Everything that one configuration and its included files name."""

    hooks: tuple[str, ...] = ()
    """Folders of hooks, as written: a relative one starts at the work tree."""
    worktrees: tuple[Path, ...] = ()
    included: tuple[Path, ...] = ()


def of_user() -> Named:
    """The names in the configuration of the gateway's user and of the machine, for every repository."""
    home = Path.home()
    return read(home / ".gitconfig", home / ".config" / "git" / "config", Path("/etc/gitconfig"))


def read(*files: Path) -> Named:
    """The names in these files; an absent file names nothing."""
    hooks: dict[str, None] = {}
    worktrees: dict[Path, None] = {}
    included: dict[Path, None] = {}
    waiting = list(files)
    while waiting:
        file = waiting.pop()
        for section, key, value in values(_text(file)):
            if (section, key) == ("core", "hookspath"):
                hooks[value] = None
            elif (section, key) == ("core", "worktree"):
                worktrees[_at(file.parent, value)] = None
            elif section in ("include", "includeif") and key == "path":
                found = _at(file.parent, value)
                if found not in included:
                    waiting.append(found)
                included[found] = None
        if len(included) > _MOST_INCLUDED:
            raise ToolFailed(f"{file} and what it includes name more than {_MOST_INCLUDED} files to include")
    return Named(tuple(hooks), tuple(worktrees), tuple(included))


def folder_of_hooks(worktree: Path, written: str) -> Path:
    """The folder that `core.hooksPath` means in this work tree."""
    found = _at(worktree, written)
    return found.parent if found.name == _HUSKY else found


def repository_at(file: Path) -> Path | None:
    """The repository that a `.git` file points to."""
    text = _text(file)
    return _at(file.parent, text[8:].strip()) if text.startswith("gitdir: ") else None


def common_folder(repository: Path) -> Path:
    """The folder with the configuration of a repository; an added work tree has only a part of its own."""
    text = _text(repository / "commondir").strip()
    return _at(repository, text) if text else repository


def _at(folder: Path, written: str) -> Path:
    path = os.path.expanduser(written) if written.startswith("~") else written
    return Path(os.path.normpath(folder / path))


def _text(file: Path) -> str:
    """The text of a file; an agent may have put a pipe or an endless file there."""
    try:
        fd = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return ""
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        return ""
    with os.fdopen(fd, "rb") as opened:
        data = opened.read(_LARGEST + 1)
    if len(data) > _LARGEST:
        raise ToolFailed(f"{file} has more than {_LARGEST} bytes, too many for a configuration of Git")
    return data.decode("utf-8", "surrogateescape").removeprefix("\ufeff")


def values(text: str) -> Iterator[tuple[str, str, str]]:
    """Each value with its section and key in lower case; a quoted name after a section is left out."""
    plain = text.replace("\r\n", "\n")
    # A backslash at the end of a line joins the next line, but not at the end of a comment: both are read.
    for variant in dict.fromkeys((plain, _CONTINUED.sub(r"\1", plain))):
        section = ""
        for line in variant.split("\n"):
            at = 0
            while (header := _SECTION.match(line, at)) is not None:
                section, at = header[1].casefold(), header.end()
            key, equals, value = line[at:].lstrip().partition("=")
            if equals and not key.startswith(("#", ";")):
                yield section, key.strip().casefold(), _value(value)


def _value(written: str) -> str:
    """A value without its quotes, escapes and comment."""
    found: list[str] = []
    quoted, kept = False, 0
    letters = iter(written.strip())
    for letter in letters:
        if letter == "\\":
            escaped = next(letters, "")
            found.append(_ESCAPES.get(escaped, escaped))
        elif letter == '"':
            # Spaces inside quotes belong to the value.
            quoted, kept = not quoted, len(found)
        elif letter in "#;" and not quoted:
            break
        else:
            found.append(letter)
    return "".join(found[:kept]) + "".join(found[kept:]).rstrip()
