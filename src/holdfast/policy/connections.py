"""Which connection gives way: one whose client keeps the gateway waiting, never one that is answered."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from holdfast.records import dataclass


class Phase(StrEnum):
    """What an open connection is at."""

    HEAD = "head"
    """The client has not sent the whole head of its next request; nothing of it may be there yet."""
    BODY = "body"
    """The client has not sent the whole body."""
    ANSWER = "answer"
    """The gateway answers; an event stream stays in this phase."""
    UNREAD = "unread"
    """The client does not read the answer: what waits for it has grown, and does not shrink."""


@dataclass(frozen=True, slots=True)
class Connection:
    """One connection; times are seconds of one clock."""

    peer: str
    """The address it comes from."""
    phase: Phase
    since: float
    """When the phase began."""
    heard: float
    """When the client last sent something, or read something while it keeps an answer waiting."""


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """How many connections there may be, and how many seconds a client has to send a request."""

    total: int
    per_peer: int
    head: float = 20.0
    body: float = 300.0
    silence: float = 20.0
    """Between two pieces of a body, or of an answer that it reads."""


def limits_for(files: int) -> ConnectionLimits:
    """Limits that leave half of the files this process may open for everything else."""
    total = max(16, min(512, files // 2))
    return ConnectionLimits(total, per_peer=total * 3 // 4)


def is_overdue(one: Connection, now: float, limits: ConnectionLimits) -> bool:
    """Whether its client has had its time to send what it wants."""
    if one.phase is Phase.HEAD:
        return now - one.since > limits.head
    if one.phase is Phase.BODY:
        return now - one.since > limits.body or now - one.heard > limits.silence
    return one.phase is Phase.UNREAD and now - one.heard > limits.silence


def gives_way(connections: Sequence[Connection], limits: ConnectionLimits) -> int | None:
    """Which of these is closed, now that the last one has come; None when there is room for all.

    Of those that keep the gateway waiting it is the one that has been silent longest: a client in good faith
    sends its request at once. When the gateway answers all others, the newcomer itself is closed.
    """
    peer = connections[-1].peer
    crowd = [number for number, one in enumerate(connections) if one.peer == peer]
    if len(crowd) <= limits.per_peer:
        if len(connections) <= limits.total:
            return None
        crowd = list(range(len(connections)))
    waiting = [number for number in crowd if connections[number].phase is not Phase.ANSWER]
    return min(waiting, key=lambda number: connections[number].heard)
