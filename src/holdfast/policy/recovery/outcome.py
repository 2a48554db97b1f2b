"""The outcome of interrupted work: one ordered table, and the first row that fits decides.

Recovery asks at boot and every few seconds after that; the claim of interrupted work asks again; so does a
message that arrives first. The answer names the row, so that people can read why.

What a person's "continue" (`consented`) changes: the question was whether this interruption may be resumed
at all, so the answer outranks the reasons to ask or to hold: the chat's `ask` or `never`, safe mode, an
unknown reason, a restore. It gives no right that the person does not have (access), and revives nothing that
was ended or parked. Strikes, the limit of interruptions and the quarantine lane still count. The window
counts, too; but the answer is a person's message, and therefore progress, so the work is fresh.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import NamedTuple

from holdfast.model import (
    RESTORED,
    RESUMABLE,
    AskedBy,
    OnInterruption,
    QuestionKind,
    QuestionState,
    StopKind,
    StrikeRecord,
    Tail,
    TurnId,
    TurnState,
)
from holdfast.model.states import SILENT
from holdfast.policy.ages import within
from holdfast.policy.settings import RecoverySettings
from holdfast.records import dataclass

from .parks import holds_messages, interruption_causes, park_notice, strike_causes


class Outcome(StrEnum):
    """What recovery does with the turn."""

    CANCEL = "cancel"
    PARK_WITH_SESSION = "park_with_session"
    """The session is suspended already; the turn joins it."""
    DONE = "done"
    """The answer was complete: deliver what is owed, call no model."""
    EXPIRE = "expire"
    WAIT = "wait"
    """Wait for the person; the question goes out now if it never did."""
    PARK = "park"
    """Suspend the session, and the turn with it."""
    HOLD = "hold"
    """Leave it interrupted and look again."""
    ASK = "ask"
    """Ask the person once: continue or drop?"""
    RESUME = "resume"


LEADS_TO: Mapping[Outcome, TurnState] = MappingProxyType(
    {
        Outcome.CANCEL: TurnState.CANCELLED,
        Outcome.PARK_WITH_SESSION: TurnState.PARKED,
        Outcome.DONE: TurnState.DONE,
        Outcome.EXPIRE: TurnState.EXPIRED,
        Outcome.WAIT: TurnState.WAITING,
        Outcome.PARK: TurnState.PARKED,
        Outcome.HOLD: TurnState.INTERRUPTED,
        Outcome.ASK: TurnState.WAITING,
        Outcome.RESUME: TurnState.QUEUED,
    }
)
"""The state an interrupted turn has after each outcome."""


class RecoveryFacts(NamedTuple):
    """What is known of one interrupted turn, its session and its chat. No fact has an assumed value."""

    suspended: bool
    stop: StopKind | None
    sender_allowed: bool
    """Checked now; an error while checking is False."""
    tail: Tail
    question: QuestionState | None
    """For `Tail.QUESTION`: the state of that question now, `EXPIRED` even if no row says so yet; None when
    it cannot be found. For any other tail: `OPEN` while the gateway asks whether to go on beyond a limit."""
    asked: QuestionKind | None
    """The kind of that question."""
    resume_ended_empty: bool
    """For `Tail.NOTE`: no interruption was recorded since that note, so the resume ended by itself."""
    strikes: int
    interruptions: int
    owner_alive: bool
    origin_known: bool
    """The gateway is configured for the bot account of its chat."""
    platform_connected: bool
    reason: str | None
    message_waiting: bool
    """A message of a person who is allowed now."""
    progress_at: int | None
    """Last recorded progress, or the expiry of the approval if the turn waits only for that; None when it
    cannot be read."""
    quarantined_for: int
    """Time in the queue of the quarantine lane or held by safe mode, which does not count as age."""
    on_interruption: OnInterruption
    consented: bool
    """The person said "continue" to the gateway's question about this very interruption."""
    safe_mode: bool
    lane_taken: bool
    """Another suspect runs."""
    record: StrikeRecord = StrikeRecord()
    """What caused the strikes and interruptions, for the words of a park, and how many parks there were."""


