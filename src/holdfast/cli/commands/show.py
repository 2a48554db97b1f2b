"""`holdfast show`: one session with everything that the ledger knows of it."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from holdfast.api.queries import GatewayQueries
from holdfast.api.to_json import delivery, shown
from holdfast.cli.render.format import CALL_MARKS, coloured, moment, one_line, owed_words
from holdfast.cli.render.output import Json, print_pairs, print_table
from holdfast.cli.render.terminal_text import Cell, Part, joined, styled
from holdfast.model import Delivery, Session, Turn
from holdfast.store import ReadOnlyLedger

SHORTEST_ID = 16
"""A position never has so many digits: an argument of this length is the beginning of an id."""

_PAGE = 500
_TAB = "  "


async def collect(ledger: ReadOnlyLedger, looks: GatewayQueries, session: Session) -> Json:
    """Transcript, turns, tool journal, outbox and what waits, as JSON."""
    found = await looks.session(session.id, entries=1_000_000)
    turns = await ledger.turns(session.id)
    return {
        **found,
        "calls": [call for turn in reversed(turns) for call in await _calls(ledger, turn)],
        "outbox": [delivery(one) for one in await _outbox(ledger, session)],
    }


async def _calls(ledger: ReadOnlyLedger, turn: Turn) -> list[Json]:
    journal = await ledger.journal(turn.id, turn.generation)
    return [{"turn": turn.id, **shown(call)} for call in journal.calls]


async def _outbox(ledger: ReadOnlyLedger, session: Session) -> list[Delivery]:
    """The deliveries of this session, and the gateway's own notices in its chat during the session."""
    found: list[Delivery] = []
    after = 0
    while page := await ledger.deliveries(session.chat, after, _PAGE):
        found += [one for one in page if one.session == session.id or _is_notice(one, session)]
        after = page[-1].order
    return found


def _is_notice(one: Delivery, session: Session) -> bool:
    during = session.began_at <= one.created_at and (
        session.ended_at is None or one.created_at <= session.ended_at
    )
    return one.session is None and during


def print_session(console: Console, found: Json) -> None:
    """Print the session for a person, from top to bottom."""
    session = found["session"]
    state = "parked" if session["suspended_at"] else "ended" if session["ended_at"] else "live"
    print_pairs(
        console,
        [
            ("session", session["id"]),
            ("conversation", session["key"]),
            ("began", f"{moment(session['began_at'])} ({session['began']})"),
            ("state", f"{state}, generation {session['generation']}, strikes {session['strikes']}"),
        ],
    )
    _heading(console, "Transcript")
    for entry in found["entries"]:
        console.print(_line(entry))
    _heading(console, "Turns")
    turns = [_turn_row(turn) for turn in reversed(found["turns"])]
    print_table(console, ("turn", "message", "state", "interrupted", "began", "why"), turns)
    if found["calls"]:
        _heading(console, "Tool journal")
        calls = [
            (
                styled(CALL_MARKS[one["state"]], f" {one['state']}"),
                one["name"],
                one["effect"],
                one_line(one["arguments"]),
            )
            for one in found["calls"]
        ]
        print_table(console, ("state", "tool", "class", "arguments"), calls)
    if found["decisions"]:
        _heading(console, "Interruptions, and what recovery decided")
        for one in reversed(found["decisions"]):
            console.print(_decision(one))
    if found["outbox"]:
        _heading(console, "Outbox")
        print_table(console, ("number", "kind", "state", "text"), [_owed_row(one) for one in found["outbox"]])
    if found["waiting"]:
        _heading(console, "Waiting")
        waiting = [(str(one["position"]), one["kind"], one_line(one["text"])) for one in found["waiting"]]
        print_table(console, ("message", "kind", "text"), waiting)


def _heading(console: Console, words: str) -> None:
    console.print(styled("\n", (words, "bold")))


def _line(entry: Json) -> Text:
    when = (f"{entry['seq']:>4} {moment(entry['at'])} ", "dim")
    return styled(when, *_entry_parts(entry))


def _entry_parts(entry: Json) -> tuple[Part, ...]:
    match entry["kind"]:
        case "said":
            who = ("gateway", "bold yellow") if entry["woken"] else (entry["sender"], "bold cyan")
            return (who, _TAB, entry["text"])
        case "replied":
            calls = [
                (f"\n{_TAB * 12}calls {call['name']} {call['arguments']}", "dim") for call in entry["calls"]
            ]
            return (("agent", "bold"), _TAB, entry["text"], *calls)
        case "returned":
            return (CALL_MARKS[entry["state"]], " ", entry["text"].strip())
        case "noted":
            return ((f"(the agent is told: {one_line(entry['text'], 100)})", "dim"),)
        case "undone":
            return ((f"(entries {entry['first']} to {entry['last']} were undone)", "dim"),)
        case kind:
            return ((f"({kind})", "dim"), f" {one_line(entry.get('text', ''), 100)}")


def _turn_row(turn: Json) -> tuple[Cell, ...]:
    interrupted = f"{turn['interruptions']}× ({turn['interruption']})" if turn["interruptions"] else "–"
    return (
        turn["id"],
        str(turn["cause"]),
        coloured(turn["state"]),
        interrupted,
        moment(turn["begun_at"]),
        turn["why"] or turn["held"] or "–",
    )


def _decision(one: Json) -> Text:
    """One interruption or decision of recovery: what happened, why, and the facts that recovery knew."""
    when = (f"{_TAB}{moment(one['at'])} {one['turn']}  ", "dim")
    lines: list[Part] = [styled(when, _headline(one))]
    if one["sentence"]:
        lines.append(one["sentence"])
    if one["found"]:
        lines.append((f"row {one['row']}: {one['found']}", "dim"))
    if one["facts"]:
        lines.append((f"known then: {'; '.join(one['facts'])}", "dim"))
    return joined(f"\n{_TAB * 3}", lines)


def _headline(one: Json) -> str:
    detail = one["detail"]
    if one["what"] == "interrupted":
        return (
            f"interrupted: {_WHY_CUT.get(detail.get('reason'), detail.get('reason', 'no reason recorded'))}"
        )
    if one["what"] == "claimed":
        return f"resumed after interruption {detail['resumed']}"
    return str(one["what"]).replace("_", " ")


_WHY_CUT = {
    "restart_interrupted": "the process died",
    "restart_timeout": "the time to finish before a restart was over",
    "shutdown_timeout": "the time to finish before a stop was over",
}


def _owed_row(one: Json) -> tuple[Cell, ...]:
    reason = f" ({one['reason']})" if one["reason"] else ""
    return (str(one["number"]), one["kind"], styled(coloured(one["state"]), reason), owed_words(one, 100))
