"""How much memory a fresh process holds after recovery, a page of sessions and many turns."""

from __future__ import annotations

import asyncio
import gc
import json
import re
import subprocess
import sys
from pathlib import Path

from holdfast.clock import SystemClock, SystemIds
from holdfast.store import open_ledger

from .recovery import recover
from .seeding import spread
from .turn import Turns


def measure(home: Path, sessions: int, turns: int) -> tuple[float, float]:
    """Megabytes held at the end and at most, of a fresh process that works on this ledger."""
    command = [sys.executable, "-m", "bench.memory", str(home), str(sessions), str(turns)]
    found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return found["now"], found["most"]


async def _work(home: Path, sessions: int, turns: int) -> dict[str, float]:
    clock = SystemClock()
    store = await open_ledger(home, clock, SystemIds(clock))
    await recover(store)
    await store.sessions()
    chats = spread(sessions, turns) if sessions else tuple(range(1, turns + 1))
    await Turns(store, chats, resumes=False, name=f"memory-{clock.now()}").run(turns)
    gc.collect()
    held = {"now": _megabytes("VmRSS"), "most": _megabytes("VmHWM")}
    await store.close()
    return held


def _megabytes(name: str) -> float:
    status = Path("/proc/self/status").read_text(encoding="ascii")
    found = re.search(rf"^{name}:\s+(\d+) kB$", status, re.MULTILINE)
    assert found is not None
    return int(found[1]) / 1024


if __name__ == "__main__":
    where, known, wanted = sys.argv[1:]
    sys.stdout.write(json.dumps(asyncio.run(_work(Path(where), int(known), int(wanted)))))
