"""The one writer: a thread that takes what has gathered, commits it as a group, and reports."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import Any

from holdfast.clock import Clock, Ids
from holdfast.errors import StoreClosed, SyncFailed
from holdfast.model import InstanceId

from .commit import Outcome, Work, commit_group

MOST_IN_A_GROUP = 256

Waiting = tuple[Work, "asyncio.Future[Any]"]


class WriterThread:
    """Commits in the order of submission, as many at a time as have gathered while the last fsync ran."""

    def __init__(
        self,
        connect: Callable[[], sqlite3.Connection],
        clock: Clock,
        ids: Ids,
        instance: InstanceId,
        announce: Callable[[set[str]], None],
        on_sync_failed: Callable[[SyncFailed], None],
    ) -> None:
        self._db = connect()
        self._context = (clock, ids, instance)
        self._announce = announce
        self._on_sync_failed = on_sync_failed
        self._loop = asyncio.get_running_loop()
        self._queue: SimpleQueue[Waiting | None] = SimpleQueue()
        self._closed = False
        self._thread = threading.Thread(target=self._work, name="ledger-writer", daemon=True)
        self._thread.start()

    def submit(self, work: Work) -> asyncio.Future[Any]:
        """Queue a transaction; the future is done once its commit has returned."""
        if self._closed:
            raise StoreClosed("the store is closed; nothing was kept")
        future: asyncio.Future[Any] = self._loop.create_future()
        self._queue.put((work, future))
        return future

    async def close(self) -> None:
        """Commit what was submitted, then end the thread and close the connection."""
        if not self._closed:
            self._closed = True
            self._queue.put(None)
            await asyncio.to_thread(self._thread.join)
            self._db.close()

    def _work(self) -> None:
        open_ = True
        while open_:
            group, open_ = self._gather()
            if group:
                outcomes = commit_group(self._db, [work for work, _ in group], *self._context)
                self._report(group, outcomes)

    def _gather(self) -> tuple[list[Waiting], bool]:
        """Wait for the first transaction, then take all that stand in line with it."""
        item = self._queue.get()
        group: list[Waiting] = []
        while item is not None:
            group.append(item)
            if len(group) == MOST_IN_A_GROUP:
                return group, True
            try:
                item = self._queue.get_nowait()
            except Empty:
                return group, True
        return group, False

    def _report(self, group: list[Waiting], outcomes: list[Outcome]) -> None:
        for outcome in outcomes:
            if isinstance(outcome.error, SyncFailed):
                self._on_sync_failed(outcome.error)
                break
        self._loop.call_soon_threadsafe(self._publish, group, outcomes)

    def _publish(self, group: list[Waiting], outcomes: list[Outcome]) -> None:
        topics: set[str] = set()
        for (_, future), outcome in zip(group, outcomes, strict=True):
            topics |= outcome.topics
            if future.cancelled():
                continue
            if outcome.error is None:
                future.set_result(outcome.value)
            else:
                future.set_exception(outcome.error)
        if topics:
            self._announce(topics)
