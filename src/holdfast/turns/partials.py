"""What a run has in hand that is not finished: recorded while people see it, so that no cut loses it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from holdfast.clock import Clock
from holdfast.errors import Report, StaleWrite, StoreFault
from holdfast.model import CallId, Fence, Partial
from holdfast.policy.settings import SECOND
from holdfast.policy.turn.partials import recorded_output, recorded_reply
from holdfast.store import Store

from .cut import LOST
from .run_tasks import RunTasks

_SOONER = 0.75
"""What is left of the time in which something is to be recorded goes to the commit."""


class Partials:
    """The reply that is being written and the output of calls that run.

    One commit holds all that has changed, and there is none while nothing has: a reply that is finished
    before its time is up costs nothing.
    """

    def __init__(
        self,
        *,
        store: Store,
        fence: Fence,
        clock: Clock,
        hands: RunTasks,
        every: int,
        on_recorded: Callable[[], None],
        report: Report,
        begun: str = "",
    ) -> None:
        """`begun` is what an earlier run had written: it is this one's until it writes something itself."""
        self._store = store
        self._fence = fence
        self._clock = clock
        self._hands = hands
        self._wait = every / SECOND * _SOONER
        self._on_recorded = on_recorded
        self._report = report
        self._reply = begun
        self._outputs: dict[CallId, str] = {}
        self._unrecorded: dict[CallId | None, Partial] = {}
        self._task: asyncio.Task[None] | None = None

    @property
    def reply(self) -> str:
        """What was written of a reply that is not in the transcript."""
        return self._reply

    def output(self, call: CallId) -> str:
        """What a call that runs has put out, or the end of it."""
        return self._outputs.get(call, "")

    def write(self, text: str, after: int, seen: bool) -> None:
        """The reply has grown to this; it comes after that entry, and people may see it."""
        if not text:
            return
        self._reply = text
        if seen:
            self._change(Partial(recorded_reply(text), after=after))

    def put_out(self, call: CallId, text: str, seen: bool) -> None:
        """A call has put out something more."""
        output = self._outputs[call] = recorded_output(self.output(call) + text)
        if seen:
            self._change(Partial(output, call))

    def replied(self) -> None:
        """The reply is the transcript's from here on."""
        self._reply = ""
        self._unrecorded.pop(None, None)

    def returned(self, call: CallId) -> None:
        """The call has a result."""
        self._outputs.pop(call, None)
        self._unrecorded.pop(call, None)

    def record(self) -> None:
        """Record now that the run makes progress, with what people have been shown."""
        self._hands.begin(self._record)

    def close(self) -> tuple[Partial, ...]:
        """Record nothing more; returns what is not recorded yet."""
        if self._task is not None:
            self._task.cancel()
        return tuple(self._unrecorded.values())

    def _change(self, partial: Partial) -> None:
        self._unrecorded[partial.call] = partial
        if self._task is None or self._task.done():
            self._task = self._hands.begin(self._keep_recording)

    async def _keep_recording(self) -> None:
        while self._unrecorded:
            await self._clock.sleep(self._wait)
            if self._unrecorded:
                await self._record()

    async def _record(self) -> None:
        shown = dict(self._unrecorded)
        try:
            await self._store.progress(self._fence, tuple(shown.values()))
        except StaleWrite:
            self._hands.cut(LOST)
            return
        except StoreFault as fault:
            # It is tried again with what has come until then.
            self._report(f"recording what turn {self._fence.turn} has shown", fault)
            return
        for call, partial in shown.items():
            if self._unrecorded.get(call) is partial:
                del self._unrecorded[call]
        self._on_recorded()
