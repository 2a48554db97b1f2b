"""Which session the next message belongs to: the present one, or a fresh one with its reason.

A suspended session always ends; unfinished work keeps its session; after that the reset policy decides by
the age of the last completed turn. A time that is absent or ahead of the clock resets nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from holdfast.model import Began
from holdfast.policy.ages import age
from holdfast.policy.settings import DAY, ResetSettings
from holdfast.records import dataclass


@dataclass(frozen=True, slots=True)
class SessionFacts:
    """The state of the conversation that a message belongs to."""

    live: bool
    """It has a session that has not ended."""
    suspended: bool = False
    open_turn: bool = False
    """It has a turn that is running, waiting, interrupted, held or queued again."""
    completed_at: int | None = None
    ended_by_new: bool = False
    """A person ended its last session with `/new`, and got a reply to that."""


@dataclass(frozen=True, slots=True)
class Same:
    """The session goes on, and the person is told nothing."""


@dataclass(frozen=True, slots=True)
class Fresh:
    """A new session begins; `told` is the one line that the person reads, if any."""

    began: Began
    told: str | None


_TOLD: Mapping[Began, str | None] = MappingProxyType(
    {
        Began.FIRST: None,
        Began.NEW: None,
        Began.SUSPENDED: "The earlier conversation here is parked and kept; this is a fresh one.",
        Began.IDLE: "This chat was quiet for long, so this is a fresh conversation; the earlier one is kept.",
        Began.DAILY: "A new day has begun, so this is a fresh conversation; the earlier one is kept.",
    }
)


def session_for(facts: SessionFacts, now: int, settings: ResetSettings) -> Same | Fresh:
    """Decide whether the next message belongs to the present session or to a fresh one."""
    if not facts.live:
        return _fresh(Began.NEW if facts.ended_by_new else Began.FIRST)
    if facts.suspended:
        return _fresh(Began.SUSPENDED)
    if facts.open_turn or facts.completed_at is None:
        return Same()
    return _by_age(facts.completed_at, now, settings)


def _by_age(completed_at: int, now: int, settings: ResetSettings) -> Same | Fresh:
    if settings.idle is not None and age(now, completed_at) > settings.idle:
        return _fresh(Began.IDLE)
    if settings.daily_at is not None and _day(now, settings.daily_at) > _day(completed_at, settings.daily_at):
        return _fresh(Began.DAILY)
    return Same()


def _day(at: int, daily_at: int) -> int:
    """The day `at` belongs to, when days begin `daily_at` after midnight UTC."""
    return (at - daily_at) // DAY


def _fresh(began: Began) -> Fresh:
    return Fresh(began, _TOLD[began])
