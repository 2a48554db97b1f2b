"""`holdfast up`: become the gateway, or the parent that keeps one up.

This process only finds the home and then turns into the other one, so that nothing of the command line stays
in memory for the months a gateway runs.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import NamedTuple

from holdfast.app.exits import BAD_CONFIG, FAILED
from holdfast.app.home import environment_with, find_home
from holdfast.app.launch import gateway_command, supervisor_command
from holdfast.errors import Unusable


class Up(NamedTuple):
    """What `up` was asked for."""

    home: Path | None = None
    agent: str | None = None
    supervise: bool = True


def parse_up(arguments: list[str]) -> Up | None:
    """Read the arguments; None for anything but plain ones, which the full command line explains."""
    up = Up()
    rest = iter(arguments)
    for argument in rest:
        name, equals, value = argument.partition("=")
        if argument == "--no-supervise":
            up = up._replace(supervise=False)
        elif argument == "--supervise":
            up = up._replace(supervise=True)
        elif name in ("--home", "--agent"):
            value = value if equals else next(rest, "")
            if not value or value.startswith("--"):
                return None
            up = up._replace(home=Path(value)) if name == "--home" else up._replace(agent=value)
        else:
            return None
    return up


def run_up(up: Up) -> int:
    """Turn into the gateway or its parent; returns only when that cannot be done."""
    try:
        home = find_home(up.home)
        command = supervisor_command(home) if up.supervise else gateway_command(home)
        sys.stdout.flush()
        sys.stderr.flush()
        os.execve(command[0], command, environment_with(up.agent))
    except Unusable as error:
        sys.stderr.write(f"holdfast: {error}\n")
        return BAD_CONFIG
    except OSError as error:
        sys.stderr.write(f"holdfast: the gateway cannot be started: {error}; nothing was changed\n")
        return FAILED
