"""The quarantine lane: a suspect that runs long enough is cleared."""

from __future__ import annotations

from contextlib import suppress

from holdfast.clock import Clock
from holdfast.errors import Refused, StoreFault
from holdfast.model import Claimed
from holdfast.policy.recovery.strikes import to_survive
from holdfast.policy.settings import SECOND, RecoverySettings
from holdfast.store import Store


async def clear_in_time(store: Store, clock: Clock, claimed: Claimed, settings: RecoverySettings) -> None:
    """Clear a suspect once it has outlived its earlier runs; the caller cancels this when the run ends."""
    waiting = to_survive(claimed.longest_fatal, settings)
    while True:
        await clock.sleep(waiting / SECOND)
        try:
            # Refused: this run no longer holds the turn, and its end has already settled the suspicion.
            with suppress(Refused):
                await store.clear_suspect(claimed.fence)
        except StoreFault:
            waiting = settings.survive_at_least
        else:
            return
