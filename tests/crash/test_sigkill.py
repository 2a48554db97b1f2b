"""Two hundred times SIGKILL in the middle of real work: exactly what was told to be kept is there."""

import asyncio
import os
import random
import select
import signal
import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path

from holdfast.clock import SystemClock, SystemIds
from holdfast.model import Sent
from holdfast.store import Store, Verdict, open_ledger
from holdfast.store.sqlite import LEDGER
from tests.support.children import Child
from tests.support.judging import judged, rule
from tests.support.loops import LONG
from tests.support.victim import SENT_AT_ONCE

KILLS = 200
SEED = 20_260_101
MOST_LINES = 160
LONGEST_WAIT = 0.004

# What commits leave in the ledger: rows that are only ever added, so that a look begins where the last one
# ended. A delivery that is being sent is a state, and is settled after each look.
ADDED = {
    "inbox": "SELECT position, event_id FROM inbox WHERE position > ?",
    "owed": "SELECT rowid, dedupe FROM outbox WHERE part = parts AND kind = 'reply' AND rowid > ?",
}
# Rows without a number of their own, or that become what they are later: what a look finds anew counts.
BECOME = {
    "claimed": "SELECT id || '/' || generation FROM turns",
    "entry": "SELECT body ->> 'text' FROM entries WHERE (body ->> 'text') LIKE '%/%'",
    "sent": "SELECT id FROM outbox WHERE state = 'sent'",
}
SENDING = "SELECT id FROM outbox WHERE state = 'sending'"

# Verbs that learn only from their commit what they took, and how much that may be.
TAKING = {"claim": ("claimed:", 1), "send": ("sending:", SENT_AT_ONCE)}


class Life:
    """What one victim said: what it was about to commit, and what it was told had been."""

    def __init__(self) -> None:
        self.open: Counter[str] = Counter()
        """Calls of each verb that have not returned."""
        self.tried: set[str] = set()
        """What the open calls would make true, as far as they know."""
        self.told: set[str] = set()
        self.reports = 0

    def hear(self, line: str) -> None:
        sign, verb, *facts = line.split()
        if sign == "?":
            self.open[verb] += 1
            self.tried.update(facts)
        else:
            self.reports += 1
            self.open[verb] -= 1
            self.tried.difference_update(facts)
            self.told.update(facts)

    def compare(self, found: set[str]) -> tuple[set[str], set[str]]:
        """See that nothing told is missing and that nobody else's work is there.

        Returns what landed without being told, and what was tried and did not land.
        """
        assert self.told <= found, f"told and lost: {self.told - found}"
        untold = found - self.told
        taken: set[str] = set()
        for verb, (kind, most) in TAKING.items():
            these = {fact for fact in untold if fact.startswith(kind)}
            assert len(these) <= self.open[verb] * most, f"nobody took {these}"
            taken |= these
        assert untold - taken <= self.tried, f"nobody tried {untold - taken - self.tried}"
        return untold, self.tried - found


class Nursery:
    """Where victims come from."""

    def __init__(self, home: Path) -> None:
        self._process = Child("tests.support.victim", home)
        self._pipe = self._process.output.fileno()
        self._rest = b""

    def live_and_die(self, name: str, chance: random.Random) -> Life:
        """One victim's life: killed after some reports and a moment more, or by its own fault."""
        life = Life()
        self._process.tell(name)
        _, _, victim = self._next_line().split()
        for _ in range(chance.randint(1, MOST_LINES)):
            life.hear(self._next_line())
        self._listen(life, chance.uniform(0, LONGEST_WAIT))
        os.kill(int(victim), signal.SIGKILL)
        while not (line := self._next_line()).startswith("= dead"):
            life.hear(line)
        assert line == f"= dead {-signal.SIGKILL}"
        return life

    def _listen(self, life: Life, seconds: float) -> None:
        """Hear what is said until that much time has passed."""
        clock = SystemClock()
        end = clock.monotonic() + seconds
        while (left := end - clock.monotonic()) > 0:
            if b"\n" in self._rest:
                life.hear(self._next_line())
            elif select.select([self._pipe], [], [], left)[0]:
                self._rest += os.read(self._pipe, 65_536)

    def _next_line(self) -> str:
        while b"\n" not in self._rest:
            assert select.select([self._pipe], [], [], LONG)[0], "the victim hangs"
            more = os.read(self._pipe, 65_536)
            assert more, "the nursery has died"
            self._rest += more
        line, self._rest = self._rest.split(b"\n", 1)
        return line.decode()

    def close(self) -> None:
        assert self._process.end() == 0


class Looker:
    """Looks at what was added to the ledger since the last look, past the store."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._seen = dict.fromkeys(ADDED, 0)
        self._known: set[str] = set()

    def look(self) -> set[str]:
        found: set[str] = set()
        with closing(sqlite3.connect(self._path, isolation_level=None)) as db:
            for kind, query in ADDED.items():
                rows = db.execute(query, (self._seen[kind],)).fetchall()
                self._seen[kind] = max([self._seen[kind], *(row[0] for row in rows)])
                found |= {f"{kind}:{row[1]}" for row in rows}
            become = {f"{kind}:{name}" for kind, query in BECOME.items() for (name,) in db.execute(query)}
            found |= become - self._known
            self._known = become
            found |= {f"sending:{id}" for (id,) in db.execute(SENDING)}
        return found | {fact.replace("sent:", "sending:") for fact in found if fact.startswith("sent:")}


async def recover(home: Path, resume: bool) -> None:
    """What the next start does; after it the ledger is sound, and nothing is left in the air."""
    clock = SystemClock()
    store: Store = await open_ledger(home, clock, SystemIds(clock))
    await store.interrupt_orphans()
    await store.doubt_orphans()
    assert await store.verify() == ()
    decision = rule("resume" if resume else "answered")
    verdicts = [Verdict(stale, decision) for stale in await store.stale_turns()]
    await store.settle_stale((), lambda page, now, entries_of: judged(*verdicts))
    for delivery in await store.in_doubt():
        await store.settle_delivery(delivery.id, Sent("found"))
    await store.close()


def test_what_was_told_before_a_kill_is_there_after_it_and_nothing_else(tmp_path: Path) -> None:
    asyncio.run(recover(tmp_path, resume=False))
    nursery, looker, chance = Nursery(tmp_path), Looker(tmp_path / LEDGER), random.Random(SEED)
    hits = Counter[str]()
    for number in range(KILLS):
        life = nursery.live_and_die(f"{number}", chance)
        landed, lost = life.compare(looker.look())
        asyncio.run(recover(tmp_path, resume=number % 2 == 0))
        looker.look()
        hits.update(reports=life.reports, landed=bool(landed), lost=bool(lost), idle=not landed and not lost)
    nursery.close()
    # A kill between two commits proves little: most must hit an open one, before or after it was written.
    assert hits["landed"] >= KILLS // 10, hits
    assert hits["lost"] >= KILLS // 10, hits
    assert hits["idle"] <= KILLS // 4, hits
