"""Which connection the gateway closes: one whose client keeps it waiting, never one that it answers."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from holdfast.records import dataclass


class Phase(StrEnum):
    """What the gateway waits for on an open connection, or does with it."""

    HEAD = "head"
    """The client has not sent the whole head of its next request, or nothing of it."""
    BODY = "body"
    """The client has not sent the whole body."""
    ANSWER = "answer"
    """The gateway answers. An event stream stays in this phase."""
    UNREAD = "unread"
    """The client does not read the answer: the unsent part has grown, and does not shrink."""


@dataclass(frozen=True, slots=True)
class Connection:
    """One connection; times are seconds of one clock."""

    peer: str
    """The address it comes from."""
    phase: Phase
    since: float
    """When the phase began."""
    heard: float
    """When the client last sent something, or last read a part of an answer that waits for it."""


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """How many connections may be open, and how many seconds a client has to send a request."""

    total: int
    per_peer: int
    head: float = 20.0
    body: float = 300.0
    silence: float = 20.0
    """Between two pieces of a body that the client sends, or of an answer that it reads."""


def limits_for(files: int) -> ConnectionLimits:
    """Limits that leave half of the files that this process may open for everything else."""
    total = max(16, min(512, files // 2))
    return ConnectionLimits(total, per_peer=total * 3 // 4)


def is_overdue(one: Connection, now: float, limits: ConnectionLimits) -> bool:
    """Whether its client has used up its time to send or read."""
    if one.phase is Phase.HEAD:
        return now - one.since > limits.head
    if one.phase is Phase.BODY:
        return now - one.since > limits.body or now - one.heard > limits.silence
    return one.phase is Phase.UNREAD and now - one.heard > limits.silence


def gives_way(connections: Sequence[Connection], limits: ConnectionLimits) -> int | None:
    """Which of these the gateway closes, now that the last one has come; None when there is room for all.

    Of those that keep the gateway waiting it is the one that has been silent longest: an honest client sends
    its request at once. When the gateway answers all others, it closes the newcomer.
    """
    peer = connections[-1].peer
    crowd = [number for number, one in enumerate(connections) if one.peer == peer]
    if len(crowd) <= limits.per_peer:
        if len(connections) <= limits.total:
            return None
        crowd = list(range(len(connections)))
    waiting = [number for number in crowd if connections[number].phase is not Phase.ANSWER]
    return min(waiting, key=lambda number: connections[number].heard)
