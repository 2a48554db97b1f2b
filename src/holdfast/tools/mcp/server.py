"""One MCP server: it is started again whenever it ends; its tools; its calls by effect class."""

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
"""Pauses before a server that ended is started again: longer each time, without an end."""
START = 60.0
"""Seconds until a server must have listed its tools; programs may have to be downloaded first."""
LOOK = 30.0
"""Seconds between two looks at a server over HTTP, which may disappear without a sign."""
SETTLE = 0.2
"""Seconds between two listings of its tools, however often it says that they have changed."""
LOOKS = 10
"""Listings within `PERIOD`; if its tools change more often, the gateway waits."""
PERIOD = 60.0
MOST_WARNINGS = 20
"""Log lines about the tools of one server; without a limit, a server could fill the log."""
TRIES = 3
"""How often the gateway begins one call at most, if it may be repeated."""
AGAIN = frozenset({EffectClass.READ, EffectClass.IDEMPOTENT})

log = logging.getLogger(__name__)


class State(StrEnum):
    """The state of a server."""

    STARTING = "starting"
    UP = "up"
    DOWN = "down"
    """It ended or is unreachable; the gateway starts it again after a pause."""


@dataclass(frozen=True, slots=True)
class ServerLook:
    """A server as people see it."""

    name: str
    state: State
    tools: int
    words: str
    """Why it is down, or was last down."""
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
    """Very long: `McpServer` itself limits the time of a call, by its progress."""

    @property
    def starts_program(self) -> bool:
        return self.server.is_program

    async def run(self, context: ToolContext, arguments: str) -> str:
        return await self.server.call(self, context, arguments)


