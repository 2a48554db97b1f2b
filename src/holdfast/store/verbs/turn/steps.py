"""Recording a running turn: every write passes the fence, and one commit holds one whole step."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from holdfast.errors import StaleWrite, StopAsked, WrongState
from holdfast.model import (
    Body,
    CallId,
    CallState,
    ChatAddress,
    Entry,
    Fence,
    InboxKind,
    InboxState,
    Key,
    Noted,
    Owed,
    Partial,
    PersonId,
    Position,
    QuestionKind,
    QuestionState,
    Replied,
    Returned,
    Said,
    SessionId,
    StopKind,
    StopReason,
    Summed,
    Tail,
    ToolCall,
    TurnId,
    Undone,
    Usage,
    place_at,
)
from holdfast.model.transcript import RESUME_NOTES
from holdfast.policy.limits import Spent
from holdfast.policy.turn.calls import no_consent
from holdfast.policy.turn.synthetic_results import Skip, no_answer_text, skipped_text, unknown_text
from holdfast.store.contract import NewQuestion, Recorded, Spawned, Step
from holdfast.store.verbs import rows
from holdfast.store.verbs.codec import dump_body, dump_list, dump_offer, load_message
from holdfast.store.verbs.delivery.outbox_insert import Debt, owe_all, owe_debts
from holdfast.store.verbs.intake.allowed_calls import use_rule
from holdfast.store.verbs.intake.goal_turns import end_goal
from holdfast.store.verbs.intake.intake import refresh_conversation, row_is_not, settle_row
from holdfast.store.verbs.tx import Read, Tx, Value

from .partials import cut_replies, keep_partials
from .processes import consume_process, spawned_values

_REAL_RESULTS = (CallState.DONE, CallState.FAILED)


class Weight(NamedTuple):
    """What appending some entries means for their turn."""

    progress: bool
    """They hold a person's message, model output or a real result; nothing else moves the progress time."""
    produced: bool
    """They hold model output or a real result: this run has produced something."""
    noted: int
    """The number of the interruption that a resume note among them is about; 0 without a note."""


def weigh(append: Sequence[Body]) -> Weight:
    """Derive the weight of these entries in one pass."""
    said, produced, noted = False, False, 0
    for body in append:
        if isinstance(body, Returned):
            produced = produced or body.state in _REAL_RESULTS
        elif isinstance(body, Replied):
            produced = produced or bool(body.text or body.calls)
        elif isinstance(body, Said):
            said = True
        elif isinstance(body, Noted) and body.note in RESUME_NOTES:
            noted = max(noted, body.count)
    return Weight(said or produced, produced, noted)


class Passed(NamedTuple):
    """What a write learns when it passes the fence."""

    stop: StopKind | None
    last_seq: int
    """The number of the last entry that this write appends."""
    waiting: int
    """How many rows wait in the conversation."""


def pass_fence(
    tx: Tx,
    fence: Fence,
    tail: Tail | None = None,
    append: Sequence[Body] = (),
    alive: bool = False,
    written: bool = False,
) -> Passed:
    """Refuse a stale run; else store progress and tail, and reserve numbers for the new entries."""
    progress, produced, noted = weigh(append)
    row = tx.one(
        "step_turn",
        turn=fence.turn,
        session=fence.session,
        generation=fence.generation,
        owner=fence.owner,
        tail=tail and str(tail),
        noted=noted,
        progress=int(alive or progress),
        productive=int(written or produced),
        count=len(append),
        now=tx.now,
        mark=tx.mark,
    )
    if row is None:
        raise StaleWrite(fence.turn, fence.generation)
    return Passed(rows.stop(row[0]), row[1], row[2])


def append_entries(
    tx: Tx, session: SessionId, turn: TurnId, bodies: Sequence[Body], last_seq: int
) -> tuple[Entry, ...]:
    """Append to the transcript, up to `last_seq`; a result also settles its call."""
    entries: list[Entry] = []
    for seq, body in enumerate(bodies, last_seq - len(bodies) + 1):
        if isinstance(body, Returned):
            _settle_call(tx, turn, body, seq)
        tx.write("add_entry", _row(session, turn, seq, body, tx.now))
        entries.append(Entry(seq, turn, tx.now, body))
    return tuple(entries)


def _row(session: SessionId, turn: TurnId, seq: int, body: Body, now: int) -> dict[str, Value]:
    kind, call, count, text = dump_body(body)
    return {
        "session": session,
        "seq": seq,
        "turn": turn,
        "kind": kind,
        "call": call,
        "count": count,
        "body": text,
        "now": now,
    }


def add_result(tx: Tx, session: SessionId, turn: TurnId, result: Returned, seq: int) -> None:
    """Write the entry to which a settled call points as its result."""
    tx.write("add_entry", _row(session, turn, seq, result, tx.now))


