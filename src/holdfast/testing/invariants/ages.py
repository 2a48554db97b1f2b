"""The age of interrupted work, measured from outside: since the commit of its progress, on both clocks."""

from __future__ import annotations

from typing import NamedTuple


class Now(NamedTuple):
    """One moment, on the wall clock and on the clock of the machine."""

    wall: int
    boot: int
    uptime: int


class _Moved(NamedTuple):
    """The last progress of a turn, by its row and by observation."""

    progress_at: int | None
    mark: str | None
    seen: Now


class Ages:
    """Remembers when each turn last progressed; it outlives the views of the ledger."""

    def __init__(self) -> None:
        self._moved: dict[str, _Moved] = {}

    def see(self, turn: str, progress_at: int | None, mark: str | None, now: Now) -> None:
        """Note progress at the commit after which the row shows it, on both clocks."""
        known = self._moved.get(turn)
        if known is None or (known.progress_at, known.mark) != (progress_at, mark):
            self._moved[turn] = _Moved(progress_at, mark, now)

    def age(self, turn: str, quarantined: int, now: Now) -> int:
        """The age on the machine's own clock while that runs on, else on the wall clock; 0 if unknown."""
        moved = self._moved.get(turn)
        if moved is None:
            return 0
        if now.boot == moved.seen.boot:
            return max(0, now.uptime - moved.seen.uptime - quarantined)
        return 0 if moved.progress_at is None else max(0, now.wall - moved.progress_at - quarantined)
