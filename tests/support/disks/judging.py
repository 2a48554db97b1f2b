"""What a fresh start makes of a disk: whether it is sound, and which facts the ledger knows."""

import asyncio
import hashlib
import os
import shutil
import sqlite3
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from contextlib import closing
from pathlib import Path

from holdfast.clock import SystemClock, SystemIds
from holdfast.errors import HoldfastError, SyncFailed
from holdfast.model import PersonId
from holdfast.policy.settings import RecoverySettings
from holdfast.recovery import Outside, Reconciler
from holdfast.store import Store, open_ledger
from holdfast.web.auth import SignIn

from .disk import Image
from .events import Event, Told
from .recorder import HOME, LEDGER, matters

_EVERY = frozenset({"post/box", "web/main"})
_FACTS = {
    "kept": "SELECT event_id FROM inbox",
    "asked": """SELECT said.body ->> 'text' || '/' || count(back.seq)
                FROM entries AS said
                LEFT JOIN entries AS back ON back.turn = said.turn AND back.kind = 'returned'
                WHERE said.kind = 'said' AND said.body IS NOT NULL GROUP BY said.session, said.seq""",
    "effect": "SELECT turn || ':' || id FROM tool_calls WHERE started_at IS NOT NULL",
    "started": "SELECT turn || ':' || id FROM tool_calls WHERE started_at IS NOT NULL",
    "sending": "SELECT id FROM outbox WHERE claimed_at IS NOT NULL",
    "sent": "SELECT id FROM outbox WHERE state = 'sent'",
    "blob": "SELECT digest FROM blobs",
    "erased": """SELECT event_id FROM inbox
                 WHERE event_id GLOB 'c*' AND coalesce(body, '') NOT LIKE '%#' || event_id || '%'""",
}


class Found:
    """What a start found."""

    def __init__(self, facts: frozenset[str] = frozenset(), wrong: tuple[str, ...] = ()) -> None:
        self.facts = facts
        self.wrong = wrong


def start(root: Path) -> Found:
    """Start on this disk as a gateway does: lock, log, schema, recovery's round; then look at everything."""
    home = root / HOME
    if not home.exists():
        return Found()
    try:
        SignIn(home, SystemClock()).prepare()
        wrong = asyncio.run(_recover(home))
        return Found(frozenset(_facts(root)), wrong)
    except (HoldfastError, sqlite3.Error, OSError) as fault:
        return Found(wrong=(f"it does not start: {fault!r}",))


async def _recover(home: Path) -> tuple[str, ...]:
    clock = SystemClock()
    store: Store = await open_ledger(home, clock, SystemIds(clock), _broken)
    try:
        outside = Outside(frozenset({store.instance}), frozenset({"post", "web"}), _EVERY, _anybody)
        await Reconciler(store, clock, RecoverySettings(), lambda: outside).boot()
        return await store.verify()
    finally:
        await store.close()


def _anybody(person: PersonId) -> bool:
    return True


def _broken(fault: SyncFailed) -> None:
    """Whoever asks the store is told."""


def _facts(root: Path) -> Iterator[str]:
    with closing(sqlite3.connect(root / LEDGER)) as db:
        for kind, query in _FACTS.items():
            for (name,) in db.execute(query):
                if kind == "blob" and not _is_whole(root / HOME / "blobs" / name[:2] / name):
                    continue
                if kind == "asked":
                    text, _, count = name.rpartition("/")
                    yield from (f"asked:{text}/{before}" for before in range(int(count) + 1))
                else:
                    yield f"{kind}:{name}"


def _is_whole(path: Path) -> bool:
    return path.exists() and hashlib.sha256(path.read_bytes()).hexdigest() == path.name


def write(image: Image, root: Path) -> None:
    """Let a folder hold just this."""
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir(parents=True)
    for path, data in image.items():
        if data is None:
            (root / path).mkdir()
        else:
            with open(root / path, "wb", buffering=0) as file:
                os.write(file.fileno(), data)


def read(root: Path) -> Image:
    """All that matters, as it stands there."""
    return {
        str(path.relative_to(root)): None if path.is_dir() else path.read_bytes()
        for path in (root / HOME, *(root / HOME).rglob("*"))
        if matters(str(path.relative_to(root)))
    }


def digest(image: Image) -> bytes:
    found = hashlib.blake2b(digest_size=16)
    for path in sorted(image):
        data = image[path]
        found.update(f"{path}\0{-1 if data is None else len(data)}\0".encode())
        found.update(data or b"")
    return found.digest()


def lost(found: Found, told: Collection[str]) -> list[str]:
    """What is wrong there, in words; a disk nobody could start on has lost everything anyway."""
    return [*found.wrong] or [f"told and lost: {fact}" for fact in sorted(set(told) - found.facts)]


def repeated(events: Iterable[Event], before: Collection[str] = ()) -> list[str]:
    """Effects that were had twice."""
    facts = [event.fact for event in events if isinstance(event, Told) and event.fact.startswith("effect:")]
    counts = Counter([*facts, *(set(before) & set(facts))])
    return [f"done twice: {fact}" for fact, count in counts.items() if count > 1]
