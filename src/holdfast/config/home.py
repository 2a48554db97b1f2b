"""What a gateway knows before anything else, with few imports: its home, and its variables."""

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
"""Set by the supervisor. It runs as a file and imports nothing of Holdfast, so a test compares the names."""
WORKSPACE = "workspace"
"""The folder in which tools work."""
SOCKET = "gateway.sock"
"""The socket at which a running gateway answers programs of this machine that have the token."""
TOKEN = "token"
"""The file with the secret that opens the page, the HTTP API and the socket."""

_OTHERS = 0o077


def home_at(home: str | os.PathLike[str] | None = None, environment: Mapping[str, str] | None = None) -> str:
    """The home folder: as given, else `HOLDFAST_HOME`, else the default.

    A string, because `pathlib` takes longer to import than all that `holdfast up` does before its gateway.
    """
    known = os.environ if environment is None else environment
    chosen = os.fspath(home or known.get(VARIABLE) or DEFAULT_HOME)
    found = os.path.expanduser(chosen)
    if os.path.exists(found) and not os.path.isdir(found):
        raise BadConfig("home", chosen, "a folder, or a path at which one can be made")
    return found


def environment_with(agent: str | None, port: str | None = None) -> dict[str, str]:
    """This process's environment, with this agent and port for the gateway (None: the configured ones)."""
    said = {AGENT_VARIABLE: agent, PORT_VARIABLE: port}
    return {**os.environ, **{name: value for name, value in said.items() if value}}


def close_to_others(home: str | os.PathLike[str]) -> bool:
    """Close the home to all users but its owner; True if others could look into it before.

    A home that does not exist yet is made by the ledger, for its owner alone. `doctor` reports a home of
    another user.
    """
    if not os.path.exists(home):
        return False
    found = os.stat(home)
    is_open = found.st_mode & _OTHERS and not found.st_mode & stat.S_ISVTX
    if found.st_uid != os.geteuid() or not is_open:
        return False
    os.chmod(home, found.st_mode & ~_OTHERS & 0o7777)
    return True
