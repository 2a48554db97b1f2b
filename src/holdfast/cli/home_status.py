"""The status of a home: the gateway that runs on it, its work, and how the last run ended."""

from __future__ import annotations

from pathlib import Path

from holdfast.api.client import NotRunning, RequestDeclined, ask
from holdfast.api.to_json import Json, shown
from holdfast.model import Instance
from holdfast.process.supervisor import supervisor_of
from holdfast.store import LEDGER

from .options import looking


async def status_of(home: Path) -> Json:
    """Collect the status. A home where no gateway has run yet is not an error."""
    found: Json = {"home": str(home), "gateway": None, "supervisor": supervisor_of(home), "last_run": None}
    found["page"] = None
    if not (home / LEDGER).exists():
        return found
    async with looking(home) as (ledger, looks):
        runs = await ledger.instances(limit=1)
        continuity = await ledger.continuity()
        found |= {
            "running": (await looks.plan())["running"],
            "owed": continuity.owed,
            "unknown": continuity.unknown,
            "waiting": continuity.waiting,
            "open_turns": shown(continuity.open_turns),
            "held": (await looks.held())["held"],
            "counts": (await looks.overview(runs=1))["counts"],
            "boot": next(iter((await looks.continuity())["reports"]), None),
        }
    answer = await _status(home) if runs else None
    if runs:
        found["last_run" if answer is None else "gateway"] = _run(runs[0])
    known = answer or {}
    return {
        **found,
        "page": known.get("url"),
        "agent": known.get("agent"),
        "safe_mode": known.get("safe_mode"),
        "platforms": known.get("platforms", []),
        "mcp": known.get("mcp", []),
        "containment": known.get("containment"),
    }


async def is_running(home: Path) -> bool:
    """Whether a gateway listens on this home."""
    return await _status(home) is not None


async def _status(home: Path) -> Json | None:
    """What the gateway on this home answers; None if no gateway listens."""
    try:
        return await ask(home, "status")
    except NotRunning:
        return None
    except RequestDeclined:
        return {}


def _run(run: Instance) -> Json:
    ended = run.stopped.value if run.stopped else None
    return {
        "instance": run.id,
        "pid": run.pid,
        "version": run.version,
        "started_at": run.started_at,
        "seen_at": run.stopped_at or run.heartbeat_at,
        "ended": ended,
    }
