"""How contained the programs of an agent are, in words for people, and which paths they may reach."""

from __future__ import annotations

from enum import StrEnum
from pathlib import PurePath

from holdfast.records import dataclass


class Containment(StrEnum):
    """How contained a program is that an agent runs."""

    BUBBLEWRAP = "bubblewrap"
    """The program sees a file system of its own, made of what is allowed, and only its own processes."""
    LANDLOCK = "landlock"
    """The program sees the machine's files and may use those that are allowed."""
    NONE = "none"

    @property
    def words(self) -> str:
        """The words for it on cards, in `status` and in `doctor`."""
        return _WORDS[self]


_WORDS = {
    Containment.BUBBLEWRAP: "contained",
    Containment.LANDLOCK: "contained by Landlock only",
    Containment.NONE: "not contained",
}


def card_words(found: Containment, required: bool) -> str:
    """The sentence on a consent card about a call that starts a program."""
    if found is Containment.NONE:
        return _REFUSED if required else _NOT_CONTAINED
    return (
        f"The program runs {found.words}: it can change the workspace and the configured folders, and cannot "
        f"{_NOT_REACHED[found]}."
    )


_REFUSED = (
    "The gateway will refuse the program: this machine cannot contain it. `holdfast doctor` says what to "
    "install."
)
_NOT_CONTAINED = (
    "The program runs NOT contained: it can read and change every file of the user who runs the gateway, "
    "and read the gateway's token."
)
_NOT_REACHED = {
    Containment.BUBBLEWRAP: "see your other files or those of the gateway",
    Containment.LANDLOCK: "open your other files or those of the gateway, but can see that they exist",
}


class Requirement(StrEnum):
    """Whether an agent's code may run where the machine cannot contain it."""

    REQUIRED = "required"
    OFF = "off"
    """The gateway contains nothing, on any machine."""


@dataclass(frozen=True, slots=True)
class ClosedFolders:
    """The folders that no configuration opens to an agent's code."""

    home: PurePath
    """The gateway's home: token, configuration, ledger, socket, logs."""
    installation: tuple[PurePath, ...]
    """The gateway's own programs."""
    user: PurePath
    """The home of the user who runs the gateway."""
    secrets: tuple[PurePath, ...] = ()
    """Files with keys and tokens that the configuration names."""


def refused_path(path: PurePath, write: bool, kept: ClosedFolders) -> str | None:
    """Why the configuration may not open this path (all links resolved) to agents; None if it may.

    Agents may read the installation: it holds no secret, and they see its programs anyway.
    """
    if _touch(path, kept.home):
        return f"it is, contains or lies in the gateway's home {kept.home}"
    for file in kept.secrets:
        if file.is_relative_to(path):
            return f"it is or contains {file}, where the gateway has a key"
    if not write:
        return None
    if path == PurePath(path.anchor):
        return "it is the whole machine"
    if path == kept.user or kept.user.is_relative_to(path):
        return "it is or contains the home of the user who runs the gateway"
    for folder in kept.installation:
        if _touch(path, folder):
            return f"it is, contains or lies in the installation {folder}"
    return None


def _touch(one: PurePath, other: PurePath) -> bool:
    return one.is_relative_to(other) or other.is_relative_to(one)
