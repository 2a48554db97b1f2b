"""An event loop without threads, selectors or real time: the same seed takes the same steps."""

from __future__ import annotations

import asyncio
import heapq
import sys
from asyncio import events
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator
from contextlib import contextmanager
from contextvars import Context, copy_context
from typing import Any, NoReturn, TypeVar

from holdfast.clock import Rng

from .life import LIFE, Killed, ProcessLife

T = TypeVar("T")


class Escape(RuntimeError):
    """Code tried to leave the simulation: by a thread, a socket, a signal."""


class NumberedFuture(asyncio.Future[T]):
    """A future whose hash is its number, so that a set of them has the same order in every run."""

    def __init__(self, loop: SimLoop) -> None:
        self.number = loop.next_number()
        self.life = LIFE.get()
        super().__init__(loop=loop)

    def __hash__(self) -> int:
        return self.number


class NumberedTask(asyncio.Task[T]):
    """A task with a number as its hash; it belongs to the process that started it."""

    def __init__(
        self,
        coroutine: Coroutine[Any, Any, T],
        loop: SimLoop,
        name: str | None,
        context: Context,
    ) -> None:
        self.number = loop.next_number()
        self.life: ProcessLife | None = context.get(LIFE)
        label = name or getattr(coroutine, "__qualname__", "?")
        super().__init__(coroutine, loop=loop, name=f"{label}#{self.number}", context=context)
        if self.life is not None:
            self.life.own(self)

    def __hash__(self) -> int:
        return self.number


