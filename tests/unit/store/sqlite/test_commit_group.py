"""What `commit_group` reports as kept is what a fresh connection finds, whoever fails, and however."""

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import permutations, product
from pathlib import Path

import pytest

from holdfast.clock import SystemClock, SystemIds
from holdfast.errors import (
    ConstraintBroken,
    DiskFull,
    Refused,
    StaleWrite,
    StoreFault,
    StoreUnavailable,
    SyncFailed,
)
from holdfast.model import InstanceId
from holdfast.store.sqlite.commit import CommitOutcome, Work, commit_group
from holdfast.store.sqlite.database import connect_writer, migrate
from holdfast.store.verbs.tx import Tx
from tests.support.connections import Scripted, connect_scripted, no_file_beyond, on_disk, sqlite_error

SCHEMA = """
CREATE TABLE kept (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, body BLOB);
CREATE TABLE late (parent INTEGER REFERENCES kept (id) DEFERRABLE INITIALLY DEFERRED);
CREATE TRIGGER aborts BEFORE INSERT ON kept WHEN NEW.name LIKE 'abort%'
BEGIN SELECT RAISE(ABORT, 'no such name'); END;
CREATE TRIGGER fails BEFORE INSERT ON kept WHEN NEW.name LIKE 'fail%'
BEGIN SELECT RAISE(FAIL, 'no such name'); END;
CREATE TRIGGER rolls_back BEFORE INSERT ON kept WHEN NEW.name LIKE 'rollback%'
BEGIN SELECT RAISE(ROLLBACK, 'no such name'); END;
"""

Fail = Callable[[Scripted], None]


@dataclass(frozen=True)
class Fault:
    """A way to fail: what happens, what the one that failed is told, and what the others are."""

    fail: Fail
    own: type[Exception]
    others: type[Exception] | None = None
    """None: the others are kept."""


def refuse(db: Scripted) -> None:
    raise StaleWrite("t1", 1)


def break_unique(db: Scripted) -> None:
    db.execute("INSERT INTO kept (name) VALUES ('twin'), ('twin')")


def break_not_null(db: Scripted) -> None:
    db.execute("INSERT INTO kept (name) VALUES (NULL)")


def raise_abort(db: Scripted) -> None:
    db.execute("INSERT INTO kept (name) VALUES ('begun'), ('abort')")


def raise_fail(db: Scripted) -> None:
    db.execute("INSERT INTO kept (name) VALUES ('begun'), ('fail')")


def raise_rollback(db: Scripted) -> None:
    db.execute("INSERT INTO kept (name) VALUES ('begun'), ('rollback')")


def refuse_after_rollback(db: Scripted) -> None:
    """SQLite ended the transaction, and the verb's own refusal hides it."""
    with pytest.raises(sqlite3.IntegrityError):
        raise_rollback(db)
    raise StaleWrite("t1", 1)


def go_on_after_rollback(db: Scripted) -> None:
    with pytest.raises(sqlite3.IntegrityError):
        raise_rollback(db)


def fill_the_database(db: Scripted) -> None:
    pages = db.execute("PRAGMA page_count").fetchone()[0]
    db.execute(f"PRAGMA max_page_count = {pages + 1}")
    try:
        db.execute("INSERT INTO kept (name, body) VALUES ('big', zeroblob(100000))")
    finally:
        db.execute("PRAGMA max_page_count = 1000000")


def hit_an_io_error(db: Scripted) -> None:
    """More than the cache holds goes to the log at once, and the log may not grow."""
    db.execute("PRAGMA cache_size = 2")
    with no_file_beyond(10_000):
        db.execute(
            "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 60) "
            "INSERT INTO kept (name, body) SELECT 'big' || i, zeroblob(3000) FROM n"
        )


def be_interrupted(db: Scripted) -> None:
    db.set_progress_handler(lambda: 1, 1)
    try:
        db.execute("INSERT INTO kept (name) VALUES ('begun'), ('interrupted')")
    finally:
        db.set_progress_handler(None, 0)


def have_a_bug(db: Scripted) -> None:
    raise ZeroDivisionError


def have_a_bug_after_rollback(db: Scripted) -> None:
    go_on_after_rollback(db)
    raise ZeroDivisionError


def be_too_big(db: Scripted) -> None:
    """One value beyond what SQLite holds: its statement fails, and nothing else."""
    db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 100_000)
    try:
        db.execute("INSERT INTO kept (name, body) VALUES ('begun', zeroblob(100001))")
    finally:
        db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 1_000_000_000)


