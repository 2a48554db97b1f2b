"""One session as a file without any text of people: for a report, and to replay it as a test.

The file has the shape of every row: states, times since the beginning, lengths, effect classes, order.
Numbers replace names, and filler of the same length replaces texts. Everything from outside (a platform's
reason, arguments, names of tools) is left out. docs/reference/incidents.md describes the format.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path

from holdfast import __version__
from holdfast.api.to_json import Json
from holdfast.errors import Unusable
from holdfast.model import (
    RESTORED,
    Entry,
    InboxRow,
    Instance,
    Interruption,
    Journal,
    Replied,
    Returned,
    Said,
    Session,
    Turn,
    place_at,
)
from holdfast.policy.intake.parse_input import parse_command
from holdfast.policy.recovery.outcome import table
from holdfast.records import dataclass
from holdfast.store import Happening, ReadOnlyLedger

FORMAT, VERSION = "holdfast-incident", 1
FILLER = "x"
_RUNS = 500
_OUR_COMMANDS = frozenset(
    ("new", "stop", "retry", "undo", "status", "sessions", "resume", "queue", "restart", "help", "goal")
)
_OUR_REASONS = frozenset({*Interruption, RESTORED, *(row.name for row in table())})
"""Reasons in the gateway's own words. Any other reason may contain words from outside."""


@dataclass(frozen=True, slots=True)
class _Names:
    """Gives every name a number, the same at each place."""

    given: dict[tuple[str, str], str]

    def of(self, kind: str, name: str | None) -> str | None:
        if name is None:
            return None
        number = 1 + sum(known == kind for known, _ in self.given)
        return self.given.setdefault((kind, name), f"{kind}-{number}")


async def collect(ledger: ReadOnlyLedger, session: Session) -> Json:
    """The shape of everything that the ledger has of a session."""
    turns = tuple(reversed(await ledger.turns(session.id, limit=1_000)))
    inbox = await ledger.arrivals_of(session.id)
    stories = {turn.id: await ledger.trace(turn.cause) for turn in turns}
    journals = [(turn, await ledger.journal(turn.id, turn.generation)) for turn in turns]
    entries = await ledger.transcript(session.id)
    zero = min([session.began_at, *(row.accepted_at for row in inbox)])
    names = _Names({})
    return {
        "format": FORMAT,
        "version": VERSION,
        "holdfast": __version__,
        "platform": place_at(session.chat).platform,
        "session": {
            "began": session.began,
            "strikes": session.strikes,
            "suspended": bool(session.suspended_at),
        },
        "inbox": [_arrival(row, names, zero) for row in inbox],
        "turns": [_turn(turn, names, zero) for turn in turns],
        "entries": [_entry(entry, names, zero) for entry in entries],
        "calls": [
            line
            for turn, journal in journals
            for line in _calls(turn, journal, stories[turn.id], names, zero)
        ],
        "questions": [
            {"turn": names.of("turn", turn.id), "kind": one.kind.value, "state": one.state.value}
            for turn, journal in journals
            for one in journal.questions
        ],
        "events": _events(stories.values(), names, zero),
        "instances": _runs(await ledger.instances(_RUNS), zero, names),
    }


def hidden(text: str) -> str:
    """Filler of the same length."""
    return FILLER * len(text)


def _arrival(row: InboxRow, names: _Names, zero: int) -> Json:
    command = parse_command(row.text) if row.kind == "command" else None
    text = hidden(row.text)
    if command is not None and command.name in _OUR_COMMANDS:
        text = f"/{command.name}{hidden(row.text[len(command.name) + 1 :])}"
    return {
        "message": names.of("message", str(row.position)),
        "sender": names.of("person", row.sender),
        "kind": row.kind.value,
        "text": text,
        "at": row.accepted_at - zero,
        "state": row.state.value,
        "turn": names.of("turn", row.turn),
    }


