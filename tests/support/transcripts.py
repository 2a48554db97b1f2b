"""Builders for transcripts and journals, and the rules a provider holds a conversation to."""

from collections.abc import Iterator, Sequence

from hypothesis import strategies as st

from holdfast.model import (
    Body,
    CallId,
    CallRecord,
    CallState,
    EffectClass,
    Entry,
    Journal,
    Noted,
    NoteKind,
    PersonId,
    QuestionId,
    QuestionKind,
    QuestionRecord,
    QuestionState,
    Replied,
    Returned,
    Said,
    StopReason,
    Summed,
    ToolCall,
    TurnId,
    Undone,
)
from holdfast.policy.consent.argument_text import call_hash
from holdfast.policy.turn.views import Message, Role

ANN = PersonId("fake:ann")


def said(text: str = "hello") -> Said:
    return Said(text, ANN)


def replied(text: str = "", *calls: str, finish: StopReason | None = None) -> Replied:
    usual = StopReason.CALLS if calls else StopReason.COMPLETE
    return Replied(text, finish or usual, tuple(ToolCall(CallId(c), f"tool_{c}", "{}") for c in calls))


def returned(call: str, text: str = "result", state: CallState = CallState.DONE) -> Returned:
    return Returned(CallId(call), state, text)


def noted(kind: NoteKind = NoteKind.RESTARTED, count: int = 1, text: str | None = None) -> Noted:
    return Noted(kind, count, f"{kind} {count}" if text is None else text)


def summed(first: int, last: int, text: str = "summary") -> Summed:
    return Summed(first, last, text, stands_for_at=0)


def transcript(*turns: Sequence[Body], first: int = 1) -> tuple[Entry, ...]:
    """Entries of the turns `t1`, `t2`, … in order, with the first at place `first`."""
    bodies = [(TurnId(f"t{number}"), body) for number, turn in enumerate(turns, 1) for body in turn]
    return tuple(Entry(seq, turn, seq * 1000, body) for seq, (turn, body) in enumerate(bodies, first))


def call_row(
    id: str,
    state: CallState = CallState.PLANNED,
    effect: EffectClass = EffectClass.EFFECT,
    generation: int | None = None,
) -> CallRecord:
    """A journaled call; unless said otherwise it was started by an earlier run."""
    begun = 0 if state in (CallState.PLANNED, CallState.SKIPPED) else 1
    started = begun if generation is None else generation
    return CallRecord(CallId(id), f"tool_{id}", "{}", effect, f"key-{id}", state, started)


def question(
    call: str | None,
    state: QuestionState = QuestionState.OPEN,
    kind: QuestionKind = QuestionKind.APPROVAL,
    answer: str | None = None,
    id: str | None = None,
    hash_of: str | None = None,
) -> QuestionRecord:
    """A question about a call, whose consent is for that call or for `hash_of`."""
    of = call_hash(f"tool_{hash_of or call}", "{}") if kind is QuestionKind.APPROVAL else None
    about = CallId(call) if call is not None else None
    closed_at = None if state is QuestionState.OPEN else 0
    return QuestionRecord(
        QuestionId(id or f"q-{call}"), kind, about, state, answer=answer, call_hash=of, closed_at=closed_at
    )


def journal(
    *rows: CallRecord, questions: Sequence[QuestionRecord] = (), turn: str = "t1", generation: int = 2
) -> Journal:
    return Journal(TurnId(turn), generation, rows, tuple(questions))


def breaches(messages: Sequence[Message]) -> Iterator[str]:
    """Every way in which a provider would refuse the conversation."""
    if messages and messages[0].role in (Role.ASSISTANT, Role.TOOL):
        yield "begins with the assistant"
    owed: list[CallId] = []
    before: Role | None = None
    for message in messages:
        if message.role is Role.TOOL:
            if not owed or owed.pop(0) != message.call:
                yield f"result of {message.call} out of place"
        elif owed:
            yield f"{message.role} before the results of {owed}"
            owed = []
        elif message.role is before is Role.ASSISTANT:
            yield "two assistant messages in a row"
        yield from _malformed(message)
        owed += [call.id for call in message.calls]
        before = message.role
    if owed:
        yield f"ends without the results of {owed}"
    ids = [call.id for message in messages for call in message.calls]
    if len(ids) != len(set(ids)):
        yield "a call id twice"


def _malformed(message: Message) -> Iterator[str]:
    if message.role is Role.TOOL:
        if message.state is None:
            yield "a result without its state"
    elif not (message.text.strip() or message.calls or message.attachments):
        yield f"an empty {message.role} message"
    if message.role is not Role.ASSISTANT and message.calls:
        yield f"calls in a {message.role} message"


_CALLS = st.sampled_from("abc")
_PLACES = st.integers(-2, 14)
_WORDS = st.sampled_from(["", " ", "one", "two"])
_BODIES: st.SearchStrategy[Body] = st.one_of(
    st.builds(said, _WORDS),
    st.builds(
        lambda text, calls, finish: replied(text, *calls, finish=finish),
        _WORDS,
        st.lists(_CALLS, max_size=3),
        st.sampled_from(StopReason),
    ),
    st.builds(returned, _CALLS, _WORDS, st.sampled_from(CallState)),
    st.builds(noted, st.sampled_from(NoteKind), st.integers(0, 3), _WORDS),
    st.builds(Undone, _PLACES, _PLACES),
    st.builds(summed, _PLACES, _PLACES, _WORDS),
)
_TURNS = st.sampled_from([TurnId("t1"), TurnId("t2")])

nonsense = st.lists(st.builds(Entry, _PLACES, _TURNS, st.just(0), _BODIES), max_size=14)
"""Entries that fit together in no way."""

plausible = st.lists(st.tuples(_TURNS, _BODIES), max_size=14).map(
    lambda bodies: [
        Entry(seq, turn, 0, body) for seq, (turn, body) in enumerate(sorted(bodies, key=_by_turn), 1)
    ]
)
"""Entries in order, turn after turn, that hold anything."""


def _by_turn(item: tuple[TurnId, Body]) -> str:
    return item[0]


journals = st.builds(
    lambda rows, questions, turn, generation: journal(
        *rows, questions=questions, turn=turn, generation=generation
    ),
    st.lists(
        st.builds(
            call_row, _CALLS, st.sampled_from(CallState), st.sampled_from(EffectClass), st.integers(0, 3)
        ),
        max_size=3,
    ),
    st.lists(
        st.builds(
            question,
            st.one_of(st.none(), _CALLS),
            st.sampled_from(QuestionState),
            st.sampled_from(QuestionKind),
            st.sampled_from([None, "", "yes", "no", "blue"]),
            st.sampled_from(["q1", "q2"]),
            st.one_of(st.none(), _CALLS),
        ),
        max_size=3,
    ),
    _TURNS,
    st.integers(0, 3),
)
"""Journals that need not fit any transcript."""
