"""How old something is: an age is never negative, and an unreadable time is never fresh."""

from __future__ import annotations


def age(now: int, then: int) -> int:
    """Milliseconds since `then`; a ledger time ahead of the clock has age 0, so it expires nothing."""
    return max(0, now - then)


def within(window: int, now: int, then: int | None, uncounted: int = 0) -> bool:
    """Whether `then` is no older than `window`, not counting the time `uncounted`.

    A window of 0 is no limit. Without a readable time nothing counts as fresh.
    """
    if window == 0:
        return True
    return then is not None and age(now, then) - uncounted <= window
