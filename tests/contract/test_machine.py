"""Any sequence of verbs, over any number of crashes, leaves the ledger as the small model says."""

import asyncio
import os
import shutil
import tempfile
from collections import Counter
from collections.abc import Coroutine
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from holdfast.errors import HoldfastError, StaleWrite, StopAsked, WrongState
from holdfast.model import (
    TURN,
    BusyMode,
    CallId,
    CallState,
    ChatSettings,
    Delivery,
    DeliveryId,
    DeliveryState,
    EffectClass,
    Fence,
    InboxKind,
    InboxState,
    InstanceId,
    Lost,
    Noted,
    NoteKind,
    OnInterruption,
    OwedKind,
    PersonId,
    Position,
    QuestionId,
    QuestionKind,
    QuestionState,
    Rejected,
    Returned,
    Said,
    SendResult,
    Sent,
    SessionId,
    StopKind,
    Tail,
    TryAgain,
    TurnId,
    TurnState,
    Undone,
)
from holdfast.policy.recovery.outcome import Decision, Outcome, RecoveryFacts, decide
from holdfast.policy.settings import MINUTE, SECOND, QueueSettings
from holdfast.store import ArrivalSettings, Edit, StaleTurn, Step, StopOutcome, Verdict
from holdfast.store.sqlite import LEDGER
from holdfast.store.sqlite.database import connect_writer, migrate
from tests.support.backends import SqliteBackend
from tests.support.ledger import (
    ANN,
    BOB,
    PLATFORM,
    SETTINGS,
    Ledger,
    address,
    answers,
    asks,
    key,
    owed,
    planned,
    result,
)
from tests.support.small_ledger import Part, Question, Session, SmallLedger, Turn
from tests.support.strike_rules import RunEnd

CHATS = ("c1", "c2", "c3")
FOR_EVER = 2**62
BUSY = list(BusyMode)
ARRIVAL = ArrivalSettings(QueueSettings(most=4))
RAM = Path("/dev/shm")
T = TypeVar("T")

chats = st.sampled_from(CHATS)
texts = st.sampled_from(["hello", "red", "continue", "drop"])
stops = st.sampled_from(list(StopKind))
effects = st.sampled_from(list(EffectClass))
ends = st.sampled_from([TurnState.DONE, TurnState.DONE, TurnState.FAILED, TurnState.CANCELLED])
reasons = st.sampled_from(["restart_timeout", "shutdown_timeout", "of_a_newer_version"])


def make_home() -> Path:
    """A folder in memory where there is one: many ledgers are made here, and none has to outlive power."""
    return Path(tempfile.mkdtemp(prefix="holdfast-", dir=RAM if RAM.is_dir() else None))


@cache
def empty_ledger() -> bytes:
    """A migrated database to begin with."""
    home = make_home()
    with closing(connect_writer(home / LEDGER)) as db:
        migrate(db)
    content = (home / LEDGER).read_bytes()
    shutil.rmtree(home)
    return content


