"""A turn that asks for a restart: a row, carried out once, when its reply is delivered."""

from __future__ import annotations

from holdfast.model import CallRecord, CallState, Claimed, Returned
from holdfast.store import Step, Store
from holdfast.tools import WantRestart

_RESTART = "restart"
"""What the gateway carries out by this name."""
ASKED = (
    "The gateway restarts once your reply of this turn is delivered, so finish now and say so. This "
    "conversation goes on afterwards, and the restart happens once: do not ask for it again."
)
ASKED_BEFORE = (
    "This restart was asked for already: it has happened, or happens once your reply of this turn is "
    "delivered. Do not ask for it again."
)


async def want_restart(store: Store, claimed: Claimed, wanted: WantRestart, call: CallRecord) -> Step:
    """Ask for it by the call's key: the same call, run again after a crash, asks for nothing new."""
    fresh = await store.request(_RESTART, f"call:{call.key}", claimed.cause.sender, claimed.turn.id)
    return Step((Returned(call.id, CallState.DONE, ASKED if fresh else ASKED_BEFORE),))
