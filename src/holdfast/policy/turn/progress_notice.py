"""The message that work goes on: its words, and what happens to it when the run is over."""

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
"""All last texts of a message about work in progress."""


@dataclass(frozen=True, slots=True)
class WorkFacts:
    """What the message says of one run; times are milliseconds."""

    elapsed: int
    silent: int
    """Time since the last progress."""
    step: str = ""
    draft: str = ""
    """The unfinished reply, where only this message can show it."""


def still_working(facts: WorkFacts, settings: ProgressSettings, longest: int) -> str:
    """The words for a run that goes on; a stuck run is named as such, a long one is not stuck."""
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
    """The last text of the message, once its run is over; another run may have the turn by then."""
    return _LAST.get(state, _OTHERWISE)


class Ending(StrEnum):
    """What the gateway does with the message of a run that is over."""

    WAIT = "wait"
    """A send of it is under way: wait for its outcome."""
    REWORD = "reword"
    """It waits to be sent, or may have arrived: change the stored text to its last words."""
    EDIT = "edit"
    """People see it: edit it on the platform."""
    FORGET = "forget"
    """It never arrived, or cannot be edited: leave it as it is."""


def ending(delivery: Delivery, edits: bool) -> Ending:
    """Choose how to end the message of a run that is over."""
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
    """A length of time in words."""
    for unit, name in ((HOUR, "hour"), (MINUTE, "minute")):
        if milliseconds >= unit:
            return _counted(milliseconds // unit, name)
    return _counted(max(0, milliseconds) // SECOND, "second")


def _counted(number: int, name: str) -> str:
    return f"{number} {name}" if number == 1 else f"{number} {name}s"
