"""python -m tests.support.disks.worker JSON: one process's share of the work; what came of it, as JSON."""

import json
import random
import sys
from dataclasses import fields
from pathlib import Path
from typing import Any

from holdfast.clock import SystemClock

from .faults import Faults, fail_everywhere, run_with
from .power import Cuts, cut_for
from .recorder import Fault


def work(given: dict[str, Any]) -> Cuts | Faults:
    chance = random.Random(f"{given['seed']}/{given['mine']}")
    clock, seconds = SystemClock(), given.get("seconds")
    end = None if seconds is None else clock.monotonic() + seconds

    def until() -> bool:
        return end is not None and clock.monotonic() >= end

    if given["what"] == "fault":
        one = Faults()
        run_with(Fault(**given["fault"]), chance, one, given["planted"])
        return one
    if given["what"] == "faults":
        return fail_everywhere(chance, (given["mine"], given["of"]), given["most"], until)
    keep = given.get("keep")
    return cut_for(chance, given["most"], until, given.get("planted"), Path(keep) if keep else None)


if __name__ == "__main__":
    done = work(json.loads(sys.argv[1]))
    sys.stdout.write(json.dumps({one.name: getattr(done, one.name) for one in fields(done)}))
