"""The unfinished reply and output of a run: recorded while people see them, so that no cut loses them."""

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
"""The share of the recording interval that the run waits; the rest is time for the commit."""


class Partials:
    """The reply that is being written and the output of calls that run.

    One commit holds all changes, and nothing is committed without a change: a reply that is finished within
    the interval costs no commit.
    """

    def __init__(
        self,
        *,
        store: Store,
        fence: Fence,
        clock: Clock,
        run_tasks: RunTasks,
        every: int,
        on_recorded: Callable[[], None],
        report: Report,
        begun: str = "",
    ) -> None:
        """`begun` is the text that an earlier run wrote; it counts until this run writes something itself."""
        self._store = store
        self._fence = fence
        self._clock = clock
        self._run_tasks = run_tasks
        self._wait = every / SECOND * _SOONER
        self._on_recorded = on_recorded
        self._report = report
        self._reply = begun
        self._outputs: dict[CallId, str] = {}
        self._unrecorded: dict[CallId | None, Partial] = {}
        self._task: asyncio.Task[None] | None = None

    @property
    def reply(self) -> str:
        """The text so far of a reply that is not in the transcript."""
        return self._reply

    def output(self, call: CallId) -> str:
        """The output so far of a running call, or the end of it."""
        return self._outputs.get(call, "")

    def write(self, text: str, after: int, seen: bool) -> None:
        """Take the reply so far; it follows entry `after`, and `seen` says whether people may see it."""
        if not text:
            return
        self._reply = text
        if seen:
            self._change(Partial(recorded_reply(text), after=after))

    def put_out(self, call: CallId, text: str, seen: bool) -> None:
        """Take more output of a running call."""
        output = self._outputs[call] = recorded_output(self.output(call) + text)
        if seen:
            self._change(Partial(output, call))

    def replied(self) -> None:
        """The reply is complete: from here on the transcript has it."""
        self._reply = ""
        self._unrecorded.pop(None, None)

    def returned(self, call: CallId) -> None:
        """The call has a result: its output so far is not needed any more."""
        self._outputs.pop(call, None)
        self._unrecorded.pop(call, None)

    def record(self) -> None:
        """Record now that the run makes progress, together with what people saw."""
        self._run_tasks.begin(self._record)

    def close(self) -> tuple[Partial, ...]:
        """Stop recording; returns what is not recorded yet."""
        if self._task is not None:
            self._task.cancel()
        return tuple(self._unrecorded.values())

    def _change(self, partial: Partial) -> None:
        self._unrecorded[partial.call] = partial
        if self._task is None or self._task.done():
            self._task = self._run_tasks.begin(self._keep_recording)

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
            self._run_tasks.cut(LOST)
            return
        except StoreFault as fault:
            # The next try records this as well.
            self._report(f"recording the unfinished output of turn {self._fence.turn}", fault)
            return
        for call, partial in shown.items():
            if self._unrecorded.get(call) is partial:
                del self._unrecorded[call]
        self._on_recorded()
