"""What every platform has to do, whoever made it, as checks that its own tests can run.

    class MyStand:                       # see `Stand`: your platform, its server, one person who uses it
        ...

    def test_my_platform_keeps_the_contract() -> None:
        assert asyncio.run(faults_of(my_stand)) == ()

A check that does not apply to what the platform says it can do is passed over; what a stand cannot bring
about is named in its `cannot`, so that nothing is left out unseen (`left_out` names both).
"""

from __future__ import annotations

from .checks import CHECKS, Check, ConformanceRule, MakeStand, faults_of, left_out, run_check
from .stand import Stand, Unfit, part

__all__ = [
    "CHECKS",
    "Check",
    "MakeStand",
    "ConformanceRule",
    "Stand",
    "Unfit",
    "faults_of",
    "left_out",
    "part",
    "run_check",
]
