"""The running tools of a run: begun after the commit of their start, collected as they end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import Any

from holdfast.model import CallId, CallRecord, Fence, Returned
from holdfast.policy.turn.synthetic_results import with_output
from holdfast.store import Step
from holdfast.telemetry import Secrets
from holdfast.turns.cut import STUCK, CutOff
from holdfast.turns.display.port import RunDisplayPort
from holdfast.turns.partials import Partials
from holdfast.turns.progress_timer import ProgressTimer
from holdfast.turns.run_tasks import RunTasks

from .execute import ToolExecution, ToolListener

_LINES = 12
_WIDEST = 2_000
"""People see at most so many characters of a running tool's output, from its last lines."""


class ToolWork:
    """Runs calls side by side and keeps them in the order of their start."""

    def __init__(
        self,
        tool_execution: ToolExecution,
        fence: Fence,
        run_tasks: RunTasks,
        progress_timer: ProgressTimer,
        display: RunDisplayPort,
        partials: Partials,
        secrets: Secrets,
    ) -> None:
        self._tool_execution = tool_execution
        self._fence = fence
        self._run_tasks = run_tasks
        self._progress_timer = progress_timer
        self._display = display
        self._partials = partials
        self._secrets = secrets
        self._tasks: dict[CallId, asyncio.Task[Step]] = {}

    def run(self, call: CallRecord) -> None:
        """Run a call that is committed as started."""
        self._begin(call, lambda: self._tool_execution.run(self._fence, call, self._listener(call)))

    def ask(self, call: CallRecord) -> None:
        """Ask for the outcome of a call that was cut off."""
        self._begin(call, lambda: self._tool_execution.ask(self._fence, call, self._listener(call)))

    @property
    def busy(self) -> bool:
        return bool(self._tasks)

    async def next_results(self) -> tuple[Step, ...]:
        """Wait until at least one call has ended, and take the results of all that have."""
        tasks = tuple(self._tasks.values())
        while not any(task.done() for task in tasks):
            if self._progress_timer.is_stuck:
                raise CutOff(STUCK)
            await self._run_tasks.wait(tasks, self._progress_timer.left)
        return self.results()

    def results(self) -> tuple[Step, ...]:
        """Take the results that are there now; a cancelled call has none."""
        ended = {call: task for call, task in self._tasks.items() if task.done()}
        self._tasks = {call: task for call, task in self._tasks.items() if call not in ended}
        self._display.over()
        steps = tuple(
            self._with_output(call, task.result()) for call, task in ended.items() if not task.cancelled()
        )
        for step in steps:
            for body in step.append:
                if isinstance(body, Returned):
                    self._partials.returned(body.call)
        return steps

    def _with_output(self, call: CallId, step: Step) -> Step:
        """Add to an unknown outcome the output that people saw."""
        output = self._partials.output(call)
        return replace(step, append=tuple(with_output(body, output) for body in step.append))

    def _listener(self, call: CallRecord) -> ToolListener:
        """Count the output of a tool as progress and show it, only while the tool runs."""
        seen, stream = "", self._secrets().stream()

        def runs() -> bool:
            task = self._tasks.get(call.id)
            return task is not None and not task.done()

        def beat() -> None:
            if runs():
                self._progress_timer.beat()

        def hear(text: str) -> None:
            nonlocal seen
            if not (text and runs()):
                return
            if known := stream.feed(text):
                seen = "\n".join((seen + known).split("\n")[-_LINES:])[-_WIDEST:]
                self._partials.put_out(call.id, known, self._display.show(f"{call.name}:\n{seen}"))
            self._progress_timer.beat()

        return ToolListener(beat, hear)

    def _begin(self, call: CallRecord, work: Callable[[], Coroutine[Any, Any, Step]]) -> None:
        self._tasks[call.id] = self._run_tasks.begin(work)
