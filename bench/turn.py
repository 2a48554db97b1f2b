"""The durable turn: a message, three tool calls with their results, a reply, and its delivery."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import count, cycle

from holdfast.model import (
    Batch,
    CallId,
    CallState,
    EffectClass,
    Inbound,
    Key,
    OnInterruption,
    Owed,
    PersonId,
    Place,
    PlannedCall,
    Replied,
    Returned,
    Sent,
    StopReason,
    Tail,
    ToolCall,
    TurnState,
)
from holdfast.policy.recovery.outcome import Decision, RecoveryFacts, decide
from holdfast.policy.settings import RecoverySettings, ResetSettings
from holdfast.store import ClaimSettings, StaleTurn, Step, Store

CALLS = 3

COMMITS = (
    "accept the message",
    "claim the turn",
    *(
        line
        for number in range(1, CALLS + 1)
        for line in (f"record reply {number}, plan and start its call", f"record result {number}")
    ),
    "finish: the answer and the delivery it owes",
    "claim the delivery",
    "record it as sent",
)
"""Every commit of one durable turn, each synced, in order."""

PLATFORM, ACCOUNT = "web", "main"
MESSAGE = (
    "Please find out when the next train to the coast leaves, and whether it has room for a bicycle. " * 2
)
ARGUMENTS = '{"query":"departures to the coast this afternoon","limit":5,"with":["bicycle","platform"]}'
RESULT = "14:05 platform 3, bicycles allowed; 14:35 platform 1, no bicycles; 15:05 platform 3. " * 5
ANSWER = "The next train with room for a bicycle leaves at 14:05 from platform 3; book the space ahead. " * 4
PERSON = PersonId(f"{PLATFORM}:bench")


def _steps(number: int) -> tuple[Step, Step]:
    call = CallId(f"call{number}")
    asked = Step(
        (Replied("", StopReason.CALLS, (ToolCall(call, "search", ARGUMENTS),)),),
        Tail.WORK,
        (PlannedCall(call, "search", ARGUMENTS, EffectClass.EFFECT),),
        (call,),
    )
    return asked, Step((Returned(call, CallState.DONE, RESULT),))


STEPS = tuple(step for number in range(CALLS) for step in _steps(number))
"""The agent's replies are made beforehand, like the floors' values: they are no work of the store."""
REPLY = Replied(ANSWER, StopReason.COMPLETE)


def place(number: int) -> Place:
    """The chat of seeded session `number`."""
    return Place(PLATFORM, ACCOUNT, f"c{number:08d}")


def settings(resumes: bool = True) -> ClaimSettings:
    return ClaimSettings(ResetSettings(), RecoverySettings(), resumes=resumes)


def judge(stale: StaleTurn, now: int) -> Decision:
    """What a claim checks before it resumes; these turns are never interrupted, so it is not called."""
    facts = RecoveryFacts(
        stale.stands.suspended,
        stale.stands.stop,
        True,
        stale.stands.tail,
        stale.stands.question,
        stale.stands.asked,
        False,
        stale.stands.strikes,
        stale.stands.interruptions,
        False,
        True,
        True,
        stale.stands.interruption,
        False,
        stale.progress_at,
        stale.quarantined,
        stale.stands.on_interruption or OnInterruption.RESUME,
        stale.stands.consented,
        False,
        False,
    )
    return decide(facts, now, RecoverySettings())


@dataclass
class Turns:
    """Durable turns on one store, over a set of chats in a fixed order."""

    store: Store
    chats: tuple[int, ...]
    resumes: bool = True
    name: str = "bench"
    _next: count[int] = field(default_factory=count)

    def __post_init__(self) -> None:
        self._settings = settings(self.resumes)
        self._chats = cycle([_Chat(place(number)) for number in self.chats])

    async def run(self, turns: int) -> None:
        for _ in range(turns):
            await self.one()

    async def one(self) -> None:
        store, chat = self.store, next(self._chats)
        event = f"{self.name}-{next(self._next)}"
        message = Inbound(event, chat.key, chat.place, PERSON, MESSAGE, message_id=event)
        await store.accept(Batch(ACCOUNT, (message,)))
        claimed = await store.claim(self._settings, judge)
        assert claimed is not None
        fence = claimed.fence
        for step in STEPS:
            await store.record(fence, step)
        owed = Owed(chat.address, f"reply:{fence.turn}", (ANSWER,), reply_to=claimed.cause.message_id)
        await store.finish(fence, TurnState.DONE, (REPLY,), (owed,), tail=Tail.ANSWER)
        (delivery,) = await store.claim_deliveries((PLATFORM,), limit=1)
        await store.record_delivery(delivery.id, Sent(event))


class _Chat:
    """A chat with everything its adapter knows."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self.address = place.address
        self.key = Key(place.address)
