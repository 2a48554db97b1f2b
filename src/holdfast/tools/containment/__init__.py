"""One containment for all code that an agent causes to run: commands, background processes, MCP programs.

`ProgramView` says what a program may see. `Launcher` makes the command line that gives the program exactly
that view. bubblewrap builds a file system and namespaces for it. Landlock restricts files and signals, beside
bubblewrap or alone where bubblewrap does not work. The programs in `helper` run outside and inside the view.
"""

from __future__ import annotations

from .launcher import ALL, INSTALL, Launcher, NotContained, Prepared, Probe, helper_command, refusal
from .protected import is_protected
from .secret_pipe import secret_pipe
from .view import ProgramLimits, ProgramView, private_of_server, private_of_session

__all__ = [
    "ALL",
    "INSTALL",
    "Launcher",
    "ProgramLimits",
    "NotContained",
    "Prepared",
    "Probe",
    "ProgramView",
    "helper_command",
    "is_protected",
    "private_of_server",
    "private_of_session",
    "refusal",
    "secret_pipe",
]
