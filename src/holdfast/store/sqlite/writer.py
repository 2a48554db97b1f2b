"""The one writer: a thread that commits all waiting transactions as a group and reports their outcomes."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from typing import Any

from holdfast.clock import Clock, Ids
from holdfast.errors import StoreClosed, StoreFault, SyncFailed
from holdfast.model import InstanceId

from .commit import CommitOutcome, Work, commit_group
from .wal import WriteAheadLog

MOST_IN_A_GROUP = 256

Waiting = tuple[Work, "asyncio.Future[Any]"]
Reported = tuple[list[Waiting], list[CommitOutcome]]

_RINGS = 4_096
"""How many rings one read takes: several may have gathered, and one look takes all reports."""


class WriterThread:
    """Commits in the order of submission: each group is what was submitted during the last fsync.

    After a failed sync it commits nothing more, even if `on_sync_failed` returns.
    """

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
        self._log = WriteAheadLog(self._db)
        self._context = (clock, ids, instance)
        self._announce = announce
        self._on_sync_failed = on_sync_failed
        self._sync_failed: SyncFailed | None = None
        self._loop = asyncio.get_running_loop()
        self._queue: SimpleQueue[Waiting | None] = SimpleQueue()
        self._bell = Doorbell(self._loop, self._publish)
        self._closed = False
        self._thread = threading.Thread(target=self._work, name="ledger-writer", daemon=True)
        self._thread.start()

    def submit(self, work: Work) -> asyncio.Future[Any]:
        """Queue a transaction; the future is done once its commit has returned.

        A caller that stops waiting does not stop the transaction.
        """
        if self._closed:
            raise StoreClosed("the store is closed; nothing was kept")
        future: asyncio.Future[Any] = self._loop.create_future()
        self._queue.put((work, future))
        return future

    async def close(self) -> None:
        """Commit what was submitted, then end the thread, which closes the connection."""
        if not self._closed:
            self._closed = True
            self._queue.put(None)
        await asyncio.to_thread(self._thread.join)
        self._bell.close()

    def _work(self) -> None:
        group: list[Waiting] = []
        try:
            while group := self._gather():
                self._report(group, self._commit([work for work, _ in group]))
                self._keep_log_short(len(group))
        finally:
            # After an orderly end no caller waits; if the thread dies, no caller may wait for ever.
            self._closed = True
            self._db.close()
            self._refuse(group)
            while not self._queue.empty():
                self._refuse(self._gather())

    def _gather(self) -> list[Waiting]:
        """Wait for a transaction and take all others in the queue with it; an empty group means the end."""
        group: list[Waiting] = []
        while (item := self._queue.get()) is not None:
            group.append(item)
            if self._queue.empty() or len(group) == MOST_IN_A_GROUP:
                return group
        if group:
            self._queue.put(None)
        return group

    def _commit(self, works: list[Work]) -> list[CommitOutcome]:
        if self._sync_failed is not None:
            return _failed(self._sync_failed, len(works))
        outcomes = commit_group(self._db, works, *self._context)
        error = outcomes[0].error
        # A failed sync is the error of every outcome, so the first one shows it. None is reported yet.
        if isinstance(error, SyncFailed):
            self._end_writing(error)
        return outcomes

    def _keep_log_short(self, transactions: int) -> None:
        if self._sync_failed is not None:
            return
        try:
            self._log.keep_short(transactions)
        except SyncFailed as error:
            self._end_writing(error)

    def _end_writing(self, error: SyncFailed) -> None:
        self._sync_failed = error
        self._on_sync_failed(error)

    def _report(self, group: list[Waiting], outcomes: list[CommitOutcome]) -> None:
        if not self._bell.ring((group, outcomes)):
            # The loop is gone: no caller waits or can close this thread. Commit the queue, then end.
            self._queue.put(None)

    def _refuse(self, group: list[Waiting]) -> None:
        if group:
            self._report(group, _failed(StoreClosed("the writer has ended; nothing was kept"), len(group)))

    def _publish(self, reported: Reported) -> None:
        topics: set[str] = set()
        for (_, future), outcome in zip(*reported, strict=True):
            topics.update(outcome.topics)
            if future.done():
                continue
            if outcome.error is None:
                future.set_result(outcome.value)
            else:
                future.set_exception(outcome.error)
        if topics:
            self._announce(topics)


class Doorbell:
    """Hands reports from a thread to the event loop, in order.

    The loop's own way (`call_soon_threadsafe`) costs a turn of a single conversation up to a tenth of its
    time, because it reads until an error says that there is no more.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, publish: Callable[[Reported], None]) -> None:
        self._loop = loop
        self._publish = publish
        self._reports: deque[Reported] = deque()
        self._read_end, self._write_end = os.pipe()
        for end in (self._read_end, self._write_end):
            os.set_blocking(end, False)
        loop.add_reader(self._read_end, self._on_ring)

    def ring(self, report: Reported) -> bool:
        """Hand over a report; False if the loop is closed."""
        self._reports.append(report)
        with suppress(BlockingIOError):  # The pipe is full of rings that the loop has not read yet.
            os.write(self._write_end, b"!")
        return not self._loop.is_closed()

    def _on_ring(self) -> None:
        os.read(self._read_end, _RINGS)
        self._publish_all()

    def _publish_all(self) -> None:
        try:
            while self._reports:
                self._publish(self._reports.popleft())
        finally:
            # The loop logs the error of one report; the other reports are still published.
            if self._reports:
                self._loop.call_soon(self._publish_all)

    def close(self) -> None:
        """Publish the last reports, after the thread has ended."""
        self._publish_all()
        if self._write_end >= 0:
            self._loop.remove_reader(self._read_end)
            os.close(self._read_end)
            os.close(self._write_end)
            self._read_end = self._write_end = -1


def _failed(error: StoreFault, count: int) -> list[CommitOutcome]:
    outcomes = [CommitOutcome() for _ in range(count)]
    for outcome in outcomes:
        outcome.error = type(error)(*error.args)
    return outcomes
