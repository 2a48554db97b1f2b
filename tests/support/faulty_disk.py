"""A process with a ledger on a disk that fails; it says `kept NAME` for each accepted message."""

import asyncio
import os
import resource
import signal
import sys
from collections.abc import Callable
from pathlib import Path

from holdfast.clock import SystemClock, SystemIds
from holdfast.errors import StoreFault
from holdfast.model import Batch, Inbound
from holdfast.store import SqliteStore
from holdfast.store.sqlite import LEDGER
from holdfast.store.sqlite.database import connect_writer
from holdfast.store.sqlite.home_lock import HomeLock
from holdfast.store.sqlite.store import end_process, open_under
from holdfast.store.sqlite.writer import WriterThread
from tests.support.connections import Scripted, sqlite_error
from tests.support.ledger import ACCOUNT, ANN, key, place
from tests.support.seccomp import make_syncs_fail


def say(line: str) -> None:
    os.write(1, f"{line}\n".encode())


async def accept(store: SqliteStore, name: str, size: int = 100) -> bool:
    """Accept a message and tell; or tell what kept us from it."""
    message = Inbound(name, key(), place(), ANN, "x" * size)
    try:
        await store.accept(Batch(ACCOUNT, (message,)))
    except StoreFault as fault:
        say(f"{type(fault).__name__} {name}")
        return False
    say(f"kept {name}")
    return True


async def open_at(home: Path) -> SqliteStore:
    clock = SystemClock()
    lock = HomeLock(home)
    lock.take()
    return await open_under(
        lock, home / LEDGER, clock, SystemIds(clock), end_process, lambda path: connect_writer(path, Scripted)
    )


def simulated(first: str) -> Callable[[SqliteStore], None]:
    """The sync fails after the commit has reached the disk, or before any of it has."""

    def fail(db: Scripted) -> None:
        db.plainly(first)
        raise sqlite_error("SQLITE_IOERR_FSYNC")

    def arm(store: SqliteStore) -> None:
        assert isinstance(store._writer, WriterThread)
        db = store._writer._db
        assert isinstance(db, Scripted)
        db.script["COMMIT"] = fail

    return arm


ARM: dict[str, Callable[[SqliteStore], None]] = {
    "real": lambda store: make_syncs_fail(),
    "written": simulated("COMMIT"),
    "unwritten": simulated("ROLLBACK"),
}


async def lose_a_sync(home: Path, how: str) -> None:
    store = await open_at(home)
    for n in range(3):
        await accept(store, f"before {n}")
    # Inside the writer's own thread, where it takes effect.
    await store._writer.submit(lambda tx: ARM[how](store))
    await asyncio.gather(*(accept(store, f"after {n}") for n in range(20)))
    say("survived")


async def lose_a_sync_at(home: Path, statement: str) -> None:
    """Syncs fail from a statement on that is no COMMIT: of a scrub, or of a copy of the log."""
    store = await open_at(home)
    for n in range(3):
        await accept(store, f"before {n}")
    assert isinstance(store._writer, WriterThread)
    db = store._writer._db
    assert isinstance(db, Scripted)
    # Run by the writer's own thread, where it takes effect.
    db.script[statement] = lambda db: make_syncs_fail()
    say(f"scrubbed {await store.scrub()}")
    await accept(store, "after 0")
    say("survived")


async def run_out_of_room(
    store: SqliteStore, take_room: Callable[[], None], give_room: Callable[[], None]
) -> None:
    """Refused again and again while there is no room, served again when there is, and then killed."""
    await accept(store, "before", 3_000)
    take_room()
    refused = 0
    for n in range(200):
        refused += not await accept(store, f"tight {n}", 3_000)
        if refused >= 5:
            break
    await asyncio.gather(*(accept(store, f"together {n}", 3_000) for n in range(5)))
    give_room()
    await asyncio.gather(*(accept(store, f"after {n}", 3_000) for n in range(5)))
    found = await store.verify()
    say(f"verified {found}")


async def hit_a_size_limit(home: Path) -> None:
    store = await open_at(home)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    log = home / f"{LEDGER}-wal"
    await run_out_of_room(
        store,
        lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (log.stat().st_size + 100_000, hard)),
        lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard)),
    )
    os.kill(os.getpid(), signal.SIGKILL)


async def fill_a_file_system(home: Path) -> None:
    """The home lies on a file system of a few megabytes, and something else takes what is left of it."""
    store = await open_at(home)
    ballast = home / "ballast"

    def take_room() -> None:
        with ballast.open("wb", buffering=0) as file:
            try:
                while True:
                    file.write(b"x" * 4096)
            except OSError:
                file.truncate(file.tell() // 4096 * 4096 - 100_000)

    await run_out_of_room(store, take_room, ballast.unlink)
    await store.close()
    again = await open_at(home)
    for row in await again.waiting(key(), limit=1_000):
        say(f"there {row.event_id}")
    await again.close()


def main(what: str, home: Path, how: str) -> None:
    tasks = {
        "sync": lambda: lose_a_sync(home, how),
        "sync-at": lambda: lose_a_sync_at(home, how),
        "limit": lambda: hit_a_size_limit(home),
        "file-system": lambda: fill_a_file_system(home),
    }
    asyncio.run(tasks[what]())


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), sys.argv[3])
