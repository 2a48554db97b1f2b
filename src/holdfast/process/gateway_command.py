"""The command that starts a gateway. Few imports: `holdfast up` and the supervisor use it."""

from __future__ import annotations

import os
import sys

GATEWAY_MODULE = "holdfast.web"
"""Run with `python -m`: one gateway in this process, under any supervisor."""


def gateway_command(home: str | os.PathLike[str]) -> list[str]:
    """The command with which a supervisor starts a gateway on this home.

    With -P, Python imports nothing from the current folder: code of an agent may write there.
    """
    return [sys.executable, "-P", "-m", GATEWAY_MODULE, os.path.join(os.getcwd(), home)]
