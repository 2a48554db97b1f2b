"""How a turn stops running: ended, waiting, put back, interrupted or stopped; one commit each."""

from __future__ import annotations

from holdfast.errors import StaleWrite, StopAsked, WrongState
from holdfast.model import (
    Body,
    ChatAddress,
    Fence,
    GoalState,
    InboxState,
    InstanceId,
    Key,
    Owed,
    OwedKind,
    Position,
    SessionId,
    StopKind,
    Tail,
    TurnId,
    TurnState,
    Usage,
    partial_key,
)
from holdfast.policy.delivery.parts import Longest
from holdfast.policy.recovery.outcome import UNANSWERED_ROW, Row, told_once
from holdfast.policy.turn.partials import CUT_OFF_HERE, kept_reply
from holdfast.store.contract import StopOutcome, StopResult, Telling, untold
from holdfast.store.verbs import rows
from holdfast.store.verbs.codec import load_message
from holdfast.store.verbs.delivery.outbox_insert import owe_all
from holdfast.store.verbs.intake.goal_turns import end_goal, end_goals, queue_goal_turn
from holdfast.store.verbs.intake.intake import drop_wakeups_of, refresh_conversation, settle_row
from holdfast.store.verbs.tx import Read, Tx

from .steps import add_usage, append_entries, pass_fence, settle_open_work, weigh

_EVERYTHING = 2**62
_ENDS = (TurnState.DONE, TurnState.FAILED, TurnState.CANCELLED)


def finish(
    tx: Tx,
    fence: Fence,
    state: TurnState,
    append: tuple[Body, ...] = (),
    owe: tuple[Owed, ...] = (),
    why: str | None = None,
    tail: Tail | None = None,
    usage: tuple[Usage, ...] = (),
) -> None:
    if state not in _ENDS:
        raise WrongState(f"turn {fence.turn}", state, "done, failed or cancelled")
    done = state is TurnState.DONE
    row = tx.one(
        "finish_turn",
        turn=fence.turn,
        session=fence.session,
        generation=fence.generation,
        owner=fence.owner,
        state=str(state),
        why=why,
        tail=str(tail or Tail.ANSWER) if tail or done else None,
        progress=int(weigh(append).progress),
        count=len(append),
        now=tx.now,
        mark=tx.mark,
    )
    if row is None:
        raise StaleWrite(fence.turn, fence.generation)
    stop, last_seq, has_open_work, is_asking = row
    if stop is not None and state is not TurnState.CANCELLED:
        raise StopAsked(fence.turn)
    append_entries(tx, fence.session, fence.turn, append, last_seq)
    add_usage(tx, fence, usage)
    if has_open_work:
        settle_open_work(tx, {fence.turn: fence.session})
    if is_asking:
        _cancel_questions(tx, fence.turn)
    left = tx.one("after_done" if done else "take_strike_back", session=fence.session, now=tx.now)
    assert left is not None
    key, something_waits, has_goal = left
    if state is TurnState.CANCELLED:
        _carry_out_stop(tx, fence.session, rows.stop(stop))
    owe_all(tx, owe, fence.session, fence.turn)
    if has_goal:
        queue_goal_turn(tx, fence.session, fence.turn)
    # The conversation was not ready while the turn ran; without a waiting row it stays so.
    if something_waits and refresh_conversation(tx, key):
        tx.changed("turns")


def end_turn(tx: Tx, session: SessionId, turn: TurnId, state: TurnState, why: str | None) -> str:
    """Write the final state of a turn that ends outside its run, and settle its calls and questions.

    The strike of the run is taken back. Returns the text of the turn's partial reply.
    """
    tx.run("take_strike_of_run_back", session=session, turn=turn)
    cut = settle_open_work(tx, {turn: session})
    _cancel_questions(tx, turn)
    tx.run("end_turn", turn=turn, state=state, why=why, now=tx.now)
    return cut.get(turn, "")


