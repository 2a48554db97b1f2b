"""Who is suspected of killing the gateway, and when it stops resuming by itself.

A strike is given in the commit that claims a turn and taken back at any orderly end, so only a death (or a
drain that cut a run with nothing to show) leaves it. Safe mode is not stored: it follows from how the
instances ended.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from enum import StrEnum
from types import MappingProxyType

from holdfast.model import Instance, InstanceId, Interruption, Stopped
from holdfast.policy.ages import age
from holdfast.policy.settings import MINUTE, RecoverySettings, SafeModeSettings
from holdfast.records import dataclass


class RunEnd(StrEnum):
    """How one run of a turn ended."""

    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"
    WAITING = "waiting"
    UNBEGUN = "unbegun"
    """Claimed, nothing started, put back."""
    DRAINED = "drained"
    """Cut by a drain that ran out."""
    DIED = "died"
    """The process ended under it."""


def after_claim(strikes: int) -> int:
    """The strikes once a turn of the session is claimed."""
    return strikes + 1


def after_end(strikes: int, how: RunEnd, productive: bool) -> int:
    """The strikes once the run has ended.

    `productive`: this run recorded new model output or a real tool result; a person's message is neither.
    """
    if how is RunEnd.DONE:
        return 0
    if how is RunEnd.DIED or (how is RunEnd.DRAINED and not productive):
        return strikes
    return max(0, strikes - 1)


_CUT_BY: Mapping[Stopped, Interruption] = MappingProxyType(
    {Stopped.STOPPED: Interruption.SHUTDOWN_TIMEOUT, Stopped.RESTART: Interruption.RESTART_TIMEOUT}
)


def cut_by(owner_ended: Stopped | None) -> Interruption:
    """What cut off a turn that stands as running in the ledger although its owner is gone.

    A gateway that stops in order marks what it cuts. Where it could not (a full disk), the turn was cut by
    that stop all the same; only a run that ended without a word, or by giving up, died under it.
    """
    if owner_ended is None:
        return Interruption.RESTART_INTERRUPTED
    return _CUT_BY.get(owner_ended, Interruption.RESTART_INTERRUPTED)


def after_standstill(strikes: int, settings: RecoverySettings) -> int:
    """The strikes of a session whose tool ran while the event loop stood still, until the process was ended.

    The tool is the likely cause, and the next time may cost every chat as long again: a suspect at once.
    """
    return max(strikes, settings.suspect_strikes)


def is_suspect(strikes: int, settings: RecoverySettings) -> bool:
    """Whether the session runs in the quarantine lane, one at a time."""
    return strikes >= settings.suspect_strikes


def cleared(ran_for: int, longest_fatal_run: int, settings: RecoverySettings) -> bool:
    """Whether a suspect has outlived its suspicion: twice as long as any run that ended in a death."""
    return ran_for >= to_survive(longest_fatal_run, settings)


def to_survive(longest_fatal_run: int, settings: RecoverySettings) -> int:
    """How long a suspect has to live to be cleared."""
    return max(2 * longest_fatal_run, settings.survive_at_least)


@dataclass(frozen=True, slots=True)
class SafeModeFacts:
    """The gateway's recent runs."""

    instances: Sequence[Instance]
    """Newest first, `current` among them."""
    current: InstanceId
    others_alive: frozenset[InstanceId] = frozenset()
    """Gateways on other machines that run now."""
    ended_by_command_at: int | None = None
    """When somebody last ended safe mode; what came before that no longer counts."""
    put_on_at: int | None = None
    """When somebody put it on, if nobody has ended it since: then it ends by their word alone."""


@dataclass(frozen=True, slots=True)
class SafeMode:
    """Whether nothing resumes by itself, since when and why, and when that ends if all stays well."""

    active: bool
    since: int | None = None
    why: str | None = None
    ends_at: int | None = None


_OFF = SafeMode(active=False)
PUT_ON = "an operator put it on"


@dataclass(frozen=True, slots=True)
class _Slate:
    """What the runs so far have left."""

    mode: SafeMode = _OFF
    exits: tuple[int, ...] = ()
    """Times of the unclean exits that still count."""
    parked: bool = False
    since_park: int = 0
    clean: int = 0
    """Time run since the last unclean exit."""


def safe_mode(facts: SafeModeFacts, now: int, settings: SafeModeSettings) -> SafeMode:
    """Go through the runs, oldest first: exits put safe mode on, enough clean running wipes the slate.

    An exit that led to a park has found its culprit and counts for nothing. Fewer exits suffice after it, for
    then the one that was parked was not to blame, or not alone.
    """
    if facts.put_on_at is not None:
        return SafeMode(active=True, since=facts.put_on_at, why=PUT_ON)
    alive = facts.others_alive | {facts.current}
    slate = _Slate()
    for run in reversed(facts.instances):
        if run.id not in alive:
            slate = _after(slate, run, facts.ended_by_command_at, settings)
    clean = slate.clean + max(
        (age(now, _quiet_since(run, slate, now)) for run in facts.instances if run.id in alive), default=0
    )
    if not slate.mode.active or clean >= settings.clean_for:
        return _OFF
    return replace(slate.mode, ends_at=now + settings.clean_for - clean)


def _after(slate: _Slate, run: Instance, command_at: int | None, settings: SafeModeSettings) -> _Slate:
    """The slate after one run that is over."""
    # A crash leaves no time of its own; the last heartbeat is the last that is known.
    ended = run.heartbeat_at if run.stopped_at is None else run.stopped_at
    clean = slate.clean + age(ended, run.started_at)
    if clean >= settings.clean_for:
        slate = _Slate(parked=slate.parked)
    if run.led_to_park:
        return replace(slate, parked=True, since_park=0, clean=clean)
    if run.stopped is not None:
        return replace(slate, clean=clean)
    if command_at is not None and ended <= command_at:
        return _Slate(parked=slate.parked)
    exits = (*slate.exits, ended)
    since_park = slate.since_park + slate.parked
    mode = slate.mode if slate.mode.active else _judged(exits, since_park, settings)
    return _Slate(mode, exits, slate.parked, since_park)


def _judged(exits: tuple[int, ...], since_park: int, settings: SafeModeSettings) -> SafeMode:
    """Whether the newest of these exits puts safe mode on."""
    newest = sorted(exits)[-settings.unclean_exits :]
    if len(newest) == settings.unclean_exits and newest[-1] - newest[0] <= settings.within:
        why = f"{len(newest)} unclean exits in {settings.within // MINUTE} minutes"
        return SafeMode(active=True, since=exits[-1], why=why)
    if since_park >= settings.exits_after_park:
        return SafeMode(active=True, since=exits[-1], why=f"{since_park} unclean exits after a park")
    return _OFF


def _quiet_since(run: Instance, slate: _Slate, now: int) -> int:
    """Since when a living run has been clean: an exit elsewhere, unless its time lies ahead of the clock."""
    return max([run.started_at, *(at for at in slate.exits if at <= now)])
