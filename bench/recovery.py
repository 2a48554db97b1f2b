"""Recovery as the gateway does it: its own reconciler, with the platforms and people of the benchmark."""

from __future__ import annotations

from collections import Counter

from holdfast.clock import SystemClock
from holdfast.policy.recovery.outcome import Outcome
from holdfast.policy.settings import RecoverySettings
from holdfast.recovery import Outside, Reconciler
from holdfast.store import Store

from .interruptions import DOWN, GONE
from .turn import ACCOUNT, PLATFORM

_SERVED = frozenset({f"{PLATFORM}/{ACCOUNT}", f"{DOWN}/{ACCOUNT}"})
_OUTSIDE = Outside(frozenset(), frozenset({PLATFORM}), _SERVED, lambda person: person != GONE)


async def recover(store: Store) -> Counter[Outcome]:
    """Decide about all interrupted work and write it back; returns how often each outcome was written."""
    reconciler = Reconciler(store, SystemClock(), RecoverySettings(), lambda: _OUTSIDE)
    return await reconciler.settle_interrupted()
