"""What the ledger promises, in memory and without a database: the small model the store is compared with."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from holdfast.model import (
    CALL,
    DELIVERY,
    INBOX,
    QUESTION,
    TURN,
    BusyMode,
    CallId,
    CallState,
    DeliveryState,
    EffectClass,
    Fence,
    InboxKind,
    InboxState,
    PersonId,
    QuestionId,
    QuestionKind,
    QuestionRecord,
    QuestionState,
    StopKind,
    TurnState,
    advance,
)
from holdfast.model.states import SILENT
from holdfast.policy.intake.admission import (
    Answer,
    ArrivalFacts,
    DropWork,
    Interrupt,
    Refuse,
    SetAsideQuestion,
    admit,
    question_for,
)
from holdfast.policy.recovery.outcome import LEADS_TO, Decision, Outcome
from holdfast.policy.recovery.parks import MOST_PARKS, PARKS_WITHIN
from holdfast.policy.recovery.strikes import is_suspect
from holdfast.store import ArrivalSettings
from tests.support.ledger import ANN, SETTINGS
from tests.support.strike_rules import RunEnd, after_claim, after_end


@dataclass
class Row:
    position: int
    chat: str
    kind: InboxKind
    text: str
    sender: PersonId = ANN
    state: InboxState = InboxState.WAITING
    turn: str | None = None
    question: str | None = None
    """While it waits: the question it set aside."""

    def settle(self, state: InboxState, turn: str | None = None) -> None:
        self.state = InboxState(advance(INBOX, self.state, state))
        self.turn = turn


@dataclass
class Call:
    effect: EffectClass
    state: CallState = CallState.PLANNED
    generation: int = 0

    def move(self, state: CallState) -> None:
        self.state = CallState(advance(CALL, self.state, state))


@dataclass
class Question:
    id: str
    kind: QuestionKind
    expires_at: int
    options: tuple[str, ...] = ()
    asked_at: int = 0
    state: QuestionState = QuestionState.OPEN
    call: str | None = None

    @property
    def is_unanswered(self) -> bool:
        """The model asked, and no person reacted."""
        return self.kind is QuestionKind.CLARIFY and self.state in SILENT

    @property
    def record(self) -> QuestionRecord:
        return QuestionRecord(
            QuestionId(self.id),
            self.kind,
            None if self.kind is QuestionKind.CONTINUE else CallId("call"),
            self.state,
            "which one?",
            self.options,
            ANN,
            self.expires_at,
            asked_at=self.asked_at,
        )

    def close(self, state: QuestionState) -> None:
        self.state = QuestionState(advance(QUESTION, self.state, state))


@dataclass
class Turn:
    id: str
    session: "Session"
    cause: int
    fence: Fence | None
    progress_at: int | None
    generation: int
    state: TurnState = TurnState.RUNNING
    attempt: int = 1
    interruptions: int = 0
    noted: int = 0
    consented: int = 0
    productive: bool = False
    suspect: bool = False
    stop: StopKind | None = None
    held: str | None = None
    why: str | None = None
    calls: dict[str, Call] = field(default_factory=dict)
    questions: list[Question] = field(default_factory=list)

    @property
    def is_open(self) -> bool:
        return self.state not in TURN.finals

    @property
    def open_questions(self) -> list[Question]:
        return [one for one in self.questions if one.state is QuestionState.OPEN]

    @property
    def got_no_answer(self) -> bool:
        """It waits for nothing but a question that was closed without an answer."""
        waits = [one for one in self.questions if one.is_unanswered]
        return not self.open_questions and any(
            self.calls[one.call or ""].state not in CALL.finals for one in waits
        )

    def calls_in(self, *states: CallState) -> list[str]:
        return [id for id, call in self.calls.items() if call.state in states]

    def plan(self, id: str, effect: EffectClass, start: bool) -> None:
        self.calls[id] = Call(effect)
        if start:
            self.start(id)

    def may_start(self, id: str) -> bool:
        """A planned call may; one that was cut off only if running it again does no harm."""
        call = self.calls[id]
        harmless = call.effect in (EffectClass.READ, EffectClass.IDEMPOTENT)
        return call.state is CallState.PLANNED or (harmless and call.generation < self.generation)

    def start(self, id: str) -> None:
        call = self.calls[id]
        if call.state is CallState.PLANNED:
            call.move(CallState.STARTED)
        call.generation = self.generation

    def move(self, state: TurnState) -> None:
        self.state = TurnState(advance(TURN, self.state, state))
        self.fence, self.suspect, self.held = None, False, None

    def end(self, state: TurnState, why: str | None) -> None:
        """However a turn ends, nothing of it stays open."""
        for question in self.questions:
            if question.is_unanswered and self.calls[question.call or ""].state is CallState.STARTED:
                self.calls[question.call or ""].move(CallState.FAILED)
        for call in self.calls.values():
            if call.state is CallState.PLANNED:
                call.move(CallState.SKIPPED)
            elif call.state is CallState.STARTED:
                call.move(CallState.UNKNOWN)
        self.cancel_questions()
        self.move(state)
        self.why = why

    def cancel_questions(self) -> None:
        for question in self.open_questions:
            question.close(QuestionState.CANCELLED)

    def run_ended(self, how: RunEnd) -> None:
        self.session.strikes = after_end(self.session.strikes, how, self.productive)
        self.session.follows_park &= how is not RunEnd.DONE


@dataclass
class Session:
    id: str
    chat: str
    generation: int = 0
    incarnation: int = 0
    strikes: int = 0
    suspended: bool = False
    follows_park: bool = False
    ended: bool = False
    turns: list[Turn] = field(default_factory=list)

    @property
    def open_turn(self) -> Turn | None:
        return self.turns[-1] if self.turns and self.turns[-1].is_open else None


@dataclass
class Part:
    dedupe: str
    id: int = 0
    state: DeliveryState = DeliveryState.PENDING
    attempts: int = 0
    repeated: bool = False
    not_before: int = 0
    mine: bool = False
    failing: bool = False
    aside: bool = False

    def move(self, state: DeliveryState) -> None:
        self.state = DeliveryState(advance(DELIVERY, self.state, state))
        self.mine = state is DeliveryState.SENDING

    @property
    def is_settled(self) -> bool:
        return self.state in DELIVERY.finals


@dataclass
class Conversation:
    chat: str
    sessions: list[Session] = field(default_factory=list)
    parts: list[Part] = field(default_factory=list)
    throttled_until: int = 0
    ready_at: int | None = None
    busy: BusyMode | None = None
    parked_at: list[int] = field(default_factory=list)
    on_hold: bool = False

    @property
    def live(self) -> Session | None:
        return next((session for session in self.sessions if not session.ended), None)

    @property
    def open_turn(self) -> Turn | None:
        return self.live.open_turn if self.live else None

    def parks_by(self, now: int) -> list[int]:
        """Parks of the last day."""
        return [at for at in self.parked_at if at > now - PARKS_WITHIN]

    @property
    def next_parts(self) -> list[Part]:
        """One of these may go out next: the first in line, then what stepped aside; none beside another."""
        left = [part for part in self.parts if not part.is_settled]
        found = [part for part in left if not part.aside][:1]
        found += sorted((part for part in left if part.aside), key=lambda part: part.not_before)
        if any(part.state is DeliveryState.SENDING for part in found):
            return []
        return [part for part in found if part.state is DeliveryState.PENDING]


def _seen_state(turn: Turn | None) -> TurnState | None:
    """How an arriving message finds a turn: one whose owner has died counts as interrupted."""
    if turn is not None and turn.state is TurnState.RUNNING and turn.fence is None:
        return TurnState.INTERRUPTED
    return turn.state if turn else None


class SmallLedger:
    """Changes like the ledger should; every change of state goes through the tables."""

    def __init__(self, chats: tuple[str, ...]) -> None:
        self.conversations = {chat: Conversation(chat) for chat in chats}
        self.rows: dict[int, Row] = {}

    def turns(self, *states: TurnState) -> list[Turn]:
        return [
            turn
            for conversation in self.conversations.values()
            for session in conversation.sessions
            for turn in session.turns
            if turn.state in states
        ]

    def turn(self, id: str) -> Turn:
        return next(turn for turn in self.turns(*TurnState) if turn.id == id)

    def add(self, position: int, chat: str, kind: InboxKind = InboxKind.MESSAGE, text: str = "") -> Row:
        row = self.rows[position] = Row(position, chat, kind, text)
        return row

    def arrive(
        self, position: int, chat: str, text: str, sender: PersonId, now: int, settings: ArrivalSettings
    ) -> Row:
        """A message is kept, and the rule decides on what stands here what becomes of it."""
        conversation, waiting = self.conversations[chat], len(self.waiting(chat))
        turn = conversation.open_turn
        open_now = [one for one in turn.open_questions if one.expires_at > now] if turn else []
        questions = {one.id: one for one in sorted(open_now, key=lambda one: one.id)}
        record = question_for([one.record for one in questions.values()], sender, text)
        facts = ArrivalFacts(
            InboxKind.MESSAGE,
            sender,
            text,
            None,
            _seen_state(turn),
            conversation.busy or settings.busy,
            waiting,
            record,
            record.asked_at if record else None,
            on_hold=conversation.on_hold,
        )
        row = self.add(position, chat, text=text)
        row.sender = sender
        admission = admit(facts, now, settings.queue)
        if admission.ack:
            self.owe(chat, f"ack:{position}")
        match admission:
            case Refuse():
                row.settle(InboxState.REFUSED)
            case Interrupt():
                assert turn is not None
                self.ask_to_stop(turn, StopKind.INTERRUPT)
            case Answer(question, value):
                assert turn is not None
                row.settle(InboxState.ANSWERED)
                turn.progress_at = max(turn.progress_at or 0, now)
                own = questions[question].kind is QuestionKind.CONTINUE
                self.close(turn, questions[question], QuestionState.ANSWERED, own and value == "continue")
            case SetAsideQuestion(question):
                assert turn is not None
                row.question = question
                for one in turn.open_questions:
                    if one.kind is not QuestionKind.CONTINUE:
                        self.close(turn, one, QuestionState.SET_ASIDE)
            case DropWork(question):
                assert turn is not None
                self.close(turn, questions[question], QuestionState.SET_ASIDE)
        return row

    def to_take(self, turn: Turn) -> list[int]:
        """Rows answered inside a turn that is taken up again."""
        waiting = self.waiting(turn.session.chat)
        asked = {question.id for question in turn.questions}
        oldest = next((row for row in waiting if row.kind is InboxKind.MESSAGE), None)
        interrupted = turn.interruptions > turn.noted
        return [row.position for row in waiting if row.question in asked or (interrupted and row is oldest)]

    def owe(self, chat: str, dedupe: str, count: int = 1) -> None:
        """Told once: what was owed before is not owed again."""
        parts = self.conversations[chat].parts
        if all(part.dedupe != dedupe for part in parts):
            parts += [Part(dedupe) for _ in range(count)]

    def waiting(self, chat: str) -> list[Row]:
        return [
            row
            for row in self.rows.values()
            if row.chat == chat and row.state is InboxState.WAITING and row.kind is not InboxKind.COMMAND
        ]

    def refresh(self, now: int) -> None:
        """A conversation is ready while there is something to claim in it, since it became so."""
        for conversation in self.conversations.values():
            turn = conversation.open_turn
            ready = turn.state is TurnState.QUEUED if turn else self._may_begin(conversation.chat)
            ready &= not conversation.on_hold
            conversation.ready_at = (conversation.ready_at or now) if ready else None

    def _may_begin(self, chat: str) -> bool:
        """Something waits that was not written after a command which is still to be carried out."""
        here = [row for row in self.rows.values() if row.chat == chat and row.state is InboxState.WAITING]
        return bool(here) and here[0].kind is not InboxKind.COMMAND

    def first_in_line(self) -> set[str]:
        """The chats a claim may take now: ready longest, and no suspect beside a suspect."""
        lane_taken = any(turn.suspect for turn in self.turns(TurnState.RUNNING))
        ready = {
            one.chat: one.ready_at
            for one in self.conversations.values()
            if one.ready_at is not None and not (lane_taken and self._is_suspect(one))
        }
        return {chat for chat, at in ready.items() if at == min(ready.values())}

    def _is_suspect(self, conversation: Conversation) -> bool:
        live = conversation.live
        return live is not None and (live.suspended or is_suspect(live.strikes, SETTINGS.recovery))

    def claim(self, chat: str, fence: Fence, now: int) -> tuple[Turn, bool]:
        """Take the chat's next turn; whether its session is a fresh one."""
        conversation = self.conversations[chat]
        turn = conversation.open_turn
        fresh = False
        if turn is None:
            turn, fresh = self._new_turn(conversation, fence, now)
        else:
            turn.move(TurnState.RUNNING)
            turn.attempt += 1
            turn.productive = False
        session = turn.session
        turn.suspect = is_suspect(session.strikes, SETTINGS.recovery)
        session.strikes = after_claim(session.strikes)
        session.generation += 1
        turn.generation, turn.fence = session.generation, fence
        return turn, fresh

    def _new_turn(self, conversation: Conversation, fence: Fence, now: int) -> tuple[Turn, bool]:
        live = conversation.live
        if live is not None and live.suspended:
            self.end_session(live)
            self.owe(conversation.chat, f"began:{fence.session}")
        fresh = conversation.live is None
        if fresh:
            conversation.sessions.append(self._after(conversation, fence.session))
        rows = self.waiting(conversation.chat)
        for row in rows if conversation.busy is BusyMode.COLLECT else rows[:1]:
            row.settle(InboxState.TAKEN, fence.turn)
        session = conversation.live
        assert session is not None
        turn = Turn(fence.turn, session, rows[0].position, fence, now, 0)
        session.turns.append(turn)
        return turn, fresh

    def _after(self, conversation: Conversation, id: str) -> Session:
        """A fresh session; after a park it is a suspect until one of its turns completes."""
        last = max(conversation.sessions, key=lambda one: one.incarnation, default=None)
        if last is None:
            return Session(id, conversation.chat)
        follows = last.suspended or last.follows_park
        strikes = SETTINGS.recovery.suspect_strikes if follows else 0
        return Session(
            id, conversation.chat, incarnation=last.incarnation, strikes=strikes, follows_park=follows
        )

    def end_session(self, session: Session) -> None:
        session.ended = True
        session.generation += 1
        self.end_incarnation(session)

    def end_incarnation(self, session: Session) -> None:
        session.incarnation += 1
        for row in self.waiting(session.chat):
            if row.kind is InboxKind.WAKEUP:
                row.settle(InboxState.DROPPED)

    def finish(self, turn: Turn, state: TurnState) -> None:
        stop = turn.stop
        turn.end(state, None)
        turn.run_ended(RunEnd(state))
        if state is TurnState.CANCELLED:
            if stop is not None and stop.ends_session:
                self.end_session(turn.session)
            else:
                turn.session.generation += 1

    def stop(self, chat: str, kind: StopKind, before: int) -> None:
        conversation = self.conversations[chat]
        if kind.ends_session:
            for row in self.waiting(chat):
                if row.position < before and row.kind is not InboxKind.WAKEUP:
                    row.settle(InboxState.WITHDRAWN)
        turn, session = conversation.open_turn, conversation.live
        if turn is not None and turn.state is TurnState.RUNNING:
            self.ask_to_stop(turn, kind)
            return
        if turn is not None:
            turn.end(TurnState.CANCELLED, kind)
            turn.session.generation += 1
        if session is not None and kind.ends_session:
            self.end_session(session)

    def ask_to_stop(self, turn: Turn, kind: StopKind) -> None:
        if turn.stop is None or not turn.stop.ends_session or kind is StopKind.FORGET:
            turn.stop = kind
        turn.cancel_questions()

    def revive(self, session: Session, by: Row, text: str, now: int) -> bool:
        """Whether the session can go on, by what a person's command says; if so it does."""
        turn = session.turns[-1]
        in_time = [one for one in turn.open_questions if one.expires_at > now]
        asked = [one for one in in_time if one.kind is QuestionKind.CONTINUE]
        asked = asked if turn.state is TurnState.WAITING else []
        held = turn.state is TurnState.INTERRUPTED or bool(asked)
        left = session.suspended or turn.state in (TurnState.EXPIRED, TurnState.PARKED)
        if session.ended or not (held or (left and not turn.is_open)):
            return False
        if session.suspended:
            session.suspended, session.follows_park, session.strikes = False, False, 0
            session.generation += 1
            self.conversations[session.chat].on_hold = False
        if not turn.is_open:
            by.kind, by.text = InboxKind.MESSAGE, text
            return True
        by.settle(InboxState.EXECUTED)
        turn.consented = turn.interruptions
        turn.progress_at = max(turn.progress_at or 0, now)
        for one in asked:
            one.close(QuestionState.ANSWERED)
        if turn.state is TurnState.WAITING:
            turn.move(TurnState.QUEUED)
        return True

    def reopen(self, session: Session) -> bool:
        conversation = self.conversations[session.chat]
        if not session.ended or conversation.open_turn is not None:
            return False
        if conversation.live:
            self.end_session(conversation.live)
        last = max(conversation.sessions, key=lambda one: one.incarnation)
        # A person who resumes a parked session trusts it. Any other one follows the park that came last.
        follows = not session.suspended and (last.suspended or last.follows_park)
        if session.suspended:
            conversation.on_hold = False
        session.ended, session.suspended, session.follows_park = False, False, follows
        session.strikes = SETTINGS.recovery.suspect_strikes if follows else 0
        session.generation += 1
        session.incarnation = 1 + max(one.incarnation for one in conversation.sessions)
        return True

    def close(self, turn: Turn, question: Question, state: QuestionState, consent: bool = False) -> None:
        """Its turn goes on, or, the question being the gateway's own and not consented to, is dropped."""
        question.close(state)
        if consent:
            turn.consented = turn.interruptions
        elif question.kind is QuestionKind.CONTINUE:
            turn.end(TurnState.CANCELLED, None)
            turn.session.generation += 1
            return
        if turn.state is TurnState.WAITING and not turn.open_questions:
            if question.is_unanswered:
                self.leave_unanswered(turn)
            else:
                turn.move(TurnState.QUEUED)

    def leave_unanswered(self, turn: Turn) -> None:
        turn.end(TurnState.EXPIRED, "unanswered")
        turn.session.generation += 1

    def decided(self, turn: Turn, decision: Decision, now: int) -> bool:
        """Recovery's decision about an interrupted turn; False when it changes nothing."""
        match decision.outcome:
            case Outcome.HOLD:
                if turn.held == decision.reason:
                    return False
                turn.held = decision.reason
            case Outcome.RESUME:
                turn.move(TurnState.QUEUED)
            case Outcome.ASK:
                turn.move(TurnState.WAITING)
            case Outcome.WAIT:
                if not turn.open_questions:
                    return False
                turn.move(TurnState.WAITING)
                turn.noted = turn.interruptions
            case _:
                self._end_stale(turn, decision, now)
        return True

    def _end_stale(self, turn: Turn, decision: Decision, now: int) -> None:
        for question in turn.open_questions:
            if question.expires_at <= now:
                question.close(QuestionState.EXPIRED)
        turn.end(LEADS_TO[decision.outcome], decision.reason)
        session = turn.session
        session.generation += 1
        if decision.outcome is Outcome.DONE:
            session.strikes, session.follows_park = 0, False
        if decision.outcome is Outcome.PARK:
            session.suspended = True
            self.end_incarnation(session)
            conversation = self.conversations[session.chat]
            conversation.parked_at.append(now)
            conversation.on_hold |= len(conversation.parks_by(now)) >= MOST_PARKS
        if turn.stop is not None and turn.stop.ends_session:
            self.end_session(session)

    def due(self, now: int) -> Iterator[tuple[str, Part]]:
        """The one part of each chat that may go out now."""
        for conversation in self.conversations.values():
            until = conversation.throttled_until
            due = [part for part in conversation.next_parts if max(part.not_before, until) <= now]
            if due:
                yield conversation.chat, due[0]

    def next_send_at(self) -> int | None:
        """When the next part in line may go out, past or to come."""
        times = [
            max(part.not_before, one.throttled_until)
            for one in self.conversations.values()
            for part in one.next_parts
        ]
        return min(times, default=None)

    def crash(self) -> None:
        """The process is gone: nobody owns anything any more, and what it did stands."""
        for turn in self.turns(TurnState.RUNNING):
            turn.fence = None
        for conversation in self.conversations.values():
            for part in conversation.parts:
                part.mine = False
