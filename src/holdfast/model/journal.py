"""The journal of a turn: the state of its tool calls and of its questions to people."""

from __future__ import annotations

from enum import StrEnum

from holdfast.records import dataclass

from .ids import CallId, ChatAddress, PersonId, QuestionId, TurnId
from .reasons import AskedBy
from .states import CallState, QuestionState

OPEN_ENDED = 253_402_300_799_999
"""The expiry of a question that never expires: the end of the year 9999."""


class EffectClass(StrEnum):
    """What the gateway may do with a call that started and was cut off."""

    READ = "read"
    """Changes nothing: run it again."""
    IDEMPOTENT = "idempotent"
    """Run it again with the same key: the other side does it once."""
    RECONCILABLE = "reconcilable"
    """Ask the tool whether it happened."""
    EFFECT = "effect"
    """Never run again: it may have happened."""


class QuestionKind(StrEnum):
    """Who asks, and what for."""

    CLARIFY = "clarify"
    """The model asks the person; the answer is the call's result."""
    APPROVAL = "approval"
    """May this one call run?"""
    CONTINUE = "continue"
    """The gateway asks: go on with interrupted work, or drop it?"""


@dataclass(frozen=True, slots=True)
class PlannedCall:
    """A call as it enters the journal, with its effect class as declared at that time."""

    id: CallId
    name: str
    arguments: str
    effect: EffectClass


def call_key(turn: TurnId, call: CallId) -> str:
    """The idempotency key of a call: the same on every run of the call, and unique to it."""
    return f"{turn}:{call}"


@dataclass(frozen=True, slots=True)
class CallRecord:
    """A journaled call. `generation` belongs to the run that started it; 0 while planned."""

    id: CallId
    name: str
    arguments: str
    effect: EffectClass
    key: str
    state: CallState
    generation: int = 0
    output: str = ""
    """The recorded output from before it was cut off."""


@dataclass(frozen=True, slots=True)
class QuestionRecord:
    """A question as the journal holds it. `call` is None for the gateway's own."""

    id: QuestionId
    kind: QuestionKind
    call: CallId | None
    state: QuestionState
    text: str = ""
    options: tuple[str, ...] = ()
    asked_of: PersonId | None = None
    expires_at: int = 0
    answer: str | None = None
    call_hash: str | None = None
    """For an approval: the hash of the one call that it allows."""
    asked_at: int | None = None
    closed_at: int | None = None
    answered_by: PersonId | None = None
    asked_by: AskedBy | None = None
    """For the gateway's own question about interrupted work: why it asks."""
    of_owner: bool = False
    """An owner is asked about another person's work: only an owner's button or reply to the card answers."""


@dataclass(frozen=True, slots=True)
class AllowedCall:
    """A rule that an owner gave for one chat: the calls that it covers run there without a question."""

    id: int
    chat: ChatAddress
    """The chat where the work runs, even if the owner was asked in another one."""
    tool: str
    agent: str
    """The agent that answered in the chat when the owner gave the rule; empty if agents have no names."""
    call_hash: str
    """The hash of the call that it was given for."""
    prefix: str | None
    """The beginning of the commands that it covers; None: it covers only that call."""
    arguments: str
    """The arguments of that call, for people."""
    allowed_by: PersonId
    allowed_at: int


@dataclass(frozen=True, slots=True)
class Usage:
    """What one model call cost."""

    model: str
    tokens_in: int
    tokens_out: int
    cost_microusd: int = 0


@dataclass(frozen=True, slots=True)
class Journal:
    """The record of the calls and questions of one turn, as one run of it reads them."""

    turn: TurnId
    generation: int
    """The generation of the run that reads; a call that started under an older one was cut off."""
    calls: tuple[CallRecord, ...] = ()
    questions: tuple[QuestionRecord, ...] = ()
