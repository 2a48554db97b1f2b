"""The options of a world besides its scenario, and its outcome."""

from __future__ import annotations

from dataclasses import field, replace
from pathlib import Path

from holdfast.records import dataclass
from holdfast.testing.observation.history import History
from holdfast.testing.sim.compose import Boot, boot_gateway
from holdfast.testing.sim.faults import NONE, FaultRates


@dataclass(frozen=True, slots=True)
class Kill:
    """Where a process is killed: before its step of this number, or at this edge of a commit."""

    step: int | None = None
    edge: int | None = None
    orderly: bool = False
    """Whether the process is asked to stop at once there, instead of being killed."""


@dataclass(frozen=True, slots=True)
class Options:
    """Everything that decides a world besides its scenario."""

    seed: int = 0
    kills: tuple[Kill, ...] = ()
    kill_rate: float = 0.0
    """Chance of a kill before each step while faults are on."""
    edge_rate: float = 0.0
    """Chance of a kill at each edge of a commit while faults are on."""
    most_kills: int = 3
    faults: FaultRates = NONE
    boot: Boot = boot_gateway
    downtime: tuple[float, float] = (1.0, 6.0)
    boots_twice: bool = True
    most_steps: int = 60_000
    most_seconds: float = 3 * 3600.0
    calm_for: float = 0.0
    """Seconds at the beginning without random faults."""
    lets_rest: float = 30.0
    """Seconds after the last act at which faults end."""
    readers: bool = False
    """Whether every direct chat has a reader of its feed, who is cut off and comes back."""
    folder: Path | None = None


@dataclass(frozen=True, slots=True)
class WorldOutcome:
    """The outcome of a world."""

    scenario: str
    options: Options
    violations: tuple[str, ...]
    steps: int
    """Steps of processes until rest: the places for a kill."""
    edges: int
    """Edges of commits until rest."""
    kills: int
    deaths: tuple[str, ...]
    """The state of the ledger at each death, and the step before it."""
    digest: str
    last: tuple[str, ...]
    history: History
    drawn: dict[str, int] = field(default_factory=dict)
    killed_at: tuple[Kill, ...] = ()
    """Where chance killed a process."""
    cells: frozenset[tuple[str, str]] = frozenset()
    """Which fault met which state of a row."""

    def __str__(self) -> str:
        wrong = "\n".join(f"  {words}" for words in self.violations) or "  nothing"
        shown = replace(self.options, folder=None)
        events = "\n".join(f"  {line}" for line in self.last[-40:])
        return f"{self.scenario} {shown}\nwrong:\n{wrong}\nlast events:\n{events}"