def owe_partial(tx: Tx, session: SessionId, turn: TurnId, text: str, longest: Longest) -> None:
    """Owe the chat what it saw of a reply before the turn was cut; the turn will not finish the reply."""
    if text:
        chat, message = _replies_to(tx, turn)
        owe_all(tx, kept_reply(chat, turn, text, longest, CUT_OFF_HERE, message), session, turn)


def _replies_to(tx: Tx, turn: TurnId) -> tuple[ChatAddress, str | None]:
    row = tx.one("replies_to", turn=turn)
    assert row is not None
    return ChatAddress(row[0]), row[1]


def _cancel_questions(tx: Tx, turn: TurnId) -> None:
    if tx.run("cancel_questions", turn=turn, now=tx.now):
        tx.changed("questions")


def _carry_out_stop(tx: Tx, session: SessionId, stop: StopKind | None) -> None:
    """Fence off the helpers of a cancelled turn, which may still run; `new` also ends the session."""
    if stop is not None and stop.ends_session:
        end_session(tx, session, "new")
    else:
        tx.run("bump_generation", session=session)


def end_session(tx: Tx, session: SessionId, why: str) -> None:
    """End a session: both counters grow, so that the fence refuses everything that outlives it."""
    tx.run("end_session", session=session, why=why, now=tx.now)
    drop_wakeups_of(tx, (session,))
    end_goals(tx, (session,))
    tx.event("ended", f"session:{session}", why=why)


def release(tx: Tx, session: SessionId) -> None:
    """Free a session: its conversation may be ready again."""
    row = tx.one("key_of_session", session=session)
    if row and refresh_conversation(tx, row[0]):
        tx.changed("turns")


def wait(tx: Tx, fence: Fence) -> None:
    # A question of the gateway is not part of the work: the transcript's tail stays as it was.
    asks = tx.one("model_asks", turn=fence.turn)
    got_no_answer = tx.one("got_no_answer", turn=fence.turn) is not None
    _pass_unstopped(tx, fence, Tail.QUESTION if asks or got_no_answer else None)
    if not tx.run("lay_down_turn" if got_no_answer else "wait_turn", turn=fence.turn):
        raise WrongState(f"turn {fence.turn}", "answered meanwhile", "waiting for an open question")
    tx.run("take_strike_back", session=fence.session)
    tx.event("waiting", f"turn:{fence.turn}")
    if got_no_answer:
        leave_unanswered(tx, fence.turn, fence.session, UNANSWERED_ROW)
    release(tx, fence.session)


def leave_unanswered(
    tx: Tx, turn: TurnId, session: SessionId, row: Row, state: TurnState = TurnState.WAITING
) -> bool:
    """End a turn in this state whose question got no answer; tell the chat once if the row says so.

    A running turn ends later, when it would wait; recovery decides about an interrupted one.
    """
    left = tx.one("leave_unanswered", turn=turn, state=state, why=row.name, now=tx.now)
    if left is None:
        return False
    settle_open_work(tx, {turn: session})
    tx.run("bump_generation", session=session)
    tx.event("expired", f"turn:{turn}", row=row.name)
    if row.told:
        place = tx.one("place_of_session", session=session)
        assert place is not None
        once = told_once(row, turn, left[0])
        owe_all(tx, (Owed(place[1], once, (row.sentence,), OwedKind.NOTICE),), session, turn)
    release(tx, session)
    return True


def _pass_unstopped(tx: Tx, fence: Fence, tail: Tail | None = None) -> None:
    """Pass the fence, but refuse a turn that was asked to stop: at rest, no process would see the request."""
    if pass_fence(tx, fence, tail).stop is not None:
        raise StopAsked(fence.turn)


def put_back(tx: Tx, fence: Fence) -> None:
    _pass_unstopped(tx, fence)
    tx.run("queue_turn", turn=fence.turn)
    tx.run("take_strike_back", session=fence.session)
    tx.event("put_back", f"turn:{fence.turn}")
    release(tx, fence.session)


