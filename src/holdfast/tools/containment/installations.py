"""Which files beside a folder of programs belong to their installation: a rule of names only.

`~/.cargo/bin` is often on the PATH, and `~/.cargo/credentials.toml` lies beside it. So a view shows only the
folders that hold programs and their data by custom, never the folder around them, and never a home.
"""

from __future__ import annotations

from pathlib import PurePath

PROGRAMS = ("bin", "sbin", "shims")
PARTS = (
    *PROGRAMS,
    *("lib", "lib32", "lib64", "libexec", "include", "share"),
    # Here version managers keep what their programs start: pyenv, asdf, Homebrew.
    *("versions", "installs", "plugins", "Cellar", "opt"),
    # This file tells a Python that it is in a virtual environment.
    "pyvenv.cfg",
    # This file tells pyenv which version to use.
    "version",
)
_SHARED = ".local"
"""The folder of a home in which all programs keep data: its `share` holds keys, mail and chats."""


def parts_of(folder: PurePath, user: PurePath) -> tuple[PurePath, ...]:
    """The paths to show for a folder of programs, in mount order; `user` is the home of the user."""
    prefix = folder.parent
    if folder.name not in PROGRAMS or prefix == user or user.is_relative_to(prefix):
        # A folder directly in a home, like `~/bin`, or with another name: only this folder is shown.
        return () if user.is_relative_to(folder) else (folder,)
    names = [name for name in PARTS if name != "share"] if prefix == user / _SHARED else PARTS
    return tuple(prefix / name for name in names)
