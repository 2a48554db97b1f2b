"""The life of one MCP server, begun again whenever it ends; its tools as they are, its calls by class."""

from __future__ import annotations

import asyncio
import json
import logging
from collections import deque
from collections.abc import Callable, Coroutine, Mapping, Sequence
from enum import StrEnum
from typing import Any

from holdfast.clock import Bell, Clock, Rng, first_of, in_time
from holdfast.model import EffectClass
from holdfast.policy.delivery.retry import delay
from holdfast.policy.settings import DAY, MINUTE, SECOND, RetrySettings
from holdfast.records import dataclass
from holdfast.tools.base import CutShort, ToolContext, ToolFailed

from .base import Connect, ConnectionLost, Garbled, Listed, McpConnection, ServerNotReached
from .settings import McpSettings
from .tool_names import names_of

PATIENCE = RetrySettings(first=SECOND, most=MINUTE)
"""How soon a server that ended is begun again: for ever, ever less often."""
START = 60.0
"""Seconds a server may take until it has told its tools; programs may have to be fetched first."""
LOOK = 30.0
"""Seconds between two looks at a server over HTTP, which may be gone without a word."""
SETTLE = 0.2
"""Seconds between two looks at its tools, however often it says that they are others."""
LOOKS = 10
"""Looks at its tools within `PERIOD`; a server that changes them more often is looked at later."""
PERIOD = 60.0
MOST_WARNINGS = 20
"""Lines of the log about the tools of one server; a server can think of any number."""
TRIES = 3
"""How often one call is begun at the most, if it may be repeated."""
AGAIN = frozenset({EffectClass.READ, EffectClass.IDEMPOTENT})

log = logging.getLogger(__name__)


class State(StrEnum):
    """Where a server stands."""

    STARTING = "starting"
    UP = "up"
    DOWN = "down"
    """It ended or cannot be reached; begun again after a while."""


@dataclass(frozen=True, slots=True)
class ServerLook:
    """A server as people are shown it."""

    name: str
    state: State
    tools: int
    words: str
    """Why it is down, or was last."""
    since: int
    starts: int


@dataclass(frozen=True, slots=True)
class McpTool:
    """A tool of a server, as an agent has it."""

    name: str
    effect: EffectClass
    description: str
    parameters: Mapping[str, Any]
    theirs: str
    server: McpServer
    timeout: float = DAY / SECOND
    """Far away: how long a call may take is told by its progress, and that is the server's to watch."""

    @property
    def starts_program(self) -> bool:
        return self.server.is_program

    async def run(self, context: ToolContext, arguments: str) -> str:
        return await self.server.call(self, context, arguments)


