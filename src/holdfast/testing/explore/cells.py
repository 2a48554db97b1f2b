"""One world for each cell of the coverage matrix: it brings a row into a state and then adds the fault.

Random worlds meet most cells by chance. These worlds meet each cell on purpose.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from types import MappingProxyType

from holdfast.config.settings import GatewaySettings
from holdfast.model import OnInterruption
from holdfast.policy.settings import HOUR, SECOND, GoalSettings, ProgressSettings
from holdfast.records import dataclass
from holdfast.testing.sim.faults import NONE, FaultRates
from holdfast.testing.sim.scenario import (
    Act,
    BootBeside,
    Die,
    FullDisk,
    Outage,
    Refusing,
    Revise,
    Say,
    Scenario,
    SetClock,
    Stop,
)

from .options import Options

BUSY = "plain"
"""The platform on which other people keep the gateway busy during the fault."""
HELD = "asked"
"""The platform of the person whose row is in the state."""
DAY = 24 * HOUR
_ASKING = GatewaySettings(on_interruption=OnInterruption.ASK)
_STUCK = ProgressSettings(notice=5 * SECOND, warn=20 * SECOND, abort=40 * SECOND)


@dataclass(frozen=True, slots=True)
class CellWay:
    """How a row comes into a state and stays there."""

    acts: tuple[Act, ...]
    settings: GatewaySettings = GatewaySettings()
    at: float = 14.0
    """The time from which the row is in the state."""
    rates: FaultRates = FaultRates()
    """The faults that must last to keep the row in the state."""
    busy: str = BUSY


def _say(at: float, text: str, exact: bool = False) -> Say:
    return Say(at, text, "a", HELD, exact)


_CUT = (_say(0.1, "tools effect+effect+effect"), Die(0.85))
_PLANNED = (_say(0.1, "tools effect read"), FullDisk(0.4, 0.6), Stop(1.1, at_once=True))
_LATE = (Die(0.05, away=3), _say(0.5, "tools effect"), SetClock(1, DAY + HOUR))
_QUEUE = (_say(0.1, "slow 3"), _say(0.3, "plain"))
_THREE = tuple(Say(0.1, "slow 20", chat, HELD) for chat in "abc")
_DONE = CellWay((_say(0.1, "tools read broken"), _say(0.3, "/help"), _say(4, "/nonsense")), at=7.0)
_HANGS = CellWay(
    (_say(0.1, "hang"), _say(0.5, "plain")), GatewaySettings(grace=SECOND, progress=_STUCK), at=2.0
)
_ONE_TURN = GatewaySettings(goals=GoalSettings(budget=1))
_ASKED = CellWay(_CUT, _ASKING, at=9.0)
_ANSWERED = CellWay((*_CUT, _say(9, "continue", exact=True)), _ASKING)

WAYS: Mapping[str, CellWay] = MappingProxyType(
    {
        "inbox waiting": _HANGS,
        "inbox offered": CellWay(_LATE),
        "inbox taken": _DONE,
        "inbox answered": _ANSWERED,
        "inbox executed": _DONE,
        "inbox refused": _DONE,
        "inbox withdrawn": CellWay((*_QUEUE, Revise(0.8, None, "a", HELD)), at=5.0),
        "inbox dropped": CellWay((*_LATE, _say(12, "/forget everything"))),
        "turn queued": CellWay((*_THREE, Die(2)), GatewaySettings(workers=4), at=10.0),
        "turn running": _HANGS,
        "turn waiting": _ASKED,
        "turn interrupted": CellWay((*_CUT, Outage(0.9, 30, HELD)), at=9.0),
        "turn done": _DONE,
        "turn failed": CellWay((_say(0.1, "fail"),), at=4.0),
        "turn cancelled": CellWay((_say(0.1, "slow 3"), _say(1, "/stop")), at=5.0),
        "turn expired": CellWay(
            (_say(0.1, "tools read effect"), Die(0.9, away=3, power=True), SetClock(1.5, 2 * HOUR))
        ),
        "turn parked": CellWay((_say(0.1, "crash"),), at=45.0),
        "call planned": CellWay(_PLANNED, _ASKING, at=9.0),
        "call started": _ASKED,
        "call done": _DONE,
        "call failed": _DONE,
        "call unknown": CellWay(_CUT),
        "call skipped": CellWay((*_PLANNED, _say(9, "drop", exact=True)), _ASKING),
        "delivery pending": CellWay((_say(0.1, "plain"), Outage(0.4, 30, HELD)), at=3.0),
        "delivery sending": CellWay((_say(0.1, "wordy 30"),), at=0.5, rates=FaultRates(slow=1.0)),
        "delivery unknown": CellWay(
            (_say(0.1, "wordy 30"),), at=2.5, rates=FaultRates(lost_response=0.8), busy=HELD
        ),
        "delivery sent": _DONE,
        "delivery failed": CellWay((Refusing(0.05, 4, HELD), _say(0.1, "plain")), at=5.0),
        "delivery expired": CellWay((_say(0.1, "plain"), Outage(0.5, 6, HELD), SetClock(3, DAY + HOUR))),
        "question open": _ASKED,
        "question answered": _ANSWERED,
        "question expired": CellWay((*_CUT, SetClock(9, 2 * HOUR)), _ASKING),
        "question set_aside": CellWay((*_CUT, _say(9, "plain")), _ASKING),
        "question undeliverable": CellWay((*_CUT, Refusing(0.9, 9, HELD)), _ASKING),
        "question cancelled": CellWay((*_CUT, _say(9, "/stop")), _ASKING),
        "process running": CellWay((_say(0.1, "tools serve"),), at=4.0),
        "process exited": CellWay((_say(0.1, "tools start:2"),), at=6.0),
        "process killed": CellWay((_say(0.1, "tools serve kill"),), at=4.0),
        "process lost": CellWay((_say(0.1, "tools serve"), Die(3, power=True)), at=13.0),
        # Its turn hangs, so that the process causes no further turn.
        "goal active": CellWay((_say(0.1, "/goal hang"),), _HANGS.settings, at=4.0),
        "goal done": CellWay((_say(0.1, "/goal reach 1"),), at=5.0),
        "goal blocked": CellWay((_say(0.1, "/goal block 1"),), at=5.0),
        "goal stopped": CellWay((_say(0.1, "/goal reach 9"), _say(2, "/goal stop")), at=5.0),
        "goal spent": CellWay((_say(0.1, "/goal endless"),), _ONE_TURN, at=5.0),
    }
)

_BY_ACT: Mapping[str, tuple[Act, ...]] = MappingProxyType(
    {
        "killed": (Die(0.9),),
        "killed by its own work": (Say(0.3, "crash", "y", BUSY),),
        "stopped in order": (Stop(0.9),),
        "stopped at once": (Stop(0.9, at_once=True),),
        "a second gateway": (BootBeside(0.9),),
        "clock set forward": (SetClock(0.9, SECOND),),
        "clock set back": (SetClock(0.9, -SECOND),),
    }
)
_OFTEN = MappingProxyType({"sync_failed": 0.1, "disk_full": 0.2, "blocked": 0.2, "down": 0.15})
_ELSE = 0.4
_EDGE = 0.1
_OTHERS = ("tools effect read", "wordy 30", "parallel", "plain")
_IN_BACKGROUND = ("tools start:3", "tools start:1 wait", "parallel", "plain")
_AT_ONCE = 0.1


def cell_world(fault: str, state: str, seed: int) -> tuple[Scenario, Options]:
    """A world in which this fault happens while, if all goes well, some row has that state."""
    way = WAYS[state]
    others = tuple(
        Say(way.at + 0.2 + 0.7 * place, text, "xyz"[place % 3], way.busy)
        for place, text in enumerate(_OTHERS if fault != "process_blind" else _IN_BACKGROUND)
    )
    acts = [*way.acts, *others, *(replace(act, at=way.at + act.at) for act in _BY_ACT.get(fault, ()))]
    settings = way.settings
    if fault == "tool_hangs":
        settings = replace(settings, grace=SECOND, progress=_STUCK)
    rates = way.rates
    if fault in {field.name for field in fields(FaultRates)}:
        rates = replace(rates, **{fault: _OFTEN.get(fault, _ELSE)})
    options = Options(
        seed=seed,
        edge_rate=_EDGE if fault == "killed at the edge of a commit" else 0.0,
        most_kills=6,
        faults=rates,
        calm_for=_AT_ONCE if way.rates != NONE else way.at,
        lets_rest=8.0,
        most_steps=150_000,
    )
    ordered = tuple(sorted(acts, key=lambda act: act.at))
    return Scenario(f"{fault}, {state}", ordered, settings), options
