"""Counters of what this process committed, kept in memory for metrics.

No decision uses these figures, and each process counts from 0: the ledger has the truth.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import field
from typing import Any, TypeVar, cast

from holdfast.clock import Clock
from holdfast.model import Claimed, DeliveryId, Fence, Interruption, Lost, SendResult, TurnState
from holdfast.policy.recovery.outcome import LEADS_TO, Outcome
from holdfast.records import dataclass
from holdfast.store import JudgePage, Recorded, Settled, StaleTurn, Step, StopOutcome, StopResult, Store

R = TypeVar("R")

BOUNDS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 5.0)
"""Upper bounds, in seconds, of the classes of commit times; one more class holds everything above."""


ENDS = ("done", "failed", "cancelled", "expired", "parked")
REASONS = (*Interruption, "other")
"""The labels are few and fixed: any other reason counts as `other`."""


@dataclass(slots=True)
class ProcessTotals:
    """Totals since this process began."""

    turns: Counter[str] = field(default_factory=lambda: Counter(dict.fromkeys(ENDS, 0)))
    """Ended turns, by the state they ended in."""
    interruptions: Counter[str] = field(default_factory=lambda: Counter(dict.fromkeys(REASONS, 0)))
    """By reason."""
    decisions: Counter[str] = field(default_factory=lambda: Counter(dict.fromkeys(Outcome, 0)))
    """Decisions of recovery, by outcome."""
    claimed: int = 0
    resumed: int = 0
    unknown: int = 0
    """Sends whose outcome became unknown."""
    commits: list[int] = field(default_factory=lambda: [0] * (len(BOUNDS) + 1))
    """Commits of steps and of ends of turns, by how long each took."""
    commit_seconds: float = 0.0
    beat_at: float = 0.0
    """The monotonic time of the last heartbeat in the ledger."""

    def took(self, seconds: float) -> None:
        self.commits[bisect_left(BOUNDS, seconds)] += 1
        self.commit_seconds += seconds


def counted(store: Store, clock: Clock) -> tuple[Store, ProcessTotals]:
    """The same store, which counts its verbs after they returned, and the counters."""
    counts = ProcessTotals(beat_at=clock.monotonic())
    return cast(Store, _Counted(store, clock, counts)), counts


class _Counted:
    """Passes every verb on, and counts the results of a few."""

    def __init__(self, store: Store, clock: Clock, counts: ProcessTotals) -> None:
        self._store = store
        self._clock = clock
        self._counts = counts

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._store, name)
        # Store the verb on the instance: the stages call the same few verbs very often.
        self.__dict__[name] = found
        return found

    async def _timed(self, verb: Callable[..., Awaitable[R]], *args: Any, **more: Any) -> R:
        began = self._clock.monotonic()
        result = await verb(*args, **more)
        self._counts.took(self._clock.monotonic() - began)
        return result

    async def record(self, fence: Fence, step: Step) -> Recorded:
        return await self._timed(self._store.record, fence, step)

    async def finish(self, fence: Fence, state: TurnState, *args: Any, **more: Any) -> None:
        await self._timed(self._store.finish, fence, state, *args, **more)
        self._counts.turns[state.value] += 1

    async def claim_ready(self, *args: Any, **more: Any) -> tuple[Claimed, ...]:
        found = await self._store.claim_ready(*args, **more)
        self._counts.claimed += len(found)
        self._counts.resumed += sum(one.resumed for one in found)
        return found

    async def interrupt(self, fence: Fence, reason: str) -> None:
        await self._store.interrupt(fence, reason)
        self._counts.interruptions[str(reason) if reason in REASONS else "other"] += 1

    async def interrupt_orphans(self, *args: Any, **more: Any) -> int:
        found = await self._store.interrupt_orphans(*args, **more)
        if found:
            self._counts.interruptions[Interruption.RESTART_INTERRUPTED.value] += found
        return found

    async def settle_stale(self, page: Sequence[StaleTurn], judge: JudgePage) -> Settled:
        settled = await self._store.settle_stale(page, judge)
        for outcome, turns in settled.items():
            self._counts.decisions[outcome] += len(turns)
            if LEADS_TO[outcome] in ENDS:
                self._counts.turns[LEADS_TO[outcome]] += len(turns)
        return settled

    async def heartbeat(self) -> None:
        await self._store.heartbeat()
        self._counts.beat_at = self._clock.monotonic()

    async def stop(self, *args: Any, **more: Any) -> StopResult:
        found = await self._store.stop(*args, **more)
        if found.outcome is StopOutcome.ENDED:
            self._counts.turns[TurnState.CANCELLED.value] += 1
        return found

    async def record_delivery(self, id: DeliveryId, result: SendResult, *args: Any, **more: Any) -> None:
        await self._store.record_delivery(id, result, *args, **more)
        self._counts.unknown += isinstance(result, Lost)

    async def doubt_orphans(self) -> int:
        found = await self._store.doubt_orphans()
        self._counts.unknown += found
        return found
