"""The disk is full, or fails, at a write of a real run: nothing told is lost, and it goes on by itself."""

import errno
import os
import random
import tempfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from .disk import Disk, File, all_of, none_of, some_of
from .events import Removed, Sized, SyncEnded, Told, Wrote
from .judging import lost, repeated, start, write
from .power import MEMORY
from .recorder import LEDGER, LEDGER_SYNCS, Fault, Hangs, Recorder

FAILED = 1
"""How a gateway ends that can no longer trust its disk."""
_FRAME_HEADER = 24
_CALLS = (1, 1, 4, 12)


@dataclass(slots=True)
class Faults:
    """What came of it."""

    indexes: int = 0
    """Calls of an undisturbed run that write, sync or make files: each may fail."""
    runs: int = 0
    hit: Counter[str] = field(default_factory=Counter)
    """Calls that did fail, by what they were."""
    ended: Counter[str] = field(default_factory=Counter)
    """How the runs ended."""
    violations: list[str] = field(default_factory=list)


def fail_everywhere(
    chance: random.Random, share: tuple[int, int], most: int | None, until: Callable[[], bool]
) -> Faults:
    """Let each call of a run fail in some way, then each in another, until that many runs or it is time.

    `share` is which of how many workers this is: each has its own calls.
    """
    faults = Faults(indexes=count())
    mine, of = share
    while not (until() or faults.runs == most):
        indexes = list(range(mine, faults.indexes, of))
        chance.shuffle(indexes)
        for index in indexes:
            run_with(some_fault(index, chance), chance, faults)
            if until() or faults.runs == most:
                break
    return faults


def count() -> int:
    """How many calls of a first boot could fail."""
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
        recorder = Recorder(Path(folder))
        assert recorder.boot(1) == 0, recorder.words()
        return len(recorder.calls)


def some_fault(index: int, chance: random.Random) -> Fault:
    code = chance.choice((errno.ENOSPC, errno.EIO))
    return Fault(index, code, chance.choice(_CALLS), short=code == errno.ENOSPC and chance.random() < 0.3)


def run_with(fault: Fault, chance: random.Random, faults: Faults, planted: str | None = None) -> None:
    """One run in which the disk fails, and one after it in which it does not."""
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
        recorder = Recorder(Path(folder))
        faults.runs += 1
        try:
            wrong = _try(recorder, fault, chance, faults, planted)
        except Hangs as hangs:
            wrong = [str(hangs)]
        faults.violations += [f"{fault}: {one}" for one in wrong]


def _try(
    recorder: Recorder, fault: Fault, chance: random.Random, faults: Faults, planted: str | None
) -> list[str]:
    disk = Disk()
    code = recorder.boot(1, fault, planted=planted)
    hit = [_what(call) for call in recorder.hit]
    faults.hit.update(hit)
    faults.ended.update([f"{code} {'running' if _has_run(recorder) else 'starting'}"])
    wrong = _wrong_end(recorder, disk, code)
    wrong += _wrong_states(recorder, disk, chance)
    code = recorder.boot(1)
    if code != 0:
        wrong.append(f"the next start ended with {code}: {recorder.words()[-500:]}")
    for event in recorder.events[disk.applied :]:
        disk.apply(event)
    return wrong + _wrong_states(recorder, disk, chance)


def _has_run(recorder: Recorder) -> bool:
    """Whether it came so far that it told something."""
    return any(isinstance(event, Told) for event in recorder.events)


def _what(call: str) -> str:
    """A call and the kind of file it was for."""
    name, _, path = call.partition(" ")
    return f"{name} {os.path.basename(path) if 'blobs/' not in path else 'a file people brought'}"


def _wrong_end(recorder: Recorder, disk: Disk, code: int) -> list[str]:
    """A commit whose sync failed ends the process; once it runs, nothing ends it but the ledger's syncs.

    The file that the log is copied into is synced as well. When that fails, pages of an earlier copy may be
    lost which SQLite does not copy once more: the log must stay as it is, for the next start. At the end of a
    run it does, and the run may end as it was asked to.
    """
    lost_a_commit = lost_a_copy = went_on = False
    for event in recorder.events:
        if isinstance(event, SyncEnded) and not event.kept:
            node = disk.syncing(event.number)
            is_log = node is disk.find(f"{LEDGER}-wal")
            lost_a_commit |= is_log and isinstance(node, File) and _has_commit(node)
            lost_a_copy |= node is disk.find(LEDGER)
        if isinstance(event, (Wrote, Sized, Removed)) and event.path == f"{LEDGER}-wal":
            went_on |= lost_a_copy
        disk.apply(event)
    if lost_a_commit and code != FAILED:
        return [f"a sync of a commit failed and it went on, to end with {code}"]
    if went_on:
        return [f"a sync of a copy of the log failed and the log did not stay, to end with {code}"]
    if code != 0 and _has_run(recorder) and not set(recorder.hit) & set(LEDGER_SYNCS):
        return [f"it ended with {code}, though no sync of the ledger failed: {recorder.words()[-1500:]}"]
    return []


def _has_commit(log: File) -> bool:
    """Whether a frame that makes a commit, with its page, is among what is not certain of a log.

    Its header alone says how large the database is then; the log's own says how large a page is.
    """
    page = int.from_bytes(log.now[8:12], "big")
    pages = {change.start for change in log.changes if change.data and len(change.data) == page}
    headers = (change for change in log.changes if change.data and len(change.data) == _FRAME_HEADER)
    return any(any((change.data or b"")[4:8]) and change.end in pages for change in headers)


def _wrong_states(recorder: Recorder, disk: Disk, chance: random.Random) -> list[str]:
    """As it stands, and as a power cut leaves it now: what was told is there."""
    told = {event.fact for event in recorder.events if isinstance(event, Told)}
    wrong = repeated(recorder.events)
    place = recorder.root / "state"
    for image in (all_of(disk), none_of(disk), some_of(disk, chance)):
        write(image, place)
        wrong += lost(start(place), told)
    return wrong
