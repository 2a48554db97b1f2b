"""The ledger on SQLite: one writer, a few readers, one gateway per home."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import sqlite3
import sys
from collections.abc import Callable, Coroutine
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

from holdfast import __version__
from holdfast.clock import Clock, Ids, boot_id
from holdfast.errors import Damaged, DiskFull, StoreFault, StoreUnavailable, SyncFailed
from holdfast.model import InstanceId, Stopped, TurnId
from holdfast.store.contract import Continuity, LiveNotice
from holdfast.store.verbs import repair, transcripts
from holdfast.store.verbs.delivery import deliveries as sending
from holdfast.store.verbs.intake import allowed_calls as allowed
from holdfast.store.verbs.intake import arrivals, blobs, goals, intake, people
from holdfast.store.verbs.intake import questions as asked
from holdfast.store.verbs.recovery import drain as drains
from holdfast.store.verbs.recovery import erase as erasing
from holdfast.store.verbs.recovery import retention, stale
from holdfast.store.verbs.recovery.after_restore import restored
from holdfast.store.verbs.reports import history_search, queries
from holdfast.store.verbs.reports import overview as operators
from holdfast.store.verbs.reports.verify import verify
from holdfast.store.verbs.turn import claims, endings, notices, resume, steps
from holdfast.store.verbs.turn import processes as background
from holdfast.store.verbs.turn.partials import partials
from holdfast.store.verbs.tx import Read, Tx

from .changes import Changes
from .database import connect_reader, connect_writer, migrate, renew_log, settle_log
from .faults import is_damage, may_be_damage, translate
from .home_lock import HomeLock
from .last_word import LastWord, read_last_word, reserve_last_word, say_last_word, take_standstill
from .ports import Readers, Writer
from .readers import ReaderThreads
from .sql import SQL
from .writer import WriterThread

log = logging.getLogger(__name__)

P = ParamSpec("P")
R = TypeVar("R")

LEDGER = "ledger.db"

EXIT_SYNC_FAILED = 1


def _commit(
    work: Callable[Concatenate[Tx, P], R],
    apart: Callable[Concatenate[Tx, P], R] | None = None,
) -> Callable[Concatenate[SqliteStore, P], Coroutine[Any, Any, R]]:
    """Make a verb that is one commit.

    If damage below the schema stops it, the store mends the damage and runs the verb once more. With `apart`
    the second run treats each row alone, so that a row which cannot be mended does not stop the others.
    """

    async def verb(self: SqliteStore, /, *args: P.args, **kwargs: P.kwargs) -> R:
        result: R
        try:
            result = await self._writer.submit(lambda tx: work(tx, *args, **kwargs))
        except Exception as fault:
            if not may_be_damage(fault):
                raise
            # A commit of its own: a second fault undoes neither the repair nor another transaction.
            if not await self._writer.submit(repair.mend_open_work) and apart is None:
                raise
            again = apart or work
            result = await self._writer.submit(lambda tx: again(tx, *args, **kwargs))
        return result

    return verb


def _look(
    work: Callable[Concatenate[Read, P], R],
) -> Callable[Concatenate[SqliteStore, P], Coroutine[Any, Any, R]]:
    """Make a verb that only reads, at one snapshot."""

    async def verb(self: SqliteStore, /, *args: P.args, **kwargs: P.kwargs) -> R:
        return await self._readers.read(lambda read: work(read, *args, **kwargs), self._clock.now())

    return verb


class SqliteStore:
    """Implements `Store`: the contract says what each verb guarantees, the named function does it."""

    def __init__(
        self,
        instance: InstanceId,
        clock: Clock,
        lock: HomeLock,
        writer: Writer,
        readers: Readers,
        changes: Changes,
        home: Path | None = None,
    ) -> None:
        """With `home`, a file there keeps how this run ended if the ledger cannot."""
        self._instance = instance
        self._clock = clock
        self._lock = lock
        self._writer = writer
        self._readers = readers
        self._changes = changes
        self._home = home

    @property
    def instance(self) -> InstanceId:
        return self._instance

    def version(self, topic: str) -> int:
        return self._changes.version(topic)

    async def changed(self, topic: str, since: int) -> int:
        return await self._changes.changed(topic, since)

    async def close(self) -> None:
        # The writer closes last: the last connection leaves a database without a log.
        try:
            await self._readers.close()
        finally:
            await self._writer.close()
            self._lock.release()

    async def end_instance(self, how: Stopped) -> None:
        try:
            await self._end_instance(how)
        except (DiskFull, StoreUnavailable) as fault:
            if self._home is None:
                raise
            log.error("the ledger cannot keep how this run ends (%s); it is written beside it", fault)
            say_last_word(self._home, LastWord(self._instance, how, self._clock.now()))

    async def continuity(self) -> Continuity:
        return await self._continuity(self._instance)

    async def stops(self) -> tuple[TurnId, ...]:
        return await self._stops(self._instance)

    async def live_notices(self) -> tuple[LiveNotice, ...]:
        return await self._live_notices(self._instance)

    async def unsent(self, platforms: tuple[str, ...], until: int) -> int:
        return await self._unsent(self._instance, platforms, until)

    begin_instance = _commit(intake.begin_instance)
    heartbeat = _commit(intake.heartbeat)
    _end_instance = _commit(intake.end_instance)
    end_instance_before = _commit(intake.end_instance_before)
    note_standstill = _commit(intake.note_standstill)
    instances = _look(intake.instances)
    accept = _commit(arrivals.accept)
    cursor = _look(intake.cursor)
    revise = _commit(intake.revise)
    commands = _look(intake.commands)
    settle_row = _commit(intake.settle_row)
    take_up = _commit(intake.take_up)
    stop = _commit(endings.stop)
    configure_chat = _commit(intake.configure_chat)
    chat_settings = _look(intake.chat_settings)
    known_chats = _look(intake.known_chats)
    request = _commit(intake.request)
    requests = _look(intake.requests)
    settle_request = _commit(intake.settle_request)

    claim = _commit(claims.claim)
    claim_ready = _commit(claims.claim_ready)
    record = _commit(steps.record)
    progress = _commit(steps.progress)
    partials = _look(partials)
    finish = _commit(endings.finish)
    wait = _commit(endings.wait)
    spent = _look(steps.spent)
    put_back = _commit(endings.put_back)
    interrupt = _commit(endings.interrupt)
    _stops = _look(endings.stops)
    clear_suspect = _commit(endings.clear_suspect)
    mark = _commit(steps.mark)
    retry = _commit(resume.retry)
    revive = _commit(resume.revive)
    reopen = _commit(resume.reopen)
    find_session = _look(resume.find_session)
    release_conversation = _commit(resume.release_conversation)
    on_hold = _look(resume.on_hold)
    transcript = _look(transcripts.transcript)
    set_entries_aside = _commit(transcripts.set_entries_aside)
    search = _look(history_search.search)
    journal = _look(transcripts.journal)
    live_session = _look(claims.live_session)
    waiting = _look(claims.waiting)
    answer = _commit(asked.answer)
    questions = _look(asked.questions)
    owner_questions = _look(asked.owner_questions)
    set_question_aside = _commit(asked.set_question_aside)
    question_undeliverable = _commit(asked.question_undeliverable)
    expire_questions = _commit(asked.expire_questions, asked.expire_questions_apart)
    withdraw_questions = _commit(asked.withdraw_questions, asked.withdraw_questions_apart)
    keep_asking = _commit(asked.keep_asking, asked.keep_asking_apart)

    owe = _commit(sending.owe)
    claim_deliveries = _commit(sending.claim_deliveries, sending.claim_deliveries_apart)
    next_send_at = _look(sending.next_send_at)
    record_delivery = _commit(sending.record_delivery)
    settle_delivery = _commit(sending.settle_delivery)
    expire_delivery = _commit(sending.expire_delivery)
    in_doubt = _look(sending.in_doubt)
    failing = _look(sending.failing)
    hurry_delivery = _commit(sending.hurry_delivery)
    step_aside = _commit(sending.step_aside)
    unsettled = _look(sending.unsettled)
    doubt_orphans = _commit(sending.doubt_orphans, sending.doubt_orphans_apart)
    deliveries = _look(sending.deliveries)
    last_number = _look(sending.last_number)

    tell_working = _commit(notices.tell_working)
    _live_notices = _look(notices.live_notices)
    reword_notice = _commit(notices.reword_notice)
    forget_notice = _commit(notices.forget_notice)
    cards = _look(notices.cards)
    close_card = _commit(notices.close_card)
    keep_blob = _commit(blobs.keep_blob)
    bring_blob = _commit(blobs.bring_blob)
    blob = _look(blobs.blob)
    known_blobs = _look(blobs.known_blobs)

    set_goal = _commit(goals.set_goal)
    stop_goal = _commit(goals.stop_goal)
    goal = _look(goals.goal)

    pair = _commit(people.pair)
    grant = _commit(people.grant)
    revoke = _commit(people.revoke)
    grants = _look(people.grants)
    asking = _look(people.asking)

    allowed_calls = _look(allowed.allowed_calls)
    revoke_allowed_call = _commit(allowed.revoke_allowed_call)

    processes = _look(background.processes)
    known_processes = _look(background.known_processes)
    adopt_process = _commit(background.adopt_process)
    end_process = _commit(background.end_process)
    match_process = _commit(background.match_process)
    consume_process = _commit(background.consume_process)

    mend = _commit(repair.mend)
    interrupt_orphans = _commit(stale.interrupt_orphans)
    stale_turns = _look(stale.stale_turns)
    settle_stale = _commit(stale.settle_stale)
    lane_taken = _look(stale.lane_taken)

    running_turns = _look(drains.running_turns)
    tell_running = _commit(drains.tell_running)
    reply_settled = _look(drains.reply_settled)
    _unsent = _look(drains.unsent)

    quiet = _commit(erasing.quiet)
    erase = _commit(erasing.erase)
    scrub = _commit(erasing.scrub)
    others_spoke = _look(erasing.others_spoke)

    sessions = _look(queries.sessions)
    chats = _look(queries.chats)
    session = _look(queries.session)
    turns = _look(queries.turns)
    row = _look(queries.row)
    trace = _look(queries.trace)
    _continuity = _look(queries.continuity)
    keep_continuity = _commit(queries.keep_continuity)
    continuity_reports = _look(queries.continuity_reports)
    restored = _look(restored)
    overview = _look(operators.overview)
    find_sessions = _look(operators.find_sessions)
    platforms = _look(operators.platforms)
    inspect = _look(operators.inspect)
    whereabouts = _look(operators.whereabouts)
    set_aside = _look(operators.set_aside)
    verify = _look(verify)
    retain = _commit(retention.retain)


async def open_ledger(
    home: Path,
    clock: Clock,
    ids: Ids,
    on_sync_failed: Callable[[SyncFailed], None] | None = None,
) -> SqliteStore:
    """Take the home's lock, bring the schema up to date, and register this process run.

    Raises `HomeLocked` before it opens anything, `SchemaTooNew` or `WeakDurability` before it changes
    anything. A failed sync ends the process, unless the caller passes `on_sync_failed`.
    """
    lock = HomeLock(home)
    lock.take()
    return await open_under(lock, home / LEDGER, clock, ids, on_sync_failed or end_process)


async def open_under(
    lock: HomeLock,
    path: Path,
    clock: Clock,
    ids: Ids,
    on_sync_failed: Callable[[SyncFailed], None],
    connect: Callable[[Path], sqlite3.Connection] = connect_writer,
) -> SqliteStore:
    """Open a ledger whose home is locked; a failure here, or the close of the store, frees the lock."""
    changes = Changes()
    try:
        # The clock may have been set back since the last run: new ids must still sort last.
        ids.start_after(await asyncio.to_thread(prepare, path, on_sync_failed))
        instance = InstanceId(ids.new())
        writer = WriterThread(lambda: connect(path), clock, ids, instance, changes.announce, on_sync_failed)
    except BaseException:
        lock.release()
        raise
    readers = ReaderThreads(lambda: connect_reader(path))
    home = path.parent
    store = SqliteStore(instance, clock, lock, writer, readers, changes, home)
    try:
        if (word := read_last_word(home)) is not None:
            await store.end_instance_before(word.instance, word.how, word.at)
        if (pid := take_standstill(home)) is not None:
            await store.note_standstill(pid)
        with suppress(OSError):  # Without the file, an end that the ledger cannot keep counts as a crash.
            reserve_last_word(home)
        await store.begin_instance(socket.gethostname(), os.getpid(), boot_id() or "unknown", __version__)
    except BaseException:
        await store.close()
        raise
    return store


def prepare(path: Path, on_sync_failed: Callable[[SyncFailed], None]) -> str:
    """Bring the file up to date and return the newest id in it; raises `Damaged` if it cannot be read."""
    renew_log(path)
    try:
        with closing(connect_writer(path)) as db:
            _bring_up_to_date(db, on_sync_failed)
            return str(db.execute(SQL["newest_id"].text).fetchone()[0])
    except (sqlite3.Error, StoreFault) as error:
        if is_damage(error.__cause__ or error):
            raise Damaged(str(path), str(error.__cause__ or error)) from error
        raise translate(error) from error


def _bring_up_to_date(db: sqlite3.Connection, on_sync_failed: Callable[[SyncFailed], None]) -> None:
    """Copy the log before the connection closes: after a failed sync, the close would drop the log."""
    try:
        settle_log(db)
        migrate(db)
        settle_log(db)
    except SyncFailed as error:
        on_sync_failed(error)
        raise


def end_process(error: SyncFailed) -> None:
    """End the process at once: only a new start can tell what the disk holds, so confirm nothing more."""
    sys.stderr.write(f"holdfast: {error}; ending at once, the next start recovers\n")
    sys.stderr.flush()
    os._exit(EXIT_SYNC_FAILED)
