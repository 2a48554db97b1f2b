"""How a home stands: who runs on it, what they work on, what the run before left."""

from __future__ import annotations

from pathlib import Path

from holdfast.api.client import NotRunning, RequestDeclined, ask
from holdfast.api.to_json import Json, shown
from holdfast.model import Instance
from holdfast.process.supervisor import supervisor_of
from holdfast.store import LEDGER

from .options import looking


async def standing_of(home: Path) -> Json:
    """One look at everything; a home where nothing has run yet is no fault."""
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
    told = await _told(home) if runs else None
    if runs:
        found["last_run" if told is None else "gateway"] = _run(runs[0])
    known = told or {}
    return {
        **found,
        "page": known.get("url"),
        "agent": known.get("agent"),
        "safe_mode": known.get("safe_mode"),
        "platforms": known.get("platforms", []),
        "mcp": known.get("mcp", []),
        "containment": known.get("containment"),
    }


async def answers(home: Path) -> bool:
    """Whether a gateway listens on this home."""
    return await _told(home) is not None


async def _told(home: Path) -> Json | None:
    """What a gateway that listens on this home says of itself; None when none does."""
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
