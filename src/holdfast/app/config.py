"""Configuration: the only place that reads the environment."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from holdfast.errors import BadConfig

DEFAULT_HOME = "~/.holdfast"


@dataclass(frozen=True, slots=True)
class Config:
    """What a gateway needs to know before it starts."""

    home: Path
    pace: float = 0.5
    """Seconds per beat of the demonstration's work."""


def load(home: Path | None = None, pace: float | None = None) -> Config:
    """Settings from arguments, then the environment (`HOLDFAST_HOME`), then defaults."""
    chosen = home or Path(os.environ.get("HOLDFAST_HOME") or DEFAULT_HOME)
    if pace is not None and not 0 <= pace <= 60:
        raise BadConfig("pace", pace, "seconds from 0 to 60")
    found = chosen.expanduser()
    if found.exists() and not found.is_dir():
        raise BadConfig("home", str(chosen), "a folder, or a path where one can be made")
    return Config(found) if pace is None else Config(found, pace)