def _settle_call(tx: Tx, turn: TurnId, result: Returned, seq: int) -> None:
    if not tx.run("settle_call", turn=turn, id=result.call, state=str(result.state), seq=seq, now=tx.now):
        wanted = CallState.PLANNED if result.state is CallState.SKIPPED else CallState.STARTED
        raise _call_is_not(tx, turn, result.call, wanted)


def _call_is_not(tx: Tx, turn: TurnId, call: CallId, wanted: str) -> WrongState:
    found = tx.one("state_of_call", turn=turn, id=call)
    return WrongState(f"call {call}", found[0] if found else None, wanted)


def settle_open_work(tx: Tx, sessions: Mapping[TurnId, SessionId]) -> dict[TurnId, str]:
    """Settle the open calls and partial replies of ended turns: each call gets a result, each reply an entry.

    Returns the text of the partial replies: the chats saw it and are owed it.
    """
    left: dict[TurnId, list[Returned | Replied]] = defaultdict(list)
    for turn, *call in tx.all("unsettled_calls", turns=json.dumps(list(sessions))):
        left[turn].append(_ending(*call))
    cut = cut_replies(tx, sessions)
    for turn, text in cut.items():
        left[turn].append(Replied(text, StopReason.STOPPED))
    if not left:
        return cut
    counts = json.dumps([(turn, len(bodies)) for turn, bodies in left.items()])
    placed = [
        (turn, seq, body)
        for turn, last_seq in tx.all("take_seqs", counts=counts)
        for seq, body in enumerate(left[turn], last_seq - len(left[turn]) + 1)
    ]
    settled: list[dict[str, Value]] = [
        {"turn": turn, "id": body.call, "state": str(body.state), "seq": seq, "now": tx.now}
        for turn, seq, body in placed
        if isinstance(body, Returned)
    ]
    tx.many("settle_call", settled)
    tx.many("add_entry", [_row(sessions[turn], turn, seq, body, tx.now) for turn, seq, body in placed])
    return cut


def _ending(id_: str, name: str, state: str, silent: str | None, output: str) -> Returned:
    """The result of an open call: planned is skipped, a question got no answer, started is unknown."""
    call, planned = ToolCall(CallId(id_), name, ""), state == CallState.PLANNED
    if silent is not None:
        kind, _, end = silent.partition(" ")
        if kind == QuestionKind.CLARIFY:
            settled = CallState.SKIPPED if planned else CallState.FAILED
            return Returned(call.id, settled, no_answer_text(QuestionState(end)))
        if planned:
            return Returned(call.id, CallState.SKIPPED, skipped_text(call, no_consent(QuestionState(end))))
    if planned:
        return Returned(call.id, CallState.SKIPPED, skipped_text(call, Skip.TURN_ENDED))
    return Returned(call.id, CallState.UNKNOWN, unknown_text(call, output))


def record(tx: Tx, fence: Fence, step: Step) -> Recorded:
    taken = _still_waiting(tx, fence, step.consume) if step.consume else {}
    append = (*step.append, *taken.values()) if taken else step.append
    stop, last_seq, waiting = pass_fence(tx, fence, Tail.MESSAGE if taken else step.tail, append)
    if stop is not None and (step.start or step.plan or step.ask or step.consume):
        raise StopAsked(fence.turn)
    tx.changed("steps")
    if step.plan or step.start:
        _plan_and_start(tx, fence, step, last_seq)
    entries = append_entries(tx, fence.session, fence.turn, append, last_seq)
    if step.consume:
        _consume(tx, fence, step.consume, taken)
    if step.ask:
        add_questions(tx, [(fence.session, fence.turn, ask) for ask in step.ask])
    if step.owe:
        owe_all(tx, step.owe, fence.session, fence.turn)
    for spawned in step.spawn:
        _spawn(tx, fence, spawned)
    for process in step.looked_at:
        tx.run("look_at_process", id=process, session=fence.session, generation=fence.generation)
    for process in step.consume_processes:
        consume_process(tx, process)
    if step.goal is not None:
        end_goal(tx, fence.session, step.goal.state, step.goal.words)
    add_usage(tx, fence, step.usage)
    return Recorded(entries, stop, waiting - len(taken))


_CALLS_PER_COMMIT = 10_000
"""The place of a call is the number of its entry times this, plus its index in that entry."""


def _plan_and_start(tx: Tx, fence: Fence, step: Step, last_seq: int) -> None:
    starting = set(step.start)
    for place, call in enumerate(step.plan, start=last_seq * _CALLS_PER_COMMIT):
        tx.write(
            "plan_call",
            {
                "turn": fence.turn,
                "id": call.id,
                "place": place,
                "name": call.name,
                "arguments": call.arguments,
                "effect": str(call.effect),
                "start": int(call.id in starting),
                "generation": fence.generation,
                "now": tx.now,
            },
        )
        starting.discard(call.id)
    for id_ in sorted(starting):
        if not tx.run("start_call", turn=fence.turn, id=id_, generation=fence.generation, now=tx.now):
            raise _call_is_not(tx, fence.turn, id_, "planned, or cut off and safe to run again")
    for id_, rule in step.under:
        use_rule(tx, fence.turn, id_, rule)


