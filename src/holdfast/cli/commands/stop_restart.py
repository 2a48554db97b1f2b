"""Ask a gateway to stop or to restart, and wait until it has done so."""

from __future__ import annotations

import asyncio
import os
from dataclasses import field
from pathlib import Path

from holdfast.api.client import NotRunning, RequestDeclined, ask
from holdfast.api.to_json import Json
from holdfast.cli.render.format import plural
from holdfast.clock import SystemClock
from holdfast.process.offline import stop_gateway
from holdfast.process.supervisor import supervisor_of
from holdfast.records import dataclass

_LOOK_AGAIN = 0.1
_PATIENCE = 300.0
"""Seconds a restart may take: a drain, a teardown and a start. With --when-quiet it may take any time."""

_NO_SUPERVISOR = (
    "This gateway has no supervisor: a restart would stop it and leave it down. Nothing was changed. "
    "Add --yes if you start it again yourself, or run it under `holdfast up` or systemd."
)


@dataclass(frozen=True, slots=True)
class StopReport:
    """The result, in words for a person and as facts for programs."""

    done: bool
    words: str
    facts: Json = field(default_factory=dict)


async def stop(home: Path) -> StopReport:
    """Stop the gateway and its supervisor, and wait until both have ended."""
    gateway, supervisor = await _status(home), supervisor_of(home)
    try:
        asked = await stop_gateway(home)
    except NotRunning:
        return StopReport(True, f"No gateway runs on {home}; there is nothing to stop.", {"asked": None})
    except RequestDeclined as refusal:
        return StopReport(False, f"{refusal}; nothing was changed", {"asked": None})
    await _wait_for_end(supervisor)
    await _wait_for_end(gateway["pid"] if gateway else None)
    running = gateway["running"] if gateway else 0
    words = f"Stopped (the request went to {asked})."
    if running:
        words += f" {plural(running, 'turn')} ran then; the next start resumes what did not finish."
    return StopReport(True, words, {"asked": asked, "running": running})


async def _status(home: Path) -> Json | None:
    try:
        return await ask(home, "status")
    except NotRunning:
        return None


async def restart(home: Path, when_quiet: bool, wait: bool, sure: bool = False) -> StopReport:
    """Ask for a restart, as a row that is carried out once, and wait for the new gateway.

    Without a supervisor, a restart only stops the gateway: it is refused unless the operator is `sure`.
    """
    before = await ask(home, "status")
    supervisor = before["kept_up_by"]
    facts: Json = {"pid": before["pid"], "kept_up_by": supervisor, "when_quiet": when_quiet}
    if supervisor is None and not sure:
        return StopReport(False, _NO_SUPERVISOR, facts)
    await ask(home, "restart", when_quiet=when_quiet)
    if supervisor is None:
        words = (
            "Requested. This gateway has no supervisor: it ends with exit code 75, and you start it again."
        )
        return StopReport(True, words, facts)
    if not wait:
        return StopReport(True, f"Requested; {supervisor} starts it again.", facts)
    after = await _next(home, before["instance"], None if when_quiet else _PATIENCE)
    if after is None:
        words = (
            "Requested, but no new gateway answers yet. Nothing is lost; `holdfast status` shows its state."
        )
        return StopReport(False, words, facts)
    facts["new_pid"] = after["pid"]
    return StopReport(True, f"Restarted: process {before['pid']} ended, process {after['pid']} runs.", facts)


async def _next(home: Path, instance: str, patience: float | None) -> Json | None:
    """The status of the gateway after this instance, once it answers; None if that takes too long."""
    clock = SystemClock()
    until = None if patience is None else clock.monotonic() + patience
    while until is None or clock.monotonic() < until:
        found = await _status(home)
        if found is not None and found["instance"] != instance:
            return found
        await clock.sleep(_LOOK_AGAIN)
    return None


async def _wait_for_end(pid: int | None) -> None:
    """Return once that process has ended."""
    if pid is None:
        return
    if hasattr(os, "pidfd_open"):
        try:
            handle = os.pidfd_open(pid)
        except ProcessLookupError:
            return
        loop, over = asyncio.get_running_loop(), asyncio.Event()
        loop.add_reader(handle, over.set)
        try:
            await over.wait()
        finally:
            loop.remove_reader(handle)
            os.close(handle)
        return
    clock = SystemClock()
    while _lives(pid):
        await clock.sleep(_LOOK_AGAIN)


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
