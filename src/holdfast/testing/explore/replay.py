"""Plays an exported incident again on the real stages: the same arrivals, shapes and deaths.

Times of machines differ, so everything happens at the same *point* instead: when the transcript has the same
number of entries and the same number of calls has started.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from holdfast.records import dataclass
from holdfast.testing.sim.platforms.kinds import LONGEST
from holdfast.testing.sim.scenario import Cue, Die, Say, Scenario, Stop

from .options import Options, WorldOutcome
from .saved import load_world
from .world import run_world

Incident = dict[str, Any]
_ENTRIES = ("said", "replied", "returned")
_ORDERLY = {"restart_timeout": True, "shutdown_timeout": False}
_LINE = 40


@dataclass(frozen=True, slots=True)
class Replayed:
    """The outcome of a replayed incident."""

    outcome: WorldOutcome
    turns: tuple[tuple[str, str, str], ...]
    """Each recorded turn, with its end then and its end now."""
    left_out: tuple[str, ...]
    """The parts of the incident that the simulator cannot play."""

    @property
    def deaths(self) -> int:
        """How often its process ended, without the one end at rest that every world has."""
        return self.outcome.kills - self.outcome.options.boots_twice

    @property
    def violations(self) -> tuple[str, ...]:
        return self.outcome.violations


def replay(incident: Incident, seed: int = 0) -> Replayed:
    """Play it until rest and check it."""
    scenario, left_out = scenario_of(incident)
    outcome = run_world(scenario, Options(seed=seed))
    return Replayed(outcome, _compared(incident, outcome), left_out)


def replay_world(path: Path) -> Replayed:
    """Play a saved world as it was found."""
    outcome = run_world(*load_world(path))
    return Replayed(outcome, tuple((turn.id, "", turn.state) for turn in outcome.history.ledger.turns), ())


def scenario_of(incident: Incident) -> tuple[Scenario, tuple[str, ...]]:
    """The incident as a scenario, and the parts that do not fit into one."""
    cues: list[tuple[int, Cue]] = []
    left_out: list[str] = []
    platform = "strong" if incident["platform"] == "web" else "plain"
    for asked in incident.get("questions", ()):
        left_out.append(f"{asked['turn']}: a question to a person ({asked['kind']}, {asked['state']})")
    for row in incident["inbox"]:
        if row["kind"] not in ("message", "command"):
            left_out.append(f"{row['message']}: a {row['kind']}")
            continue
        if row.get("state") == "answered":
            left_out.append(f"{row['message']}: the answer to a question")
            continue
        said = Say(0.0, _words(incident, row), "a", platform)
        cues.append((row["at"], Cue(*_point(incident, row["at"] - 1), said)))
    for event in incident["events"]:
        if event["what"] == "interrupted":
            why = event.get("why")
            act = Stop(0.0, _ORDERLY[why], at_once=True) if why in _ORDERLY else Die(0.0)
            cues.append((event["at"], Cue(*_point(incident, event["at"]), act)))
    cues.sort(key=lambda each: each[0])
    return Scenario("replay", (), cues=tuple(cue for _, cue in cues)), tuple(left_out)


def _point(incident: Incident, at: int) -> tuple[int, int]:
    """How far the session was at that time: entries of its transcript, and calls begun."""
    entries = sum(one["kind"] in _ENTRIES and one["at"] <= at for one in incident["entries"])
    started = sum(one["started"] is not None and one["started"] <= at for one in incident["calls"])
    return entries, started


def _words(incident: Incident, row: Incident) -> str:
    """The script whose work has the shape of what this message caused."""
    if row["kind"] == "command":
        return str(row["text"]).partition("x")[0].strip()
    turn = next((one for one in incident["turns"] if one["cause"] == row["message"]), None)
    if turn is None:
        return "plain"
    replies = [one for one in incident["entries"] if one["turn"] == turn["turn"] and one["kind"] == "replied"]
    groups = ["+".join(_effect(incident, call) for call in one["calls"]) for one in replies if one["calls"]]
    if groups:
        return f"tools {' '.join(groups)}"
    if turn["state"] == "failed":
        return "fail"
    longest = max((len(one["text"]) for one in replies), default=0)
    return f"wordy {longest // _LINE}" if longest > LONGEST else "plain"


def _effect(incident: Incident, call: str) -> str:
    return next((str(one["effect"]) for one in incident["calls"] if one["call"] == call), "read")


def _compared(incident: Incident, outcome: WorldOutcome) -> tuple[tuple[str, str, str], ...]:
    """Both lists in the order of their causes."""
    now = [turn.state for turn in sorted(outcome.history.ledger.turns, key=lambda turn: turn.cause)]
    then = [(turn["turn"], turn["state"]) for turn in incident["turns"]]
    padded = [*now, *["none"] * (len(then) - len(now))]
    return tuple((turn, state, found) for (turn, state), found in zip(then, padded, strict=False))
