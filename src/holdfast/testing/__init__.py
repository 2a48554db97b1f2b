"""What tests of Holdfast, and of platforms and tools made for it, are written with.

A scenario is data: who says what, when, on which kind of platform. `run_world` plays it on the real ledger
and the real stages, in virtual time, with the task order, kills and faults that its seed gives, until nothing
is left to do; then the invariants are judged from outside. `sweep` kills a scenario at every step it takes.

    scenario = Scenario("an answer", (Say(0.1, "tools effect"),))
    assert not run_world(scenario, Options(seed=1)).violations
    assert not sweep(scenario, Options(seed=1)).failures
"""

from __future__ import annotations

from .clock import ManualClock, SeededIds
from .explore.options import Kill, Options, WorldOutcome
from .explore.swarm import random_world
from .explore.sweep import Swept, crash_points, stop_points, sweep
from .explore.world import run_world
from .invariants.checker import INVARIANTS, violations
from .observation.history import History
from .sim.compose import Boot, Parts
from .sim.faults import FaultPlan, FaultRates
from .sim.platforms.kinds import KINDS
from .sim.ports import SeededRng
from .sim.processes import SimProcesses, Simulated
from .sim.scenario import (
    Act,
    Admit,
    Babble,
    BackUp,
    BadGateway,
    Bar,
    BootBeside,
    Cue,
    Die,
    FullDisk,
    Outage,
    Press,
    Refusing,
    Revise,
    Say,
    Scenario,
    SetClock,
    Stop,
)
from .tool_calls import called

__all__ = [
    "INVARIANTS",
    "KINDS",
    "Act",
    "Admit",
    "BackUp",
    "Babble",
    "BadGateway",
    "Bar",
    "Boot",
    "BootBeside",
    "Cue",
    "Die",
    "FaultRates",
    "FaultPlan",
    "FullDisk",
    "History",
    "Kill",
    "ManualClock",
    "Options",
    "Outage",
    "WorldOutcome",
    "Parts",
    "Press",
    "Refusing",
    "Revise",
    "Say",
    "Scenario",
    "SeededIds",
    "SeededRng",
    "SetClock",
    "SimProcesses",
    "Simulated",
    "Stop",
    "Swept",
    "called",
    "crash_points",
    "random_world",
    "run_world",
    "stop_points",
    "sweep",
    "violations",
]
