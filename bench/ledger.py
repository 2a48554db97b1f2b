"""What the ledger costs: durable turns, many sessions at once, growth, recovery, memory."""

from __future__ import annotations

import asyncio
import gc
import os
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from time import perf_counter
from typing import Any

from holdfast.api.queries import GatewayQueries
from holdfast.clock import SystemClock
from holdfast.model import Batch, Inbound, Key, PersonId, SessionId
from holdfast.policy.recovery.outcome import Outcome
from holdfast.store import SqliteStore
from holdfast.store.sqlite.store import LEDGER

from . import floors, memory
from .floors import Statement
from .interruptions import add_interrupted, clear_leftovers
from .opening import MakeWriter, Recording, SlowCommits, connect, inline, leave, open_with, threaded
from .recovery import recover
from .report import Limit, Row, above_floor, at_least, at_most
from .seeding import seed, session_id, spread
from .timing import ROUNDS, interleave, median_round, percentile, set_memory_aside
from .turn import ACCOUNT, COMMITS, MESSAGE, PLATFORM, Turns, place

MS = 1_000


@dataclass(frozen=True, slots=True)
class Scale:
    """How much is measured."""

    turns: int
    chunk: int
    slow_turns: int
    """Turns of one session per round with slow commits; the mean of all rounds counts."""
    at_once: int
    stretches: int
    """How often one session and many take turns in a round."""
    sessions: tuple[int, int, int]
    transcripts: tuple[tuple[int, int], ...]
    """Entries per transcript, and how many such sessions share the turns."""
    interrupted: int
    recoveries: int
    """Recoveries in a round, each between two bare updates: both are short, and machines vary their pace."""


FULL = Scale(
    turns=1_000,
    chunk=50,
    slow_turns=340,
    at_once=64,
    stretches=4,
    sessions=(10, 10_000, 1_000_000),
    transcripts=((10, 1_000), (1_000, 200), (10_000, 50)),
    interrupted=10_000,
    recoveries=3,
)
QUICK = Scale(
    turns=100,
    chunk=20,
    slow_turns=24,
    at_once=64,
    stretches=2,
    sessions=(10, 1_000, 50_000),
    transcripts=((10, 150), (1_000, 30), (10_000, 10)),
    interrupted=5_000,
    recoveries=3,
)

Say = Callable[[str], None]


@asynccontextmanager
async def opened(home: Path, make_writer: MakeWriter | None = None) -> AsyncIterator[SqliteStore]:
    store = await open_with(home, make_writer or threaded(sqlite3.Connection))
    try:
        yield store
    finally:
        await leave(store)


PARTS = ("turn", "at-once", "transcript", "overview", "growth", "recovery", "memory")


async def run(folder: Path, scale: Scale, say: Say, only: Sequence[str] | None = None) -> list[Row]:
    """The rows of every part, or of the selected ones; the caller removes `folder`.

    The big ledger is seeded once and serves overview, growth, recovery and memory in that order. The overview
    counts the turns of the last hour, so it comes first, before there are any.
    """
    big = folder / "big"
    parts: dict[str, Callable[[], Awaitable[list[Row]]]] = {
        "turn": lambda: durable_turn(folder / "turn", scale),
        "at-once": lambda: at_once(folder / "at-once", scale),
        "transcript": lambda: growth_of_transcript(folder / "transcript", scale),
        "overview": lambda: overview(folder, big, scale),
        "growth": lambda: growth_of_ledger(folder, big, scale),
        "recovery": lambda: recovery(folder, big, scale),
        "memory": lambda: held_memory(folder, big, scale),
    }
    rows: list[Row] = []
    for name, part in parts.items():
        if only and name not in only:
            continue
        if name in ("growth", "overview", "recovery", "memory") and not big.exists():
            say(f"seeding {scale.sessions[-1]:,} sessions")
            seed(big, scale.sessions[-1])
            os.sync()
        say(name)
        rows += await part()
    return rows


# Durable turn


