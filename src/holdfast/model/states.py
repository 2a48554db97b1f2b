"""Every state and every arrow between states, in one table.

The schema carries the same tables as guards (a test compares the two), `docs/reference/states.md` is
drawn from them, and `advance` is the only function that says yes to a change of state.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from holdfast.errors import ForbiddenTransition
from holdfast.records import dataclass


class TurnState(StrEnum):
    """Where a turn stands. A turn is born `running`, in the claim that starts it."""

    QUEUED = "queued"
    """Ready to be claimed again; goes before the messages that wait."""
    RUNNING = "running"
    """An owner works on it."""
    WAITING = "waiting"
    """A question to a person is open; nobody works on it."""
    INTERRUPTED = "interrupted"
    """Its owner was cut off; recovery decides what becomes of it."""
    DONE = "done"
    """Answered; what is owed stands in the outbox."""
    FAILED = "failed"
    """Ended by itself without an answer, and told."""
    CANCELLED = "cancelled"
    """Ended by a person, or by a rule that may not go on."""
    EXPIRED = "expired"
    """Left behind because it is too old, its question was not answered, or it has nothing left to do."""
    PARKED = "parked"
    """Stopped because it kept killing the gateway; its session is suspended."""


class CallState(StrEnum):
    """Where one tool call stands."""

    PLANNED = "planned"
    """The model asked for it; it has not run."""
    STARTED = "started"
    """Committed before the effect: it may be happening."""
    DONE = "done"
    FAILED = "failed"
    UNKNOWN = "unknown"
    """It may or may not have happened; it is never run again."""
    SKIPPED = "skipped"
    """It never ran and never will."""


class DeliveryState(StrEnum):
    """Where one part of what is owed to a chat stands."""

    PENDING = "pending"
    SENDING = "sending"
    """Committed before the send: it may be on the platform."""
    SENT = "sent"
    UNKNOWN = "unknown"
    """The send's outcome is not known; settled by asking, by its key, or by a marked repeat."""
    FAILED = "failed"
    EXPIRED = "expired"


class InboxState(StrEnum):
    """Where an accepted message, command, wake-up or request stands."""

    WAITING = "waiting"
    TAKEN = "taken"
    """Consumed by a turn."""
    ANSWERED = "answered"
    """Consumed by a question."""
    EXECUTED = "executed"
    """A command that was carried out."""
    REFUSED = "refused"
    OFFERED = "offered"
    """Too old to run by itself; the person was asked."""
    WITHDRAWN = "withdrawn"
    DROPPED = "dropped"


class QuestionState(StrEnum):
    """Where a question to a person stands."""

    OPEN = "open"
    ANSWERED = "answered"
    EXPIRED = "expired"
    SET_ASIDE = "set_aside"
    """The person wrote something else instead."""
    UNDELIVERABLE = "undeliverable"
    CANCELLED = "cancelled"


SILENT = frozenset({QuestionState.EXPIRED, QuestionState.UNDELIVERABLE})
"""A question in these states was closed without an answer, and no person wrote anything instead."""


class ProcessState(StrEnum):
    """Where a background process stands."""

    RUNNING = "running"
    EXITED = "exited"
    KILLED = "killed"
    LOST = "lost"
    """Gone without a trace of how it ended (the machine restarted, say)."""


class GoalState(StrEnum):
    """Where the standing goal of a session stands."""

    ACTIVE = "active"
    """After each turn that succeeds one more is queued."""
    DONE = "done"
    """The agent reported that it is reached."""
    BLOCKED = "blocked"
    """The agent reported that it cannot go on by itself."""
    STOPPED = "stopped"
    """A person wrote, or said so."""
    SPENT = "spent"
    """Its turns are used up."""


@dataclass(frozen=True, slots=True)
class StateTable:
    """A state table: from each state, the states it may move to. A state with no way out is final."""

    name: str
    arrows: Mapping[str, tuple[str, ...]]
    unreadable: str
    """The only way out of a state that the table does not have: damage ends a row in this final state."""

    @property
    def finals(self) -> frozenset[str]:
        return frozenset(state for state, targets in self.arrows.items() if not targets)

    @property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        return tuple((source, target) for source, targets in self.arrows.items() for target in targets)


_T, _C, _D, _I, _Q, _P = TurnState, CallState, DeliveryState, InboxState, QuestionState, ProcessState
_G = GoalState

