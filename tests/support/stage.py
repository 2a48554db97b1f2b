"""Turns under test: a scripted model, tools that wait to be told, and a store that fails when asked to."""

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any, TypeVar, cast

from holdfast.agents import Agent, Message, Metered, OnText, Prompt, unheard
from holdfast.model import (
    CallId,
    CallState,
    EffectClass,
    Entry,
    Fence,
    Replied,
    Returned,
    StopReason,
    ToolCall,
    Turn,
)
from holdfast.platforms import Platform
from holdfast.policy.settings import ProgressSettings, TurnSettings, WorkerSettings
from holdfast.store import ClaimSettings, Judge, Store
from holdfast.testing import ManualClock
from holdfast.tools import NoMoreTools, ProcessPort, Tool, ToolContext, ToolSource
from holdfast.turns import (
    Attachments,
    ConsentPorts,
    LongResults,
    NoAttachments,
    Nowhere,
    Pool,
    PoolSettings,
    Runner,
    Showing,
    Unseen,
    Watch,
)
from tests.support.ledger import ANN, SETTINGS, Ledger, resume_all

T = TypeVar("T")

LONG = 20.0
"""Seconds after which a signal will not come any more."""


async def soon(awaited: Awaitable[T]) -> T:
    """Wait for a signal, but never for ever."""
    async with asyncio.timeout(LONG):
        return await awaited


def wants(*names: str, text: str = "") -> Replied:
    """A reply that asks for these tools."""
    return Replied(text, StopReason.CALLS, tuple(ToolCall(CallId("x"), name, "{}") for name in names))


def says(text: str = "the answer") -> Replied:
    return Replied(text, StopReason.COMPLETE)


class WatchedClock:
    """The ledger's clock, which also tells who sleeps on it."""

    def __init__(self, inner: ManualClock) -> None:
        self._inner = inner
        self._naps: list[float] = []
        self._news = asyncio.Event()

    def now(self) -> int:
        return self._inner.now()

    def monotonic(self) -> float:
        return self._inner.monotonic()

    def uptime(self) -> tuple[str, int]:
        return self._inner.uptime()

    async def sleep(self, seconds: float) -> None:
        self._naps.append(seconds)
        self._news.set()
        await self._inner.sleep(seconds)

    async def nap(self, least: float, most: float | None = None) -> float:
        """Return once somebody has lain down for that long; each nap is told once."""
        async with asyncio.timeout(LONG):
            while True:
                for seconds in self._naps:
                    if least <= seconds <= (least if most is None else most):
                        self._naps.remove(seconds)
                        return seconds
                self._news.clear()
                await self._news.wait()


class NoChance:
    """Chance that always comes out the same."""

    def random(self) -> float:
        return 1.0


Line = Replied | Metered | Exception | Callable[[Sequence[Message]], Coroutine[Any, Any, Replied]]


class Scripted:
    """A model that replies, fails or waits as written; what it was shown is kept."""

    def __init__(self, *lines: Line) -> None:
        self.lines = list(lines)
        self.shown: list[tuple[Message, ...]] = []
        self.instructed: list[str] = []
        self.offered: list[list[str]] = []
        """The tools it was told of, each time it was asked."""
        self.asked = asyncio.Event()
        self.on_text: OnText = unheard
        self.before_failing = ""
        """What it writes before it fails."""
        self.replies = EffectClass.READ
        self.keys: list[str] = []
        """What each reply was asked for by."""

    async def reply(self, prompt: Prompt, on_text: OnText = unheard) -> Replied | Metered:
        self.on_text = on_text
        self.keys.append(prompt.key)
        self.shown.append(tuple(prompt.messages))
        self.instructed.append(prompt.instructions)
        self.offered.append([tool.name for tool in prompt.tools])
        self.asked.set()
        line = self.lines.pop(0)
        if isinstance(line, Exception):
            on_text(self.before_failing)
            raise line
        if isinstance(line, (Replied, Metered)):
            on_text((line.reply if isinstance(line, Metered) else line).text)
            return line
        return await line(prompt.messages)


