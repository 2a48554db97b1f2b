"""Every state and every arrow between states, in one table.

The schema has the same tables as guards (a test compares the two), `docs/reference/states.md` is generated
from them, and only `advance` allows a change of state.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from holdfast.errors import ForbiddenTransition
from holdfast.records import dataclass


class TurnState(StrEnum):
    """The state of a turn. A turn begins as `running`, in the claim that starts it."""

    QUEUED = "queued"
    """Ready to be claimed again, before the messages that wait."""
    RUNNING = "running"
    """An owner works on it."""
    WAITING = "waiting"
    """A question to a person is open; no process works on the turn."""
    INTERRUPTED = "interrupted"
    """Its owner was cut off; recovery decides about it."""
    DONE = "done"
    """Answered; the outbox has what the chat is owed."""
    FAILED = "failed"
    """Ended by itself without an answer; the chat was told."""
    CANCELLED = "cancelled"
    """Ended by a person, or by a rule: its person lost access, for example."""
    EXPIRED = "expired"
    """Ended because it is too old, its question got no answer, or its resume produced nothing."""
    PARKED = "parked"
    """Stopped after too many deaths of the gateway or interruptions; its session is suspended."""


class CallState(StrEnum):
    """The state of one tool call."""

    PLANNED = "planned"
    """The model asked for it; it has not run."""
    STARTED = "started"
    """Committed before the effect, which may be happening."""
    DONE = "done"
    FAILED = "failed"
    UNKNOWN = "unknown"
    """It may or may not have happened; it is never run again."""
    SKIPPED = "skipped"
    """It never ran and never will run."""


class DeliveryState(StrEnum):
    """The state of one part of a message that a chat is owed."""

    PENDING = "pending"
    SENDING = "sending"
    """Committed before the send; the part may be on the platform."""
    SENT = "sent"
    UNKNOWN = "unknown"
    """The send's outcome is not known; the gateway settles it by asking, by key, or by a marked repeat."""
    FAILED = "failed"
    EXPIRED = "expired"


class InboxState(StrEnum):
    """The state of an accepted message, command, wake-up or request."""

    WAITING = "waiting"
    TAKEN = "taken"
    """A turn took it."""
    ANSWERED = "answered"
    """It answered a question."""
    EXECUTED = "executed"
    """It was a command, and the gateway carried it out."""
    REFUSED = "refused"
    OFFERED = "offered"
    """Too old to run by itself; the person was told."""
    WITHDRAWN = "withdrawn"
    DROPPED = "dropped"


class QuestionState(StrEnum):
    """The state of a question to a person."""

    OPEN = "open"
    ANSWERED = "answered"
    EXPIRED = "expired"
    SET_ASIDE = "set_aside"
    """The person wrote something else instead."""
    UNDELIVERABLE = "undeliverable"
    CANCELLED = "cancelled"


SILENT = frozenset({QuestionState.EXPIRED, QuestionState.UNDELIVERABLE})
"""A question in these states closed without an answer, and no person wrote anything instead."""


class ProcessState(StrEnum):
    """The state of a background process."""

    RUNNING = "running"
    EXITED = "exited"
    KILLED = "killed"
    LOST = "lost"
    """Gone, and how it ended is unknown (the machine restarted, for example)."""


class GoalState(StrEnum):
    """The state of the standing goal of a session."""

    ACTIVE = "active"
    """After each turn that succeeds, the gateway queues the next one."""
    DONE = "done"
    """The agent reported that it is reached."""
    BLOCKED = "blocked"
    """The agent reported that it cannot go on by itself."""
    STOPPED = "stopped"
    """A person wrote something, or stopped it."""
    SPENT = "spent"
    """Its turns are used up."""


@dataclass(frozen=True, slots=True)
class StateTable:
    """A state table: for each state, the states that it may move to. A state without arrows is final."""

    name: str
    arrows: Mapping[str, tuple[str, ...]]
    unreadable: str
    """The final state of a damaged row, whose state the table does not have."""

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
"""A session has at most one turn in these states."""


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
