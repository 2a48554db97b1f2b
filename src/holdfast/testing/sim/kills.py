"""Where the processes of a world are killed: at the places of its options, and by chance."""

from __future__ import annotations

from holdfast.testing.explore.options import Kill, Options

from .faults import FaultPlan
from .ports import SeededRng


class Kills:
    """Counts steps, edges of commits and deaths; chance kills only while faults are on."""

    def __init__(self, options: Options, faults: FaultPlan) -> None:
        self._options = options
        self._faults = faults
        self._rng = SeededRng(options.seed, "kills")
        self._steps = frozenset(kill.step for kill in options.kills if not kill.orderly)
        self._stops = frozenset(kill.step for kill in options.kills if kill.orderly)
        self._edges = frozenset(kill.edge for kill in options.kills)
        self.edges = 0
        """Edges of commits so far."""
        self.dead = 0
        """Processes that have ended."""
        self.by_chance: list[Kill] = []

    def stops_at(self, step: int) -> bool:
        """Whether the process is asked to stop before this step."""
        return step in self._stops

    def at_step(self, step: int) -> bool:
        """Whether the process is killed before this step."""
        return step in self._steps or self._dies(self._options.kill_rate, Kill(step=step))

    def at_edge(self) -> bool:
        """Whether the process is killed at the next edge of a commit."""
        self.edges += 1
        return self.edges in self._edges or self._dies(self._options.edge_rate, Kill(edge=self.edges))

    def _dies(self, chance: float, here: Kill) -> bool:
        may = chance > 0 and self._faults.on and self.dead < self._options.most_kills
        if not may or self._rng.random() >= chance:
            return False
        self.by_chance.append(here)
        return True