async def durable_turn(folder: Path, scale: Scale) -> list[Row]:
    start = seed(folder / "start", 100)
    chats = spread(100, 100)
    turns = scale.turns * ROUNDS
    prelude, recorded = await _record(floors.copy(start, folder / "recorded" / LEDGER).parent, chats, turns)
    size = _bytes_per_commit(recorded)
    replay = floors.Replay(floors.copy(start, folder / "replay" / LEDGER), prelude, recorded)
    threaded = floors.ThreadedReplay(floors.copy(start, folder / "threaded" / LEDGER), prelude, recorded)
    bare = floors.BareCommits(folder / "bare.db", len(COMMITS), size)
    verbs = floors.copy(start, folder / "verbs" / LEDGER)
    async with (
        opened(floors.copy(start, folder / "subject" / LEDGER).parent) as store,
        opened(verbs.parent, inline(connect(verbs, sqlite3.Connection))) as inlined,
    ):
        stretches = (
            Turns(store, chats).run,
            replay.run,
            Turns(inlined, chats).run,
            bare.run,
            threaded.run,
        )
        set_memory_aside()
        rounds = [await interleave(stretches, scale.turns, scale.chunk) for _ in range(ROUNDS)]
    replay.close()
    threaded.close()
    bare.close()
    bare_commits = f"{len(COMMITS)} bare commits of {size} bytes through a thread"
    return [
        _ms("durable turn, writer taken out / the same SQL bare", *median_round(rounds, 2, 1), at_most(1.3)),
        _ms(f"durable turn / {bare_commits}", *median_round(rounds, 0, 3), at_most(1.5)),
        _ms("durable turn, through the writer / the same SQL bare", *median_round(rounds, 0, 1)),
        _ms("durable turn / the same SQL, each commit through a thread", *median_round(rounds, 0, 4)),
        _ms(f"the same SQL, each commit through a thread / {bare_commits}", *median_round(rounds, 4, 3)),
    ]


async def _record(
    home: Path, chats: tuple[int, ...], turns: int
) -> tuple[list[Statement], list[list[Statement]]]:
    """The statements of opening the store, and of each turn."""
    db = connect(home / LEDGER, Recording)
    db.log = []
    recorded: list[list[Statement]] = []
    async with opened(home, inline(db)) as store:
        prelude, db.log = db.log, []
        subject = Turns(store, chats)
        for _ in range(turns):
            await subject.one()
            recorded.append(db.log)
            db.log = []
    commits = sum(sql == "COMMIT" for sql, _ in recorded[0])
    assert commits == len(COMMITS), f"a durable turn takes {commits} commits, the list says {len(COMMITS)}"
    return prelude, recorded


def _bytes_per_commit(recorded: Sequence[Sequence[Statement]]) -> int:
    """Bytes of text that a commit inserts on average: the size of a comparable single INSERT."""
    inserted = sum(
        len(value)
        for sql, values in recorded[0]
        if sql.startswith("INSERT")
        for value in values
        if isinstance(value, str)
    )
    return inserted // len(COMMITS)


def _ms(what: str, value: float, floor: float, limit: Limit | None = None) -> Row:
    return Row(what, "ms", value * MS, floor * MS, limit)


# Many sessions at once


async def at_once(folder: Path, scale: Scale) -> list[Row]:
    start = seed(folder / "start", scale.at_once)
    rows = []
    for kind, limit, turns, note in (
        (SlowCommits, 15, scale.slow_turns, "4 ms added to each commit"),
        (sqlite3.Connection, 3, scale.turns, "bare machine"),
    ):
        home = folder / kind.__name__
        async with (
            opened(floors.copy(start, home / "one" / LEDGER).parent, threaded(kind)) as one,
            opened(floors.copy(start, home / "many" / LEDGER).parent, threaded(kind)) as many,
        ):
            alone = Turns(one, (1,))
            crowd = [Turns(many, (n,), name=f"crowd-{n}") for n in range(1, scale.at_once + 1)]
            rounds = [await _one_and_many(alone, crowd, turns, scale) for _ in range(ROUNDS)]
        # Of all rounds: with slow commits, one session reaches a thousand turns only over all rounds.
        value, floor = (1 / mean(seconds) for seconds in zip(*rounds, strict=True))
        what = f"{scale.at_once} sessions at once / one session, {note}"
        rows.append(Row(what, "turns/s", value, floor, at_least(limit)))
    return rows