def interrupt(tx: Tx, fence: Fence, reason: str) -> None:
    pass_fence(tx, fence)
    row = tx.one("interrupt_turn", turn=fence.turn, reason=reason, now=tx.now)
    assert row is not None
    # A run that produced something gives its strike back. Any other run keeps it, and the cut is counted.
    tx.run("take_strike_back" if row[0] else "count_cut", session=fence.session)
    tx.event("interrupted", f"turn:{fence.turn}", reason=reason, count=row[1])
    release(tx, fence.session)
    tx.changed("recovery")


def clear_suspect(tx: Tx, fence: Fence) -> None:
    pass_fence(tx, fence)
    tx.run("clear_suspect", turn=fence.turn)
    tx.run("clear_strikes", session=fence.session)
    tx.event("cleared", f"session:{fence.session}")
    tx.changed("recovery")
    tx.changed("turns")


def stop(tx: Tx, key: Key, kind: StopKind, by: Position | None, tell: Telling = untold) -> StopResult:
    found = _stop(tx, key, kind, by)
    # The partial reply belongs to the session, so that it is erased with the session.
    kept = None if found.turn is None else partial_key(found.turn)
    for owed in tell(found):
        of = (found.session, found.turn) if owed.dedupe == kept else (None, None)
        owe_all(tx, (owed,), *of)
    return found


def _stop(tx: Tx, key: Key, kind: StopKind, by: Position | None) -> StopResult:
    if by is not None:
        settle_row(tx, by, InboxState.EXECUTED, kind)
    before = by if by is not None else _EVERYTHING
    withdrawn = _withdraw(tx, key, before) if kind.ends_session else ()
    kept = _kept(tx, key, before)
    row = tx.one("session_with_last_turn", key=key)
    if row is None:
        refresh_conversation(tx, key)
        return StopResult(StopOutcome.NOTHING, withdrawn=withdrawn, kept=kept)
    session, turn, state = SessionId(row[0]), row[13], row[16]
    outcome, partial = _stop_turn(tx, session, turn, state, row[30] is not None, kind)
    goal = end_goal(tx, session, GoalState.STOPPED) is not None
    if kind.ends_session and outcome is not StopOutcome.ASKED:
        end_session(tx, session, "new")
    release(tx, session)
    ended = None if outcome is StopOutcome.NOTHING else TurnId(turn)
    reply_to = _replies_to(tx, ended)[1] if ended is not None and partial else None
    return StopResult(outcome, ended, session, withdrawn, kept, goal, partial, reply_to)


def _stop_turn(
    tx: Tx, session: SessionId, turn: str | None, state: str | None, ended: bool, kind: StopKind
) -> tuple[StopOutcome, str]:
    """Stop the turn; returns what the stop did, and the turn's partial reply if it ended here."""
    if turn is None or ended:
        return StopOutcome.NOTHING, ""
    if state == TurnState.RUNNING:
        ask_to_stop(tx, TurnId(turn), kind)
        return StopOutcome.ASKED, ""
    partial = end_turn(tx, session, TurnId(turn), TurnState.CANCELLED, kind)
    tx.run("bump_generation", session=session)
    return StopOutcome.ENDED, partial


def stops(read: Read, instance: InstanceId) -> tuple[TurnId, ...]:
    return tuple(TurnId(row[0]) for row in read.all("stops", owner=instance))


def ask_to_stop(tx: Tx, turn: TurnId, kind: StopKind) -> None:
    """Ask the process that runs a turn to end it; the request survives a crash."""
    tx.run("ask_stop", turn=turn, kind=kind, now=tx.now)
    # A message that a person writes from now on does not answer the turn's questions.
    _cancel_questions(tx, turn)
    tx.event("stop_asked", f"turn:{turn}", kind=kind)
    tx.changed("stops")


def _kept(tx: Tx, key: Key, before: int) -> int:
    row = tx.one("count_kept", key=key, before=before)
    return row[0] if row else 0


def _withdraw(tx: Tx, key: Key, before: int) -> tuple[str, ...]:
    rows = tx.all(
        "withdraw_waiting",
        key=key,
        before=before,
        reason="the conversation was ended",
        now=tx.now,
    )
    return tuple(load_message(body)[0] for _, body in sorted(rows))