def _turn(turn: Turn, names: _Names, zero: int) -> Json:
    return {
        "turn": names.of("turn", turn.id),
        "cause": names.of("message", str(turn.cause)),
        "state": turn.state.value,
        "begun": turn.begun_at - zero,
        "ended": None if turn.ended_at is None else turn.ended_at - zero,
        "attempt": turn.attempt,
        "interruptions": turn.interruptions,
        "interruption": _ours(turn.interruption),
        "held": _ours(turn.held),
        "why": _ours(turn.why),
    }


def _ours(reason: str | None) -> str | None:
    return reason if reason is None or reason in _OUR_REASONS else "other"


def _entry(entry: Entry, names: _Names, zero: int) -> Json:
    line: Json = {"turn": names.of("turn", entry.turn), "at": entry.at - zero}
    line["kind"] = type(entry.body).__name__.lower()
    match entry.body:
        case Said(text, woken=woken):
            line |= {"text": hidden(text), **({"woken": True} if woken else {})}
        case Replied(text, finish, calls):
            line |= {"text": hidden(text), "finish": finish.value}
            line["calls"] = [names.of("call", f"{entry.turn}:{call.id}") for call in calls]
        case Returned(call, state, text):
            line |= {
                "call": names.of("call", f"{entry.turn}:{call}"),
                "state": state.value,
                "text": hidden(text),
            }
        case _:
            pass
    return line


def _calls(turn: Turn, journal: Journal, story: Sequence[Happening], names: _Names, zero: int) -> list[Json]:
    """Each call with its class, its state, and the time of its last start."""
    started = {
        one.subject.removeprefix("call:"): one
        for one in story
        if one.what == "started" and one.subject.startswith("call:")
    }
    lines = []
    for call in journal.calls:
        begun = started.get(call.id)
        detail = json.loads(begun.detail or "{}") if begun else {}
        lines.append(
            {
                "turn": names.of("turn", turn.id),
                "call": names.of("call", f"{turn.id}:{call.id}"),
                "effect": call.effect.value,
                "state": call.state.value,
                "started": begun.at - zero if begun else None,
                "runs": detail.get("runs", 1) if begun else 0,
            }
        )
    return lines


def _events(stories: Iterable[Sequence[Happening]], names: _Names, zero: int) -> list[Json]:
    """What happened to the turns. The other rows of the file tell the rest."""
    lines = []
    for story in stories:
        for one in story:
            kind, _, which = one.subject.partition(":")
            if kind != "turn":
                continue
            detail = json.loads(one.detail) if one.detail else {}
            why = _ours(detail.get("reason") or detail.get("row"))
            run = names.of("run", one.instance)
            line: Json = {"at": one.at - zero, "what": one.what, "turn": names.of("turn", which), "run": run}
            lines.append({**line, "why": why} if why else line)
    return sorted(lines, key=lambda line: line["at"])


def _runs(runs: Iterable[Instance], zero: int, names: _Names) -> list[Json]:
    """The process runs that worked on the session, and how each ended: None means that it crashed."""
    known = {which for kind, which in names.given if kind == "run"}
    return [
        {
            "run": names.of("run", run.id),
            "started": run.started_at - zero,
            "seen": (run.stopped_at or run.heartbeat_at) - zero,
            "ended": run.stopped.value if run.stopped else None,
        }
        for run in sorted(runs, key=lambda run: run.started_at)
        if run.id in known
    ]


def load(path: Path) -> Json:
    """Read an incident; raises `Unusable` for any other file, and for one of a newer version."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        if found["format"] != FORMAT:
            raise ValueError("another format")
        version = int(found["version"])
    except OSError as error:
        raise Unusable(f"{path} cannot be read: {error.strerror}") from None
    except (ValueError, KeyError, TypeError) as error:
        raise Unusable(f"{path} is not an incident from `holdfast export` ({error})") from None
    if version > VERSION:
        raise Unusable(f"{path} is an incident of version {version}; this Holdfast knows up to {VERSION}")
    incident: Json = found
    return incident
