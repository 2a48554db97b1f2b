"""How strikes are counted (R8.1), as plain functions; tests compare the commits of the ledger with them."""

from enum import StrEnum


class RunEnd(StrEnum):
    """How one run of a turn ended."""

    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"
    WAITING = "waiting"
    UNBEGUN = "unbegun"
    """Claimed, nothing started, put back."""
    DRAINED = "drained"
    """A drain ran out of time and cut it."""
    DIED = "died"
    """The process died during the run."""


def after_claim(strikes: int) -> int:
    """The strikes once a turn of the session is claimed."""
    return strikes + 1


def after_end(strikes: int, how: RunEnd, productive: bool) -> int:
    """The strikes once the run has ended.

    `productive`: this run recorded new model output or a real tool result; a person's message is neither.
    """
    if how is RunEnd.DONE:
        return 0
    if how is RunEnd.DIED or (how is RunEnd.DRAINED and not productive):
        return strikes
    return max(0, strikes - 1)
