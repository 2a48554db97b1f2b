"""What the tests of processes put inside a real gateway: copied into its home, as the module of its agent.

A scripted agent; places where the process waits for the test, which then lets it go on or kills it; a
platform made of files, that cannot tell what it was sent; a clock that may be wrong. Everything done is
written down outside the ledger, each line forced to the disk.

A message is a script and a tag: `do read effect #a` calls the two tools one after the other, then answers.
"""

import asyncio
import ctypes
import json
import os
import re
import signal
import threading
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from holdfast.agents import Agent, OnText, Prompt, unheard
from holdfast.api.client import ask
from holdfast.clock import Clock, SystemClock
from holdfast.errors import DiskFull
from holdfast.gateway.gateway import Gateway
from holdfast.model import (
    Accepted,
    CallId,
    ChatKind,
    Cursor,
    Delivery,
    EffectClass,
    Fence,
    Origin,
    Place,
    ProcessId,
    Replied,
    Returned,
    SendResult,
    Sent,
    StopReason,
    ToolCall,
)
from holdfast.platforms import Ack, Arrival, Capabilities, Incoming
from holdfast.store import Recorded, SqliteStore, Step
from holdfast.store.sqlite import commit, writer
from holdfast.store.sqlite.commit import CommitOutcome
from holdfast.testing.scripts import unanswered
from holdfast.tools import (
    AskPerson,
    Intention,
    KillProcess,
    LookAtProcess,
    Looking,
    StartProcess,
    Tool,
    ToolContext,
    goal_tool,
)

HOME = Path(__file__).parent
HELD = "held"
STATION = "station.sock"
CLOCK = "clock"
REBOOTED = "rebooted"
FULL = "full"
LETTERS_IN = "letters-in"
LETTERS_OUT = "letters-out"
EFFECTS = "effects"
READS = "reads"
MODEL = "model"
CONNECTIONS = "connections"
ASKS = "ask_person"
_SCRIPT = re.compile(r"do ([a-z_ ]*)#(\w+)")
_LOOK_AGAIN = 0.02
SERVES_BOT = "telegram.token" in (HOME / "holdfast.toml").read_text() if (HOME / HELD).exists() else False