def hit_an_os_error(db: Scripted) -> None:
    raise OSError


def run_out_of_memory(db: Scripted) -> None:
    raise MemoryError


def misuse_the_driver(db: Scripted) -> None:
    db.execute("INSERT INTO kept (name) VALUES (:name)", {})


ONE = {
    "refusal": Fault(refuse, StaleWrite),
    "unique": Fault(break_unique, ConstraintBroken),
    "not null": Fault(break_not_null, ConstraintBroken),
    "raise abort": Fault(raise_abort, ConstraintBroken),
    "raise fail": Fault(raise_fail, ConstraintBroken),
    "bug": Fault(have_a_bug, ZeroDivisionError),
    "misuse": Fault(misuse_the_driver, StoreFault),
    "too big": Fault(be_too_big, StoreFault),
}
ALL = {
    "raise rollback": Fault(raise_rollback, ConstraintBroken, StoreUnavailable),
    "refusal after rollback": Fault(refuse_after_rollback, StaleWrite, StoreUnavailable),
    "full": Fault(fill_the_database, DiskFull, DiskFull),
    "i/o error": Fault(hit_an_io_error, StoreUnavailable, StoreUnavailable),
    "interrupt": Fault(be_interrupted, StoreUnavailable, StoreUnavailable),
    "bug after rollback": Fault(have_a_bug_after_rollback, ZeroDivisionError, StoreUnavailable),
    "os error": Fault(hit_an_os_error, OSError, StoreUnavailable),
    "memory": Fault(run_out_of_memory, StoreUnavailable, StoreUnavailable),
}