Words = Callable[[RecoveryFacts], str]
Fits = Callable[[RecoveryFacts, bool, RecoverySettings], bool]
"""Called with the facts, whether the work is older than the window, and the settings."""


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table."""

    name: str
    """A stable word: the reason that the ledger keeps and people are shown."""
    found: str
    outcome: Outcome
    sentence: str
    """For people: what happened, what was kept, what to do."""
    fits: Fits
    told: bool = False
    """One notice goes to the chat. A wait and an ask need none: the chat has the question."""
    words: Words | None = None
    """The sentence about one turn, where it depends on what happened to that turn."""


class Decision(NamedTuple):
    """The row that decided, and the facts it saw."""

    row: Row
    facts: RecoveryFacts

    @property
    def outcome(self) -> Outcome:
        return self.row.outcome

    @property
    def reason(self) -> str:
        """The word that the ledger keeps."""
        return self.row.name

    @property
    def told(self) -> bool:
        return self.row.told

    @property
    def sentence(self) -> str:
        """The words for people about this turn."""
        return self.row.sentence if self.row.words is None else self.row.words(self.facts)

    @property
    def holds_messages(self) -> bool:
        """Whether this park makes the messages of the conversation wait for an owner."""
        return self.row.outcome is Outcome.PARK and holds_messages(self.facts.record)


UNANSWERED = "unanswered"
"""The row whose expiry leaves no note: only a question was unfinished."""

# States of a question in which the turn still waits for it, or can go on with what the person wrote.
_ALIVE = frozenset({QuestionState.OPEN, QuestionState.ANSWERED, QuestionState.SET_ASIDE})
_OPEN, _APPROVAL, _CONTINUE = QuestionState.OPEN, QuestionKind.APPROVAL, QuestionKind.CONTINUE
_ANSWER, _NOTE, _QUESTION, _REPLYING = Tail.ANSWER, Tail.NOTE, Tail.QUESTION, Tail.REPLYING
_NEVER, _ASK = OnInterruption.NEVER, OnInterruption.ASK

_APPROVAL_EXPIRED = Row(
    "approval_expired",
    "only an approval is unsettled, and it expired longer ago than the window; within the window the rows "
    "below decide, and the age counts from the expiry",
    Outcome.EXPIRE,
    "I asked for permission here and got no answer in time. That is too long ago to go on by itself, so I "
    "stopped the work without making the call. The conversation is kept; write /resume, or tell me to go on.",
    lambda f, old, s: f.tail == _QUESTION and f.asked == _APPROVAL and f.question in SILENT and old,
    told=True,
)
UNANSWERED_ROW = Row(
    UNANSWERED,
    "only the agent's question is unsettled, and it timed out or could not be delivered",
    Outcome.EXPIRE,
    "Its question got no answer, so the work ended there. The conversation is kept; /resume goes on with "
    "the work, and any other message is new work.",
    lambda f, old, s: (
        f.tail == _QUESTION
        and f.question not in _ALIVE
        and not (f.asked == _APPROVAL and f.question in SILENT)
    ),
)

_TABLE: tuple[Row, ...] = (
    Row(
        "suspended",
        "the session is suspended",
        Outcome.PARK_WITH_SESSION,
        "This conversation is parked, and this work with it. All of it is kept; your next message starts a "
        "fresh one.",
        lambda f, old, s: f.suspended,
    ),
    Row(
        "stop_asked",
        "`/stop`, `/new` or an interrupting message asked for its end",
        Outcome.CANCEL,
        "It was stopped because a person asked for that.",
        lambda f, old, s: f.stop is not None,
    ),
    Row(
        "not_allowed",
        "the sender is no longer allowed, or that could not be checked",
        Outcome.CANCEL,
        "It was not run again: the person who asked for it is not allowed here any more.",
        lambda f, old, s: not f.sender_allowed,
    ),
    Row(
        RESTORED,
        "the ledger was restored from a backup in which it was open, and no person said continue",
        Outcome.HOLD,
        "It is held because this ledger was restored from a backup in which it was open: it may have gone on "
        "since then. Nothing of it is run or sent until the operator releases or drops it.",
        lambda f, old, s: f.reason == RESTORED and not f.consented,
    ),
    Row(
        "answered",
        "the transcript ends in a final answer",
        Outcome.DONE,
        "The answer was complete. What is still owed of it is delivered; nothing is run again.",
        lambda f, old, s: f.tail == _ANSWER,
    ),
    Row(
        "resume_produced_nothing",
        "the transcript ends in a recovery note, and that resume ended by itself without a result",
        Outcome.EXPIRE,
        "I resumed the interrupted work and it ended without a result, so I left it. "
        "The conversation is kept; write again if you still want it.",
        lambda f, old, s: f.tail == _NOTE and f.resume_ended_empty,
        told=True,
    ),
    Row(
        "question_open",
        "only a question to the person is unsettled, or the gateway has asked whether to go on beyond a "
        "limit, and that question is open",
        Outcome.WAIT,
        "It waits for an answer to its question.",
        lambda f, old, s: f.question == _OPEN and (f.tail == _QUESTION or f.asked == _CONTINUE),
    ),
    _APPROVAL_EXPIRED,
    UNANSWERED_ROW,
    Row(
        "too_many_strikes",
        "the session's strikes reached the limit",
        Outcome.PARK,
        "The gateway crashed, or restarts cut this work off before it made any progress, so often that I "
        "parked this conversation. All of it is kept. Your next message starts a fresh one, and an owner can "
        "resume this one.",
        lambda f, old, s: f.strikes >= s.strikes,
        told=True,
        words=lambda f: park_notice(strike_causes(f.strikes, f.record), f.record),
    ),
    Row(
        "too_many_interruptions",
        "the turn was interrupted as often as a turn may be",
        Outcome.PARK,
        "This work was cut off too many times by crashes or restarts of the gateway, so I parked this "
        "conversation. All of it is kept. Your next message starts a fresh one, and an owner can resume this "
        "one.",
        lambda f, old, s: f.interruptions >= s.interruptions,
        told=True,
        words=lambda f: park_notice(interruption_causes(f.interruptions, f.record), f.record),
    ),
    Row(
        "owner_alive",
        "its last owner is alive and still works on it, and it is within the window",
        Outcome.HOLD,
        "It is held until the process that works on it has stopped that work.",
        lambda f, old, s: f.owner_alive and not old,
    ),
    Row(
        "reply_unknown",
        "the agent was cut off in a reply that has effects inside (`replies = EFFECT`)",
        Outcome.EXPIRE,
        "The agent was cut off in the middle of a reply in which it may have done things by itself. They may "
        "or may not have happened, and nothing was repeated. The conversation is kept: check what happened, "
        "then write what to do next.",
        lambda f, old, s: f.tail == _REPLYING,
        told=True,
    ),
    Row(
        "origin_unknown",
        "this gateway does not serve the bot account of its chat (any more), and it is within the window",
        Outcome.HOLD,
        "It is held because this gateway is not configured for the bot account of its chat. Configure that "
        "account again to let the work go on, or cancel it.",
        lambda f, old, s: not f.origin_known and not old,
    ),
    Row(
        "platform_down",
        "its platform is not connected, and it is within the window",
        Outcome.HOLD,
        "It is held until its platform is connected again.",
        lambda f, old, s: not f.platform_connected and not old,
    ),
    Row(
        "unknown_reason",
        "this version does not resume after that reason by itself, it is within the window, no message of "
        "an allowed person waits, and no person said continue",
        Outcome.HOLD,
        "It is held because it was interrupted for a reason this version does not know; a message in the "
        "chat, or the operator, lets it go on.",
        lambda f, old, s: (
            bool(f.reason) and f.reason not in RESUMABLE and not (old or f.message_waiting or f.consented)
        ),
    ),
    Row(
        "too_old",
        "it is older than the window, or its last progress has no readable time",
        Outcome.EXPIRE,
        "Work here was cut off too long ago to go on by itself, so I left it. The conversation is kept; "
        "tell me if you want me to go on with it.",
        lambda f, old, s: old,
        told=True,
    ),
    Row(
        "chat_says_never",
        "the chat says `never`, and no person said continue",
        Outcome.EXPIRE,
        "Work here was cut off, and this chat wants nothing resumed, so I left it. The conversation is kept; "
        "tell me if you want me to go on with it.",
        lambda f, old, s: f.on_interruption == _NEVER and not f.consented,
        told=True,
    ),
    Row(
        AskedBy.CHAT,
        "the chat says `ask`, and no person said continue",
        Outcome.ASK,
        "Work here was cut off. Shall I continue with it, or drop it?",
        lambda f, old, s: f.on_interruption == _ASK and not f.consented,
    ),
    Row(
        AskedBy.SAFE_MODE,
        "safe mode, its session is a suspect, and no person said continue",
        Outcome.ASK,
        "Work here was cut off, and it may be what brought the gateway down. The gateway is in safe mode, so "
        "I ask you first: shall I continue with it, or drop it? Your messages wait until you answer. Without "
        "an answer nothing is dropped: the work goes on when safe mode ends.",
        lambda f, old, s: f.safe_mode and f.strikes >= s.suspect_strikes and not f.consented,
    ),
    Row(
        "safe_mode",
        "safe mode, no message of an allowed person waits, and no person said continue",
        Outcome.HOLD,
        "Work here was cut off and is paused, because the gateway is in safe mode. All of it is kept. It "
        "goes on when the gateway has been stable for a while, or as soon as you write here.",
        lambda f, old, s: f.safe_mode and not f.message_waiting and not f.consented,
        told=True,
    ),
    Row(
        "quarantine",
        "its session is a suspect, and another suspect runs",
        Outcome.HOLD,
        "It is held because the gateway went down while it ran. Such work runs one at a time; it is in line.",
        lambda f, old, s: f.lane_taken and f.strikes >= s.suspect_strikes,
    ),
    Row(
        "resume",
        "otherwise",
        Outcome.RESUME,
        "It goes on where it was cut off.",
        lambda f, old, s: True,
    ),
)


def table() -> tuple[Row, ...]:
    """The rows in their order."""
    return _TABLE


def decide(facts: RecoveryFacts, now: int, settings: RecoverySettings) -> Decision:
    """Return the row that decides about the turn, with the facts.

    Age is the time since the last recorded progress; without a readable time the work is not fresh.
    """
    old = not within(settings.window, now, facts.progress_at, facts.quarantined_for)
    return Decision(next(row for row in _TABLE if row.fits(facts, old, settings)), facts)


def after_silence(kind: QuestionKind, since: int, now: int, settings: RecoverySettings) -> Row | None:
    """The row that ends a turn whose last open question closed without an answer; None when the turn goes on.

    The agent's own question ends the turn. An approval counts as refused: the turn goes on and the model is
    told, but only within the window `since` the expiry.
    """
    if kind is QuestionKind.CLARIFY:
        return UNANSWERED_ROW
    if kind is _APPROVAL and not within(settings.window, now, since):
        return _APPROVAL_EXPIRED
    return None


def told_once(row: Row, turn: TurnId, interruptions: int) -> str:
    """The dedupe key of the notice about a decision: a chat is told once per interruption of the turn."""
    return f"{row.name}:{turn}:{interruptions}"