async def hangs(_: Sequence[Message]) -> Replied:
    await asyncio.Event().wait()
    raise AssertionError("nobody sets it")


class Deed:
    """A tool that tells when it runs, ends when it is released, and says what to do when it is cancelled."""

    def __init__(
        self,
        name: str = "deed",
        effect: EffectClass = EffectClass.EFFECT,
        when_cancelled: Callable[[], Awaitable[str]] | None = None,
        held: bool = True,
        found: str | Exception | None = None,
    ) -> None:
        self.name = name
        self.effect = effect
        self.runs: list[ToolContext] = []
        self.checks: list[ToolContext] = []
        self.running = asyncio.Event()
        self.release = asyncio.Event()
        self.cancelled = False
        self._when_cancelled = when_cancelled
        self._found = found
        if not held:
            self.release.set()

    async def run(self, context: ToolContext, arguments: str) -> str:
        self.runs.append(context)
        self.running.set()
        try:
            await self.release.wait()
        except asyncio.CancelledError:
            self.cancelled = True
            if self._when_cancelled is None:
                raise
            return await self._when_cancelled()
        return f"{self.name} is done"

    async def check(self, context: ToolContext, arguments: str) -> str | None:
        self.checks.append(context)
        if isinstance(self._found, Exception):
            raise self._found
        return self._found


