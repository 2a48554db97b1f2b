"""Commands that start, stop and restart the gateway, or make it a service of the machine."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from holdfast.api.client import ask
from holdfast.api.to_json import Json
from holdfast.cli.options import AsJson, Home, looking
from holdfast.cli.options import run as carry_out
from holdfast.cli.render.format import ago
from holdfast.cli.render.output import print_json, print_table, stdout
from holdfast.cli.render.tables import print_plan
from holdfast.clock import SystemClock
from holdfast.config.load import find_home, load_settings
from holdfast.process.exit_codes import FAILED
from holdfast.process.systemd_unit import unit_text

from . import stop_restart
from .up import Up, run_up


def up(
    home: Home = None,
    agent: Annotated[
        str | None,
        typer.Option(
            help="The agent that answers: demo, echo, or your own as module:object.",
            show_default="agent.use of holdfast.toml",
        ),
    ] = None,
    port: Annotated[
        int | None,
        typer.Option(
            help="The port of the page; 0 takes any free port.", show_default="web.port of holdfast.toml"
        ),
    ] = None,
    supervise: Annotated[
        bool,
        typer.Option(
            "--supervise/--no-supervise", help="Start it again after every exit, unless it was asked to stop."
        ),
    ] = True,
    as_json: AsJson = False,
) -> None:
    """Run the gateway in the foreground. It logs to standard error.

    Ctrl-C, SIGTERM or `holdfast stop` stop it in order: running turns get time to finish. The next start
    resumes interrupted turns from their exact step. Exit codes: 0 stopped as requested, 75 restart requested,
    78 you have to change something first (the message says what), 1 anything else.
    """
    raise typer.Exit(run_up(Up(home, agent, supervise, None if port is None else str(port))))


def link(home: Home = None, as_json: AsJson = False) -> None:
    """Print a link that signs a browser in to the page. It works once, within 15 minutes."""
    found = carry_out(ask(find_home(home), "link"))
    if as_json:
        print_json(found)
    else:
        print(found["link"])


def sign_ins(
    revoke: Annotated[
        str | None, typer.Option(help='End the sign-in with this id; "all" ends every one.')
    ] = None,
    home: Home = None,
    as_json: AsJson = False,
) -> None:
    """List the browsers that are signed in to the page, or end a sign-in at once.

    A new token (the file `token` in the home) also ends every sign-in, and the access of every program.
    """
    where = find_home(home)
    if revoke is not None:
        which = {} if revoke == "all" else {"sign_in": revoke}
        found = carry_out(ask(where, "sign_out", **which))
    else:
        found = carry_out(ask(where, "sign_ins"))
    if as_json:
        print_json(found)
    elif revoke is not None:
        stdout().print(f"Sign-ins ended: {found['ended']}.")
    else:
        now = SystemClock().now()
        rows = [(one["id"], ago(one["at"], now), one["browser"]) for one in found["sign_ins"]]
        print_table(stdout(), ("id", "signed in", "browser"), rows)


def stop(home: Home = None, as_json: AsJson = False) -> None:
    """Stop the gateway and its supervisor, and wait until both have ended.

    Running turns get time to finish (`drain.wait`). The next start resumes the others from their exact step.
    """
    _tell(carry_out(stop_restart.stop(find_home(home))), as_json)


def restart(
    plan: Annotated[
        bool, typer.Option("--plan", help="Only show which turns a restart would wait for now.")
    ] = False,
    when_quiet: Annotated[bool, typer.Option("--when-quiet", help="Wait until no turn runs.")] = False,
    wait: Annotated[bool, typer.Option(help="Wait until the new gateway answers.")] = True,
    sure: Annotated[
        bool,
        typer.Option("--yes", help="Also without a supervisor: the gateway stops, and you start it again."),
    ] = False,
    home: Home = None,
    as_json: AsJson = False,
) -> None:
    """Restart the gateway. Running turns get time to finish; the new gateway resumes the others.

    Refused if no supervisor (`holdfast up`, systemd) would start it again, unless you add --yes.
    """
    if plan:
        _plan(find_home(home), as_json)
    else:
        _tell(carry_out(stop_restart.restart(find_home(home), when_quiet, wait, sure)), as_json)


def _plan(home: Path, as_json: bool) -> None:
    found = carry_out(_planned(home))
    if as_json:
        print_json(found)
    else:
        print_plan(stdout(), found["running"])


async def _planned(home: Path) -> Json:
    async with looking(home) as (_, looks):
        return await looks.plan()


def _tell(outcome: stop_restart.StopReport, as_json: bool) -> None:
    if as_json:
        print_json({"done": outcome.done, **outcome.facts, "words": outcome.words})
    else:
        stdout().print(outcome.words)
    if not outcome.done:
        raise typer.Exit(FAILED)


def print_service(home: Home = None, as_json: AsJson = False) -> None:
    """Print a systemd unit that runs this gateway. The output says where to put it."""
    text = unit_text(load_settings(home).settings)
    if as_json:
        print_json({"unit": text})
        return
    print(
        "# Put this into ~/.config/systemd/user/holdfast.service, then:\n"
        "#   systemctl --user daemon-reload && systemctl --user enable --now holdfast\n"
        "#   loginctl enable-linger   # so that it runs while you are logged out\n"
    )
    print(text, end="")
