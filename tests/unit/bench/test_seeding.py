import asyncio
import sqlite3
from pathlib import Path

from bench.interruptions import MIX, add_interrupted, clear_leftovers
from bench.recovery import recover
from bench.seeding import seed, spread
from bench.turn import COMMITS, Turns
from holdfast.clock import SystemClock, SystemIds
from holdfast.policy.recovery.outcome import Outcome
from holdfast.store import open_ledger


def test_a_seeded_ledger_is_sound_and_serves_turns(tmp_path: Path) -> None:
    seed(tmp_path, 20, entries=4)

    async def work() -> tuple[str, ...]:
        clock = SystemClock()
        store = await open_ledger(tmp_path, clock, SystemIds(clock))
        await Turns(store, (1, 20)).run(3)
        problems = await store.verify()
        await store.close()
        return problems

    assert asyncio.run(work()) == ()


def test_the_mix_has_every_outcome_and_recovery_leaves_a_sound_ledger(tmp_path: Path) -> None:
    clock = SystemClock()
    path = seed(tmp_path, 5)
    db = sqlite3.connect(path, isolation_level=None)
    add_interrupted(db, 200, clock.now())
    db.close()

    async def work() -> tuple[dict[Outcome, int], tuple[str, ...]]:
        store = await open_ledger(tmp_path, clock, SystemIds(clock))
        written = await recover(store)
        problems = await store.verify()
        await store.close()
        return dict(written), problems

    written, problems = asyncio.run(work())
    assert set(written) == set(Outcome)
    assert sum(written.values()) == 200
    assert problems == ()


def test_turns_as_a_kill_leaves_them_are_found_and_recovered(tmp_path: Path) -> None:
    clock = SystemClock()
    path = seed(tmp_path, 5)
    db = sqlite3.connect(path, isolation_level=None)
    add_interrupted(db, 100, clock.now(), found=False)
    db.close()

    async def work() -> tuple[int, int, tuple[str, ...]]:
        store = await open_ledger(tmp_path, clock, SystemIds(clock))
        orphans = await store.interrupt_orphans()
        written = await recover(store)
        problems = await store.verify()
        await store.close()
        return orphans, written.total(), problems

    assert asyncio.run(work()) == (100, 100, ())


def test_leftovers_are_ended(tmp_path: Path) -> None:
    path = seed(tmp_path, 5)
    db = sqlite3.connect(path, isolation_level=None)
    add_interrupted(db, 100, 1)
    clear_leftovers(db, 2)
    assert db.execute("SELECT count(*) FROM turns WHERE ended_at IS NULL").fetchone() == (0,)
    db.close()


def test_the_shares_of_the_mix_are_of_a_hundred() -> None:
    assert sum(kind.share for kind in MIX) == 100


def test_a_durable_turn_has_the_agreed_number_of_commits() -> None:
    assert len(COMMITS) == 11


def test_a_spread_visits_different_sessions() -> None:
    assert len(set(spread(1_000, 300))) == 300
    assert spread(3, 10) == (1, 2, 3)
