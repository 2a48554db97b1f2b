"""A turn asks for a restart: the gateway carries it out once, after the reply of the turn is delivered."""

from __future__ import annotations

from holdfast.model import CallRecord, CallState, Claimed, Returned
from holdfast.store import Step, Store
from holdfast.tools import WantRestart

_RESTART = "restart"
"""The name of this request."""
ASKED = (
    "The gateway restarts once your reply of this turn is delivered, so finish now and say so. This "
    "conversation goes on afterwards, and the restart happens once: do not ask for it again."
)
ASKED_BEFORE = (
    "This restart was asked for already: it has happened, or happens once your reply of this turn is "
    "delivered. Do not ask for it again."
)


async def want_restart(store: Store, claimed: Claimed, wanted: WantRestart, call: CallRecord) -> Step:
    """Ask for a restart under the call's key: a repeat of the call after a crash asks for nothing new."""
    fresh = await store.request(_RESTART, f"call:{call.key}", claimed.cause.sender, claimed.turn.id)
    return Step((Returned(call.id, CallState.DONE, ASKED if fresh else ASKED_BEFORE),))
