"""What a process did to its files, and what it told the outside meanwhile, in the order it happened."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Wrote:
    path: str
    offset: int
    data: bytes


@dataclass(frozen=True, slots=True)
class Sized:
    """A file was cut, or grew without being written to."""

    path: str
    size: int


@dataclass(frozen=True, slots=True)
class Made:
    path: str
    folder: bool = False


@dataclass(frozen=True, slots=True)
class Moved:
    path: str
    to: str


@dataclass(frozen=True, slots=True)
class Removed:
    path: str


@dataclass(frozen=True, slots=True)
class SyncBegun:
    """From here on a file or folder is being made certain: what was done to it before, and nothing later."""

    path: str
    number: int


@dataclass(frozen=True, slots=True)
class SyncEnded:
    """Whoever waited for it was told so."""

    number: int
    kept: bool = True
    """False when it failed. What it was to make certain may then never reach the disk, nor does a later sync
    try it once more."""


@dataclass(frozen=True, slots=True)
class Told:
    """Something was told to the outside that must never turn out to be untrue."""

    fact: str


Event = Wrote | Sized | Made | Moved | Removed | SyncBegun | SyncEnded | Told
