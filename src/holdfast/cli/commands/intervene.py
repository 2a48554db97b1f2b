"""Commands with which an operator steps in. They ask the running gateway, which carries out each one once."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from holdfast.api.client import ask
from holdfast.api.to_json import Json
from holdfast.cli.options import AsJson, Home, looking, run
from holdfast.cli.render.format import moment, plural
from holdfast.cli.render.output import complain, print_json, stdout
from holdfast.cli.render.terminal_text import styled
from holdfast.cli.session_lookup import find_session
from holdfast.clock import SystemClock
from holdfast.config.load import find_home
from holdfast.process.exit_codes import FAILED

from .inspect import Which

_LOOK_AGAIN = 0.1
_PATIENCE = 10.0
_SESSIONS_REPLY = "its chat has the full answer: `holdfast outbox --chat CHAT`"


def resume(session: Which, home: Home = None, as_json: AsJson = False) -> None:
    """Resume a session that is parked, held or ended, or whose interrupted work was not resumed.

    This gives the command /resume in the session's conversation, so its people see the answer.
    """
    found = run(_give(find_home(home), "resume", session))
    _print_result(found, as_json, "The session is resumed. Its transcript is complete.")


def cancel(session: Which, home: Home = None, as_json: AsJson = False) -> None:
    """Stop the unfinished turn of a session, whether it runs, waits or is held. The session is kept.

    This gives the command /stop in the session's conversation, so its people see the answer.
    """
    found = run(_give(find_home(home), "cancel", session))
    _print_result(found, as_json, "Stopped, if anything was unfinished. The session is kept.")


def delete(
    session: Which,
    sure: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    home: Home = None,
    as_json: AsJson = False,
) -> None:
    """Erase the content of a session for good. The ledger keeps only the fact that it took place.

    The gateway first stops what runs in the session. Then it rewrites the ledger's file, so that no content
    stays in the home. Backups may still contain it: erase them yourself.
    """
    where = find_home(home)
    found = run(_look_at(where, session))
    if not sure and not as_json:
        much = plural(found["entries"], "entry", "entries")
        words = f"Erase session {found['id']} of {found['key']} with {much}? This cannot be undone."
        typer.confirm(words, abort=True)
    elif not sure:
        raise typer.BadParameter("--json needs --yes here, because it cannot ask you")
    _print_result(run(ask(where, "forget", session=found["id"])), as_json, "Erased.")


class Switch(StrEnum):
    """What `holdfast safe-mode` does."""

    STATUS = "status"
    ON = "on"
    OFF = "off"


def safe_mode(
    what: Annotated[Switch, typer.Argument(help="Show it, turn it on, or turn it off.")] = Switch.STATUS,
    home: Home = None,
    as_json: AsJson = False,
) -> None:
    """Show safe mode, turn it on or off. While it is on, the gateway resumes no interrupted work by itself.

    The gateway turns it on after several crashes, and off when it has run well for some time. If you turn it
    on, it stays on, also after a restart, until you turn it off.
    """
    found = run(_safe_mode(find_home(home), what))
    if as_json:
        print_json(found)
    elif found["active"]:
        ends = f" It ends by itself at {moment(found['ends_at'])}." if found["ends_at"] else ""
        since = f" since {moment(found['since'])}: {found['why']}.{ends}"
        stdout().print(styled("Safe mode is ", ("on", "yellow"), since))
    else:
        stdout().print("Safe mode is off.")
    if what is not Switch.STATUS and found["active"] is not (what is Switch.ON):
        complain("requested, but not done yet; `holdfast safe-mode` shows when it is", as_json)
        raise typer.Exit(FAILED)


async def _safe_mode(home: Path, what: Switch) -> Json:
    if what is not Switch.STATUS:
        await ask(home, "safe_mode", on=what is Switch.ON)
    clock = SystemClock()
    until = clock.monotonic() + _PATIENCE
    while True:
        found: Json = (await ask(home, "status"))["safe_mode"]
        if what is Switch.STATUS or found["active"] is (what is Switch.ON) or clock.monotonic() > until:
            return found
        await clock.sleep(_LOOK_AGAIN)


async def _give(home: Path, do: str, which: str, **more: Any) -> Json:
    return await ask(home, do, session=(await _look_at(home, which))["id"], **more)


async def _look_at(home: Path, which: str) -> Json:
    async with looking(home) as (ledger, looks):
        session = await find_session(ledger, looks, which)
        entries = await ledger.transcript(session.id)
        return {"id": session.id, "key": session.key, "entries": len(entries)}


def _print_result(found: Json, as_json: bool, done: str) -> None:
    """Print how a command ended that was given in a conversation."""
    if as_json:
        print_json(found)
    elif found["state"] == "executed":
        stdout().print(done)
    elif found["state"] == "waiting":
        stdout().print("Requested, but not done yet. The gateway will do it, also after a restart.")
    else:
        stdout().print(f"Refused: {found['reason'].replace('_', ' ')}; {_SESSIONS_REPLY}.")
    if found["state"] == "refused":
        raise typer.Exit(FAILED)
