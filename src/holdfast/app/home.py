"""What is known before anything else, and cheaply: where everything is kept, and what a gateway is told."""

from __future__ import annotations

import os
from collections.abc import Mapping

from holdfast.errors import BadConfig

VARIABLE = "HOLDFAST_HOME"
DEFAULT_HOME = "~/.holdfast"
AGENT_VARIABLE = "HOLDFAST_AGENT_USE"
PORT_VARIABLE = "HOLDFAST_WEB_PORT"
WORKSPACE = "workspace"
"""Where tools work."""
TOKEN = "token"
"""What signs people and the command line in; can be replaced while the gateway runs."""
SOCKET = "gateway.sock"
"""Where a running gateway answers programs of this machine that have the token."""
TOKEN = "token"
"""The file with the secret that opens the page, the HTTP API and the socket."""


def home_at(home: str | os.PathLike[str] | None = None, environment: Mapping[str, str] | None = None) -> str:
    """The folder that holds everything: as given, else `HOLDFAST_HOME`, else the default.

    A string, because `pathlib` takes longer to import than all that `holdfast up` does before its gateway.
    """
    known = os.environ if environment is None else environment
    chosen = os.fspath(home or known.get(VARIABLE) or DEFAULT_HOME)
    found = os.path.expanduser(chosen)
    if os.path.exists(found) and not os.path.isdir(found):
        raise BadConfig("home", chosen, "a folder, or a path where one can be made")
    return found


def environment_with(agent: str | None, port: str | None = None) -> dict[str, str]:
    """This process's environment, in which a gateway uses that agent and port (None: the configured ones)."""
    said = {AGENT_VARIABLE: agent, PORT_VARIABLE: port}
    return {**os.environ, **{name: value for name, value in said.items() if value}}