async def _one_and_many(alone: Turns, crowd: list[Turns], turns: int, scale: Scale) -> tuple[float, float]:
    """Seconds per turn of many sessions and of one, which alternate."""
    parts = scale.stretches
    each = max(1, scale.turns // (parts * len(crowd)))
    spent_alone = spent_crowd = 0.0
    for _ in range(parts):
        (seconds,) = await interleave((alone.run,), turns // parts, turns // parts)
        spent_alone += seconds * (turns // parts)
        gc.collect()
        started = perf_counter()
        await asyncio.gather(*(one.run(each) for one in crowd))
        spent_crowd += perf_counter() - started
    return spent_crowd / (parts * each * len(crowd)), spent_alone / (turns // parts * parts)


# Growth


async def growth_of_ledger(folder: Path, big: Path, scale: Scale) -> list[Row]:
    homes = [folder / f"ledger-{count}" for count in scale.sessions[:-1]]
    for home, count in zip(homes, scale.sessions, strict=False):
        seed(home, count)
    per_turn = await _side_by_side(
        [
            (home, spread(count, scale.turns * ROUNDS))
            for home, count in zip([*homes, big], scale.sessions, strict=True)
        ],
        scale,
    )
    return _growth("durable turn among {:,} sessions / {:,}", scale.sessions, per_turn, 1.3)


async def growth_of_transcript(folder: Path, scale: Scale) -> list[Row]:
    lengths = [entries for entries, _ in scale.transcripts]
    homes = [folder / str(entries) for entries in lengths]
    for home, (entries, sessions) in zip(homes, scale.transcripts, strict=True):
        seed(home, sessions, entries)
    ledgers = [
        (home, tuple(range(1, sessions + 1)))
        for home, (_, sessions) in zip(homes, scale.transcripts, strict=True)
    ]
    rows = _growth(
        "durable turn after {:,} entries / {:,}", lengths, await _side_by_side(ledgers, scale), 1.5
    )
    return [*rows, await _reading(homes[-1])]


async def _side_by_side(ledgers: list[tuple[Path, tuple[int, ...]]], scale: Scale) -> list[list[float]]:
    """Rounds of seconds per turn, one column per ledger."""
    stores = [await open_with(home, threaded(sqlite3.Connection)) for home, _ in ledgers]
    subjects = [Turns(store, chats).run for store, (_, chats) in zip(stores, ledgers, strict=True)]
    rounds = [await interleave(subjects, scale.turns, scale.chunk) for _ in range(ROUNDS)]
    for store in stores:
        await leave(store)
    return rounds


def _growth(what: str, sizes: Sequence[int], rounds: list[list[float]], limit: float) -> list[Row]:
    return [
        _ms(what.format(sizes[n], sizes[0]), *median_round(rounds, n, 0), at_most(limit))
        for n in range(1, len(sizes))
    ]


async def _reading(home: Path, times: int = 5) -> Row:
    """A whole transcript as records, per entry, next to the bare rows."""
    session = session_id(1)
    db = sqlite3.connect(f"file:{home / LEDGER}?mode=ro", uri=True)
    subject = floor = 0.0
    entries = 1
    async with opened(home) as store:
        for _ in range(times):
            started = perf_counter()
            entries = len(await store.transcript(SessionId(session)))
            subject += perf_counter() - started
            started = perf_counter()
            floors.read_transcript(db, session)
            floor += perf_counter() - started
    db.close()
    per_entry = 1_000_000 / (times * entries)
    what = f"read a transcript of {entries:,}, per entry / a bare SELECT"
    return Row(what, "µs", subject * per_entry, floor * per_entry)


async def overview(folder: Path, big: Path, scale: Scale) -> list[Row]:
    """The operator's views, with few sessions and with many: the same work in both."""
    few = folder / "overview"
    seed(few, scale.sessions[0])
    rows = []
    async with opened(few) as small, opened(big) as large:
        for name, look in LOOKS.items():
            subjects = [Looking(store, look).run for store in (large, small)]
            rounds = [await interleave(subjects, scale.turns, scale.chunk) for _ in range(ROUNDS)]
            what = f"{name} among {scale.sessions[-1]:,} sessions / {scale.sessions[0]:,}"
            rows.append(_ms(what, *median_round(rounds, 0, 1), at_most(1.5)))
    return rows


LOOKS: Mapping[str, Callable[[SqliteStore], Awaitable[object]]] = {
    "operators' overview": lambda store: GatewayQueries(store, SystemClock()).overview(),
    "a page of 10 sessions": lambda store: GatewayQueries(store, SystemClock()).sessions(limit=10),
    "a page of 10 chats": lambda store: store.chats(PLATFORM, ACCOUNT, limit=10),
}


class Looking:
    """Runs the same query again and again."""

    def __init__(self, store: SqliteStore, look: Callable[[SqliteStore], Awaitable[object]]) -> None:
        self._store = store
        self._look = look

    async def run(self, times: int) -> None:
        for _ in range(times):
            await self._look(self._store)


# Recovery and memory


async def recovery(folder: Path, big: Path, scale: Scale) -> list[Row]:
    clock = SystemClock()
    _interrupt(big, scale, clock)
    bare = floors.BareUpdate(folder / "turns.db", big / LEDGER)
    rounds = []
    for _ in range(ROUNDS):
        spent, updates = [], [_update(bare, scale)]
        for _ in range(scale.recoveries):
            _interrupt(big, scale, clock)
            spent.append(await _recover(big, scale))
            updates.append(_update(bare, scale))
        rounds.append((mean(spent), mean(updates)))
    bare.close()
    value, floor = median_round(rounds, 0, 1)
    what = (
        f"recovery of {scale.interrupted:,} turns beside {scale.sessions[-1]:,} / one bare UPDATE … RETURNING"
    )
    rows = [_ms(what, value, floor, at_most(4))]
    _interrupt(big, scale, clock)
    return [*rows, *await _served_meanwhile(big, scale, clock)]


async def _recover(big: Path, scale: Scale) -> float:
    """Seconds to decide about all interrupted work and write it back, in a ledger just opened."""
    async with opened(big) as store:
        started = perf_counter()
        written = await recover(store)
        spent = perf_counter() - started
    assert set(written) == set(Outcome), f"only {sorted(written.items())} were written"
    assert written.total() == scale.interrupted
    return spent


def _update(bare: floors.BareUpdate, scale: Scale) -> float:
    """Seconds for one bare update of as many turns."""
    started = perf_counter()
    assert bare.run() == scale.interrupted
    spent = perf_counter() - started
    bare.undo()
    return spent


def _interrupt(big: Path, scale: Scale, clock: SystemClock) -> None:
    """A new set of interrupted turns, and nothing else open; begins with an empty log."""
    db = floors.connect(big / LEDGER)
    db.execute("PRAGMA foreign_keys = OFF")
    clear_leftovers(db, clock.now())
    add_interrupted(db, scale.interrupted, clock.now())
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    db.close()


async def _served_meanwhile(big: Path, scale: Scale, clock: SystemClock) -> list[Row]:
    """How long a commit of another session takes while recovery runs, and while it does not."""
    async with opened(big) as store:
        quiet = await _latencies(store, scale, asyncio.sleep(1.0))
        started = perf_counter()
        busy = await _latencies(store, scale, recover(store))
        spent = perf_counter() - started
    return [
        Row(
            f"commit of another session during recovery, p99 of {len(busy)} / without",
            "ms",
            *_p99(busy, quiet),
        ),
        Row("the same recovery while four other sessions commit without a pause", "ms", spent * MS),
    ]


async def _latencies(store: SqliteStore, scale: Scale, work: Coroutine[Any, Any, object]) -> list[float]:
    """Seconds per accepted message, by four senders without pauses, as long as `work` lasts."""
    samples: list[float] = []
    task = asyncio.create_task(work)

    async def send(number: int) -> None:
        where = place(number)
        person = PersonId("web:other")
        while not task.done():
            event = f"other-{number}-{perf_counter()}"
            batch = Batch(ACCOUNT, (Inbound(event, Key(where.address), where, person, MESSAGE),))
            started = perf_counter()
            await store.accept(batch)
            samples.append(perf_counter() - started)

    await asyncio.gather(*(send(number) for number in spread(scale.sessions[-1], 4)))
    await task
    return samples


def _p99(busy: list[float], quiet: list[float]) -> tuple[float, float]:
    return percentile(busy, 0.99) * MS, percentile(quiet, 0.99) * MS


async def held_memory(folder: Path, big: Path, scale: Scale) -> list[Row]:
    """New processes with the same work: on the big ledger, and on one that starts empty."""
    clock = SystemClock()
    found = []
    for number in range(ROUNDS):
        _interrupt(big, scale, clock)
        empty = folder / f"empty-{number}"
        seed(empty, 0)
        full = memory.measure(big, scale.sessions[-1], scale.turns)
        found.append((full, memory.measure(empty, 0, scale.turns)))
    full, bare = sorted(found, key=lambda pair: pair[0][0] - pair[1][0])[ROUNDS // 2]
    what = f"memory with {scale.sessions[-1]:,} sessions / an empty ledger"
    return [
        Row(f"{what}, held", "MB", full[0], bare[0], above_floor(10)),
        Row(f"{what}, at most", "MB", full[1], bare[1]),
    ]