def write_down(file: str, **what: object) -> None:
    """Add a line that survives whatever becomes of this process."""
    where = os.open(HOME / file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.write(where, json.dumps(what).encode() + b"\n")
    os.fsync(where)
    os.close(where)


def is_held(place: str) -> bool:
    return place in (HOME / HELD).read_text().splitlines()


async def pass_by(place: str) -> None:
    """Go on at once, or, if the test holds this place, when it says so."""
    if is_held(place):
        reader, writer = await asyncio.open_unix_connection(HOME / STATION)
        writer.write(f"{place}\n".encode())
        await reader.readline()
        writer.close()


# The agent.


@dataclass(frozen=True, slots=True)
class Scripted:
    """Follows the scripts of what was not answered yet; what it is shown is written down."""

    async def reply(self, prompt: Prompt, on_text: OnText = unheard) -> Replied:
        requests, results = unanswered(prompt.messages)
        steps = [(tag, step) for words, tag in map(script, requests) for step in words]
        tags = ",".join(tag for _, tag in map(script, requests))
        write_down(
            MODEL,
            tags=tags,
            pid=os.getpid(),
            shown=[(one.role, one.text, one.state) for one in prompt.messages],
        )
        if SERVES_BOT:
            on_text(f"thinking about {tags}")
        await pass_by(f"model {tags} {results}")
        if results < len(steps):
            tag, name = steps[results]
            return Replied("", StopReason.CALLS, (ToolCall(CallId(name), name, arguments(name, tag)),))
        return Replied(f"answer to {tags or 'nobody'}", StopReason.COMPLETE)


def script(request: str) -> tuple[list[str], str]:
    """The calls a message asks for, and its tag; anything else is its own tag."""
    found = _SCRIPT.fullmatch(request)
    return (found[1].split(), found[2]) if found else ([], request)


def arguments(name: str, tag: str) -> str:
    """What a call is given: as the test has written it down for tools that are not ours, else its tag."""
    file = HOME / f"{name}-{tag}.json"
    if file.exists():
        return file.read_text()
    if name == ASKS:
        return json.dumps({"question": f"what about {tag}?"})
    # A tool of an MCP server takes an object.
    return json.dumps({"tag": tag} if "__" in name else tag)


@dataclass(frozen=True, slots=True)
class Act:
    """A tool that is a function of the call's tag."""

    name: str
    effect: EffectClass
    act: Callable[[str, ToolContext], Awaitable[None]]

    async def run(self, context: ToolContext, arguments: str) -> str:
        await self.act(json.loads(arguments), context)
        return f"{self.name} done"


async def _read(tag: str, _context: ToolContext) -> None:
    write_down(READS, tag=tag)
    await pass_by(f"read {tag}")


async def _effect(tag: str, context: ToolContext) -> None:
    await pass_by(f"before effect {tag}")
    write_down(EFFECTS, tag=tag, key=context.key)
    await pass_by(f"after effect {tag}")


async def _hang(_tag: str, _context: ToolContext) -> None:
    await asyncio.get_running_loop().create_future()


async def _freeze(tag: str, _context: ToolContext) -> None:
    """Stands still, and the whole event loop with it."""
    if is_held(f"freeze {tag}"):
        write_down(READS, tag=tag)
        threading.Event().wait()


async def _seize(tag: str, _context: ToolContext) -> None:
    """A call of the C library that keeps the interpreter's lock."""
    await pass_by(f"before seize {tag}")
    write_down(READS, tag=tag)
    while is_held(f"seize {tag}"):
        ctypes.PyDLL(None).sleep(3600)


async def _thread(tag: str, _context: ToolContext) -> None:
    """Waits in a thread that nobody can end."""
    write_down(READS, tag=tag)
    if is_held(f"thread {tag}"):
        await asyncio.to_thread(threading.Event().wait)


async def _stubborn(tag: str, _context: ToolContext) -> None:
    """Does not let itself be cancelled."""
    write_down(READS, tag=tag)
    while is_held(f"stubborn {tag}"):
        try:
            await asyncio.get_running_loop().create_future()
        except asyncio.CancelledError:
            continue


async def _poison(_tag: str, _context: ToolContext) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


async def _restart(tag: str, context: ToolContext) -> None:
    """As an agent does it that is asked to: through the command line's own door."""
    write_down(EFFECTS, tag=tag, key=context.key)
    await ask(HOME, "restart", event_id=context.key)


@dataclass(frozen=True, slots=True)
class Wish:
    """A tool that wants something done about the one background process there is, or is to be."""

    name: str
    effect: EffectClass
    wish: Callable[[str], Intention]

    async def run(self, context: ToolContext, arguments: str) -> Intention:
        await pass_by(f"{self.name} {json.loads(arguments)}")
        return self.wish(json.loads(arguments))


def _background(tag: str) -> Intention:
    """Runs until the test opens its gate, and says what it is told there."""
    return StartProcess(f"echo begun; cat gate-{tag}; echo over", patterns=("alarm",))


def _the_process() -> ProcessId:
    (only,) = os.listdir(HOME / "processes")
    return ProcessId(only)


@dataclass(frozen=True, slots=True)
class Payer:
    """A framework's whole loop inside one reply: it pays a bill, and the gateway sees no tool."""

    replies: EffectClass = EffectClass.EFFECT

    async def reply(self, prompt: Prompt, on_text: OnText = unheard) -> Replied:
        tag = prompt.messages[-1].text
        write_down(MODEL, tags=tag, shown=[(one.role, one.text, one.state) for one in prompt.messages])
        write_down(EFFECTS, tag=tag)
        await pass_by(f"paid {tag}")
        return Replied(f"paid {tag}", StopReason.COMPLETE)


payer = Agent(Payer())


def agent(clock: Clock) -> Agent:
    """The agent, for `agent.use`."""
    tools: tuple[Tool, ...] = (
        Act("read", EffectClass.READ, _read),
        Act("effect", EffectClass.EFFECT, _effect),
        Act("hang", EffectClass.READ, _hang),
        Act("freeze", EffectClass.READ, _freeze),
        Act("seize", EffectClass.READ, _seize),
        Act("thread", EffectClass.READ, _thread),
        Act("stubborn", EffectClass.READ, _stubborn),
        Act("poison", EffectClass.READ, _poison),
        Act("restart", EffectClass.EFFECT, _restart),
        AskPerson(),
        Wish("background", EffectClass.IDEMPOTENT, _background),
        Wish("poll", EffectClass.READ, lambda _tag: LookAtProcess(Looking.POLL, _the_process())),
        Wish("killit", EffectClass.IDEMPOTENT, lambda _tag: KillProcess(_the_process())),
        goal_tool(),
    )
    return Agent(Scripted(), tools)


# The platform.


@dataclass(frozen=True, slots=True)
class Letters:
    """Reads a file from where it was read to last, and writes to another; it knows no keys and no answers."""

    clock: Clock
    name: str = "letters"
    account: str = "box"
    capabilities: Capabilities = Capabilities(Ack.OFFSET)
    cursor: str | None = "line"

    async def connect(self) -> None:
        write_down(CONNECTIONS, pid=os.getpid())

    async def receive(self, after: str | None) -> Incoming:
        seen = int(after or 0)
        while len(lines := self._lines()) <= seen:
            await self.clock.sleep(_LOOK_AGAIN)
        arrivals = tuple(
            Arrival(
                str(number),
                Origin(Place(self.name, self.account, one["chat"]), ChatKind.DIRECT, "ann"),
                one["text"],
            )
            for number, one in enumerate(lines[seen:], seen + 1)
        )
        return Incoming(arrivals, Cursor("line", str(len(lines))))

    def _lines(self) -> list[dict[str, str]]:
        file = HOME / LETTERS_IN
        return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []

    async def confirm(self, incoming: Incoming, accepted: tuple[Accepted, ...]) -> None:
        return None

    async def send(self, delivery: Delivery) -> SendResult:
        await pass_by("before sending")
        write_down(LETTERS_OUT, chat=delivery.chat, text=delivery.text, repeated=delivery.repeated)
        await pass_by("after sending")
        return Sent()

    async def find(self, delivery: Delivery) -> bool | None:
        return None

    async def close(self) -> None:
        return None


# What is done to the gateway this was loaded into, before it opens its ledger.

_VERBS = (
    "accept",
    "adopt_process",
    "cards",
    "claim_ready",
    "claim_deliveries",
    "end_instance",
    "end_process",
    "erase",
    "expire_questions",
    "finish",
    "heartbeat",
    "interrupt",
    "interrupt_orphans",
    "pair",
    "quiet",
    "record_delivery",
    "scrub",
    "settle_request",
    "settle_row",
    "settle_stale",
    "tell_running",
    "wait",
)


def _hold_verb(verb: str) -> None:
    real = getattr(SqliteStore, verb)

    async def held(self: SqliteStore, *args: Any, **kwargs: Any) -> Any:
        await pass_by(f"before {verb}")
        found = await real(self, *args, **kwargs)
        await pass_by(f"after {verb}")
        return found

    setattr(SqliteStore, verb, held)


def _hold_results() -> None:
    """A place between a tool's end and the commit of its result."""
    real = SqliteStore.record

    async def record(self: SqliteStore, fence: Fence, step: Step) -> Recorded:
        if any(isinstance(body, Returned) for body in step.append):
            await pass_by("before its result")
        return await real(self, fence, step)

    setattr(SqliteStore, "record", record)  # noqa: B010 - a method cannot be assigned under mypy


def _add_letters() -> None:
    real = Gateway.__init__

    def with_letters(
        self: Gateway, store: Any, clock: Clock, rng: Any, ids: Any, platforms: Any, *rest: Any, **more: Any
    ) -> None:
        real(self, store, clock, rng, ids, (*platforms, Letters(clock)), *rest, **more)

    setattr(Gateway, "__init__", with_letters)  # noqa: B010 - as above


def _hold_telegram() -> None:
    """Places around what goes over the wire, if a bot is served here."""
    if not SERVES_BOT:
        return
    from holdfast.platforms.telegram.adapter import Telegram  # noqa: PLC0415 - only where it is served

    send, receive, confirm = Telegram.send, Telegram.receive, Telegram.confirm

    async def held_send(self: Telegram, delivery: Delivery) -> SendResult:
        await pass_by("before telegram")
        found = await send(self, delivery)
        await pass_by("after telegram")
        return found

    async def held_receive(self: Telegram, after: str | None) -> Incoming:
        found = await receive(self, after)
        await pass_by("telegram brought")
        return found

    async def held_confirm(self: Telegram, incoming: Incoming, accepted: tuple[Accepted, ...]) -> None:
        await pass_by("before confirm")
        await confirm(self, incoming, accepted)

    for name, held in (("send", held_send), ("receive", held_receive), ("confirm", held_confirm)):
        setattr(Telegram, name, held)


def _fill_disk() -> None:
    """While the test says so, there is no room for any commit."""
    real = commit.commit_group

    def commit_group(db: Any, works: Any, *context: Any) -> Any:
        if not (HOME / FULL).exists():
            return real(db, works, *context)
        outcomes = [CommitOutcome() for _ in works]
        for outcome in outcomes:
            outcome.error = DiskFull("the disk is full")
        return outcomes

    setattr(writer, "commit_group", commit_group)  # noqa: B010 - as above


def _set_clock() -> None:
    """Let the wall clock be wrong by as much as the test says; time that passes stays right."""
    real, wrong_by = SystemClock.now, int((HOME / CLOCK).read_text())

    def now(self: SystemClock) -> int:
        return real(self) + wrong_by

    setattr(SystemClock, "now", now)  # noqa: B010 - as above
    if (HOME / REBOOTED).exists():
        machine = (HOME / REBOOTED).read_text()
        setattr(SystemClock, "uptime", lambda self: (machine, 60_000))  # noqa: B010 - as above


if (HOME / HELD).exists():
    for _verb in _VERBS:
        _hold_verb(_verb)
    _hold_results()
    _add_letters()
    _hold_telegram()
    _set_clock()
    _fill_disk()
