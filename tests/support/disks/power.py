"""The power is cut at every point of a real run, many times over: what was told before is there after it."""

import errno
import os
import random
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from .disk import Disk, Image, all_of, none_of, some_of
from .events import Event, Sized, SyncEnded, Told, Wrote
from .judging import Found, digest, lost, read, repeated, start, write
from .recorder import LEDGER, LEDGER_SYNCS, Fault, Hangs, Recorder
from .subject import PLANTED, VISIT_FAILED

MEMORY = "/dev/shm" if os.path.isdir("/dev/shm") else None
"""Where disks are rebuilt: in memory, if that can be had."""
BOOTS = 3
ENDS = ("stopped", "killed", "sync failed")
PER_TRACE = 2_500
"""States made of one run before the next is recorded."""
PER_POINT = 3
TRIES = 3
PASSES = 10
PER_PLANTED = 120
GOES_ON = 0.01
"""The share of disks on which a gateway is started and works."""
MOST_KEPT = 10


@dataclass(slots=True)
class Cuts:
    """What came of it."""

    points: int = 0
    tried: int = 0
    """States made, equal ones included."""
    states: int = 0
    """Different ones: each was started on."""
    seen: Counter[str] = field(default_factory=Counter)
    """What the runs did to their disks that is worth a cut."""
    violations: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Trace:
    """All that some gateways did to one home, one after the other."""

    events: list[Event]
    begins: list[int]
    """Where each of them began."""
    lives: list[str]
    """How each of them lived."""


def record(chance: random.Random, planted: str | None = None) -> Trace:
    """A fresh home and a few boots: killed, ended by a failed sync, or stopped in order."""
    for _ in range(TRIES):
        ends = PLANTED[planted].ends if planted else chance.choices(ENDS, k=BOOTS)
        if (trace := _record(tuple(ends), chance, planted)) is not None:
            return trace
    raise AssertionError("the disk is not what the calls that were seen would make it")


def _record(ends: tuple[str, ...], chance: random.Random, planted: str | None) -> Trace | None:
    """None if it cannot be used: a kill may come between a call that was let through and its doing."""
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
        recorder, begins, lives = Recorder(Path(folder)), list[int](), list[str]()
        for number, end in enumerate(ends, 1):
            begins.append(len(recorder.events))
            lives.append(_live(recorder, number, end, chance, planted))
        disk = Disk()
        for event in recorder.events:
            disk.apply(event)
        # Nothing was overlooked if what the events make is what stands there.
        return Trace(recorder.events, begins, lives) if read(recorder.root) == disk.now() else None


def _live(recorder: Recorder, number: int, end: str, chance: random.Random, planted: str | None) -> str:
    fault = _failing_sync(chance) if end == "sync failed" else None
    code = recorder.boot(number, fault, chance.randint(50, 1_400) if end == "killed" else None, planted)
    assert code != VISIT_FAILED, recorder.words()
    return f"{end} with {code}"


def _failing_sync(chance: random.Random) -> Fault:
    at_work = chance.random() < 0.75
    return Fault(chance.randint(0, 300), errno.EIO, chance.choice((1, 3)), at_work=at_work, only=LEDGER_SYNCS)