class SimLoop(asyncio.AbstractEventLoop):
    """Runs one ready handle per `step`, chosen by a seed; time passes only when no handle is ready.

    Handles of a dead process are dropped. `before` is called before each step of a living process and returns
    True if it ended the process instead. `on_step` gets the name of each step taken.
    """

    def __init__(self, rng: Rng) -> None:
        self._rng = rng
        self._time = 0.0
        self._ready: list[asyncio.Handle] = []
        self._timers: list[tuple[float, int, asyncio.TimerHandle]] = []
        self._numbers = 0
        self._closed = False
        self.steps = 0
        self.process_steps = 0
        """Steps of simulated processes: the places for a kill."""
        self.before: Callable[[ProcessLife], bool] | None = None
        self.on_step: Callable[[str], None] | None = None
        self.complaints: list[str] = []
        """Exceptions of living tasks that no code awaited."""

    # Stepping

    @contextmanager
    def running(self) -> Iterator[None]:
        """Be the running loop of this thread."""
        hooks = sys.get_asyncgen_hooks()
        events._set_running_loop(self)
        # The coroutines of a dead process are dropped where they wait, its generators as well.
        sys.set_asyncgen_hooks(firstiter=None, finalizer=_drop)
        try:
            yield
        finally:
            sys.set_asyncgen_hooks(*hooks)
            events._set_running_loop(None)

    def step(self) -> bool:
        """Run one ready handle; False if there is none."""
        while self._ready:
            place = int(self._rng.random() * len(self._ready))
            handle = self._ready[place]
            self._ready[place] = self._ready[-1]
            self._ready.pop()
            if not handle._cancelled and self._run(handle):
                return True
        return False

    def _run(self, handle: asyncio.Handle) -> bool:
        life: ProcessLife | None = handle._context.get(LIFE)  # type: ignore[attr-defined]  # not in the stubs
        if life is not None:
            if not life.alive:
                return False
            self.process_steps += 1
            if self.before is not None and self.before(life):
                return True
        self.steps += 1
        if self.on_step is not None:
            self.on_step(f"{life.number if life else 'world'} {_label(handle)}")
        try:
            handle._run()
        except Killed:
            if life is None or life.alive:
                raise
        return True

    def next_timer(self) -> float | None:
        """When the next timer of a living process is due."""
        while self._timers:
            when, _, handle = self._timers[0]
            life = handle._context.get(LIFE)  # type: ignore[attr-defined]  # not in the stubs
            if not handle._cancelled and (life is None or life.alive):
                return when
            heapq.heappop(self._timers)
        return None

    def advance(self) -> bool:
        """Let time pass until the next timer; False if there is none."""
        when = self.next_timer()
        if when is None:
            return False
        self._time = max(self._time, when)
        while self._timers and self._timers[0][0] <= self._time:
            self._ready.append(heapq.heappop(self._timers)[2])
        return True

    def next_number(self) -> int:
        self._numbers += 1
        return self._numbers

    # What asyncio needs

    def time(self) -> float:
        return self._time

    def get_debug(self) -> bool:
        return False

    def is_running(self) -> bool:
        return events._get_running_loop() is self

    def is_closed(self) -> bool:
        return self._closed

    def close(self) -> None:
        self._closed = True
        self._ready.clear()
        self._timers.clear()

    def call_soon(  # type: ignore[override]  # the stubs want variadic generics
        self, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.Handle:
        handle = asyncio.Handle(callback, args, self, context)
        self._ready.append(handle)
        return handle

    def call_later(  # type: ignore[override]  # the stubs want variadic generics
        self, delay: float, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.TimerHandle:
        return self.call_at(self._time + delay, callback, *args, context=context)

    def call_at(  # type: ignore[override]  # the stubs want variadic generics
        self, when: float, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.TimerHandle:
        handle = asyncio.TimerHandle(when, callback, args, self, context)
        heapq.heappush(self._timers, (when, self.next_number(), handle))
        return handle

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        """A cancelled timer is skipped when its time comes."""

    def create_future(self) -> asyncio.Future[Any]:
        return NumberedFuture(self)

    def create_task(  # type: ignore[override]  # the stubs let coroutines be generators
        self, coro: Coroutine[Any, Any, T], *, name: str | None = None, context: Context | None = None
    ) -> asyncio.Task[T]:
        context = copy_context() if context is None else context
        life = context.get(LIFE)
        if life is not None and not life.alive:
            coro.close()
            life.check()
        return NumberedTask(coro, self, name, context)

    def run_in_executor(  # type: ignore[override]  # the stubs want variadic generics
        self, executor: object, func: Callable[..., T], *args: Any
    ) -> asyncio.Future[T]:
        """The work of a thread is one step, and its result arrives in a later one."""
        if executor is not None:
            raise Escape("code asked for a thread pool inside the simulation")
        future: asyncio.Future[T] = self.create_future()
        self.call_soon(self._work, future, func, args)
        return future

    def _work(self, future: asyncio.Future[T], func: Callable[..., T], args: tuple[Any, ...]) -> None:
        try:
            result = func(*args)
        except Exception as error:  # noqa: BLE001 - the error belongs to the caller that waits
            self.call_soon(_fail, future, error)
        else:
            self.call_soon(_settle, future, result)

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        source = context.get("task") or context.get("future")
        life = getattr(source, "life", None)
        if (life is None or life.alive) and not isinstance(context.get("exception"), Killed):
            self.complaints.append(f"{context.get('message')}: {context.get('exception')!r} in {source!r}")

    def default_exception_handler(self, context: dict[str, Any]) -> None:
        self.call_exception_handler(context)

    # What would leave the simulation

    def call_soon_threadsafe(self, *args: Any, **kwargs: Any) -> NoReturn:  # type: ignore[override]  # refuses
        raise Escape("a thread called into the simulation")

    def run_forever(self) -> NoReturn:
        raise Escape("the world takes the steps")

    def run_until_complete(self, future: Any) -> NoReturn:
        raise Escape("the world takes the steps")


def _drop(generator: AsyncGenerator[Any, Any]) -> None:
    """Its handle does not run any more."""


def _settle(future: asyncio.Future[T], result: T) -> None:
    if not future.done():
        future.set_result(result)


def _fail(future: asyncio.Future[T], error: Exception) -> None:
    if not future.done():
        future.set_exception(error)


def _label(handle: asyncio.Handle) -> str:
    callback = handle._callback  # type: ignore[attr-defined]  # not in the stubs
    source = getattr(callback, "__self__", None)
    if isinstance(source, asyncio.Task):
        return source.get_name()
    return str(getattr(callback, "__qualname__", type(callback).__name__))
