"""The whole command line: every command with its help, and the message and exit code of each error."""

from __future__ import annotations

import sys
from typing import Annotated

import typer
from typer.main import get_command

from holdfast import __version__
from holdfast.api.client import NotRunning
from holdfast.errors import HoldfastError, Unusable
from holdfast.process.exit_codes import BAD_CONFIG, FAILED

from .chat.command import chat
from .commands import allowed, backup, incident, inspect, intervene, lifecycle, lists, outbox, people, setup
from .commands.doctor import doctor
from .commands.file import file
from .commands.guarantees import print_guarantees
from .commands.logs import logs
from .drill.command import drill
from .render.output import complain

_INTERRUPTED = 130

app = typer.Typer(
    help="Holdfast: a gateway between chat platforms and AI agents whose sessions cannot be lost.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
)
service = typer.Typer(help="Run the gateway as a service of this machine.", no_args_is_help=True)


@app.callback(invoke_without_command=True)
def _root(
    version: Annotated[bool, typer.Option("--version", help="Show the version and exit.")] = False,
) -> None:
    if version:
        print(__version__)
        raise typer.Exit


for _panel, _commands in (
    ("Run it", (lifecycle.up, lifecycle.link, lifecycle.stop, lifecycle.restart, chat)),
    (
        "Look at it",
        (
            inspect.status,
            inspect.show,
            inspect.trace,
            inspect.continuity,
            logs,
            inspect.verify,
            inspect.config,
        ),
    ),
    ("Step in", (intervene.resume, intervene.cancel)),
    ("Back it up", (backup.backup, backup.restore, backup.release)),
    ("Prove it", (drill, incident.export, incident.replay)),
):
    for _command in _commands:
        app.command(rich_help_panel=_panel)(_command)
app.command("sign-ins", rich_help_panel="Let people in")(lifecycle.sign_ins)
app.command("safe-mode", rich_help_panel="Step in")(intervene.safe_mode)
app.add_typer(outbox.app, name="outbox", rich_help_panel="Step in")
app.command(rich_help_panel="Let people in")(people.pair)
app.command("guarantees", rich_help_panel="Prove it")(print_guarantees)
app.add_typer(setup.app, name="setup", rich_help_panel="Run it")
app.command(rich_help_panel="Look at it")(doctor)
app.add_typer(people.app, name="people", rich_help_panel="Let people in")
app.add_typer(allowed.app, name="allowed", rich_help_panel="Let people in")
sessions = typer.Typer(invoke_without_command=True)
sessions.callback()(lists.sessions)
sessions.command()(intervene.delete)
app.add_typer(sessions, name="sessions", rich_help_panel="Look at it")
app.command(rich_help_panel="Look at it")(lists.processes)
app.command(rich_help_panel="Look at it")(file)
app.command("set-aside", rich_help_panel="Look at it")(lists.set_aside)
service.command("print")(lifecycle.print_service)
app.add_typer(service, name="service", rich_help_panel="Run it")


def run(arguments: list[str]) -> int:
    """Run one command. Exit codes: 0 done, 1 failed, 75 restart requested, 78 a person must act first."""
    as_json = "--json" in arguments
    try:
        code = get_command(app).main(arguments, prog_name="holdfast", standalone_mode=False)
    except typer.Exit as end:
        return end.exit_code
    except (typer.Abort, KeyboardInterrupt):
        return _INTERRUPTED
    except BrokenPipeError:
        # The reader closed the pipe. Flushing at exit would print a second error.
        sys.stderr.close()
        return FAILED
    except NotRunning as error:
        complain(f"{error}; `holdfast up` starts one", as_json)
        return FAILED
    except Unusable as error:
        complain(str(error), as_json)
        return BAD_CONFIG
    except HoldfastError as error:
        complain(str(error), as_json)
        return FAILED
    except Exception as error:  # noqa: BLE001 - the parser's usage errors have a method that prints them
        return _usage(error)
    return code if isinstance(code, int) else 0


def _usage(error: Exception) -> int:
    show = getattr(error, "show", None)
    if show is None:
        raise error
    show()
    return FAILED
