"""Which sessions are suspected of killing the gateway, and when it stops resuming by itself.

The commit that claims a turn adds a strike, and every orderly end of the run removes it. So only a death
leaves a strike, or a drain that cut a run without progress. Safe mode is not stored: it follows from how the
instances ended.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from holdfast.model import Instance, InstanceId, Interruption, Stopped
from holdfast.policy.ages import age
from holdfast.policy.settings import MINUTE, RecoverySettings, SafeModeSettings
from holdfast.records import dataclass

_CUT_BY: Mapping[Stopped, Interruption] = MappingProxyType(
    {Stopped.STOPPED: Interruption.SHUTDOWN_TIMEOUT, Stopped.RESTART: Interruption.RESTART_TIMEOUT}
)


def cut_by(owner_ended: Stopped | None) -> Interruption:
    """What cut off a turn that the ledger has as running although its owner is gone.

    A gateway that stops in order marks the turns that it cuts. If it could not (a full disk), the stop still
    cut the turn. Only an owner that recorded no end, or failed, died during the run.
    """
    if owner_ended is None:
        return Interruption.RESTART_INTERRUPTED
    return _CUT_BY.get(owner_ended, Interruption.RESTART_INTERRUPTED)


def after_standstill(strikes: int, settings: RecoverySettings) -> int:
    """The strikes of a session whose tool ran while the event loop stopped, until the process was ended.

    The tool is the likely cause, and another time would stop every chat again: the session is a suspect now.
    """
    return max(strikes, settings.suspect_strikes)


def is_suspect(strikes: int, settings: RecoverySettings) -> bool:
    """Whether the session runs in the quarantine lane, one at a time."""
    return strikes >= settings.suspect_strikes


def cleared(ran_for: int, longest_fatal_run: int, settings: RecoverySettings) -> bool:
    """Whether a suspect is cleared: its run lasted twice as long as any of its runs that ended in a death."""
    return ran_for >= to_survive(longest_fatal_run, settings)


def to_survive(longest_fatal_run: int, settings: RecoverySettings) -> int:
    """How long the run of a suspect has to last to clear it."""
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
    """When a person last ended safe mode; exits before that do not count."""
    put_on_at: int | None = None
    """When a person put safe mode on, if no person has ended it since; then only a person ends it."""


@dataclass(frozen=True, slots=True)
class SafeMode:
    """Whether safe mode is on, since when and why, and when it ends if there is no other unclean exit."""

    active: bool
    since: int | None = None
    why: str | None = None
    ends_at: int | None = None


_OFF = SafeMode(active=False)
PUT_ON = "an operator put it on"


@dataclass(frozen=True, slots=True)
class _Tally:
    """The result of the runs so far."""

    mode: SafeMode = _OFF
    exits: tuple[int, ...] = ()
    """The times of the unclean exits that still count."""
    parked: bool = False
    since_park: int = 0
    clean: int = 0
    """Time run since the last unclean exit."""


def safe_mode(facts: SafeModeFacts, now: int, settings: SafeModeSettings) -> SafeMode:
    """Go through the runs, oldest first: unclean exits put safe mode on, enough clean time ends it.

    An exit that led to a park does not count, because the park removed its cause. After a park fewer exits
    are enough: they show that the parked session was not the cause, or not the only one.
    """
    if facts.put_on_at is not None:
        return SafeMode(active=True, since=facts.put_on_at, why=PUT_ON)
    alive = facts.others_alive | {facts.current}
    tally = _Tally()
    for run in reversed(facts.instances):
        if run.id not in alive:
            tally = _after(tally, run, facts.ended_by_command_at, settings)
    clean = tally.clean + max(
        (age(now, _quiet_since(run, tally, now)) for run in facts.instances if run.id in alive), default=0
    )
    if not tally.mode.active or clean >= settings.clean_for:
        return _OFF
    return replace(tally.mode, ends_at=now + settings.clean_for - clean)


def _after(tally: _Tally, run: Instance, command_at: int | None, settings: SafeModeSettings) -> _Tally:
    """The tally after one run that is over."""
    # A crash records no end, so the last heartbeat counts as the end.
    ended = run.heartbeat_at if run.stopped_at is None else run.stopped_at
    clean = tally.clean + age(ended, run.started_at)
    if clean >= settings.clean_for:
        tally = _Tally(parked=tally.parked)
    if run.led_to_park:
        return replace(tally, parked=True, since_park=0, clean=clean)
    if run.stopped is not None:
        return replace(tally, clean=clean)
    if command_at is not None and ended <= command_at:
        return _Tally(parked=tally.parked)
    exits = (*tally.exits, ended)
    since_park = tally.since_park + tally.parked
    mode = tally.mode if tally.mode.active else _judged(exits, since_park, settings)
    return _Tally(mode, exits, tally.parked, since_park)


def _judged(exits: tuple[int, ...], since_park: int, settings: SafeModeSettings) -> SafeMode:
    """Safe mode after the newest of these exits."""
    newest = sorted(exits)[-settings.unclean_exits :]
    if len(newest) == settings.unclean_exits and newest[-1] - newest[0] <= settings.within:
        why = f"{len(newest)} unclean exits in {settings.within // MINUTE} minutes"
        return SafeMode(active=True, since=exits[-1], why=why)
    if since_park >= settings.exits_after_park:
        return SafeMode(active=True, since=exits[-1], why=f"{since_park} unclean exits after a park")
    return _OFF


def _quiet_since(run: Instance, tally: _Tally, now: int) -> int:
    """Since when a living run counts as clean: its start or a later exit, but no exit ahead of the clock."""
    return max([run.started_at, *(at for at in tally.exits if at <= now)])
