"""What the whole gateway costs: messages per second, added latency, start, recovery after a kill, memory."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from time import perf_counter

from holdfast.clock import SystemClock
from holdfast.store.sqlite.store import LEDGER

from . import floors
from .chatting import TOGETHER, Crowd, Lines, Paced, composed
from .interruptions import add_interrupted
from .report import Limit, Row, above_floor, at_most, up_to
from .running import FLOOR, import_floor, up
from .seeding import OLD_INSTANCE, seed
from .timing import ROUNDS, Stretch, interleave, median_round, percentile
from .turn import MESSAGE

MS = 1_000

COMMITS = (
    "accept the message",
    "claim the turn",
    "finish: the answer and the delivery it owes",
    "claim the delivery",
    "record it as sent",
)
"""Every commit of a turn that an agent answers at once, each synced, in order."""
BEFORE_REPLY = 4
"""How many of them come between a message and its reply on a platform that is sent to."""
AGENT_SECONDS = 0.020
_IDLE = 2.0


@dataclass(frozen=True, slots=True)
class Scale:
    """How much is measured."""

    messages: int
    """Per round, for each way to talk."""
    chunk: int
    chats: int
    samples: int
    starts: int
    interrupted: int
    sessions: tuple[int, int]


FULL = Scale(
    messages=1_280, chunk=320, chats=64, samples=300, starts=15, interrupted=10_000, sessions=(1_000, 100_000)
)
QUICK = Scale(
    messages=256, chunk=128, chats=64, samples=60, starts=5, interrupted=2_000, sessions=(1_000, 20_000)
)

Say = Callable[[str], None]

PARTS = ("messages", "latency", "start", "recovery", "memory")


async def run(folder: Path, scale: Scale, say: Say, only: Sequence[str] | None = None) -> list[Row]:
    """The rows of every part, or of the selected ones; the caller removes `folder`."""
    parts: dict[str, Callable[[Path, Scale], Awaitable[list[Row]]]] = {
        "messages": messages,
        "latency": latency,
        "start": start,
        "recovery": recovery,
        "memory": memory,
    }
    rows: list[Row] = []
    for name, part in parts.items():
        if only and name not in only:
            continue
        say(name)
        (folder / name).mkdir()
        rows += await part(folder / name, scale)
    return rows


# Messages per second


async def messages(folder: Path, scale: Scale) -> list[Row]:
    bare = _bare(folder, len(COMMITS))
    homes = [seed(folder / name, 100).parent for name in ("one", "many", "process")]
    async with (
        composed(homes[0], 1, Paced(0)) as one,
        composed(homes[1], scale.chats, Paced(0)) as many,
        up(homes[2], folder),
    ):
        ways: dict[str, Stretch] = {
            "1 chat, in one process": one.run,
            f"{scale.chats} chats, in one process": many.run,
            "1 chat, over the socket": Lines(homes[2], 1, "one").run,
            f"{scale.chats} chats, over the socket": Lines(homes[2], scale.chats, "many").run,
        }
        stretches = (bare.run, *ways.values())
        for stretch in stretches:
            await stretch(scale.chats)
        rounds = [await interleave(stretches, scale.messages, scale.chunk) for _ in range(ROUNDS)]
    bare.close()
    return [
        _rate(f"messages answered: {way} / {len(COMMITS)} bare commits", *median_round(rounds, place, 0))
        for place, way in enumerate(ways, 1)
    ]


def _rate(what: str, seconds: float, floor: float) -> Row:
    return Row(what, "messages/s", 1 / seconds, 1 / floor)


def _bare(folder: Path, commits: int) -> floors.BareCommits:
    return floors.BareCommits(folder / "bare.db", commits, len(MESSAGE))


# Added latency


async def latency(folder: Path, scale: Scale) -> list[Row]:
    """One person talks; agent and commits alternate, so that a slow minute hits both alike."""
    bare = _bare(folder, BEFORE_REPLY)
    model = Paced(AGENT_SECONDS)
    added: list[float] = []
    floor: list[float] = []
    async with composed(seed(folder / "home", 100).parent, 1, model) as crowd:
        await crowd.run(10)
        for number in range(scale.samples):
            added.append(await _added(crowd, model, f"chat-{number // TOGETHER}"))
            began = perf_counter()
            await bare.run(1)
            floor.append(perf_counter() - began)
    bare.close()
    what = f"added to an agent's {AGENT_SECONDS * MS:g} ms, {{}} / {BEFORE_REPLY} bare commits"
    return [
        Row(what.format(name), "ms", percentile(added, share) * MS, percentile(floor, share) * MS)
        for name, share in (("p50", 0.5), ("p99", 0.99))
    ]


async def _added(crowd: Crowd, model: Paced, chat: str) -> float:
    whole = await crowd.one(chat)
    return whole - model.took[-1]


# Start


async def start(folder: Path, scale: Scale) -> list[Row]:
    """From the command to the first answer, each time after a run of its floor."""
    home = seed(folder / "home", 100).parent
    spent: dict[str, list[float]] = {"up": [], "alone": [], "floor": []}
    for number in range(scale.starts + 1):
        found = {"floor": import_floor(folder)}
        for name in ("up", "alone"):
            async with up(home, folder, supervise=name == "up") as gateway:
                found[name] = gateway.seconds
        # The first round compiles the modules and warms the disk's cache.
        if number:
            for name, seconds in found.items():
                spent[name].append(seconds)
    what = f'holdfast up{{}}, command to first answer / python -c "{FLOOR}"'
    floor = median(spent["floor"])
    return [
        _ms(what.format(""), median(spent["up"]), floor, at_most(2.5)),
        _ms(what.format(" --no-supervise"), median(spent["alone"]), floor),
    ]


def _ms(what: str, value: float, floor: float | None = None, limit: Limit | None = None) -> Row:
    return Row(what, "ms", value * MS, None if floor is None else floor * MS, limit)


# Recovery after a kill


async def recovery(folder: Path, scale: Scale) -> list[Row]:
    """A ledger as a kill leaves it, and a gateway that starts on it: when its work goes on."""
    firsts, lasts = [], []
    for number in range(ROUNDS):
        home = seed(folder / f"home-{number}", 1_000).parent
        db = sqlite3.connect(home / LEDGER, isolation_level=None)
        add_interrupted(db, scale.interrupted, SystemClock().now(), found=False)
        async with up(home, folder):
            ready = SystemClock().now()
            await _until_decided(db)
            lasts.append((SystemClock().now() - ready) / MS)
            firsts.append(max(0, _first_claim(db) - ready) / MS)
        db.close()
    after = f"after a kill with {scale.interrupted:,} turns running"
    return [
        Row(f"{after}: ready to the first claim of one", "s", median(firsts), limit=up_to(0.5)),
        Row(f"{after}: ready to all of them decided about", "s", median(lasts), limit=up_to(5)),
    ]


async def _until_decided(db: sqlite3.Connection) -> None:
    """Wait until no turn of the dead process runs and recovery has decided about each."""
    left = (
        "SELECT 1 FROM turns INDEXED BY one_open_turn WHERE ended_at IS NULL AND (owner = ? "
        "OR (state = 'interrupted' AND held IS NULL)) LIMIT 1"
    )
    while db.execute(left, (OLD_INSTANCE,)).fetchone():  # noqa: ASYNC110 - another process's ledger rings no bell
        await asyncio.sleep(0.02)


def _first_claim(db: sqlite3.Connection) -> int:
    found = db.execute(
        "SELECT min(at) FROM events WHERE what = 'claimed' AND instance <> ?", (OLD_INSTANCE,)
    ).fetchone()[0]
    return int(found)


# Memory


async def memory(folder: Path, scale: Scale) -> list[Row]:
    """Memory of both processes, idle, on a small ledger and on a large one."""
    held: list[list[float]] = [[], []]
    homes = [seed(folder / str(sessions), sessions).parent for sessions in scale.sessions]
    for _ in range(ROUNDS):
        for home, found in zip(homes, held, strict=True):
            async with up(home, folder) as gateway:
                await asyncio.sleep(_IDLE)
                found.append(gateway.megabytes())
    small, large = map(median, held)
    few, many = scale.sessions
    return [
        Row(f"memory of both processes, idle, {few:,} sessions", "MB", small, limit=up_to(80)),
        Row(f"memory with {many:,} sessions / {few:,}", "MB", large, small, above_floor(2)),
    ]
