"""Read a home with or without a running gateway, and stop a gateway together with its supervisor."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

from holdfast.api.arguments import check, refusal
from holdfast.api.client import NotRunning, RequestDeclined, ask
from holdfast.api.operations import looking
from holdfast.api.queries import GatewayQueries
from holdfast.api.to_json import Json
from holdfast.clock import SystemClock, in_time
from holdfast.config.secret_values import secrets_at
from holdfast.store import LEDGER, ReadOnlyLedger

from .supervisor import supervisor_of

_PATIENCE = 10.0


async def look(home: Path, do: str, **arguments: Any) -> Json:
    """Ask the running gateway, or else read the ledger, without a lock and without writing.

    Raises `NotRunning` for what only a running gateway can do, `RequestDeclined` for what it would refuse.
    """
    try:
        return await ask(home, do, **arguments)
    except NotRunning:
        return await _read(home, do, arguments)


async def _read(home: Path, do: str, arguments: Json) -> Json:
    clock = SystemClock()
    ledger = ReadOnlyLedger(home / LEDGER, clock)
    try:
        verbs = looking(GatewayQueries(ledger, clock, home=home, secrets=secrets_at(home)))
        if do not in verbs:
            raise NotRunning(home)
        check(verbs[do].arguments, arguments)
        return await verbs[do].run(arguments)
    except NotRunning:
        raise
    except Exception as fault:
        raise RequestDeclined(*refusal(fault)) from fault
    finally:
        await ledger.close()


async def stop_gateway(home: Path) -> str:
    """Stop the gateway together with its supervisor. Returns the name of the process that was asked."""
    try:
        asked: str = (await in_time(SystemClock(), _PATIENCE, ask(home, "shutdown")))["asked"]
        return asked
    except (NotRunning, TimeoutError):
        # No gateway answers (between two runs, or it hangs), but the supervisor may still live.
        parent = supervisor_of(home)
        if parent is None:
            raise NotRunning(home) from None
        os.kill(parent, signal.SIGTERM)
        return f"holdfast supervisor, process {parent}"