TURN = StateTable(
    "turn",
    {
        _T.QUEUED: (_T.RUNNING, _T.CANCELLED, _T.EXPIRED, _T.INTERRUPTED),
        _T.RUNNING: (
            _T.DONE,
            _T.FAILED,
            _T.CANCELLED,
            _T.WAITING,
            _T.INTERRUPTED,
            _T.QUEUED,
        ),
        _T.WAITING: (_T.QUEUED, _T.CANCELLED, _T.EXPIRED),
        _T.INTERRUPTED: (_T.QUEUED, _T.WAITING, _T.DONE, _T.CANCELLED, _T.EXPIRED, _T.PARKED),
        _T.DONE: (),
        _T.FAILED: (),
        _T.CANCELLED: (),
        _T.EXPIRED: (),
        _T.PARKED: (),
    },
    unreadable=_T.FAILED,
)

CALL = StateTable(
    "call",
    {
        _C.PLANNED: (_C.STARTED, _C.SKIPPED),
        _C.STARTED: (_C.DONE, _C.FAILED, _C.UNKNOWN),
        _C.DONE: (),
        _C.FAILED: (),
        _C.UNKNOWN: (),
        _C.SKIPPED: (),
    },
    unreadable=_C.UNKNOWN,
)

DELIVERY = StateTable(
    "delivery",
    {
        _D.PENDING: (_D.SENDING, _D.FAILED, _D.EXPIRED),
        _D.SENDING: (_D.SENT, _D.PENDING, _D.UNKNOWN, _D.FAILED),
        _D.UNKNOWN: (_D.SENT, _D.PENDING, _D.FAILED, _D.EXPIRED),
        _D.SENT: (),
        _D.FAILED: (),
        _D.EXPIRED: (),
    },
    unreadable=_D.FAILED,
)

INBOX = StateTable(
    "inbox",
    {
        _I.WAITING: (
            _I.TAKEN,
            _I.ANSWERED,
            _I.EXECUTED,
            _I.REFUSED,
            _I.OFFERED,
            _I.WITHDRAWN,
            _I.DROPPED,
        ),
        _I.OFFERED: (_I.WAITING, _I.DROPPED),
        _I.TAKEN: (),
        _I.ANSWERED: (),
        _I.EXECUTED: (),
        _I.REFUSED: (),
        _I.WITHDRAWN: (),
        _I.DROPPED: (),
    },
    unreadable=_I.DROPPED,
)

QUESTION = StateTable(
    "question",
    {
        _Q.OPEN: (_Q.ANSWERED, _Q.EXPIRED, _Q.SET_ASIDE, _Q.UNDELIVERABLE, _Q.CANCELLED),
        _Q.ANSWERED: (),
        _Q.EXPIRED: (),
        _Q.SET_ASIDE: (),
        _Q.UNDELIVERABLE: (),
        _Q.CANCELLED: (),
    },
    unreadable=_Q.EXPIRED,
)

PROCESS = StateTable(
    "process",
    {
        _P.RUNNING: (_P.EXITED, _P.KILLED, _P.LOST),
        _P.EXITED: (),
        _P.KILLED: (),
        _P.LOST: (),
    },
    unreadable=_P.LOST,
)

GOAL = StateTable(
    "goal",
    {
        _G.ACTIVE: (_G.DONE, _G.BLOCKED, _G.STOPPED, _G.SPENT),
        _G.DONE: (),
        _G.BLOCKED: (),
        _G.STOPPED: (),
        _G.SPENT: (),
    },
    unreadable=_G.STOPPED,
)

MACHINES = (TURN, CALL, DELIVERY, INBOX, QUESTION, PROCESS, GOAL)

OPEN_TURN_STATES = tuple(state for state in TurnState if state not in TURN.finals)
"""A session has at most one turn in these."""


def advance(machine: StateTable, source: str, target: str) -> str:
    """Return `target` if the table has the arrow, else raise `ForbiddenTransition`."""
    if target not in machine.arrows.get(source, (machine.unreadable,)):
        raise ForbiddenTransition(machine.name, source, target)
    return target


def diagram(machine: StateTable) -> str:
    """Draw the table as a Mermaid state diagram."""
    lines = ["stateDiagram-v2"]
    lines += [f"    {source} --> {target}" for source, target in machine.pairs]
    lines += [f"    {state} --> [*]" for state in machine.arrows if state in machine.finals]
    return "\n".join(lines)
