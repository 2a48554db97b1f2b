"""A ledger for reading only: it takes no lock, writes nothing, and does not disturb a running gateway."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Coroutine
from contextlib import closing
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

from holdfast.clock import Clock
from holdfast.errors import SchemaTooNew, Unusable
from holdfast.model import InstanceId
from holdfast.store.contract import Continuity
from holdfast.store.verbs import transcripts
from holdfast.store.verbs.delivery import deliveries as sending
from holdfast.store.verbs.intake import allowed_calls as allowed
from holdfast.store.verbs.intake import intake, people
from holdfast.store.verbs.intake import questions as asked
from holdfast.store.verbs.recovery import drain as drains
from holdfast.store.verbs.recovery.after_restore import restored
from holdfast.store.verbs.reports import overview as operators
from holdfast.store.verbs.reports import queries
from holdfast.store.verbs.reports.verify import verify
from holdfast.store.verbs.turn import claims, resume
from holdfast.store.verbs.turn import processes as background
from holdfast.store.verbs.turn.partials import partials
from holdfast.store.verbs.tx import Read

from .database import connect_reader, migrations, schema_version
from .faults import translate
from .readers import ReaderThreads

P = ParamSpec("P")
R = TypeVar("R")

_AFTER_EVERY_RUN = InstanceId("~")


def _look(
    work: Callable[Concatenate[Read, P], R],
) -> Callable[Concatenate[ReadOnlyLedger, P], Coroutine[Any, Any, R]]:
    async def verb(self: ReadOnlyLedger, /, *args: P.args, **kwargs: P.kwargs) -> R:
        return await self._readers.read(lambda read: work(read, *args, **kwargs), self._clock.now())

    return verb


def _schema_of(path: Path) -> int:
    with closing(connect_reader(path)) as db:
        try:
            return schema_version(db)
        except sqlite3.Error as error:
            raise translate(error) from error


class ReadOnlyLedger:
    """The verbs of the store that only read, each at the last commit."""

    def __init__(self, path: Path, clock: Clock) -> None:
        if not path.exists():
            raise Unusable(f"there is no ledger in {path.parent}; nothing has run there yet")
        self._clock = clock
        found, known = _schema_of(path), migrations()[-1][0]
        if found > known:
            raise SchemaTooNew(found, known)
        if found < known:
            raise Unusable(
                f"the ledger in {path.parent} has schema {found} and this Holdfast reads {known}; "
                "the next start of the gateway brings it up to date"
            )
        self._readers = ReaderThreads(lambda: connect_reader(path), threads=1)

    async def continuity(self) -> Continuity:
        """What the last process run left; this reader is no run."""
        return await self._continuity(_AFTER_EVERY_RUN)

    async def close(self) -> None:
        await self._readers.close()

    instances = _look(intake.instances)
    requests = _look(intake.requests)
    live_session = _look(claims.live_session)
    waiting = _look(claims.waiting)
    transcript = _look(transcripts.transcript)
    journal = _look(transcripts.journal)
    deliveries = _look(sending.deliveries)
    last_number = _look(sending.last_number)
    unsettled = _look(sending.unsettled)
    running_turns = _look(drains.running_turns)
    processes = _look(background.processes)
    sessions = _look(queries.sessions)
    chats = _look(queries.chats)
    session = _look(queries.session)
    turns = _look(queries.turns)
    questions = _look(asked.questions)
    owner_questions = _look(asked.owner_questions)
    partials = _look(partials)
    row = _look(queries.row)
    arrivals_of = _look(queries.arrivals_of)
    session_of = _look(queries.session_of)
    trace = _look(queries.trace)
    continuity_reports = _look(queries.continuity_reports)
    restored = _look(restored)
    in_doubt = _look(sending.in_doubt)
    overview = _look(operators.overview)
    find_sessions = _look(operators.find_sessions)
    platforms = _look(operators.platforms)
    inspect = _look(operators.inspect)
    whereabouts = _look(operators.whereabouts)
    on_hold = _look(resume.on_hold)
    set_aside = _look(operators.set_aside)
    grants = _look(people.grants)
    asking = _look(people.asking)
    allowed_calls = _look(allowed.allowed_calls)
    verify = _look(verify)
    _continuity = _look(queries.continuity)
