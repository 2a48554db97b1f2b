"""Which fault met which state of a row: a matrix with fixed axes, and things that must happen sometimes.

A fault that no world met in some state was not tested there. So an empty cell is a failure, unless it is
listed here with the reason why it cannot be filled.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields

from holdfast.model import CALL, DELIVERY, GOAL, INBOX, PROCESS, QUESTION, TURN
from holdfast.testing.sim.faults import FaultRates

from .options import WorldOutcome

Cell = tuple[str, str]
"""A fault, and the state of a row at that instant."""

FAULTS = (
    *("killed", "killed at the edge of a commit", "killed by its own work"),
    *("stopped in order", "stopped at once", "a second gateway", "clock set forward", "clock set back"),
    *(field.name for field in fields(FaultRates)),
)
MACHINES = (INBOX, TURN, CALL, DELIVERY, QUESTION, PROCESS, GOAL)
STATES = tuple(f"{machine.name} {state}" for machine in MACHINES for state in machine.arrows)

UNREACHABLE: Mapping[Cell, str] = {}
"""Cells that cannot be filled, and why."""


def empty_cells(met: Iterable[Cell]) -> list[Cell]:
    """The cells that no world met and that are not listed as unreachable."""
    known = {*met, *UNREACHABLE}
    return [(fault, state) for fault in FAULTS for state in STATES if (fault, state) not in known]


def matrix(met: Counter[Cell]) -> str:
    """In how many worlds each fault met each state, as a table."""
    width = max(map(len, STATES))
    heads = [f"{'':{width}}  {number:>4}  {fault}" for number, fault in enumerate(FAULTS, 1)]
    columns = " ".join(f"{number:>5}" for number in range(1, len(FAULTS) + 1))
    lines = [
        f"{state:{width}} " + " ".join(f"{_shown(met, (fault, state)):>5}" for fault in FAULTS)
        for state in STATES
    ]
    return "\n".join([*heads, f"{'':{width}} {columns}", *lines])


def _shown(met: Counter[Cell], cell: Cell) -> str:
    return str(met[cell]) if met[cell] else "n/a" if cell in UNREACHABLE else "-"


Happened = Callable[[WorldOutcome], bool]


def _turn(*whys: str) -> Happened:
    """A turn ended for one of these reasons."""
    return lambda world: any(turn.why in whys for turn in world.history.ledger.turns)


def _turn_state(state: str) -> Happened:
    return lambda world: any(turn.state == state for turn in world.history.ledger.turns)


def _row(state: str, *reasons: str) -> Happened:
    """An inbox row reached this state, for one of these reasons if any is named."""
    return lambda world: any(
        row.state == state and (not reasons or row.reason in reasons) for row in world.history.ledger.inbox
    )


def _owed(*beginnings: str) -> Happened:
    """The gateway owed a message under a key that begins like this."""
    return lambda world: any(line.dedupe.startswith(beginnings) for line in world.history.ledger.outbox)


def _call_state(state: str) -> Happened:
    return lambda world: any(call.state == state for call in world.history.ledger.calls)


def _decided(row: str) -> Happened:
    """Recovery decided about a turn by this row of its table."""
    return lambda world: row in world.history.ledger.decided


def _noted(kind: str) -> Happened:
    """A model got a note of this kind."""
    return lambda world: any(
        line.kind == "noted" and line.body and json.loads(line.body)["note"] == kind
        for line in world.history.ledger.entries
    )


def _question(kind: str, state: str, answer: str | None = None) -> Happened:
    """A question of this kind reached this state, with this answer if one is named."""
    return lambda world: any(
        (one.kind, one.state) == (kind, state) and answer in (None, one.answer)
        for one in world.history.ledger.questions
    )


def _process(state: str, consumed: bool = False) -> Happened:
    return lambda world: any(
        one.state == state and one.consumed == consumed for one in world.history.ledger.processes
    )


def _woken(kind: str, what: str = "") -> Happened:
    """A wake-up of this kind caused a turn."""
    return lambda world: any(
        one.event_id.startswith(f"{kind}:") and what in one.event_id for one in world.history.woken
    )


def _goal(state: str) -> Happened:
    return lambda world: any(goal.state == state for goal in world.history.ledger.goals)


def _by_key(world: WorldOutcome) -> bool:
    """The gateway sent a part more than once, and the platform showed it once."""
    tried = Counter((one.platform, one.key) for one in world.history.tried)
    shown = Counter((one.platform, one.key) for one in world.history.shown)
    return any(
        count > 1 and shown[part] == 1 and part[0] in world.history.idempotent
        for part, count in tried.items()
    )


def _joined(mode: str) -> Happened:
    """Messages joined one turn where the chat is in this mode."""
    return lambda world: world.history.busy == mode and _said_together(world)


def _said_together(world: WorldOutcome) -> bool:
    taken = Counter(row.turn for row in world.history.ledger.inbox if row.state == "taken")
    return any(count > 1 for count in taken.values())


def _was_changed(world: WorldOutcome) -> bool:
    texts = {event.text for event in world.history.events if event.kind == "revision" and event.text}
    return any(row.text in texts for row in world.history.ledger.inbox)


def _given_by_a_bot(world: WorldOutcome) -> bool:
    """People got a file through the real adapter."""
    return any(shown.files for shown in world.history.shown if shown.platform in world.history.rendering)


ROWS = (
    *("stop_asked", "not_allowed", "answered", "too_many_strikes", "platform_down", "too_old", "quarantine"),
    *("chat_says_never", "chat_says_ask", "safe_mode_suspect", "safe_mode"),
)
"""Rows of recovery's table that random worlds reach.

