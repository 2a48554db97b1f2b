"""How a gateway and its parent are started: known cheaply, for whoever turns into one of them."""

from __future__ import annotations

import sys
from pathlib import Path

GATEWAY_MODULE = "holdfast.app.process"
"""Run with `python -m`: one gateway in this very process, for whoever supervises it."""


def gateway_command(home: Path) -> tuple[str, ...]:
    """How a supervisor starts a gateway on this home."""
    return (sys.executable, "-m", GATEWAY_MODULE, str(home.absolute()))


def supervisor_command(home: Path) -> tuple[str, ...]:
    """How our own parent is started, which keeps a gateway up on this home; meant to be exec'ed.

    Without the environment's Python settings and without site packages: it needs neither, and stays small.
    """
    file = Path(__file__).with_name("supervisor.py")
    return (sys.executable, "-I", "-S", str(file), str(home.absolute()), *gateway_command(home))