class Between:
    """A store with somebody in between: keeps a log, fails or waits before a verb when told to."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.log: list[str] = []
        self._news = asyncio.Event()
        self.faults: dict[str, list[Exception]] = {}
        self.before: dict[str, Callable[[], Awaitable[object]]] = {}
        self.after: dict[str, Callable[[], Awaitable[object]]] = {}
        self.reached: dict[str, asyncio.Event] = {}

    def __getattr__(self, name: str) -> Any:
        verb = getattr(self._store, name)
        if not inspect.iscoroutinefunction(verb):
            return verb

        async def between(*args: Any, **kwargs: Any) -> Any:
            self.reach(name).set()
            if name in self.before:
                await self.before.pop(name)()
            if self.faults.get(name):
                raise self.faults[name].pop(0)
            result = await verb(*args, **kwargs)
            self.log.append(name)
            self._news.set()
            if name in self.after:
                await self.after.pop(name)()
            return result

        return between

    async def logged(self, verb: str, times: int) -> None:
        """Return once the verb has been carried out so often; once more is a fault."""
        async with asyncio.timeout(LONG):
            while (found := self.log.count(verb)) < times:
                self._news.clear()
                await self._news.wait()
        assert found == times

    def reach(self, verb: str) -> asyncio.Event:
        """Set as soon as the verb is called."""
        return self.reached.setdefault(verb, asyncio.Event())


class Watched(Unseen):
    """What a run shows of what it writes, with the last verb before it."""

    def __init__(self, stage: "Stage") -> None:
        self._stage = stage
        self._shows = False

    def show(self, text: str) -> bool:
        if text:
            self._note(text)
        return True

    def over(self) -> None:
        if self._shows:
            self._note("")

    async def end(self) -> None:
        self.over()

    def _note(self, text: str) -> None:
        self._shows = bool(text)
        self._stage.previews.append((text, tuple(self._stage.store.log[-1:])))


ANN_OWNS = ConsentPorts(owner=lambda person: person == ANN)
"""Ann is the owner, and nobody else."""


class Stage:
    """The turns of one process run on a ledger under test."""

    def __init__(
        self,
        ledger: Ledger,
        *lines: Line,
        tools: Sequence[Tool] = (),
        workers: int = 8,
        claim: ClaimSettings = SETTINGS,
        judge: Judge = resume_all,
        settings: TurnSettings = TurnSettings(),  # noqa: B008 - frozen
        platform: Platform | None = None,
        outputs: LongResults | None = None,
        processes: ProcessPort | None = None,
        room: int | None = None,
        more_tools: ToolSource | None = None,
        more: tuple[str, ...] = ("*",),
        workspace: Path = Path("workspace"),
        attachments: Attachments | None = None,
        consent: ConsentPorts = ANN_OWNS,
    ) -> None:
        self.ledger = ledger
        self.store = Between(ledger.store)
        self.clock = WatchedClock(ledger.clock)
        self.model = Scripted(*lines)
        self.reports: list[tuple[str, BaseException]] = []
        self.previews: list[tuple[str, tuple[str, ...]]] = []
        """What was shown of unfinished replies, with the last verb before it."""
        store = cast("Store", self.store)
        self.runner = Runner(
            store,
            self.clock,
            NoChance(),
            Agent(self.model, tuple(tools), room=room, more=more),
            workspace,
            settings,
            lambda doing, fault: self.reports.append((doing, fault)),
            watch=self._watch(platform, store),
            outputs=outputs or Nowhere(),
            processes=processes,
            more_tools=more_tools or NoMoreTools(),
            attachments=attachments or NoAttachments(),
            consent=consent,
        )
        pool = PoolSettings(WorkerSettings(workers))
        self.pool = Pool(store, self.clock, self.runner, lambda: claim, judge, pool)
        self.task: asyncio.Task[None] | None = None

    def _watch(self, platform: Platform | None, store: Store) -> Watch:
        """Runs are shown on the platform, if there is one; else what they write is noted."""
        if platform is None:
            return lambda claimed, silent: Watched(self)
        report = lambda doing, fault: self.reports.append((doing, fault))  # noqa: E731 - as the runner has it
        return Showing(store, self.clock, (platform,), ProgressSettings(), report=report).begin

    async def __aenter__(self) -> "Stage":
        """The pool works while the block runs; then it is gone without a word."""
        self.task = asyncio.ensure_future(self.pool.work())
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self.task is not None
        self.task.cancel()
        await asyncio.wait([self.task])

    async def run(self) -> None:
        """Run everything there is to run until nothing is ready."""
        async with asyncio.timeout(LONG):
            while await self.pool.work_once():
                pass

    async def quiet(self) -> None:
        await soon(self.pool.quiet())

    async def leave(self) -> None:
        """Close the door and wait for the last turn to rest."""
        self.pool.stop_claiming()
        assert self.task is not None
        await soon(asyncio.shield(self.task))

    async def leave_after_answer(self, text: str, chat: str = "c1") -> None:
        """Wait until this was said, then leave."""
        seen = self.ledger.store.version("outbox")
        while text not in await self.told(chat):
            seen = await soon(self.ledger.store.changed("outbox", seen))
        await self.leave()

    async def fence(self, chat: str = "c1") -> Fence:
        """What the turn that runs shows with its writes."""
        turn = await self.turn(chat)
        assert turn.owner is not None
        return Fence(turn.session, turn.id, turn.generation, turn.owner)

    async def turn(self, chat: str = "c1") -> Turn:
        return (await self._turns(chat))[0]

    async def _turns(self, chat: str) -> tuple[Turn, ...]:
        from_chat = [line for line in await self.ledger.store.sessions() if line.key.endswith(f"/{chat}")]
        return await self.ledger.store.turns(from_chat[0].id)

    async def entries(self, chat: str = "c1") -> tuple[Entry, ...]:
        turn = await self.turn(chat)
        return await self.ledger.store.transcript(turn.session)

    async def results(self, chat: str = "c1") -> list[tuple[CallState, str]]:
        return [
            (entry.body.state, entry.body.text)
            for entry in await self.entries(chat)
            if isinstance(entry.body, Returned)
        ]

    async def told(self, chat: str = "c1") -> list[str]:
        """What the chat is owed, but for the acknowledgements of messages."""
        return [part.text for part in await self.ledger.outbox(chat) if not part.dedupe.startswith("ack:")]
