"""Set up the tools: report whether this machine can contain programs of agents, and store the choice."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Annotated

import typer

from holdfast.cli.home_status import is_running
from holdfast.cli.options import AsJson, Home, run
from holdfast.cli.render.output import print_json, stdout
from holdfast.config.edit_file import NotWritten, with_lines, write_all
from holdfast.config.load import FILE, commands_see, load_settings
from holdfast.config.settings import Settings
from holdfast.policy.containment import Containment, Requirement
from holdfast.policy.health import of_containment
from holdfast.tools.containment import INSTALL, Launcher, Probe

_OFF = (
    "Programs of agents then run NOT contained: each of them can read and change every file of your user, "
    "and read the gateway's token. Every card and `holdfast status` say so."
)


def tools(
    containment: Annotated[
        Requirement | None,
        typer.Option(help="required: programs run contained or not at all. off: none is contained."),
    ] = None,
    home: Home = None,
    as_json: AsJson = False,
) -> None:
    """Report whether this machine can contain programs of agents, and choose what happens if it cannot.

    Without --containment, the command asks only in a terminal, and only if this machine cannot contain
    programs. It writes nothing unless you choose.
    """
    settings = load_settings(home).settings
    known = settings.gateway.tools
    # Probe the machine, whatever the configuration says: a person chooses by what the machine can do.
    required = replace(known, containment=Requirement.REQUIRED)
    probe = Launcher(required, commands_see(known), settings.home).probe()
    asks = containment is None and not as_json and sys.stdin.isatty()
    if not as_json:
        _tell(probe, known.containment)
    if asks and probe.containment is Containment.NONE and known.containment is Requirement.REQUIRED:
        containment = _asked()
    if containment is not None and containment is not known.containment:
        _write(settings, containment)
    chosen = containment or known.containment
    if as_json:
        print_json(
            {"possible": probe.containment.value, "trouble": probe.trouble, "containment": chosen.value}
        )
    elif chosen is not known.containment:
        line = f'Wrote tools.containment = "{chosen.value}" to {settings.home / FILE}.'
        stdout().print(line if chosen is Requirement.REQUIRED else f"{line} {_OFF}")
        if run(is_running(settings.home)):
            stdout().print("Next: holdfast restart")


def _tell(probe: Probe, chosen: Requirement) -> None:
    is_off = chosen is Requirement.OFF
    found = of_containment(
        Containment.NONE if is_off else probe.containment, not is_off, probe.trouble, INSTALL
    )
    out = stdout()
    out.print(f"{found.words}.")
    if found.fix:
        out.print(f"To change that: {found.fix}.")


def _asked() -> Requirement:
    out = stdout()
    out.print("Agents can talk, fetch pages and use files anyway. You can also let them run programs:")
    out.print(_OFF)
    if typer.confirm("Run programs without containment on this machine?", default=False):
        return Requirement.OFF
    return Requirement.REQUIRED


def _write(settings: Settings, containment: Requirement) -> None:
    path = settings.home / FILE
    try:
        text = path.read_text(encoding="utf-8") if path.exists() else ""
    except (OSError, UnicodeDecodeError):
        raise NotWritten(f"{path} cannot be read; nothing was changed") from None
    write_all({path: with_lines(text, {}, "tools", {"containment": containment.value})})