The others need a newer version, another machine, a silent model, or more deaths than usual.
"""
NOTES = ("restarted", "interrupted", "left_behind", "dropped")
"""Kinds of notes that random worlds reach often enough to require them."""


SOMETIMES: Mapping[str, Happened] = {
    "a message marked as possibly repeated": lambda w: any(s.marked for s in w.history.shown),
    "an effect of unknown outcome": _call_state("unknown"),
    "a call that never ran": _call_state("skipped"),
    "a tool asked what became of it": lambda w: any(ran.what == "asked" for ran in w.history.ran),
    "work resumed": lambda w: any(entry.kind == "noted" for entry in w.history.ledger.entries),
    "several messages in one turn": _said_together,
    "a turn stopped by its person": _turn("stop", "stop_asked"),
    "a turn overtaken by a message": _turn("interrupt"),
    "a turn left for a new conversation": _turn("new"),
    "a reply with effects of unknown outcome": _turn("reply_unknown"),
    "an answer kept as far as it came": _owed("partial:"),
    "a turn that failed": _turn_state("failed"),
    "a turn that did not move": _turn("no_progress"),
    "a turn too old to go on": _turn("too_old"),
    "a turn parked": _turn_state("parked"),
    "a turn ended for who is let out": _turn("not_allowed"),
    "an answer found by recovery": _turn("answered"),
    "work dropped by its person": _turn("dropped", "dropped_by_other_message"),
    "a question of recovery": _owed("chat_says_ask:", "safe_mode_suspect:"),
    "a question of a limit": _owed("limit:"),
    "a question answered": _row("answered"),
    "a queue that is full": _row("refused", "queue_full"),
    "a message refused at dispatch": _row("refused", "not_allowed"),
    "a button of a question that is closed": _row("refused", "question_closed"),
    "a button of another person's question": _row("refused", "not_asked"),
    "another person who wants to go on": _row("refused", "waiting"),
    "a message taken back": _row("withdrawn"),
    "a message too old to run": _row("offered"),
    "something unreadable set aside": lambda w: bool(w.history.ledger.set_aside),
    "a stranger refused": lambda w: bool(w.history.ledger.refused),
    "a reply of several parts": lambda w: any(line.part > 1 for line in w.history.ledger.outbox),
    "a line in place of a part": _owed("line:"),
    "a part that failed": lambda w: any(line.state == "failed" for line in w.history.ledger.outbox),
    "a part that expired": lambda w: any(line.state == "expired" for line in w.history.ledger.outbox),
    "a notice of work in progress": _owed("working:"),
    "a notice that a process stops": _owed("leaving:"),
    "the owner told of safe mode": _owed("owner:safe_mode:"),
    "a transcript undone": lambda w: any(entry.kind == "undone" for entry in w.history.ledger.entries),
    "a conversation erased": lambda w: any(not row.text for row in w.history.ledger.inbox),
    **{f"recovery decided by {row}": _decided(row) for row in ROWS},
    **{f"a note of kind {kind}": _noted(kind) for kind in NOTES},
    **{f"several messages in one turn by {mode}": _joined(mode) for mode in ("collect", "steer")},
    "a repeated send known by its key": _by_key,
    "a platform asked about a send": lambda w: w.history.looked_for > 0,
    "a suspect in quarantine": lambda w: bool(w.history.quarantined),
    "a message changed before it was taken": _was_changed,
    "a call that was allowed": _question("approval", "answered", "yes"),
    "a call that was allowed always": _question("approval", "answered", "always"),
    "a call that was refused": _question("approval", "answered", "no"),
    "a call without an answer": _question("approval", "expired"),
    "a person asked by a model": _question("clarify", "answered"),
    "a process that ended by itself": _process("exited"),
    "a process whose end was seen": _process("exited", consumed=True),
    "a process that was killed": _process("killed", consumed=True),
    "a process lost with its machine": _process("lost"),
    "a turn woken by the end of a process": _woken("process", ":ended"),
    "a turn woken by what a process put out": _woken("process", ":match:"),
    "a turn of a standing goal": _woken("goal"),
    **{f"a goal that is {state}": _goal(state) for state in ("done", "blocked", "stopped", "spent")},
    "a conversation summed up": lambda w: any(line.kind == "summed" for line in w.history.ledger.entries),
    "a file given on Telegram": _given_by_a_bot,
    "a reader who is cut off and comes again": lambda w: w.history.cut_readers > 0,
    "a backup while the gateway works": lambda w: w.history.copies > 0,
    "several deaths in one world": lambda w: len(w.history.deaths) > 3,
    "a death with work cut off before": lambda w: any("turn:interrupted" in death for death in w.deaths),
}
"""Each of these must happen at least once in all worlds of a run, or the worlds test too little."""


def happened(world: WorldOutcome) -> list[str]:
    """Which of these happened."""
    return [name for name, test in SOMETIMES.items() if test(world)]
