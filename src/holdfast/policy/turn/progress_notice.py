"""What is said of work that goes on, and how that message ends: its words, and what is to be done with it."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType

from holdfast.model import Delivery, DeliveryState, TurnState
from holdfast.policy.settings import HOUR, MINUTE, SECOND, ProgressSettings
from holdfast.records import dataclass

from .progress import RunFacts, stuck

_OTHERWISE = "This was interrupted."
_LAST: Mapping[TurnState, str] = MappingProxyType(
    {
        TurnState.DONE: "This is done.",
        TurnState.FAILED: "This has failed.",
        TurnState.CANCELLED: "This was stopped.",
        TurnState.WAITING: "This waits for an answer.",
    }
)
LAST_WORDS = frozenset({*_LAST.values(), _OTHERWISE})
"""Everything a message about work in progress can end as."""


@dataclass(frozen=True, slots=True)
class WorkFacts:
    """One run, as far as it is spoken of; times are milliseconds."""

    elapsed: int
    silent: int
    """Since the last progress."""
    step: str = ""
    draft: str = ""
    """What the model is writing, where the message is the only place to show it."""


def still_working(facts: WorkFacts, settings: ProgressSettings, longest: int) -> str:
    """The words for a run that goes on; long is not stuck, and stuck is said."""
    run = RunFacts(0, facts.elapsed - facts.silent)
    if stuck(run, facts.elapsed, settings) is not None:
        words = f"Still working, but without progress for {span(facts.silent)}. /stop ends it."
    else:
        doing = f", now {facts.step}" if facts.step else ""
        words = f"Still working: {span(facts.elapsed)} so far{doing}."
    room = longest - len(words) - 2
    if facts.draft and room > 0:
        end = facts.draft if len(facts.draft) <= room else "…" + facts.draft[1 - room :]
        words = f"{words}\n\n{end}"
    return words if len(words) <= longest else words[: longest - 1] + "…"


def last_words(state: TurnState) -> str:
    """What the message reads once the run it speaks of is over; a turn that runs is another run's by then."""
    return _LAST.get(state, _OTHERWISE)


class Ending(StrEnum):
    """What is to be done with the message of a run that is over."""

    WAIT = "wait"
    """It is on its way: what became of it is known soon."""
    REWORD = "reword"
    """It waits to be sent, or may have arrived: from now on it says its last words, if anything."""
    EDIT = "edit"
    """People see it: it gets its last words there."""
    FORGET = "forget"
    """Nobody sees it, or it cannot be changed: it stands as what was true when it was sent."""


def ending(delivery: Delivery, edits: bool) -> Ending:
    """How the message of a run that is over is ended."""
    match delivery.state:
        case DeliveryState.SENDING:
            return Ending.WAIT
        case DeliveryState.PENDING if not delivery.repeated:
            return Ending.REWORD
        case DeliveryState.PENDING | DeliveryState.UNKNOWN:
            return Ending.WAIT if delivery.text in LAST_WORDS else Ending.REWORD
        case DeliveryState.SENT if edits and delivery.platform_id is not None:
            return Ending.EDIT
        case _:
            return Ending.FORGET


def span(milliseconds: int) -> str:
    """A length of time in the words of people."""
    for unit, name in ((HOUR, "hour"), (MINUTE, "minute")):
        if milliseconds >= unit:
            return _counted(milliseconds // unit, name)
    return _counted(max(0, milliseconds) // SECOND, "second")


def _counted(number: int, name: str) -> str:
    return f"{number} {name}" if number == 1 else f"{number} {name}s"