class McpServer:
    """One server; `work` is its whole life. Everything else may be asked at any time."""

    def __init__(self, name: str, settings: McpSettings, clock: Clock, rng: Rng) -> None:
        self.name = name
        self._settings = settings
        self._clock = clock
        self._rng = rng
        self._state = State.STARTING
        self._since = clock.now()
        self._words = ""
        self._starts = 0
        self._connection: McpConnection | None = None
        self._tools: dict[str, McpTool] = {}
        self._tried = False
        """Whether its first start is over, however it went."""
        self._seen = 0
        """How many rings of its bell the tools known here are from."""
        self._looked: deque[float] = deque(maxlen=LOOKS)
        """When its tools were looked at last."""
        self._rests_until = 0.0
        """When its tools are looked at again, if it changed them too often."""
        self._warnings: set[str] = set()
        self._bell = Bell()

    @property
    def is_program(self) -> bool:
        """Whether the gateway starts it, rather than reaches it at an address."""
        return self._settings.command is not None

    @property
    def look(self) -> ServerLook:
        return ServerLook(self.name, self._state, len(self._tools), self._words, self._since, self._starts)

    @property
    def tools(self) -> Mapping[str, McpTool]:
        """Its tools as they were told last, also while it is down: a call of one then waits for it."""
        return self._tools

    @property
    def settled(self) -> bool:
        """Whether its tools are known as they are, or will not be soon."""
        if self._connection is None or self._state is not State.UP:
            return self._tried
        if self._clock.monotonic() < self._rests_until:
            return True
        return self._connection.signs.changed.rung == self._seen

    async def settle(self) -> None:
        """Return once it is settled, or has had its time."""
        await self._until(lambda: self.settled)

    async def work(self, connect: Connect) -> None:
        """Keep it up until cancelled."""
        failures = 0
        while True:
            began = self._clock.monotonic()
            words = await self._one_life(connect)
            long_life = self._clock.monotonic() - began > PATIENCE.most / SECOND
            failures = 1 if long_life else failures + 1
            pause = delay(failures, PATIENCE, self._rng.random()) / SECOND
            log.warning("the MCP server %s is down: %s; begun again in %.1f s", self.name, words, pause)
            self._enter(State.DOWN, words)
            await self._clock.sleep(pause)

    def cannot_begin(self, why: str) -> None:
        """Its first start is over before it began."""
        self._tried = True
        self._enter(State.DOWN, why)

    async def call(self, tool: McpTool, context: ToolContext, arguments: str) -> str:
        """Carry a call out: what may be repeated is, on a server that came back; the rest is cut short."""
        given = _object(arguments)
        fault: Exception = ServerNotReached("it could not be reached")
        for attempt in range(1, TRIES + 1):
            if attempt > 1:
                await self._clock.sleep(delay(attempt - 1, PATIENCE, self._rng.random()) / SECOND)
            connection = await self._reach(tool)
            try:
                return await self._answer(connection, tool, context, given)
            except ServerNotReached as gone:
                # Not begun, so that any may be tried again.
                connection.signs.end(str(gone))
                fault = gone
            except ConnectionLost as lost:
                self._may_repeat(context, lost)
                fault = lost
        raise ToolFailed(f"The MCP server {self.name!r} gave no result: {fault} (tried {TRIES} times).")

    async def _answer(
        self, connection: McpConnection, tool: McpTool, context: ToolContext, given: Mapping[str, Any]
    ) -> str:
        beat = _Beat(context.progress)
        try:
            return await self._in_time(connection.call(tool.theirs, given, context.key, beat), beat)
        except (TimeoutError, Garbled) as doubt:
            self._may_repeat(context, doubt)
            raise ToolFailed(f"The MCP server {self.name!r} gave no result: {doubt}.") from None

    def _may_repeat(self, context: ToolContext, doubt: Exception) -> None:
        """What was begun, and may have had an effect, is not to be told as a failure, nor repeated."""
        if context.effect not in AGAIN:
            raise CutShort(f"the MCP server {self.name!r}: {doubt}") from None

    # One life.

    async def _one_life(self, connect: Connect) -> str:
        """From its start to its end; says why it ended."""
        self._enter(State.STARTING, self._words)
        self._starts += 1
        life = asyncio.ensure_future(self._live(connect))
        life.add_done_callback(lambda _: self._bell.ring())
        try:
            await self._until(lambda: self._state is State.UP or life.done(), START)
            if self._state is not State.UP and not life.done():
                return f"it has not told its tools within {START:g} seconds"
            return await life
        except Exception as fault:  # noqa: BLE001 - the boundary to other people's code: it is down, and why
            return _told(fault)
        finally:
            self._connection = None
            self._tried = True
            life.cancel()
            await asyncio.gather(life, return_exceptions=True)

    async def _live(self, connect: Connect) -> str:
        async with connect() as connection:
            signs = connection.signs
            while not signs.over.is_set():
                rung = signs.changed.rung
                listed = await in_time(self._clock, START, _listed(connection))
                self._take(listed, signs.left_out)
                self._connection, self._seen = connection, rung
                self._tried = True
                if self._state is not State.UP:
                    log.info("the MCP server %s is up, with %d tools", self.name, len(self._tools))
                    self._enter(State.UP, "")
                self._bell.ring()
                await first_of(signs.over.wait(), self._next_look(signs.changed, rung))
            return signs.why

    async def _next_look(self, changed: Bell, rung: int) -> None:
        """Return when its tools are to be looked at again."""
        await self._clock.sleep(self._pause())
        if self._settings.url is None:
            await changed.since(rung)
        else:
            await first_of(changed.since(rung), self._clock.sleep(LOOK))

    def _pause(self) -> float:
        """Seconds before its tools may be looked at again."""
        now = self._clock.monotonic()
        self._looked.append(now)
        if len(self._looked) < LOOKS or self._looked[0] + PERIOD < now + SETTLE:
            return SETTLE
        self._rests_until = self._looked[0] + PERIOD
        self._bell.ring()
        return self._rests_until - now

    def _warn(self, words: str) -> None:
        """Say it in the log, once."""
        if words in self._warnings or len(self._warnings) > MOST_WARNINGS:
            return
        self._warnings.add(words)
        if len(self._warnings) > MOST_WARNINGS:
            words = "there is more to say of its tools, and no more of it is logged"
        log.warning("the MCP server %s: %s", self.name, words)

    def _take(self, listed: Sequence[Listed], left_out: int) -> None:
        """These are its tools now."""
        if left_out:
            self._warn(f"at least {left_out} of its tools are not offered: too large, or too many")
        offered = {tool.name: tool for tool in reversed(listed) if self._settings.offers(tool.name)}
        names = names_of(self.name, [tool.name for tool in listed if tool.name in offered])
        self._tools = {name: self._tool(name, offered[theirs]) for name, theirs in names.theirs.items()}
        for clash in names.clashes:
            self._warn(f"two of its tools are alike: {clash}")

    def _tool(self, name: str, listed: Listed) -> McpTool:
        effect = self._settings.effect_of(listed.name)
        return McpTool(name, effect, listed.description, listed.parameters, listed.name, self)

    def _enter(self, state: State, words: str) -> None:
        self._state, self._words, self._since = state, words, self._clock.now()
        self._bell.ring()

    # One call.

    async def _reach(self, tool: McpTool) -> McpConnection:
        """The connection, waited for a while; raises what the model can act on."""
        await self._until(lambda: self._usable() is not None)
        connection = self._usable()
        if connection is None:
            raise ToolFailed(
                f"The MCP server {self.name!r} is down: {self._words or 'it is still starting'}. Nothing was "
                "done. It is begun again by itself; go on without it, or try again later."
            )
        if tool.name not in self._tools:
            raise ToolFailed(f"The MCP server {self.name!r} does not offer {tool.theirs!r} any more.")
        return connection

    def _usable(self) -> McpConnection | None:
        found = self._connection
        return None if found is None or found.signs.over.is_set() else found

    async def _in_time(self, work: Coroutine[Any, Any, str], beat: _Beat) -> str:
        """What it answers; `TimeoutError` when neither that nor progress has come for too long."""
        seconds = self._settings.timeout / SECOND
        task = asyncio.ensure_future(work)
        try:
            while not task.done():
                heard = beat.count
                timer = asyncio.ensure_future(self._clock.sleep(seconds))
                try:
                    await asyncio.wait([task, timer], return_when=asyncio.FIRST_COMPLETED)
                finally:
                    timer.cancel()
                if not task.done() and beat.count == heard:
                    raise TimeoutError(f"no answer within {seconds:g} seconds; it was told to stop")
            return task.result()
        finally:
            # The server is told that nobody waits any more.
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def _until(self, condition: Callable[[], bool], seconds: float | None = None) -> None:
        """Return when it is so, or the time is up."""
        within = self._settings.wait / SECOND if seconds is None else seconds
        if condition():
            return
        timer = asyncio.ensure_future(self._clock.sleep(within))
        try:
            while not condition() and not timer.done():
                ring = asyncio.ensure_future(self._bell.since(self._bell.rung))
                await asyncio.wait([ring, timer], return_when=asyncio.FIRST_COMPLETED)
                ring.cancel()
        finally:
            timer.cancel()


class _Beat:
    """Counts words of progress, and passes them on."""

    def __init__(self, progress: Callable[[], None]) -> None:
        self._progress = progress
        self.count = 0

    def __call__(self) -> None:
        self.count += 1
        self._progress()


async def _listed(connection: McpConnection) -> Sequence[Listed]:
    return await connection.tools()


def _object(arguments: str) -> Mapping[str, Any]:
    try:
        given = json.loads(arguments or "{}")
    except (ValueError, RecursionError):
        given = None
    if not isinstance(given, dict):
        raise ToolFailed(f"the arguments are to be a JSON object, and are {arguments[:100]!r}")
    return given


def _told(fault: BaseException) -> str:
    """Why it did not live, without what a fault may repeat; the first of several."""
    while isinstance(fault, BaseExceptionGroup):
        fault = fault.exceptions[0]
    if isinstance(fault, (ConnectionLost, ServerNotReached, Garbled, ToolFailed, TimeoutError)):
        return str(fault)
    return f"{type(fault).__name__}"