class LedgerMachine(RuleBasedStateMachine):
    """Acts on the store and on the model alike, and compares all that can be seen of both."""

    is_open = False

    @initialize()
    def open(self) -> None:
        self.home = make_home()
        (self.home / LEDGER).write_bytes(empty_ledger())
        self.loop = asyncio.Runner()
        self.ledger = Ledger(SqliteBackend(self.home))
        self.run(self.ledger.open())
        self.ledger.arrival = ARRIVAL
        self.model = SmallLedger(CHATS)
        self.events: dict[int, str] = {}
        self.lost: list[Fence] = []
        self.looked: tuple[Verdict, ...] = ()
        self.connected = True
        self.names = 0
        self.is_open = True

    def teardown(self) -> None:
        if not self.is_open:
            return
        try:
            if self.compared:
                self.finish_everything()
                self.same_as_the_model()
                self.nothing_was_lost_or_done_twice()
        finally:
            self.run(self.ledger.store.close())
            self.loop.close()
            shutil.rmtree(self.home)

    # Small helps

    @property
    def now(self) -> int:
        return self.ledger.clock.now()

    def run(self, verb: Coroutine[Any, Any, T]) -> T:
        self.compared = False
        return self.loop.run(verb)

    def refused(self, error: type[HoldfastError], verb: Coroutine[Any, Any, object]) -> None:
        with pytest.raises(error):
            self.run(verb)

    def name(self, what: str) -> str:
        self.names += 1
        return f"{what}{self.names}"

    def mine(self) -> list[Turn]:
        return [turn for turn in self.model.turns(TurnState.RUNNING) if turn.fence]

    def draw(self, data: st.DataObject, turns: list[Turn]) -> tuple[Turn, Fence]:
        turn = data.draw(st.sampled_from(turns))
        assert turn.fence is not None
        return turn, turn.fence

    def with_calls(self, *states: CallState) -> list[Turn]:
        return [turn for turn in self.mine() if turn.calls_in(*states)]

    def asking(self) -> list[Turn]:
        return [turn for turn in self.model.turns(*TurnState) if turn.open_questions]

    def parts(self, *states: DeliveryState) -> list[Part]:
        known = self.model.conversations.values()
        return [part for one in known for part in one.parts if part.state in states]

    def flying(self) -> list[Part]:
        return [part for part in self.parts(DeliveryState.SENDING) if part.mine]

    def chat_of(self, part: Part) -> str:
        return next(
            chat for chat, one in self.model.conversations.items() if any(p is part for p in one.parts)
        )

    def let_go(self, turn: Turn) -> None:
        if turn.fence:
            self.lost.append(turn.fence)

    def progressed(self, turn: Turn, productive: bool = True) -> None:
        turn.progress_at = max(turn.progress_at or 0, self.now)
        turn.productive = turn.productive or productive

    # What comes in

    @rule(chat=chats, text=texts, sender=st.sampled_from([ANN, ANN, BOB]))
    def a_message_arrives(self, chat: str, text: str, sender: PersonId) -> None:
        self.accept(chat, text, sender)

    def accept(self, chat: str, text: str = "hello", sender: PersonId = ANN) -> Position:
        event = self.name("event")
        more = {"event_id": event, "message_id": event, "sender": sender}
        position = self.run(self.ledger.say(text, chat, **more))
        assert position not in self.model.rows
        self.events[position] = event
        turn = self.model.conversations[chat].open_turn
        self.model.arrive(position, chat, text, sender, self.now, ARRIVAL)
        if turn is not None and not turn.is_open:
            self.let_go(turn)
        return position

    def withdrawable(self) -> list[int]:
        return [p for p in self.events if self.model.rows[p].state is InboxState.WAITING]

    @precondition(lambda self: self.withdrawable())
    @rule(data=st.data())
    def a_sender_takes_a_message_back(self, data: st.DataObject) -> None:
        position = data.draw(st.sampled_from(self.withdrawable()))
        row = self.model.rows[position]
        edit = Edit(address(row.chat), self.events[position], None)
        assert self.run(self.ledger.store.revise(edit)) == position
        row.settle(InboxState.WITHDRAWN)

    @precondition(lambda self: self.events)
    @rule(data=st.data())
    def an_event_comes_again(self, data: st.DataObject) -> None:
        position, event = data.draw(st.sampled_from(sorted(self.events.items())))
        chat = self.model.rows[position].chat
        assert self.run(self.ledger.say("again", chat, event_id=event)) == position

    @rule(chat=chats, is_current=st.booleans())
    def a_wakeup_arrives(self, chat: str, is_current: bool) -> None:
        live = self.model.conversations[chat].live
        current = live.incarnation if live and not live.suspended else None
        meant = current if is_current and current is not None else (current or 0) + 7
        position = self.run(self.ledger.say("wake", chat, kind=InboxKind.WAKEUP, incarnation=meant))
        row = self.model.add(position, chat, InboxKind.WAKEUP, "wake")
        if meant != current:
            row.settle(InboxState.DROPPED)

    @rule(chat=chats, kind=stops, by_command=st.booleans())
    def a_person_stops_it(self, chat: str, kind: StopKind, by_command: bool) -> None:
        position: Position | None = None
        if by_command:
            position = self.run(self.ledger.command("/stop", chat))
            self.model.add(position, chat, InboxKind.COMMAND).settle(InboxState.EXECUTED)
        turn = self.model.conversations[chat].open_turn
        expected = StopOutcome.NOTHING
        if turn is not None:
            expected = StopOutcome.ASKED if turn.state is TurnState.RUNNING else StopOutcome.ENDED
        waited = [row for row in self.model.waiting(chat) if row.kind is not InboxKind.WAKEUP]
        stop = self.run(self.ledger.store.stop(key(chat), kind, position))
        assert (stop.outcome, stop.turn) == (expected, turn.id if turn else None)
        assert stop.withdrawn == (tuple(row.text for row in waited) if kind.ends_session else ())
        self.model.stop(chat, kind, position or FOR_EVER)

    @precondition(lambda self: self.events)
    @rule(data=st.data(), choice=st.sampled_from(list(OnInterruption)), busy=st.sampled_from(BUSY))
    def a_chat_chooses(self, data: st.DataObject, choice: OnInterruption, busy: BusyMode) -> None:
        chat = data.draw(st.sampled_from(sorted({row.chat for row in self.model.rows.values()})))
        self.run(self.ledger.store.configure_chat(address(chat), ChatSettings(busy, choice)))
        self.model.conversations[chat].busy = busy

    def sessions(self) -> list[Session]:
        return [session for one in self.model.conversations.values() for session in one.sessions]

    def command(self, session: Session) -> Position:
        position = self.run(self.ledger.command("/resume", session.chat))
        self.model.add(position, session.chat, InboxKind.COMMAND, "/resume")
        return position

    @precondition(lambda self: self.sessions())
    @rule(data=st.data())
    def a_person_revives_a_session(self, data: st.DataObject) -> None:
        session = data.draw(st.sampled_from(self.sessions()))
        by = self.command(session)
        row = self.model.rows[by]
        verb = self.ledger.store.revive(SessionId(session.id), by, "go on")
        if self.model.revive(session, row, "go on", self.now):
            self.run(verb)
        else:
            self.refused(WrongState, verb)
            self.run(self.ledger.store.settle_row(by, InboxState.REFUSED))
            row.settle(InboxState.REFUSED)

    @precondition(lambda self: any(session.ended for session in self.sessions()))
    @rule(data=st.data())
    def a_person_reopens_a_session(self, data: st.DataObject) -> None:
        session = data.draw(st.sampled_from([one for one in self.sessions() if one.ended]))
        by = self.command(session)
        verb = self.ledger.store.reopen(SessionId(session.id), by)
        if self.model.reopen(session):
            self.run(verb)
            self.model.rows[by].settle(InboxState.EXECUTED)
        else:
            self.refused(WrongState, verb)
            self.run(self.ledger.store.settle_row(by, InboxState.REFUSED))
            self.model.rows[by].settle(InboxState.REFUSED)

    @precondition(lambda self: self.sessions())
    @rule(data=st.data(), is_current=st.booleans())
    def a_person_retries(self, data: st.DataObject, is_current: bool) -> None:
        session = data.draw(st.sampled_from(self.sessions()))
        by = self.command(session)
        row = self.model.rows[by]
        entries = self.run(self.ledger.store.transcript(SessionId(session.id)))
        undo = Undone(1, entries[-1].seq)
        generation = session.generation + (0 if is_current else 1)
        verb = self.ledger.store.retry(SessionId(session.id), generation, undo, "again", (), ANN, by)
        if session.ended or session.open_turn or not is_current:
            self.refused(WrongState, verb)
            self.run(self.ledger.store.settle_row(by, InboxState.REFUSED))
            row.settle(InboxState.REFUSED)
        else:
            self.run(verb)
            row.kind, row.text = InboxKind.MESSAGE, "again"

    # Running turns

    @rule()
    def a_turn_is_claimed(self) -> None:
        self.claim()

    @rule(chat=chats)
    def a_turn_begins(self, chat: str) -> None:
        self.accept(chat)
        self.model.refresh(self.now)
        self.claim()

    def claim(self) -> bool:
        """Claim a turn in both; whether there was one."""
        judged: list[tuple[StaleTurn, Decision]] = []

        def judge(stale: StaleTurn, now: int) -> Decision:
            judged.append((stale, self.decide(stale)))
            return judged[-1][1]

        claimed = self.run(self.ledger.store.claim(SETTINGS, judge))
        for stale, decision in judged:
            turn = self.model.turn(stale.turn)
            assert turn.session.chat in self.model.first_in_line()
            self.knows(stale, turn)
            if decision.outcome is not Outcome.RESUME:
                turn.move(TurnState.INTERRUPTED)
                self.model.refresh(self.now)
        if claimed is None:
            assert self.model.first_in_line() == set()
            return False
        chat = claimed.place.chat
        assert chat in self.model.first_in_line()
        before = self.model.conversations[chat].open_turn
        to_take = self.model.to_take(before) if before else []
        was_judged = bool(judged) and judged[-1][0].turn == claimed.turn.id
        assert was_judged is (before is not None and before.interruptions > before.noted)
        turn, fresh = self.model.claim(chat, claimed.fence, self.now)
        assert (claimed.turn.id, claimed.turn.cause, claimed.fresh) == (turn.id, turn.cause, fresh)
        assert (claimed.turn.attempt, claimed.fence.generation) == (turn.attempt, turn.generation)
        assert claimed.session.strikes == turn.session.strikes
        assert (list(claimed.take), claimed.suspect) == (to_take, turn.suspect)
        return True

    @precondition(lambda self: self.mine())
    @rule(data=st.data(), effect=effects, start=st.booleans())
    def a_call_is_planned(self, data: st.DataObject, effect: EffectClass, start: bool) -> None:
        turn, fence = self.draw(data, self.mine())
        id = self.name("call")
        begins = (CallId(id),) if start else ()
        step = Step((asks(id),), Tail.WORK, (planned(id, effect),), begins)
        if turn.stop:
            self.refused(StopAsked, self.ledger.store.record(fence, step))
            return
        self.run(self.ledger.store.record(fence, step))
        turn.plan(id, effect, start)
        self.progressed(turn)

    @precondition(lambda self: self.with_calls(CallState.PLANNED, CallState.STARTED))
    @rule(data=st.data())
    def a_call_is_started(self, data: st.DataObject) -> None:
        states = (CallState.PLANNED, CallState.STARTED)
        turn, fence = self.draw(data, self.with_calls(*states))
        id = data.draw(st.sampled_from(turn.calls_in(*states)))
        verb = self.ledger.store.record(fence, Step(start=(CallId(id),)))
        if turn.stop:
            self.refused(StopAsked, verb)
        elif turn.may_start(id):
            self.run(verb)
            turn.start(id)
        else:
            self.refused(WrongState, verb)

    @precondition(lambda self: self.with_calls(CallState.STARTED))
    @rule(data=st.data(), state=st.sampled_from([CallState.DONE, CallState.FAILED, CallState.UNKNOWN]))
    def a_result_comes(self, data: st.DataObject, state: CallState) -> None:
        turn, fence = self.draw(data, self.with_calls(CallState.STARTED))
        id = data.draw(st.sampled_from(turn.calls_in(CallState.STARTED)))
        self.run(self.ledger.append(fence, result(id, state)))
        turn.calls[id].move(state)
        if state is not CallState.UNKNOWN:
            self.progressed(turn)

    @precondition(lambda self: any(self.model.waiting(turn.session.chat) for turn in self.mine()))
    @rule(data=st.data())
    def a_message_is_steered_in(self, data: st.DataObject) -> None:
        turn, fence = self.draw(data, [t for t in self.mine() if self.model.waiting(t.session.chat)])
        chat = turn.session.chat
        row = self.model.waiting(chat)[0]
        mine = (one for one in self.model.rows.values() if one.chat == chat)
        gone = [one.position for one in mine if one.state is InboxState.WITHDRAWN]
        step = self.ledger.append(fence, consume=tuple(map(Position, (*gone, row.position))))
        if turn.stop is not None:
            self.refused(StopAsked, step)
            return
        recorded = self.run(step)
        said = Said(row.text, row.sender, woken=row.kind is InboxKind.WAKEUP)
        assert [entry.body for entry in recorded.entries] == [said]
        row.settle(InboxState.TAKEN, turn.id)
        self.progressed(turn, productive=False)

    @precondition(lambda self: any(turn.interruptions > turn.noted for turn in self.mine()))
    @rule(data=st.data())
    def a_resume_is_noted(self, data: st.DataObject) -> None:
        turn, fence = self.draw(data, [t for t in self.mine() if t.interruptions > t.noted])
        note = Noted(NoteKind.INTERRUPTED, turn.interruptions, "note")
        self.run(self.ledger.append(fence, note, tail=Tail.NOTE))
        turn.noted = turn.interruptions

    @precondition(lambda self: self.mine())
    @rule(data=st.data(), options=st.sampled_from([(), ("red", "blue")]))
    def a_question_is_asked(self, data: st.DataObject, options: tuple[str, ...]) -> None:
        turn, fence = self.draw(data, self.mine())
        id, call = self.name("question"), self.name("call")
        sent = owed(id, chat=turn.session.chat, kind=OwedKind.QUESTION)
        ask = self.ledger.question(id, call, owed=sent, options=options)
        plan, begins = (planned(call),), (CallId(call),)
        verb = self.ledger.append(fence, asks(call), plan=plan, start=begins, ask=(ask,), tail=Tail.QUESTION)
        if turn.stop:
            self.refused(StopAsked, verb)
            return
        self.run(verb)
        turn.plan(call, EffectClass.EFFECT, start=True)
        turn.questions.append(
            Question(id, QuestionKind.CLARIFY, ask.expires_at, options, self.now, call=call)
        )
        self.model.owe(turn.session.chat, id)
        self.progressed(turn)

    @precondition(lambda self: self.mine())
    @rule(data=st.data())
    def a_turn_is_laid_down_to_wait(self, data: st.DataObject) -> None:
        turn, fence = self.draw(data, self.mine())
        verb = self.ledger.store.wait(fence)
        if turn.stop:
            self.refused(StopAsked, verb)
        elif not turn.open_questions and not turn.got_no_answer:
            self.refused(WrongState, verb)
        else:
            self.run(verb)
            self.let_go(turn)
            turn.move(TurnState.WAITING)
            turn.run_ended(RunEnd.WAITING)
            if turn.got_no_answer:
                self.model.leave_unanswered(turn)

    @precondition(lambda self: self.mine())
    @rule(data=st.data(), end=ends, parts=st.integers(1, 3))
    def a_turn_ends(self, data: st.DataObject, end: TurnState, parts: int) -> None:
        turn, fence = self.draw(data, self.mine())
        chat = turn.session.chat
        words = tuple(f"part {n}" for n in range(parts))
        reply = owed(f"reply:{turn.id}", *words, chat=chat)
        tail = Tail.ANSWER if end is TurnState.DONE else None
        verb = self.ledger.store.finish(fence, end, (answers(),), (reply,), tail=tail)
        if turn.stop and end is not TurnState.CANCELLED:
            self.refused(StopAsked, verb)
            return
        self.run(verb)
        self.let_go(turn)
        self.progressed(turn)
        self.model.finish(turn, end)
        self.model.owe(chat, reply.dedupe, parts)

    @precondition(lambda self: self.mine())
    @rule(data=st.data())
    def a_turn_is_put_back(self, data: st.DataObject) -> None:
        turn, fence = self.draw(data, self.mine())
        verb = self.ledger.store.put_back(fence)
        if turn.stop:
            self.refused(StopAsked, verb)
            return
        self.run(verb)
        self.let_go(turn)
        turn.move(TurnState.QUEUED)
        turn.run_ended(RunEnd.UNBEGUN)

    @precondition(lambda self: self.mine())
    @rule(data=st.data(), reason=reasons)
    def a_drain_cuts_a_turn(self, data: st.DataObject, reason: str) -> None:
        turn, fence = self.draw(data, self.mine())
        self.run(self.ledger.store.interrupt(fence, reason))
        self.let_go(turn)
        turn.move(TurnState.INTERRUPTED)
        turn.interruptions += 1
        turn.run_ended(RunEnd.DRAINED)

    @precondition(lambda self: any(turn.suspect for turn in self.mine()))
    @rule(data=st.data())
    def a_suspect_is_cleared(self, data: st.DataObject) -> None:
        turn, fence = self.draw(data, [turn for turn in self.mine() if turn.suspect])
        self.run(self.ledger.store.clear_suspect(fence))
        turn.suspect, turn.session.strikes, turn.session.follows_park = False, 0, False

    @rule(chat=chats)
    def an_owner_releases_a_conversation(self, chat: str) -> None:
        verb = self.ledger.store.release_conversation(key(chat), None)
        if self.model.conversations[chat].on_hold:
            self.run(verb)
            self.model.conversations[chat].on_hold = False
        else:
            self.refused(WrongState, verb)

    @precondition(lambda self: self.lost)
    @rule(data=st.data(), end=ends)
    def a_stale_owner_writes(self, data: st.DataObject, end: TurnState) -> None:
        fence = data.draw(st.sampled_from(self.lost[-4:]))
        store = self.ledger.store
        self.refused(StaleWrite, store.record(fence, Step((answers(),), owe=(owed(self.name("stale")),))))
        self.refused(StaleWrite, store.finish(fence, end, owe=(owed(self.name("stale")),)))
        self.refused(StaleWrite, store.interrupt(fence, "restart_timeout"))

    # Questions

    @precondition(lambda self: self.asking())
    @rule(data=st.data(), value=st.sampled_from(["continue", "drop"]))
    def a_person_answers(self, data: st.DataObject, value: str) -> None:
        turn = data.draw(st.sampled_from(self.asking()))
        question = data.draw(st.sampled_from(turn.open_questions))
        chat = turn.session.chat
        position = self.run(self.ledger.word("a word", chat))
        self.model.add(position, chat, InboxKind.OPERATOR, "a word")
        self.model.refresh(self.now)
        verb = self.ledger.store.answer(QuestionId(question.id), position, value, ANN)
        if question.expires_at <= self.now:
            self.refused(WrongState, verb)
            return
        self.run(verb)
        self.model.rows[position].settle(InboxState.ANSWERED)
        self.progressed(turn, productive=False)
        consent = question.kind is QuestionKind.CONTINUE and value == "continue"
        self.model.close(turn, question, QuestionState.ANSWERED, consent)

    @precondition(lambda self: self.asking())
    @rule(data=st.data())
    def a_question_is_set_aside(self, data: st.DataObject) -> None:
        turn = data.draw(st.sampled_from(self.asking()))
        question = data.draw(st.sampled_from(turn.open_questions))
        self.run(self.ledger.store.set_question_aside(QuestionId(question.id)))
        self.model.close(turn, question, QuestionState.SET_ASIDE)

    def overdue(self) -> list[tuple[Turn, Question]]:
        return [(t, q) for t in self.asking() for q in t.open_questions if q.expires_at <= self.now]

    @precondition(lambda self: self.overdue())
    @rule()
    def questions_expire(self) -> None:
        due = self.overdue()
        assert set(self.run(self.ledger.expired())) == {question.id for _, question in due}
        for turn, question in due:
            self.model.close(turn, question, QuestionState.EXPIRED)

    # Crashes and recovery

    @rule()
    def the_process_dies(self) -> None:
        self.run(self.ledger.crash())
        heir = InstanceId(self.ledger.store.instance)
        for turn in self.mine():
            assert turn.fence is not None
            self.lost.append(Fence(turn.fence.session, turn.fence.turn, turn.generation, heir))
        self.model.crash()

    def orphans(self) -> list[Turn]:
        return [turn for turn in self.model.turns(TurnState.RUNNING) if not turn.fence]

    @precondition(lambda self: self.orphans())
    @rule()
    def orphans_are_found(self) -> None:
        orphans = self.orphans()
        assert self.run(self.ledger.store.interrupt_orphans()) == len(orphans)
        for turn in orphans:
            turn.move(TurnState.INTERRUPTED)
            turn.interruptions += 1
            turn.run_ended(RunEnd.DIED)

    @precondition(lambda self: self.mine())
    @rule(data=st.data())
    def the_pool_has_lost_a_turn(self, data: st.DataObject) -> None:
        lost, _ = self.draw(data, self.mine())
        running = tuple(TurnId(turn.id) for turn in self.mine() if turn is not lost)
        found = [lost, *self.orphans()]
        assert self.run(self.ledger.store.interrupt_orphans(running=running)) == len(found)
        self.let_go(lost)
        for turn in found:
            turn.move(TurnState.INTERRUPTED)
            turn.interruptions += 1
            turn.run_ended(RunEnd.DIED)

    @precondition(lambda self: self.model.turns(TurnState.INTERRUPTED))
    @rule()
    def recovery_looks(self) -> None:
        stale = self.run(self.ledger.store.stale_turns())
        assert [one.turn for one in stale] == sorted(t.id for t in self.model.turns(TurnState.INTERRUPTED))
        for one in stale:
            self.knows(one, self.model.turn(one.turn))
        self.looked = tuple(self.verdict(one) for one in stale)

    @precondition(lambda self: self.looked)
    @rule()
    def recovery_writes_back(self) -> None:
        """Perhaps long after it looked: what has moved on meanwhile is left alone."""
        written = set(self.run(self.ledger.give(*self.looked)))
        expected = {verdict.stale.turn for verdict in self.looked if self.carry_out(verdict)}
        assert written == expected
        self.looked = ()

    @precondition(lambda self: self.mine())
    @rule(claims=st.integers(0, 3))
    def the_process_dies_and_its_work_is_taken_up(self, claims: int) -> None:
        self.the_process_dies()
        self.orphans_are_found()
        self.recovery_looks()
        self.recovery_writes_back()
        for _ in range(claims):
            self.model.refresh(self.now)
            self.claim()

    def carry_out(self, verdict: Verdict) -> bool:
        stale, turn = verdict.stale, self.model.turn(verdict.stale.turn)
        session = turn.session
        if turn.generation != stale.generation:
            return False
        if verdict.decision.outcome is Outcome.RESUME and turn.state is TurnState.QUEUED:
            return True  # somebody has put it in line meanwhile, and there it is
        if turn.state is not TurnState.INTERRUPTED:
            return False
        guards = (session.incarnation, turn.consented == turn.interruptions)
        unmoved = guards == (stale.incarnation, stale.stands.consented)
        if verdict.decision.outcome is not Outcome.RESUME and not unmoved:
            return False
        if not self.model.decided(turn, verdict.decision, self.now):
            return False
        if verdict.ask is not None:
            turn.questions.append(Question(verdict.ask.id, QuestionKind.CONTINUE, verdict.ask.expires_at))
            self.model.owe(session.chat, verdict.ask.owed.dedupe)
        for one in verdict.owe:
            self.model.owe(session.chat, one.dedupe)
        return True

    def verdict(self, stale: StaleTurn) -> Verdict:
        decision = self.decide(stale)
        once = f"{decision.reason}:{stale.turn}:{stale.stands.interruptions}"
        chat = stale.chat.split("/")[-1]
        if decision.outcome is Outcome.ASK:
            id = self.name("question")
            return Verdict(stale, decision, ask=self.ledger.question(id, None, owed=owed(id, chat=chat)))
        told = (owed(once, chat=chat, kind=OwedKind.NOTICE),) if decision.told else ()
        return Verdict(stale, decision, told)

    def decide(self, stale: StaleTurn) -> Decision:
        """The real table, on what the ledger says and what is true outside of it."""
        suspects = [turn for turn in self.model.turns(TurnState.RUNNING) if turn.suspect]
        facts = RecoveryFacts(
            suspended=stale.stands.suspended,
            stop=stale.stands.stop,
            sender_allowed=True,
            tail=stale.stands.tail,
            question=stale.stands.question,
            asked=stale.stands.asked,
            resume_ended_empty=stale.stands.tail is Tail.NOTE
            and stale.stands.noted == stale.stands.interruptions,
            strikes=stale.stands.strikes,
            interruptions=stale.stands.interruptions,
            owner_alive=False,
            origin_known=True,
            platform_connected=self.connected,
            reason=stale.stands.interruption,
            message_waiting=stale.waiting_sender is not None,
            progress_at=stale.progress_at,
            quarantined_for=stale.quarantined,
            on_interruption=stale.stands.on_interruption or OnInterruption.RESUME,
            consented=stale.stands.consented,
            safe_mode=False,
            lane_taken=bool(suspects),
            record=stale.stands.record,
        )
        return decide(facts, self.now, SETTINGS.recovery)

    def knows(self, stale: StaleTurn, turn: Turn) -> None:
        """Recovery is shown what the model knows."""
        session = turn.session
        assert (stale.session, stale.key) == (session.id, key(session.chat))
        assert (stale.generation, stale.incarnation) == (turn.generation, session.incarnation)
        assert (stale.stands.strikes, stale.stands.interruptions, stale.stands.noted) == (
            session.strikes,
            turn.interruptions,
            turn.noted,
        )
        assert (stale.stands.stop, stale.stands.held, stale.progress_at) == (
            turn.stop,
            turn.held,
            turn.progress_at,
        )
        assert stale.stands.consented is (turn.consented == turn.interruptions)
        messages = [row for row in self.model.waiting(session.chat) if row.kind is InboxKind.MESSAGE]
        assert (stale.waiting_sender is not None) is bool(messages)
        parks = len(self.model.conversations[session.chat].parks_by(self.now))
        if stale.stands.strikes > 1:
            assert stale.stands.record.parks == parks

    @rule()
    def the_platform_comes_or_goes(self) -> None:
        self.connected = not self.connected

    # Deliveries

    @precondition(lambda self: any(True for _ in self.model.due(self.now)))
    @rule()
    def what_is_due_is_taken(self) -> None:
        due = dict(self.model.due(self.now))
        taken: dict[str, Delivery] = {d.chat.split("/")[-1]: d for d in self.run(self.ledger.send())}
        assert set(taken) == set(due)
        for chat, part in due.items():
            assert self.model.conversations[chat].parts[taken[chat].order - 1] is part
            part.id = taken[chat].id
            part.move(DeliveryState.SENDING)

    @precondition(lambda self: self.flying())
    @rule(
        data=st.data(),
        what=st.sampled_from(["sent", "sent", "again", "throttled", "lost", "rejected", "gone"]),
    )
    def a_send_is_recorded(self, data: st.DataObject, what: str) -> None:
        part = data.draw(st.sampled_from(self.flying()))
        at = self.now + MINUTE
        results: dict[str, SendResult] = {
            "sent": Sent("id"),
            "again": TryAgain(at, "reset"),
            "throttled": TryAgain(at, "slow", counts=False),
            "lost": Lost("timeout"),
            "rejected": Rejected("too long"),
            "gone": Rejected("blocked", whole_chat=True),
        }
        self.run(self.ledger.store.record_delivery(DeliveryId(part.id), results[what]))
        part.attempts += what != "throttled"
        part.failing |= what in ("again", "lost")
        conversation = self.model.conversations[self.chat_of(part)]
        match what:
            case "sent":
                part.move(DeliveryState.SENT)
            case "lost":
                part.move(DeliveryState.UNKNOWN)
            case "again" | "throttled":
                part.move(DeliveryState.PENDING)
                part.not_before = at
                if what == "throttled":
                    conversation.throttled_until = max(conversation.throttled_until, at)
            case "rejected" | "gone":
                part.move(DeliveryState.FAILED)
        if what == "gone":
            for other in conversation.parts:
                if not other.is_settled:
                    other.move(DeliveryState.FAILED)

    def orphaned_sends(self) -> list[Part]:
        return [part for part in self.parts(DeliveryState.SENDING) if not part.mine]

    @precondition(lambda self: self.orphaned_sends())
    @rule()
    def orphaned_sends_are_doubted(self) -> None:
        orphans = self.orphaned_sends()
        assert self.run(self.ledger.store.doubt_orphans()) == len(orphans)
        for part in orphans:
            part.move(DeliveryState.UNKNOWN)
            part.attempts += 1

    def failing_in_line(self) -> list[Part]:
        waiting = self.parts(DeliveryState.PENDING, DeliveryState.UNKNOWN)
        return [part for part in waiting if part.failing and not part.aside]

    @precondition(lambda self: self.failing_in_line())
    @rule(data=st.data(), what=st.sampled_from(["aside", "hurried"]))
    def a_failing_part_steps_aside_or_is_hurried(self, data: st.DataObject, what: str) -> None:
        part = data.draw(st.sampled_from(self.failing_in_line()))
        if what == "aside":
            self.run(self.ledger.store.step_aside(DeliveryId(part.id)))
            part.aside = True
            return
        self.run(self.ledger.store.hurry_delivery(DeliveryId(part.id)))
        if part.state is DeliveryState.PENDING:
            part.not_before = min(part.not_before, self.now)

    @precondition(lambda self: self.parts(DeliveryState.UNKNOWN))
    @rule(data=st.data(), what=st.sampled_from(["sent", "repeat", "rejected", "expired"]))
    def a_doubt_is_settled(self, data: st.DataObject, what: str) -> None:
        part = data.draw(st.sampled_from(self.parts(DeliveryState.UNKNOWN)))
        id, store = DeliveryId(part.id), self.ledger.store
        assert part.id in {doubt.id for doubt in self.run(store.in_doubt())}
        match what:
            case "sent":
                self.run(store.settle_delivery(id, Sent()))
                part.move(DeliveryState.SENT)
            case "repeat":
                self.run(store.settle_delivery(id, TryAgain(self.now, "again"), repeated=True))
                part.move(DeliveryState.PENDING)
                part.repeated, part.not_before = True, self.now
            case "rejected":
                self.run(store.settle_delivery(id, Rejected("no")))
                part.move(DeliveryState.FAILED)
            case "expired":
                self.run(store.expire_delivery(id, "old"))
                part.move(DeliveryState.EXPIRED)

    # Time

    @rule(by=st.sampled_from([SECOND, MINUTE, 10 * MINUTE, 61 * MINUTE, -SECOND, -61 * MINUTE]))
    def time_passes_or_the_clock_is_set_back(self, by: int) -> None:
        (self.ledger.clock.advance if by > 0 else self.ledger.clock.jump)(by)

    # What must hold

    @invariant()
    def same_as_the_model(self) -> None:
        if not self.is_open:
            return
        self.model.refresh(self.now)
        self.run(self.compare())
        self.compared = True

    async def compare(self) -> None:
        store = self.ledger.store
        assert await store.verify() == ()
        assert list(await store.stops()) == sorted(turn.id for turn in self.mine() if turn.stop)
        assert await store.next_send_at((PLATFORM,)) == self.model.next_send_at()
        lines = {line.id: line for line in await store.sessions(limit=1000)}
        known = [session for one in self.model.conversations.values() for session in one.sessions]
        assert set(lines) == {session.id for session in known}
        for session in known:
            line = lines[SessionId(session.id)]
            last = session.turns[-1]
            assert (line.strikes, line.suspended, line.ended_at is not None) == (
                session.strikes,
                session.suspended,
                session.ended,
            )
            assert (line.turn, line.state, line.held) == (last.id, last.state, last.held)
            if not session.ended:
                await self.compare_session(session)
        held = {one.key for one in await store.on_hold()}
        assert held == {key(chat) for chat, one in self.model.conversations.items() if one.on_hold}
        for chat, conversation in self.model.conversations.items():
            rows = await store.waiting(key(chat))
            assert [row.position for row in rows] == [row.position for row in self.model.waiting(chat)]
            parts = await store.deliveries(address(chat), limit=1000)
            assert [part.order for part in parts] == list(range(1, len(conversation.parts) + 1))
            assert [(p.dedupe, p.state, p.attempts, p.repeated) for p in parts] == [
                (p.dedupe, p.state, p.attempts, p.repeated) for p in conversation.parts
            ]

    async def compare_session(self, session: Session) -> None:
        store = self.ledger.store
        found = await store.session(SessionId(session.id))
        assert (found.generation, found.incarnation) == (session.generation, session.incarnation)
        turn, seen = session.turns[-1], (await store.turns(found.id))[0]
        assert (seen.cause, seen.state, seen.attempt, seen.generation) == (
            turn.cause,
            turn.state,
            turn.attempt,
            turn.generation,
        )
        assert (seen.interruptions, seen.noted, seen.stop, seen.progress_at) == (
            turn.interruptions,
            turn.noted,
            turn.stop,
            turn.progress_at,
        )
        journal = await store.journal(seen.id, turn.generation)
        assert {str(call.id): call.state for call in journal.calls} == {
            id: call.state for id, call in turn.calls.items()
        }
        assert {str(q.id): q.state for q in journal.questions} == {q.id: q.state for q in turn.questions}

    def finish_everything(self) -> None:
        """Faults off: everything that was accepted ends by itself, or once an owner has released it."""
        self.connected = True
        for chat, conversation in self.model.conversations.items():
            if conversation.on_hold:
                self.an_owner_releases_a_conversation(chat)
        self.model.refresh(self.now)
        for _ in range(300):
            self.orphans_are_found()
            self.orphaned_sends_are_doubted()
            for part in self.parts(DeliveryState.UNKNOWN):
                self.run(self.ledger.store.settle_delivery(DeliveryId(part.id), Sent()))
                part.move(DeliveryState.SENT)
            self.what_is_due_is_taken()
            for part in self.flying():
                self.run(self.ledger.store.record_delivery(DeliveryId(part.id), Sent()))
                part.move(DeliveryState.SENT)
                part.attempts += 1
            self.questions_expire()
            self.model.refresh(self.now)
            self.recovery_looks()
            self.recovery_writes_back()
            self.model.refresh(self.now)
            while self.claim():
                self.model.refresh(self.now)
            for turn in self.mine():
                assert turn.fence is not None
                end = TurnState.CANCELLED if turn.stop else TurnState.DONE
                self.run(self.ledger.store.finish(turn.fence, end))
                self.model.finish(turn, end)
            self.model.refresh(self.now)
            if not self.unfinished():
                return
            self.ledger.clock.advance(10 * MINUTE)
        raise AssertionError(f"never ends: {self.unfinished()}")

    def unfinished(self) -> list[object]:
        turns = [turn for turn in self.model.turns(*TurnState) if turn.state not in TURN.finals]
        rows = [row for chat in CHATS for row in self.model.waiting(chat)]
        return [*turns, *rows, *(part for part in self.parts(*DeliveryState) if not part.is_settled)]

    def nothing_was_lost_or_done_twice(self) -> None:
        model, store = self.model, self.ledger.store
        for position, row in model.rows.items():
            found = self.run(store.row(Position(position)))
            assert (found.state, found.turn) == (row.state, row.turn)
        turns = model.turns(*TurnState)
        causes = Counter(turn.cause for turn in turns)
        assert set(causes.values()) <= {1}, "every turn has a cause of its own"
        for conversation in model.conversations.values():
            born = [turn for session in conversation.sessions for turn in session.turns]
            begun = [turn.cause for turn in sorted(born, key=lambda turn: turn.id)]
            assert begun == sorted(begun), "turns begin in the order their causes arrived"
            for session in conversation.sessions:
                self.every_call_has_one_result(session)

    def every_call_has_one_result(self, session: Session) -> None:
        entries = self.run(self.ledger.store.transcript(SessionId(session.id)))
        assert [entry.seq for entry in entries] == list(range(1, len(entries) + 1))
        shown = [(entry.turn, entry.body) for entry in entries if isinstance(entry.body, Returned)]
        assert Counter((turn, body.call) for turn, body in shown) == Counter(
            (TurnId(turn.id), CallId(id)) for turn in session.turns for id in turn.calls
        )
        for turn, body in shown:
            assert body.state is self.model.turn(turn).calls[body.call].state


LONG = bool(os.environ.get("HOLDFAST_LONG"))

TestLedger = LedgerMachine.TestCase
TestLedger.settings = settings(
    max_examples=2_000 if LONG else 80,
    stateful_step_count=80 if LONG else 50,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