def _still_waiting(tx: Tx, fence: Fence, positions: tuple[Position, ...]) -> dict[Position, Said]:
    """The current text of these rows, in arrival order; only rows that wait in the turn's conversation."""
    found = tx.all("rows_to_consume", positions=json.dumps(positions), session=fence.session)
    return {
        Position(position): Said(text, PersonId(sender), attachments, kind == InboxKind.WAKEUP)
        for position, sender, kind, body in found
        for text, attachments in (load_message(body),)
    }


def _consume(tx: Tx, fence: Fence, positions: tuple[Position, ...], taken: Mapping[Position, Said]) -> None:
    """Take the rows that still wait; pass over the others if they ever were of this conversation."""
    row = tx.one("key_of_session", session=fence.session)
    assert row is not None
    key = Key(row[0])
    for position in positions:
        if position not in taken and not tx.one("row_was_of", position=position, key=key):
            raise row_is_not(tx, position, "waiting in this conversation")
    for position in taken:
        take_row(tx, fence.turn, key, position)
    refresh_conversation(tx, key)


def take_row(tx: Tx, turn: TurnId, key: Key, position: Position) -> None:
    """Consume a waiting row of the turn's own conversation, once."""
    if not tx.run("take_row", turn=turn, key=key, position=position, now=tx.now):
        raise row_is_not(tx, position, "waiting in this conversation")


def add_questions(tx: Tx, asked: Sequence[tuple[SessionId, TurnId, NewQuestion]]) -> None:
    """Open questions and owe their messages, always both."""
    tx.many(
        "add_question",
        [
            {
                "id": ask.id,
                "session": session,
                "turn": turn,
                "call": ask.call,
                "kind": ask.kind,
                "call_hash": ask.call_hash,
                "asked_of": ask.asked_of,
                "text": ask.text,
                "options": dump_list(ask.options),
                "expires_at": ask.expires_at,
                "asked_by": ask.asked_by,
                "of_owner": int(ask.of_owner),
                "offers": dump_offer(ask.offers),
                "now": tx.now,
            }
            for session, turn, ask in asked
        ],
    )
    for _, _, ask in asked:
        if ask.of_owner:
            tx.run("ensure_chat", address=ask.owed.chat, platform=place_at(ask.owed.chat).platform)
    owe_debts(tx, [Debt(ask.owed, session, turn) for session, turn, ask in asked])
    tx.events([("asked", f"question:{ask.id}", {"turn": turn, "kind": ask.kind}) for _, turn, ask in asked])


def _spawn(tx: Tx, fence: Fence, spawned: Spawned) -> None:
    tx.run(
        "add_process",
        session=fence.session,
        turn=fence.turn,
        generation=fence.generation,
        now=tx.now,
        **spawned_values(spawned),
    )
    tx.changed("processes")


def add_usage(tx: Tx, fence: Fence, used: Sequence[Usage]) -> None:
    """Add the cost of model calls to the turn and its chat."""
    for usage in used:
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


def spent(read: Read, turn: TurnId, chat: ChatAddress, since: int) -> Spent:
    ((tokens, cost),) = read.all("spent_in_turn", turn=turn)
    ((day_tokens, day_cost),) = read.all("spent_in_chat", chat=chat, since=since)
    grants = read.all("granted_since", turn=turn, chat=chat, since=since)
    return Spent(tokens, cost, day_tokens, day_cost, tuple(grant for (grant,) in grants))


def progress(tx: Tx, fence: Fence, shown: tuple[Partial, ...] = ()) -> None:
    # A partial reply counts as new model output. Partial output of a tool does not count as a result.
    written = any(one.call is None and one.text for one in shown)
    passed = pass_fence(tx, fence, alive=True, written=written)
    keep_partials(tx, fence, shown, passed.last_seq)


def mark(
    tx: Tx,
    session: SessionId,
    generation: int,
    body: Undone | Summed,
    read_up_to: int,
    by: Position | None = None,
    owe: tuple[Owed, ...] = (),
) -> Entry:
    row = tx.one("mark_guard", session=session, generation=generation)
    if row is None:
        raise WrongState(f"session {session}", None, f"at rest at generation {generation}")
    if isinstance(body, Summed) and tx.one("undone_since", session=session, seq=read_up_to):
        raise WrongState(f"session {session}", "changed by an undo since the summary began", "unchanged")
    turn = TurnId(row[0])
    ((_, last_seq),) = tx.all("take_seqs", counts=json.dumps([(turn, 1)]))
    (entry,) = append_entries(tx, session, turn, (body,), last_seq)
    if isinstance(body, Undone):
        tx.run("forget_tail", turn=turn, first=body.first)
    tx.event("marked", f"session:{session}", seq=entry.seq)
    if by is not None:
        settle_row(tx, by, InboxState.EXECUTED)
    owe_all(tx, owe)
    return entry
