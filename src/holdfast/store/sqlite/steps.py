"""Recording a running turn: every write shows its fence, and one commit holds one whole step."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.errors import NotFound, StaleWrite, StopAsked, WrongState
from holdfast.model import (
    Body,
    CallId,
    CallState,
    Entry,
    Fence,
    InboxState,
    Journal,
    Noted,
    Position,
    Replied,
    Returned,
    Said,
    SessionId,
    StopKind,
    Summed,
    Tail,
    TurnId,
)
from holdfast.model.transcript import RESUME_NOTES
from holdfast.store.contract import Ask, Recorded, Spawned, Step, Usage

from . import rows
from .codec import dump_body, dump_list
from .commit import Tx
from .intake import refresh_conversation, row_is_not
from .owing import owe_all, owe_one
from .processes import consume_process
from .readers import Read

_REAL_RESULTS = (CallState.DONE, CallState.FAILED)


def is_output(body: Body) -> bool:
    """Model output or a real tool result: what counts as this run having produced something."""
    if isinstance(body, Replied):
        return bool(body.text or body.calls)
    return isinstance(body, Returned) and body.state in _REAL_RESULTS


def pass_fence(
    tx: Tx, fence: Fence, tail: Tail | None = None, append: Sequence[Body] = (), alive: bool = False
) -> StopKind | None:
    """Refuse a stale owner; else note progress and the tail, and say whether a stop was asked."""
    produced = any(is_output(body) for body in append)
    noted = max((b.count for b in append if isinstance(b, Noted) and b.note in RESUME_NOTES), default=0)
    row = tx.one(
        "step_turn",
        turn=fence.turn,
        session=fence.session,
        generation=fence.generation,
        owner=fence.owner,
        tail=tail,
        noted=noted,
        progress=alive or produced or any(isinstance(body, Said) for body in append),
        productive=produced,
        now=tx.now,
    )
    if row is None:
        raise StaleWrite(fence.turn, fence.generation)
    return StopKind(row[0]) if row[0] else None


def append_entries(tx: Tx, session: SessionId, turn: TurnId, bodies: Sequence[Body]) -> tuple[Entry, ...]:
    """Append to the transcript in order; a result settles its call in the same breath."""
    if not bodies:
        return ()
    last = tx.one("take_seqs", session=session, count=len(bodies))
    if last is None:
        raise NotFound("session", session)
    entries = []
    for seq, body in enumerate(bodies, start=last[0] - len(bodies) + 1):
        kind, call, count, text = dump_body(body)
        tx.run(
            "add_entry",
            session=session,
            seq=seq,
            turn=turn,
            kind=kind,
            call=call,
            count=count,
            body=text,
            now=tx.now,
        )
        if isinstance(body, Returned):
            _settle_call(tx, turn, body)
        entries.append(Entry(seq, turn, tx.now, body))
    return tuple(entries)


def _settle_call(tx: Tx, turn: TurnId, result: Returned) -> None:
    if not tx.run("settle_call", turn=turn, id=result.call, state=result.state, now=tx.now):
        raise WrongState(f"call {result.call}", None, f"unsettled, for {result.state}")


def settle_open_calls(tx: Tx, session: SessionId, turn: TurnId) -> None:
    """A turn that ends leaves no call open: planned ones were skipped, started ones have no known outcome."""
    bodies = [
        Returned(CallId(id_), *_ENDINGS[CallState(state)])
        for id_, state in tx.all("unsettled_calls", turn=turn)
    ]
    append_entries(tx, session, turn, bodies)


_ENDINGS = {
    CallState.PLANNED: (CallState.SKIPPED, "Not run: the turn ended first."),
    CallState.STARTED: (
        CallState.UNKNOWN,
        "The turn ended while this ran. It may or may not have happened, and it was not repeated.",
    ),
}


def record(tx: Tx, fence: Fence, step: Step) -> Recorded:
    stop = pass_fence(tx, fence, step.tail, step.append)
    if stop is not None and (step.start or step.plan or step.ask):
        raise StopAsked(fence.turn)
    tx.changed("steps")
    entries = append_entries(tx, fence.session, fence.turn, step.append)
    _plan_and_start(tx, fence, step)
    if step.consume:
        _consume(tx, fence, step.consume)
    for ask in step.ask:
        add_question(tx, fence.session, fence.turn, ask)
    owe_all(tx, step.owe, fence.session, fence.turn)
    for spawned in step.spawn:
        _spawn(tx, fence, spawned)
    for process in step.consume_processes:
        consume_process(tx, process)
    for usage in step.usage:
        _add_usage(tx, fence, usage)
    waiting = tx.one("waiting_count", session=fence.session)
    return Recorded(entries, stop, waiting[0] if waiting else 0)


def _plan_and_start(tx: Tx, fence: Fence, step: Step) -> None:
    starting = set(step.start)
    for call in step.plan:
        tx.run(
            "plan_call",
            turn=fence.turn,
            id=call.id,
            name=call.name,
            arguments=call.arguments,
            effect=call.effect,
            key=call.key,
            start=call.id in starting,
            generation=fence.generation,
            now=tx.now,
        )
        starting.discard(call.id)
    for id_ in sorted(starting):
        if not tx.run("start_call", turn=fence.turn, id=id_, generation=fence.generation, now=tx.now):
            raise WrongState(f"call {id_}", None, "planned, or cut off and safe to run again")


def _consume(tx: Tx, fence: Fence, positions: tuple[Position, ...]) -> None:
    for position in positions:
        take_row(tx, fence.turn, position)
    key = tx.one("key_of_session", session=fence.session)
    assert key is not None
    refresh_conversation(tx, key[0])


def take_row(tx: Tx, turn: TurnId, position: Position) -> None:
    """Consume a waiting row by a turn, once."""
    if not tx.run("take_row", turn=turn, position=position, now=tx.now):
        raise row_is_not(tx, position, InboxState.WAITING)
    tx.event("taken", f"inbox:{position}", turn=turn)


def add_question(tx: Tx, session: SessionId, turn: TurnId, ask: Ask) -> None:
    """Open a question and owe its message: neither stands without the other."""
    tx.run(
        "add_question",
        id=ask.id,
        session=session,
        turn=turn,
        call=ask.call,
        kind=ask.kind,
        call_hash=ask.call_hash,
        asked_of=ask.asked_of,
        text=ask.text,
        options=dump_list(ask.options),
        expires_at=ask.expires_at,
        now=tx.now,
    )
    owe_one(tx, ask.owed, session, turn)
    tx.event("asked", f"question:{ask.id}", turn=turn, kind=ask.kind)


def _spawn(tx: Tx, fence: Fence, spawned: Spawned) -> None:
    tx.run(
        "add_process",
        id=spawned.id,
        session=fence.session,
        turn=fence.turn,
        generation=fence.generation,
        pid=spawned.pid,
        started_ticks=spawned.started_ticks,
        command=spawned.command,
        log=spawned.log,
        notify=spawned.notify,
        patterns=dump_list(spawned.patterns),
        now=tx.now,
    )
    tx.changed("processes")


def _add_usage(tx: Tx, fence: Fence, usage: Usage) -> None:
    tx.run(
        "add_usage",
        turn=fence.turn,
        session=fence.session,
        model=usage.model,
        tokens_in=usage.tokens_in,
        tokens_out=usage.tokens_out,
        cost=usage.cost_microusd,
        now=tx.now,
    )


def progress(tx: Tx, fence: Fence) -> None:
    pass_fence(tx, fence, alive=True)


def mark(tx: Tx, session: SessionId, generation: int, body: Body, read_up_to: int) -> Entry:
    row = tx.one("mark_guard", session=session, generation=generation)
    if row is None:
        raise WrongState(f"session {session}", None, f"at rest at generation {generation}")
    if isinstance(body, Summed) and tx.one("undone_since", session=session, seq=read_up_to):
        raise WrongState(f"session {session}", "undone since the summary was begun", "as it was read")
    (entry,) = append_entries(tx, session, TurnId(row[0]), (body,))
    tx.event("marked", f"session:{session}", seq=entry.seq)
    return entry


def transcript(read: Read, session: SessionId) -> tuple[Entry, ...]:
    return tuple(rows.entry(row) for row in read.all("transcript", session=session))


def journal(read: Read | Tx, turn: TurnId, generation: int) -> Journal:
    return Journal(
        turn,
        generation,
        tuple(rows.call(row) for row in read.all("calls_of_turn", turn=turn)),
        tuple(rows.question(row) for row in read.all("questions_of_turn", turn=turn)),
    )
