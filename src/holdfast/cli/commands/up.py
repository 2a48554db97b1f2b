"""`holdfast up`: become the gateway, or its supervisor.

This module imports only what both need: the gateway's start waits for the imports, and the supervisor keeps
them in memory for the months a gateway runs.
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
    """The options of `up`. Not a dataclass, because that module is slow to import."""

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
    """Read the arguments. None means that the full command line has to read them, and explain errors."""
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
            # `--json` changes nothing: `up` writes only to the log.
            return None
    return up


def run_up(up: Up) -> int:
    """Become the gateway or its supervisor. The exit code says how the gateway ended."""
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
