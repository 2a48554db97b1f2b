"""What is known before anything else, and cheaply: where everything is kept, and what a gateway is told."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from holdfast.errors import BadConfig

VARIABLE = "HOLDFAST_HOME"
DEFAULT_HOME = "~/.holdfast"
AGENT_VARIABLE = "HOLDFAST_AGENT_USE"


def find_home(home: Path | None = None, environment: Mapping[str, str] | None = None) -> Path:
    """The folder that holds everything: as given, else `HOLDFAST_HOME`, else the default."""
    known = os.environ if environment is None else environment
    chosen = home or Path(known.get(VARIABLE) or DEFAULT_HOME)
    found = chosen.expanduser()
    if found.exists() and not found.is_dir():
        raise BadConfig("home", str(chosen), "a folder, or a path where one can be made")
    return found


def environment_with(agent: str | None) -> dict[str, str]:
    """This process's environment, in which a gateway uses that agent (None: the configured one)."""
    return {**os.environ, **({AGENT_VARIABLE: agent} if agent else {})}
