"""Faults by a seeded plan, until it is switched off."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields

from holdfast.agents import ModelError
from holdfast.clock import Rng
from holdfast.errors import NotFound, StoreFault, WrongState
from holdfast.platforms import PlatformDown
from holdfast.records import dataclass
from holdfast.telemetry import KnownSecrets
from holdfast.testing.marks import CANARY, KEY
from holdfast.tools import ToolFailed

KNOWN = KnownSecrets((KEY,))
SECRET_WORDS = f"(https://api.example/bot?token={CANARY})"


def is_foreseen(stage: str, fault: BaseException, owner: str | None) -> bool:
    """Whether a fault is planned, or one that a stage may meet and survive."""
    if isinstance(fault, NotFound):
        # The gateway cannot write to an owner who never wrote.
        return fault.which == owner
    if isinstance(fault, WrongState):
        # A delivery that was erased on its way is already settled.
        return stage.startswith("recording delivery")
    return isinstance(fault, (StoreFault, ModelError, PlatformDown, ToolFailed, Injected))


class Injected(Exception):
    """A planned fault, raised inside of foreign code."""

    def __init__(self, words: str) -> None:
        super().__init__(f"{words} {SECRET_WORDS}")


@dataclass(frozen=True, slots=True)
class FaultRates:
    """How often each fault happens, as a share of its occasions."""

    lost_request: float = 0.0
    lost_response: float = 0.0
    throttled: float = 0.0
    refused: float = 0.0
    down: float = 0.0
    duplicate: float = 0.0
    slow: float = 0.0
    blocked: float = 0.0
    """A send is refused, and so is everything else to this chat from then on."""
    disk_full: float = 0.0
    """A commit fails and keeps nothing."""
    sync_failed: float = 0.0
    """The disk does not confirm a commit: it may be kept or not, and the process ends."""
    model_errors: float = 0.0
    """A model call fails for now."""
    model_slow: float = 0.0
    """A model answers slowly."""
    tool_breaks: float = 0.0
    """A tool raises after its effect."""
    tool_hangs: float = 0.0
    """A tool never returns."""
    process_blind: float = 0.0
    """The machine does not report the state of a background process."""


NONE = FaultRates()
SOME = FaultRates(*[0.05] * len(fields(FaultRates)))


def _unseen(kind: str) -> None:
    """Ignore the call."""


class FaultPlan:
    """Draws faults; the same seed draws the same ones."""

    def __init__(self, rng: Rng, rates: FaultRates) -> None:
        self.rng = rng
        self._rates = rates
        self.on = True
        self.on_hit: Callable[[str], None] = _unseen
        """Called with each fault that happens."""
        self.drawn: dict[str, int] = {}
        """How often each fault has happened."""

    def hits(self, kind: str) -> bool:
        """Whether this fault happens now."""
        rate: float = getattr(self._rates, kind)
        hit = self.on and rate > 0 and self.rng.random() < rate
        if hit:
            self.drawn[kind] = self.drawn.get(kind, 0) + 1
            self.on_hit(kind)
        return hit

    def first(self, *kinds: str) -> str | None:
        """The first of these that happens now, if any."""
        return next((kind for kind in kinds if self.hits(kind)), None)

    def between(self, least: float, most: float) -> float:
        return least + (most - least) * self.rng.random()
