"""How a gateway is started: known cheaply, for whoever turns into one or keeps one up."""

from __future__ import annotations

import os
import sys

GATEWAY_MODULE = "holdfast.web"
"""Run with `python -m`: one gateway in this very process, for whoever supervises it."""


def gateway_command(home: str | os.PathLike[str]) -> list[str]:
    """How a supervisor starts a gateway on this home.

    Nothing is imported from the folder it happens to be in: code of an agent may write there.
    """
    return [sys.executable, "-P", "-m", GATEWAY_MODULE, os.path.join(os.getcwd(), home)]
