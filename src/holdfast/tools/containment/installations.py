"""Which files beside a folder of programs belong to their installation: a rule of names alone.

`~/.cargo/bin` is on many a PATH, and `~/.cargo/credentials.toml` lies beside it. So only folders that hold
programs and their data by custom are shown, never the folder around them, and never a home.
"""

from __future__ import annotations

from pathlib import PurePath

PROGRAMS = ("bin", "sbin", "shims")
PARTS = (
    *PROGRAMS,
    *("lib", "lib32", "lib64", "libexec", "include", "share"),
    # Where managers of versions keep what their programs start: pyenv, asdf, Homebrew.
    *("versions", "installs", "plugins", "Cellar", "opt"),
    # By this file a Python knows that it is in a virtual environment.
    "pyvenv.cfg",
    # By this one pyenv knows which version is meant.
    "version",
)
_SHARED = ".local"
"""The folder of a home in which all programs keep data: there `share` holds keys, mail and chats."""


def parts_of(folder: PurePath, user: PurePath) -> tuple[PurePath, ...]:
    """What is shown for a folder of programs, in the order it is mounted; `user` is the home of the user."""
    prefix = folder.parent
    if folder.name not in PROGRAMS or prefix == user or user.is_relative_to(prefix):
        # A folder in a home itself, like `~/bin`, or one of another name: it stands for itself alone.
        return () if user.is_relative_to(folder) else (folder,)
    names = [name for name in PARTS if name != "share"] if prefix == user / _SHARED else PARTS
    return tuple(prefix / name for name in names)
