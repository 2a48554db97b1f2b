"""The words of a park: what happened, how often, what was kept and how to go on."""

from __future__ import annotations

from holdfast.model import StrikeRecord
from holdfast.policy.settings import DAY

MOST_PARKS = 3
"""After this many parks of one conversation within a day, its messages wait for an owner."""
PARKS_WITHIN = DAY

ON_HOLD = (
    f"This conversation is on hold, because work in it was parked {MOST_PARKS} times within a day. "
    "I answer when an owner has released it."
)


def holds_messages(record: StrikeRecord) -> bool:
    """Whether the messages of the conversation wait for an owner after one more park."""
    return record.parks + 1 >= MOST_PARKS


def strike_causes(strikes: int, record: StrikeRecord) -> str:
    """What caused the strikes; a session that followed a parked one says so."""
    crashes = f"the gateway crashed or was killed {times(record.deaths)} while it worked on this"
    restarts = f"{_restarts(record.cuts)} cut this work off before it made any progress"
    if record.deaths and record.cuts:
        what = f"{crashes}, and {restarts}"
    elif record.deaths:
        what = crashes
    elif record.cuts:
        what = restarts
    else:
        what = f"this work was cut off {times(strikes)} before it was done"
    return f"after an earlier park, {what}" if record.follows_park else what


def interruption_causes(interruptions: int, record: StrikeRecord) -> str:
    """What caused the interruptions of a turn that reached their limit."""
    deaths = min(record.turn_deaths, interruptions)
    restarts = interruptions - deaths
    what = f"this work was cut off {times(interruptions)}"
    if deaths and restarts:
        return f"{what}: {times(deaths)} by a crash and {times(restarts)} by a restart of the gateway"
    return f"{what} by {'crashes' if deaths else 'restarts'} of the gateway"


def park_notice(what: str, record: StrikeRecord) -> str:
    """The whole notice to the chat."""
    says = f"{what[:1].upper()}{what[1:]}, so I parked this conversation. All of it is kept."
    if holds_messages(record):
        return (
            f"{says} That is park number {record.parks + 1} here within a day, so your messages now wait: "
            "an owner has to release them. The owner can also resume this conversation."
        )
    return f"{says} Your next message starts a fresh one, and an owner can resume this one."


def times(count: int) -> str:
    """A number of times, in words."""
    return {1: "once", 2: "twice"}.get(count, f"{count} times")


def _restarts(count: int) -> str:
    return "a restart of the gateway" if count == 1 else f"{count} restarts of the gateway"
