"""The settings of random worlds: one of each kind that makes a difference."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from holdfast.config.settings import DrainSettings, GatewaySettings
from holdfast.model import BusyMode, OnInterruption, Place
from holdfast.policy.settings import (
    SECOND,
    ApprovalSettings,
    Approver,
    GoalSettings,
    LimitSettings,
    ProgressSettings,
    QueueSettings,
    RetrySettings,
    Ruling,
)
from holdfast.testing.sim.faults import FaultRates
from holdfast.testing.sim.platforms.bot_names import BOT, OWNER_CHAT
from holdfast.testing.sim.platforms.servers import ACCOUNT
from holdfast.testing.sim.ports import SeededRng

STUCK = ProgressSettings(notice=SECOND, warn=8 * SECOND, abort=25 * SECOND)
_PLAIN = GatewaySettings(goals=GoalSettings(budget=3))
SETTINGS: tuple[GatewaySettings, ...] = (
    _PLAIN,
    replace(_PLAIN, grace=SECOND, progress=ProgressSettings(notice=SECOND)),
    replace(_PLAIN, on_interruption=OnInterruption.ASK, reconcile=20 * SECOND),
    replace(_PLAIN, on_interruption=OnInterruption.NEVER),
    replace(_PLAIN, busy=BusyMode.STEER),
    replace(_PLAIN, busy=BusyMode.COLLECT, queue=QueueSettings(most=2)),
    replace(_PLAIN, busy=BusyMode.INTERRUPT, drain=DrainSettings(wait=2 * SECOND)),
    replace(_PLAIN, limits=LimitSettings(steps=2)),
    replace(_PLAIN, retry=RetrySettings(repeats=3, aside=30 * SECOND), drain=DrainSettings(wait=2 * SECOND)),
)
ASKING: tuple[Callable[[GatewaySettings], GatewaySettings], ...] = (
    lambda settings: replace(settings, on_interruption=OnInterruption.ASK),
    lambda settings: replace(settings, limits=LimitSettings(steps=2)),
    lambda settings: replace(settings, approvals=ApprovalSettings(effect=Ruling.ASK, people=Approver.OWN)),
)
"""Settings that make the gateway ask people."""


def random_settings(rng: SeededRng, platform: str, rates: FaultRates) -> GatewaySettings:
    settings = rng.choice(SETTINGS)
    if rng.random() < 0.3:
        # Each resumed turn waits for the one before it.
        settings = replace(settings, workers=2)
    if rates.tool_hangs:
        settings = replace(settings, progress=STUCK, grace=SECOND)
    if rng.random() < 0.4:
        settings = replace(settings, owner_chat=_owner_at(platform).address)
    return settings


def _owner_at(platform: str) -> Place:
    """The chat of the owner, who is in chat `a`."""
    if platform == BOT:
        return OWNER_CHAT
    return Place(platform, "main" if platform == "web" else ACCOUNT, "a")
