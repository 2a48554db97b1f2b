"""The contract of a platform, as checks that the tests of any platform can run.

    class MyStand:                       # see `Stand`: your platform, its server, one person who uses it
        ...

    def test_my_platform_keeps_the_contract() -> None:
        assert asyncio.run(faults_of(my_stand)) == ()

A check is skipped if it does not apply to the platform's capabilities. A stand names in its `cannot` what it
cannot do. `left_out` returns both, so that no check is skipped unseen.
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
