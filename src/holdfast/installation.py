"""How Holdfast was installed, and the shell line that adds one of its optional parts in the same way."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

__all__ = ["DISTRIBUTION", "EXTRAS", "bubblewrap", "install_line", "installation_folders", "missing_extra"]

DISTRIBUTION = "holdfast-gateway"
"""The name of Holdfast for packaging tools; the command and the import name are `holdfast`."""

_SYSTEM = ("/usr/bin", "/bin", "/usr/local/bin")
"""Folders in which only an administrator can put programs."""

EXTRAS: Mapping[str, tuple[str, ...]] = {
    "anthropic": ("anthropic",),
    "mcp": ("mcp",),
    "openai": ("openai",),
    "telegram": ("aiogram", "markdown_it"),
}
"""The optional parts, each with the modules that it installs."""


def installation_folders() -> tuple[Path, ...]:
    """Every folder from which Holdfast executes or imports files: its code, its environment, its Python."""
    own = (Path(__file__).parent, Path(sys.prefix), Path(sys.base_prefix))
    imported = (Path(path) for path in sys.path if os.path.isabs(path) and os.path.isdir(path))
    return tuple(dict.fromkeys(path.resolve() for path in (*own, *imported)))


def bubblewrap(path: str) -> str | None:
    """The path of bubblewrap, from the folders of a PATH; system folders come first."""
    folders = sorted(path.split(os.pathsep), key=lambda folder: folder not in _SYSTEM)
    return shutil.which("bwrap", path=os.pathsep.join(folders))


def missing_extra(extra: str) -> str | None:
    """The shell line that installs this part; None when it is installed. Imports no module of the part."""
    if all(find_spec(module) is not None for module in EXTRAS[extra]):
        return None
    return install_line(extra, _origin(), sys.executable, find_spec("pip") is not None)


def install_line(extra: str, origin: Mapping[str, Any] | None, python: str, has_pip: bool) -> str:
    """The shell line that adds a part to the environment of `python`, from the source of the installation.

    `origin` is the record that installers keep of an address (PEP 610). None means a package index.
    """
    wanted = f"{DISTRIBUTION}[{extra}]"
    if origin is None:
        return _line(python, has_pip, wanted)
    address = str(origin["url"])
    if "dir_info" not in origin:
        return _line(python, has_pip, f"{wanted} @ {_exact(address, origin)}")
    folder = Path(unquote(urlsplit(address).path))
    if Path(python).is_relative_to(folder):
        python = str(Path(python).relative_to(folder))
    editable = ("-e",) if origin["dir_info"].get("editable") else ()
    return f"cd {shlex.quote(str(folder))} && {_line(python, has_pip, *editable, f'.[{extra}]')}"


def _line(python: str, has_pip: bool, *wanted: str) -> str:
    # An environment that uv made has no pip of its own.
    tool = (python, "-m", "pip", "install") if has_pip else ("uv", "pip", "install", "--python", python)
    return shlex.join((*tool, *wanted))


def _exact(address: str, origin: Mapping[str, Any]) -> str:
    control = origin.get("vcs_info")
    return address if control is None else f"{control['vcs']}+{address}@{control['commit_id']}"


def _origin() -> Mapping[str, Any] | None:
    # Imported here because only a missing part needs it, and at the top it would slow every start.
    from importlib.metadata import PackageNotFoundError, distribution  # noqa: PLC0415 - see above

    try:
        record = distribution(DISTRIBUTION).read_text("direct_url.json")
    except PackageNotFoundError:
        # Holdfast runs from its source and is not installed.
        return {"url": Path(__file__).parents[2].as_uri(), "dir_info": {"editable": True}}
    found: Mapping[str, Any] | None = None if record is None else json.loads(record)
    return found