class Scratch:
    """A small database and the names it should hold."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.db = connect_scripted(path)
        self.db.executescript(SCHEMA)
        self.expected: set[str] = set()
        self._clock = SystemClock()
        self._ids = SystemIds(self._clock)

    def commit(self, works: Sequence[Work]) -> list[CommitOutcome]:
        return commit_group(self.db, works, self._clock, self._ids, InstanceId("i1"))

    def keep(self, name: str, then: Fail | None = None) -> Work:
        """Insert a row and, as its value, return the row as RETURNING gave it; perhaps fail after that."""

        def work(tx: Tx) -> tuple[int, str]:
            tx.changed(name)
            row = self.db.execute("INSERT INTO kept (name) VALUES (?) RETURNING id, name", (name,)).fetchone()
            if then is not None:
                then(self.db)
            return row[0], row[1]

        return work

    def group(self, tag: str, faults: dict[int, Fail], size: int) -> tuple[list[str], list[CommitOutcome]]:
        """Commit a group in which these places fail, and see that the reports and the disk agree."""
        names = [f"{tag} {place}" for place in range(size)]
        outcomes = self.commit([self.keep(name, faults.get(place)) for place, name in enumerate(names)])
        for name, outcome in zip(names, outcomes, strict=True):
            if outcome.error is None:
                self.expected.add(name)
                assert outcome.value[1] == name
                assert outcome.topics == {name}
            else:
                assert outcome.value is None
                assert outcome.topics == set()
        self.agree()
        kept = {outcome.value for outcome in outcomes if outcome.error is None}
        assert kept <= set(on_disk(self.path, "SELECT id, name FROM kept"))
        return names, outcomes

    def agree(self) -> None:
        assert not self.db.in_transaction
        assert {name for (name,) in on_disk(self.path, "SELECT name FROM kept")} == self.expected
        assert on_disk(self.path, "PRAGMA integrity_check") == [("ok",)]

    def still_works(self, tag: str) -> None:
        _, outcomes = self.group(f"after {tag}", {}, 2)
        assert errors(outcomes) == [None, None]


def errors(outcomes: Sequence[CommitOutcome]) -> list[type[BaseException] | None]:
    return [None if outcome.error is None else type(outcome.error) for outcome in outcomes]


@pytest.fixture
def scratch(tmp_path: Path) -> Iterator[Scratch]:
    made = Scratch(tmp_path / "scratch.db")
    yield made
    made.db.close()


PLACES = [(size, place) for size in range(1, 7) for place in range(size)]


def test_all_of_a_group_is_kept_by_one_commit(scratch: Scratch) -> None:
    for size in range(1, 7):
        scratch.db.seen.clear()
        _, outcomes = scratch.group(f"of {size}", {}, size)
        assert errors(outcomes) == [None] * size
        assert scratch.db.seen.count("COMMIT") == 1


@pytest.mark.parametrize("fault", ONE.values(), ids=ONE)
def test_a_refusal_a_broken_rule_or_a_bug_undoes_that_one_alone(scratch: Scratch, fault: Fault) -> None:
    for size, place in PLACES:
        _, outcomes = scratch.group(f"{size}/{place}", {place: fault.fail}, size)
        assert errors(outcomes) == [fault.own if i == place else None for i in range(size)]
        scratch.still_works(f"{size}/{place}")


@pytest.mark.parametrize("fault", ALL.values(), ids=ALL)
def test_a_fault_of_the_machine_undoes_all_and_blames_only_its_cause(scratch: Scratch, fault: Fault) -> None:
    for size, place in PLACES:
        _, outcomes = scratch.group(f"{size}/{place}", {place: fault.fail}, size)
        assert errors(outcomes) == [fault.own if i == place else fault.others for i in range(size)]
        scratch.still_works(f"{size}/{place}")


def test_a_verb_that_goes_on_in_an_ended_transaction_fails_all(scratch: Scratch) -> None:
    for size, place in PLACES:
        _, outcomes = scratch.group(f"{size}/{place}", {place: go_on_after_rollback}, size)
        assert all(isinstance(outcome.error, StoreFault) for outcome in outcomes)
        scratch.still_works(f"{size}/{place}")


def test_two_failures_in_one_group(scratch: Scratch) -> None:
    """The first error that undoes all decides; a refusal beside it is void: it may have been due to that."""
    both = {**ONE, **ALL}
    for (first, second), (a, b) in product(permutations(both, 2), [(0, 1), (0, 3), (1, 2), (2, 3)]):
        at = {a: first, b: second}
        _, outcomes = scratch.group(f"{first}, {second} {a}{b}", {i: both[at[i]].fail for i in at}, 4)
        fatal = next((i for i in (a, b) if at[i] in ALL), None)
        if fatal is None:
            told = [both[at[i]].own if i in at else None for i in range(4)]
        else:
            told = [ALL[at[fatal]].own if i == fatal else ALL[at[fatal]].others for i in range(4)]
        assert errors(outcomes) == told
    scratch.still_works("all of them")


def test_nobody_shares_an_exception_with_a_neighbour(scratch: Scratch) -> None:
    _, outcomes = scratch.group("full", {1: fill_the_database}, 3)
    assert len({id(outcome.error) for outcome in outcomes}) == 3


@pytest.mark.parametrize("death", [SystemExit, KeyboardInterrupt, GeneratorExit])
def test_a_death_is_not_swallowed_and_leaves_nothing(tmp_path: Path, death: type[BaseException]) -> None:
    def die(db: Scripted) -> None:
        raise death

    scratch = Scratch(tmp_path / "scratch.db")
    for size, place in PLACES:
        works = [scratch.keep(f"{size} {i}", die if i == place else None) for i in range(size)]
        with pytest.raises(death):
            scratch.commit(works)
        assert on_disk(scratch.path, "SELECT name FROM kept") == []
        scratch.db.close()
        assert on_disk(scratch.path, "SELECT name FROM kept") == []
        scratch.db = connect_scripted(scratch.path)
    scratch.db.close()


def test_a_death_between_the_work_and_its_commit_leaves_nothing(scratch: Scratch) -> None:
    def die(db: Scripted) -> None:
        raise SystemExit

    scratch.db.script["COMMIT"] = die
    with pytest.raises(SystemExit):
        scratch.commit([scratch.keep("a"), scratch.keep("b")])
    assert on_disk(scratch.path, "SELECT name FROM kept") == []


def failing_commit(name: str, first: str | None) -> Fail:
    def fail(db: Scripted) -> None:
        if first is not None:
            db.plainly(first)
        raise sqlite_error(name)

    return fail


# The first three leave the transaction open; after the others SQLite has rolled it back itself.
UNDONE = {
    "busy": (failing_commit("SQLITE_BUSY", None), StoreUnavailable),
    "busy snapshot": (failing_commit("SQLITE_BUSY_SNAPSHOT", None), StoreUnavailable),
    "interrupt": (failing_commit("SQLITE_INTERRUPT", None), StoreUnavailable),
    "full": (failing_commit("SQLITE_FULL", "ROLLBACK"), DiskFull),
    "write": (failing_commit("SQLITE_IOERR_WRITE", "ROLLBACK"), StoreUnavailable),
}


@pytest.mark.parametrize("fail, told", UNDONE.values(), ids=UNDONE)
def test_a_commit_that_certainly_failed_undoes_all(
    scratch: Scratch, fail: Fail, told: type[Exception]
) -> None:
    for size in range(1, 7):
        scratch.db.script["COMMIT"] = fail
        _, outcomes = scratch.group(f"of {size}", {}, size)
        assert errors(outcomes) == [told] * size
        scratch.still_works(f"{size}")


def test_no_room_for_the_log_undoes_all(scratch: Scratch) -> None:
    """A write that really fails while COMMIT writes the log."""
    scratch.still_works("the start")

    def fail(db: Scripted) -> None:
        with (
            no_file_beyond(scratch.path.with_name("scratch.db-wal").stat().st_size),
            pytest.raises(sqlite3.Error),
        ):
            db.plainly("COMMIT")
        assert not db.in_transaction
        raise sqlite_error("SQLITE_IOERR_WRITE")

    for size in range(1, 7):
        scratch.db.script["COMMIT"] = fail
        _, outcomes = scratch.group(f"of {size}", {}, size)
        assert errors(outcomes) == [StoreUnavailable] * size
        scratch.still_works(f"{size}")


@pytest.mark.parametrize(
    "name", ["SQLITE_IOERR_FSYNC", "SQLITE_IOERR_SHMSIZE", "SQLITE_IOERR", "SQLITE_CORRUPT"]
)
@pytest.mark.parametrize("first", ["COMMIT", "ROLLBACK"])
def test_after_a_commit_of_unknown_outcome_nobody_is_told_anything(
    scratch: Scratch, name: str, first: str
) -> None:
    for size in range(1, 7):
        scratch.db.script["COMMIT"] = failing_commit(name, first)
        outcomes = scratch.commit([scratch.keep(f"{size} {i}") for i in range(size)])
        assert errors(outcomes) == [SyncFailed] * size
        assert all(outcome.value is None and not outcome.topics for outcome in outcomes)


def test_running_out_of_memory_in_a_commit_says_nothing_about_the_disk(scratch: Scratch) -> None:
    def fail(db: Scripted) -> None:
        db.plainly("COMMIT")
        raise MemoryError

    scratch.db.script["COMMIT"] = fail
    assert errors(scratch.commit([scratch.keep("a"), scratch.keep("b")])) == [SyncFailed] * 2


SCRUBBING = ("VACUUM", "PRAGMA wal_checkpoint(TRUNCATE)")


def scrub(tx: Tx) -> bool:
    tx.scrub = True
    return False


@pytest.mark.guards("R16")
@pytest.mark.parametrize("statement", SCRUBBING)
def test_after_a_scrub_that_was_not_synced_nobody_is_told_anything(scratch: Scratch, statement: str) -> None:
    """Rewriting the file is a commit of its own, and copying it makes the log go."""
    scratch.db.script[statement] = failing_commit("SQLITE_IOERR_FSYNC", None)
    outcomes = scratch.commit([scratch.keep("a"), scratch.keep("b", refuse), scrub])
    assert errors(outcomes) == [SyncFailed] * 3
    assert all(outcome.value is None and not outcome.topics for outcome in outcomes)


@pytest.mark.parametrize("name", ["SQLITE_FULL", "SQLITE_BUSY", "SQLITE_IOERR_WRITE", "SQLITE_IOERR_READ"])
@pytest.mark.parametrize("statement", SCRUBBING)
def test_a_scrub_that_finds_no_room_or_no_rest_is_to_be_tried_again(
    scratch: Scratch, statement: str, name: str
) -> None:
    scratch.db.script[statement] = failing_commit(name, None)
    kept, scrubbed = scratch.commit([scratch.keep("a"), scrub])
    assert (kept.error, scrubbed.error, scrubbed.value) == (None, None, False)
    (again,) = scratch.commit([scrub])
    assert (again.error, again.value) == (None, True)


def test_a_rule_broken_only_at_the_commit_undoes_all_and_refuses_nobody_but_a_lone_one(
    scratch: Scratch,
) -> None:
    def break_late(db: Scripted) -> None:
        db.execute("INSERT INTO late VALUES (999)")

    for size, place in PLACES:
        _, outcomes = scratch.group(f"{size}/{place}", {place: break_late}, size)
        assert errors(outcomes) == ([ConstraintBroken] if size == 1 else [StoreUnavailable] * size)
        scratch.still_works(f"{size}/{place}")


def test_rows_somebody_left_unread_undo_all_until_they_are_dropped(scratch: Scratch) -> None:
    """An unfinished writing statement makes COMMIT and RELEASE fail with a real SQLITE_BUSY."""
    left: list[sqlite3.Cursor] = []

    def leave_open(db: Scripted) -> None:
        left.append(db.execute("INSERT INTO kept (name) VALUES ('x'), ('y') RETURNING id"))

    for size, place in PLACES:
        _, outcomes = scratch.group(f"{size}/{place}", {place: leave_open}, size)
        assert errors(outcomes) == [StoreUnavailable] * size
        left.clear()
        scratch.still_works(f"{size}/{place}")


@pytest.mark.parametrize("name", ["SQLITE_BUSY", "SQLITE_IOERR_FSYNC"])
def test_a_group_that_cannot_begin_fails_whole(scratch: Scratch, name: str) -> None:
    told = SyncFailed if name == "SQLITE_IOERR_FSYNC" else StoreUnavailable
    for size in range(1, 7):
        scratch.db.script["BEGIN IMMEDIATE"] = failing_commit(name, None)
        _, outcomes = scratch.group(f"of {size}", {}, size)
        assert errors(outcomes) == [told] * size


def test_a_connection_that_cannot_even_roll_back_is_given_up(scratch: Scratch) -> None:
    scratch.db.script["ROLLBACK"] = failing_commit("SQLITE_IOERR", None)
    outcomes = scratch.commit([scratch.keep("a"), scratch.keep("b", run_out_of_memory)])
    assert errors(outcomes) == [SyncFailed] * 2
    assert on_disk(scratch.path, "SELECT name FROM kept") == []


def test_a_bug_that_cannot_be_undone_alone_fails_all(scratch: Scratch) -> None:
    scratch.db.script["ROLLBACK TO one"] = failing_commit("SQLITE_IOERR", None)
    outcomes = scratch.commit([scratch.keep("a"), scratch.keep("b", have_a_bug)])
    assert errors(outcomes) == [StoreUnavailable] * 2
    assert on_disk(scratch.path, "SELECT name FROM kept") == []


def test_a_rollback_that_complains_and_yet_rolled_back_changes_nothing(scratch: Scratch) -> None:
    scratch.db.script["ROLLBACK"] = failing_commit("SQLITE_IOERR", "ROLLBACK")
    _, outcomes = scratch.group("it", {1: run_out_of_memory}, 3)
    assert errors(outcomes) == [StoreUnavailable] * 3
    scratch.still_works("it")


def test_a_transaction_left_open_by_someone_fails_one_group_and_heals(scratch: Scratch) -> None:
    scratch.db.execute("BEGIN")
    scratch.db.execute("INSERT INTO kept (name) VALUES ('left over')")
    _, outcomes = scratch.group("meanwhile", {}, 3)
    assert errors(outcomes) == [StoreFault] * 3
    scratch.still_works("it")


def test_a_refused_neighbours_writes_are_not_seen_by_those_after_it(scratch: Scratch) -> None:
    def look(tx: Tx) -> int:
        return int(scratch.db.execute("SELECT count(*) FROM kept").fetchone()[0])

    first, refused, looking = scratch.commit([scratch.keep("a"), scratch.keep("b", refuse), look])
    assert (first.error, type(refused.error), looking.value) == (None, StaleWrite, 1)


def test_of_many_rows_one_with_half_a_character_is_kept_without_it_and_none_twice(tmp_path: Path) -> None:
    with closing(connect_writer(tmp_path / "ledger.db")) as db:
        migrate(db)
        told: list[tuple[str, str, dict[str, object]]] = [
            ("a", "s:1", {}),
            ("b", "s:2 \ud83d", {}),
            ("c", "s:3", {}),
        ]
        (outcome,) = commit_group(
            db, [lambda tx: tx.events(told)], SystemClock(), SystemIds(SystemClock()), InstanceId("i")
        )
        assert outcome.error is None
        found = db.execute("SELECT what, subject FROM events ORDER BY id").fetchall()
    assert found == [("a", "s:1"), ("b", "s:2 \ufffd"), ("c", "s:3")]


def test_an_empty_group_is_no_commit(scratch: Scratch) -> None:
    assert scratch.commit([]) == []
    scratch.agree()


def test_a_refusal_keeps_its_own_words(scratch: Scratch) -> None:
    (outcome,) = scratch.commit([scratch.keep("a", refuse)])
    assert isinstance(outcome.error, Refused)
    assert "turn t1" in str(outcome.error)