class Knife:
    """Cuts the power in one run, again and again, and looks at what a start makes of each disk."""

    def __init__(self, trace: Trace, chance: random.Random, keep: Path | None) -> None:
        """Disks that are found wrong are written down in `keep`."""
        self.cuts = Cuts(violations=repeated(trace.events))
        _count(trace, self.cuts.seen)
        self._trace = trace
        self._chance = chance
        self._keep = keep
        self._known: dict[bytes, Found] = {}
        self._starts = [(begin, _first_told(trace.events, begin)) for begin in trace.begins]

    def cut(self, most: int, until: Callable[[], bool], once: bool) -> Cuts:
        """Cut at points all over the run until that many different states were started on, or it is time.

        With `once`, until the first that is wrong.
        """
        points = list(_points(self._trace))

        def over() -> bool:
            return until() or (once and bool(self.cuts.violations))

        with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
            for _ in range(PASSES):
                left = most - self.cuts.states
                if left <= 0 or over():
                    break
                count = -(-left // (PER_POINT + 1))
                chosen = set(self._chance.choices(points, self._weights(points), k=count))
                self._walk(points, chosen, Path(folder) / "disk", over)
        return self.cuts

    def _weights(self, points: list[tuple[int, int]]) -> list[float]:
        """Half of the cuts fall into the starts, as many into each: most is built there on what is found."""
        inside = [[begin < point[1] <= end for begin, end in self._starts] for point in points]
        counts = [sum(column) for column in zip(*inside, strict=True)]
        # A run that never got beyond its start has nothing else to be cut in.
        rest = sum(not any(row) for row in inside) or len(inside)
        return [rest / len(counts) / counts[row.index(True)] if any(row) else 1.0 for row in inside]

    def _walk(
        self,
        points: list[tuple[int, int]],
        chosen: set[tuple[int, int]],
        place: Path,
        over: Callable[[], bool],
    ) -> None:
        disk, told = Disk(), set[str]()
        for point in points:
            for event in self._trace.events[slice(*point)]:
                disk.apply(event)
                if isinstance(event, Told):
                    told.add(event.fact)
            if point in chosen and not over():
                self.cuts.points += 1
                for image in _states(disk, self._chance):
                    self._judge(image, told, point[1], place)

    def _judge(self, image: Image, told: set[str], at: int, place: Path) -> None:
        cuts, name = self.cuts, digest(image)
        cuts.tried += 1
        if name not in self._known:
            write(image, place)
            self._known[name] = start(place)
            cuts.states += 1
        wrong = lost(self._known[name], told)
        if not wrong and self._chance.random() < GOES_ON:
            write(image, place)
            wrong = self._go_on(told, at, place)
        if wrong and self._keep is not None and len(cuts.violations) < MOST_KEPT:
            write(image, self._keep / name.hex())
        where = f"at {at} of {len(self._trace.events)} ({', '.join(self._trace.lives)}), disk {name.hex()}"
        cuts.violations += [f"{where}: {one}" for one in wrong]

    def _go_on(self, told: set[str], at: int, place: Path) -> list[str]:
        """A gateway on this disk comes to rest, and does nothing once more that was done before the cut."""
        self.cuts.seen["gone on"] += 1
        recorder = Recorder(place)
        try:
            code = recorder.boot(1 + sum(begin < at for begin in self._trace.begins))
        except Hangs as hangs:
            return [str(hangs)]
        after = {event.fact for event in recorder.events if isinstance(event, Told)}
        wrong = [] if code == 0 else [f"a gateway on it ended with {code}: {recorder.words()[-1500:]}"]
        return wrong + repeated(recorder.events, told) + lost(start(place), told | after)


def cut_for(
    chance: random.Random,
    most: int | None,
    until: Callable[[], bool],
    planted: str | None = None,
    keep: Path | None = None,
) -> Cuts:
    """Record one run after the other and cut each, until that many states or it is time.

    What was planted has to be found once.
    """
    all_ = Cuts()
    while not (until() or planted and all_.violations) and (most is None or all_.states < most):
        each = PER_TRACE if planted is None else PER_PLANTED
        left = each if most is None else min(each, most - all_.states)
        try:
            trace = record(chance, planted)
        except Hangs as hangs:
            all_.violations.append(str(hangs))
            continue
        one = Knife(trace, chance, keep).cut(left, until, planted is not None)
        all_.points += one.points
        all_.tried += one.tried
        all_.states += one.states
        all_.seen += one.seen
        all_.violations += one.violations
    return all_


def _first_told(events: list[Event], begin: int) -> int:
    """Where a gateway that began there first had something to tell."""
    later = (at for at in range(begin, len(events)) if isinstance(events[at], Told))
    return next(later, len(events))


def _points(trace: Trace) -> Iterator[tuple[int, int]]:
    """Stretches between two cuts: one thing done to the disk, and all that is told before the next."""
    begin = 0
    for number, event in enumerate(trace.events):
        if number > begin and not isinstance(event, Told):
            yield begin, number
            begin = number
    yield begin, len(trace.events)


def _states(disk: Disk, chance: random.Random) -> Iterator[Image]:
    yield chance.choice((all_of, none_of))(disk)
    for _ in range(PER_POINT):
        yield some_of(disk, chance)


def _count(trace: Trace, seen: Counter[str]) -> None:
    """That the runs did what is hard on a disk: cuts in a run that did not would prove little."""
    seen.update(life.partition(" with")[0] for life in trace.lives)
    begun = False
    for event in trace.events:
        match event:
            case Wrote(path, offset, _) if path == LEDGER:
                seen["log copied"] += begun
                begun = False
            case Wrote(path, offset, _) if path == f"{LEDGER}-wal":
                seen["log started over"] += offset == 0
                begun = True
            case Sized(path, _) if path == f"{LEDGER}-wal":
                seen["log cut"] += 1
            case SyncEnded(_, kept):
                seen["sync" if kept else "failed sync"] += 1
            case Told(_):
                seen["told"] += 1
            case _:
                pass
