"""`holdfast up`: become the gateway, or the parent that keeps one up.

Nothing is imported here that either could do without: the gateway waits for it, and the parent keeps it in
memory for the months a gateway runs.
"""

from __future__ import annotations

import os
import sys

from holdfast.config.home import environment_with, home_at
from holdfast.errors import Unusable
from holdfast.process.exit_codes import BAD_CONFIG, FAILED
from holdfast.process.gateway_command import gateway_command
from holdfast.process.supervisor import supervise


class Up:
    """What `up` was asked for; no record, since the standard library's dataclasses are costly to import."""

    def __init__(
        self,
        home: str | os.PathLike[str] | None = None,
        agent: str | None = None,
        supervised: bool = True,
        port: str | None = None,
    ) -> None:
        self.home = home
        self.agent = agent
        self.supervised = supervised
        self.port = port


def parse_up(arguments: list[str]) -> Up | None:
    """Read the arguments; None for anything but plain ones, which the full command line explains."""
    up = Up()
    rest = iter(arguments)
    for argument in rest:
        name, equals, value = argument.partition("=")
        if argument in ("--no-supervise", "--supervise"):
            up.supervised = argument == "--supervise"
        elif name in ("--home", "--agent", "--port"):
            value = value if equals else next(rest, "")
            if not value or value.startswith("--"):
                return None
            setattr(up, name[2:], value)
        elif argument != "--json":
            # Of which there is none: what it says, it says to the log.
            return None
    return up


def run_up(up: Up) -> int:
    """Turn into the gateway or be its parent; the exit code says how it ended."""
    try:
        home = home_at(up.home)
        command, environment = gateway_command(home), environment_with(up.agent, up.port)
        sys.stdout.flush()
        sys.stderr.flush()
        if up.supervised:
            return supervise(home, command, environment)
        os.execve(command[0], command, environment)
    except Unusable as error:
        sys.stderr.write(f"holdfast: {error}\n")
        return BAD_CONFIG
    except OSError as error:
        sys.stderr.write(f"holdfast: the gateway cannot be started: {error}; nothing was changed\n")
        return FAILED
