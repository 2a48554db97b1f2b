"""A ledger under test: a store on some database, a clock that stands still, short words for common steps."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest

from holdfast.errors import HoldfastError
from holdfast.model import (
    Batch,
    Body,
    CallId,
    CallState,
    ChatAddress,
    Claimed,
    Delivery,
    EffectClass,
    Fence,
    Inbound,
    InboxKind,
    Key,
    Owed,
    OwedKind,
    PersonId,
    Place,
    PlannedCall,
    Position,
    QuestionId,
    QuestionKind,
    Replied,
    Returned,
    SessionId,
    StopReason,
    Tail,
    ToolCall,
    Turn,
    TurnId,
    TurnState,
)
from holdfast.policy.recovery.outcome import Decision
from holdfast.policy.settings import HOUR, RecoverySettings, ResetSettings
from holdfast.store import (
    AS_CONFIGURED,
    ClaimSettings,
    Judge,
    NewQuestion,
    Recorded,
    Spawned,
    StaleTurn,
    Step,
    Store,
    Verdict,
)
from holdfast.testing import ManualClock, SeededIds
from tests.support.backends import Backend, Dump
from tests.support.judging import judged, rule

ACCOUNT = "bot"
PLATFORM = "fake"
SERVED = frozenset({f"{PLATFORM}/{ACCOUNT}"})
ANN = PersonId("fake:ann")
BOB = PersonId("fake:bob")

SETTINGS = ClaimSettings(ResetSettings(), RecoverySettings())


def place(chat: str = "c1") -> Place:
    return Place(PLATFORM, ACCOUNT, chat)


def key(chat: str = "c1") -> Key:
    return Key(place(chat).address)


def address(chat: str = "c1") -> ChatAddress:
    return place(chat).address


def owed(dedupe: str, *parts: str, chat: str = "c1", kind: OwedKind = OwedKind.REPLY) -> Owed:
    return Owed(address(chat), dedupe, parts or (f"text of {dedupe}",), kind)


def planned(id: str, effect: EffectClass = EffectClass.EFFECT) -> PlannedCall:
    return PlannedCall(CallId(id), f"tool_{id}", "{}", effect)


def asks(*calls: str) -> Replied:
    """A model reply that wants tools run."""
    return Replied("", StopReason.CALLS, tuple(ToolCall(CallId(id), f"tool_{id}", "{}") for id in calls))


def answers(text: str = "the answer") -> Replied:
    return Replied(text, StopReason.COMPLETE)


def result(call: str, state: CallState = CallState.DONE, text: str = "result") -> Returned:
    return Returned(CallId(call), state, text)


def spawned(id: str = "p1", pid: int = 100, notify: bool = True) -> Spawned:
    return Spawned(id, pid, 1, "make", f"{id}.log", notify, ("error",))


def resume_all(stale: StaleTurn, now: int) -> Decision:
    return rule("resume")


def never_asked(stale: StaleTurn, now: int) -> Decision:
    raise AssertionError(f"{stale.turn} was judged, and nothing had interrupted it")


class Ledger:
    """One home over any number of process runs."""

    store: Store

    def __init__(self, backend: Backend) -> None:
        self.backend = backend
        self.clock = ManualClock()
        self.ids = SeededIds(self.clock)
        self.damaged = False
        """The test planted damage, so the ledger need not be sound at its end."""
        self.arrival = AS_CONFIGURED
        """What messages are admitted by."""
        self._events = 0

    async def open(self) -> None:
        self.store = await self.backend.open(self.clock, self.ids)

    async def crash(self) -> None:
        """The process is gone without a word, and a fresh one has the home."""
        await self.store.close()
        self.clock.advance(1)
        await self.open()

    def dump(self) -> Dump:
        return self.backend.dump()

    def damage(self, *statements: str) -> None:
        self.damaged = True
        self.backend.damage(*statements)

    def spoil(self, table: str, statement: str) -> None:
        """Damage below the schema."""
        self.damaged = True
        self.backend.spoil(table, statement)

    @asynccontextmanager
    async def refused(self, error: type[HoldfastError]) -> AsyncIterator[None]:
        """What is done in here is refused with exactly this error, and not one row has changed."""
        before = self.dump()
        with pytest.raises(error) as caught:
            yield
        assert caught.type is error
        assert self.dump() == before

    @asynccontextmanager
    async def unchanged(self) -> AsyncIterator[None]:
        """What is done in here changes not one row."""
        before = self.dump()
        yield
        assert self.dump() == before

    def message(self, text: str = "hello", chat: str = "c1", **more: Any) -> Inbound:
        self._events += 1
        given = {"event_id": f"e{self._events}", "sender": ANN, **more}
        return Inbound(key=key(chat), place=place(chat), text=text, **given)

    async def say(self, text: str = "hello", chat: str = "c1", **more: Any) -> Position:
        """A message arrives and is accepted."""
        batch = Batch(ACCOUNT, (self.message(text, chat, **more),))
        (accepted,) = await self.store.accept(batch, self.arrival)
        return accepted.position

    async def word(self, text: str = "hello", chat: str = "c1", **more: Any) -> Position:
        """An operator's word arrives: it waits whatever is asked or under way."""
        return await self.say(text, chat, kind=InboxKind.OPERATOR, **more)

    async def command(self, text: str = "/stop", chat: str = "c1", **more: Any) -> Position:
        return await self.say(text, chat, kind=InboxKind.COMMAND, **more)

    async def try_claim(self, judge: Judge = resume_all, **settings: Any) -> Claimed | None:
        return await self.store.claim(replace(SETTINGS, **settings), judge)

    async def claim(self, judge: Judge = resume_all, **settings: Any) -> Claimed:
        claimed = await self.try_claim(judge, **settings)
        assert claimed is not None, "nothing to claim"
        return claimed

    async def begin(self, text: str = "hello", chat: str = "c1") -> Claimed:
        """A message arrives and its turn runs."""
        await self.say(text, chat)
        return await self.claim()

    async def append(self, fence: Fence, *bodies: Body, tail: Tail = Tail.WORK, **more: Any) -> Recorded:
        return await self.store.record(fence, Step(bodies, tail, **more))

    async def start(
        self, fence: Fence, *calls: str, effect: EffectClass = EffectClass.EFFECT, start: bool = True
    ) -> None:
        """The model asks for tools, and they are started in the same commit (or only planned)."""
        plan = tuple(planned(id, effect) for id in calls)
        begun = tuple(CallId(id) for id in calls) if start else ()
        await self.append(fence, asks(*calls), plan=plan, start=begun)

    def question(self, id: str = "q1", call: str | None = "c1", **more: Any) -> NewQuestion:
        """A question of the model about its call, or of the gateway when there is none."""
        kind = QuestionKind.CLARIFY if call else QuestionKind.CONTINUE
        given: dict[str, Any] = {
            "kind": kind,
            "text": "which one?",
            "expires_at": self.clock.now() + HOUR,
            "owed": owed(f"question:{id}", kind=OwedKind.QUESTION),
            "asked_of": ANN,
            **more,
        }
        return NewQuestion(QuestionId(id), call=CallId(call) if call else None, **given)

    async def ask(self, fence: Fence, id: str = "q1", call: str = "c1", **more: Any) -> None:
        """The model asks the person, and the turn lets go."""
        await self.append(
            fence,
            asks(call),
            plan=(planned(call),),
            start=(CallId(call),),
            ask=(self.question(id, call, **more),),
            tail=Tail.QUESTION,
        )
        await self.store.wait(fence)

    async def expired(self, limit: int = 100) -> tuple[QuestionId, ...]:
        """The questions whose time is up now; they are closed."""
        return tuple(one.question for one in await self.store.expire_questions(limit))

    async def finish(self, fence: Fence, state: TurnState = TurnState.DONE, *owes: Owed) -> None:
        """The turn ends, with an answer if it is done."""
        done = state is TurnState.DONE
        await self.store.finish(
            fence, state, (answers(),) if done else (), owes, tail=Tail.ANSWER if done else None
        )

    async def complete(self, text: str = "hello", chat: str = "c1") -> Claimed:
        """A message arrives and is answered."""
        claimed = await self.begin(text, chat)
        await self.finish(claimed.fence)
        return claimed

    async def settle(self, name: str, chat: str | None = None, **more: Any) -> tuple[TurnId, ...]:
        """Recovery decides the same about everything interrupted (in one chat), and writes it back."""
        stale = [one for one in await self.store.stale_turns() if chat is None or one.key == key(chat)]
        return await self.give(*(Verdict(one, rule(name), **more) for one in stale))

    async def give(self, *verdicts: Verdict) -> tuple[TurnId, ...]:
        """Recovery writes these verdicts back; the turns it says it has settled."""
        settled = await self.store.settle_stale((), lambda page, now, entries_of: judged(*verdicts))
        return tuple(sorted(turn for turns in settled.values() for turn in turns))

    async def recover(self, name: str = "resume") -> tuple[TurnId, ...]:
        """A crash, and what a fresh process makes of it."""
        await self.crash()
        await self.store.interrupt_orphans()
        return await self.settle(name)

    async def die(self, times: int, chat: str = "c1") -> SessionId:
        """The conversation's turn kills the process again and again; it is left interrupted."""
        claimed = await self.begin("fatal", chat)
        for n in range(times):
            if n:
                await self.settle("resume", chat)
                assert (await self.claim()).session.id == claimed.session.id
            await self.crash()
            await self.store.interrupt_orphans()
        return claimed.session.id

    async def turn(self, session: SessionId) -> Turn:
        """The session's newest turn."""
        return (await self.store.turns(session))[0]

    async def send(self, *chats: str) -> tuple[Delivery, ...]:
        return await self.store.claim_deliveries((PLATFORM,))

    async def outbox(self, chat: str = "c1") -> tuple[Delivery, ...]:
        return await self.store.deliveries(address(chat))