class McpServer:
    """One server; `work` runs it until cancelled. Everything else may be called at any time."""

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
        """Whether its first start is over, with any result."""
        self._seen = 0
        """The bell count at the last listing of the tools."""
        self._looked: deque[float] = deque(maxlen=LOOKS)
        """The times of the last listings."""
        self._rests_until = 0.0
        """When its tools are listed again, if it changed them too often."""
        self._warnings: set[str] = set()
        self._bell = Bell()

    @property
    def is_program(self) -> bool:
        """Whether the gateway starts its program, rather than connects to an address."""
        return self._settings.command is not None

    @property
    def look(self) -> ServerLook:
        return ServerLook(self.name, self._state, len(self._tools), self._words, self._since, self._starts)

    @property
    def tools(self) -> Mapping[str, McpTool]:
        """The tools it listed last, also while it is down: a call then waits for the server."""
        return self._tools

    @property
    def settled(self) -> bool:
        """Whether its tools are known, or will not be known soon."""
        if self._connection is None or self._state is not State.UP:
            return self._tried
        if self._clock.monotonic() < self._rests_until:
            return True
        return self._connection.signs.changed.rung == self._seen

    async def settle(self) -> None:
        """Return when its tools are known, or it took too long."""
        await self._until(lambda: self.settled)

    async def work(self, connect: Connect) -> None:
        """Keep the server running until cancelled."""
        failures = 0
        while True:
            began = self._clock.monotonic()
            words = await self._one_life(connect)
            long_life = self._clock.monotonic() - began > PATIENCE.most / SECOND
            failures = 1 if long_life else failures + 1
            pause = delay(failures, PATIENCE, self._rng.random()) / SECOND
            log.warning("the MCP server %s is down: %s; next start in %.1f s", self.name, words, pause)
            self._enter(State.DOWN, words)
            await self._clock.sleep(pause)

    def cannot_begin(self, why: str) -> None:
        """The first start failed before it began."""
        self._tried = True
        self._enter(State.DOWN, why)

    async def call(self, tool: McpTool, context: ToolContext, arguments: str) -> str:
        """Carry a call out; repeat it on a new connection if its class allows that, else cut it short."""
        given = _object(arguments)
        fault: Exception = ServerNotReached("it is unreachable")
        for attempt in range(1, TRIES + 1):
            if attempt > 1:
                await self._clock.sleep(delay(attempt - 1, PATIENCE, self._rng.random()) / SECOND)
            connection = await self._reach(tool)
            try:
                return await self._answer(connection, tool, context, given)
            except ServerNotReached as gone:
                # The call did not begin, so any call may be tried again.
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
        """Cut the call short if it may have had an effect: it is neither a failure nor to be repeated."""
        if context.effect not in AGAIN:
            raise CutShort(f"the MCP server {self.name!r}: {doubt}") from None

    # From one start to the next end.

    async def _one_life(self, connect: Connect) -> str:
        """Run the server from its start to its end; returns why it ended."""
        self._enter(State.STARTING, self._words)
        self._starts += 1
        life = asyncio.ensure_future(self._live(connect))
        life.add_done_callback(lambda _: self._bell.ring())
        try:
            await self._until(lambda: self._state is State.UP or life.done(), START)
            if self._state is not State.UP and not life.done():
                return f"it did not list its tools within {START:g} seconds"
            return await life
        except Exception as fault:  # noqa: BLE001 - the boundary to foreign code: the server is down
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
        """Return when it is time to list its tools again."""
        await self._clock.sleep(self._pause())
        if self._settings.url is None:
            await changed.since(rung)
        else:
            await first_of(changed.since(rung), self._clock.sleep(LOOK))

    def _pause(self) -> float:
        """Seconds until its tools may be listed again."""
        now = self._clock.monotonic()
        self._looked.append(now)
        if len(self._looked) < LOOKS or self._looked[0] + PERIOD < now + SETTLE:
            return SETTLE
        self._rests_until = self._looked[0] + PERIOD
        self._bell.ring()
        return self._rests_until - now

    def _warn(self, words: str) -> None:
        """Log a warning once."""
        if words in self._warnings or len(self._warnings) > MOST_WARNINGS:
            return
        self._warnings.add(words)
        if len(self._warnings) > MOST_WARNINGS:
            words = "there are more warnings about its tools; they are not logged"
        log.warning("the MCP server %s: %s", self.name, words)

    def _take(self, listed: Sequence[Listed], left_out: int) -> None:
        """Replace the known tools."""
        if left_out:
            self._warn(f"at least {left_out} of its tools are not offered: too large, or too many")
        offered = {tool.name: tool for tool in reversed(listed) if self._settings.offers(tool.name)}
        names = names_of(self.name, [tool.name for tool in listed if tool.name in offered])
        self._tools = {name: self._tool(name, offered[theirs]) for name, theirs in names.theirs.items()}
        for clash in names.clashes:
            self._warn(f"two of its tools have the same name: {clash}")

    def _tool(self, name: str, listed: Listed) -> McpTool:
        effect = self._settings.effect_of(listed.name)
        return McpTool(name, effect, listed.description, listed.parameters, listed.name, self)

    def _enter(self, state: State, words: str) -> None:
        self._state, self._words, self._since = state, words, self._clock.now()
        self._bell.ring()

    # Calls.

    async def _reach(self, tool: McpTool) -> McpConnection:
        """The connection, after a limited wait; the error says what the model can do."""
        await self._until(lambda: self._usable() is not None)
        connection = self._usable()
        if connection is None:
            raise ToolFailed(
                f"The MCP server {self.name!r} is down: {self._words or 'it is still starting'}. Nothing was "
                "done. The gateway starts it again by itself. Continue without it, or try again later."
            )
        if tool.name not in self._tools:
            raise ToolFailed(f"The MCP server {self.name!r} does not offer {tool.theirs!r} any more.")
        return connection

    def _usable(self) -> McpConnection | None:
        found = self._connection
        return None if found is None or found.signs.over.is_set() else found

    async def _in_time(self, work: Coroutine[Any, Any, str], beat: _Beat) -> str:
        """The result; `TimeoutError` when neither a result nor progress came for too long."""
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
                    raise TimeoutError(f"no answer within {seconds:g} seconds; the gateway told it to stop")
            return task.result()
        finally:
            # Cancelling tells the server that the gateway does not wait any more.
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def _until(self, condition: Callable[[], bool], seconds: float | None = None) -> None:
        """Return when the condition holds, or the time is up."""
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
    """Counts reports of progress, and passes them on."""

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
        raise ToolFailed(f"the arguments must be a JSON object, not {arguments[:100]!r}")
    return given


def _told(fault: BaseException) -> str:
    """Why a connection failed, without what a fault may repeat; the first fault of a group."""
    while isinstance(fault, BaseExceptionGroup):
        fault = fault.exceptions[0]
    if isinstance(fault, (ConnectionLost, ServerNotReached, Garbled, ToolFailed, TimeoutError)):
        return str(fault)
    return f"{type(fault).__name__}"
