"""What is known before anything else, and cheaply: where everything is kept, and what a gateway is told."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping

from holdfast.errors import BadConfig

VARIABLE = "HOLDFAST_HOME"
DEFAULT_HOME = "~/.holdfast"
AGENT_VARIABLE = "HOLDFAST_AGENT_USE"
PORT_VARIABLE = "HOLDFAST_WEB_PORT"
CHANNEL_VARIABLE = "HOLDFAST_SUPERVISOR_FD"
LISTENING_VARIABLE = "HOLDFAST_LISTENING_FD"
"""Set by the supervisor, which runs as a file that imports nothing of ours: a test compares the names."""
WORKSPACE = "workspace"
"""Where tools work."""
SOCKET = "gateway.sock"
"""Where a running gateway answers programs of this machine that have the token."""
TOKEN = "token"
"""The file with the secret that opens the page, the HTTP API and the socket."""

_OTHERS = 0o077


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


def close_to_others(home: str | os.PathLike[str]) -> bool:
    """Let only its owner look into the home from now on; True if others could before.

    The ledger makes a home that does not exist yet for its owner alone. `doctor` names one that is not ours.
    """
    if not os.path.exists(home):
        return False
    found = os.stat(home)
    is_open = found.st_mode & _OTHERS and not found.st_mode & stat.S_ISVTX
    if found.st_uid != os.geteuid() or not is_open:
        return False
    os.chmod(home, found.st_mode & ~_OTHERS & 0o7777)
    return True
