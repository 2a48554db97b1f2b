"""Run tools for a turn: each with its declared effect class and its key. A tool's fault becomes a result."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import cast

from holdfast.agents import Agent
from holdfast.clock import Clock
from holdfast.errors import Report, StaleWrite, StoreClosed, SyncFailed
from holdfast.model import (
    CallRecord,
    CallState,
    EffectClass,
    Fence,
    PlannedCall,
    Returned,
    ToolCall,
)
from holdfast.policy.settings import SECOND, TurnSettings
from holdfast.policy.turn.synthetic_results import given_up_text, not_happened_text, unknown_text
from holdfast.records import dataclass
from holdfast.store import Step
from holdfast.telemetry import Secrets, masked, no_secrets, without_secrets
from holdfast.tools import (
    READ_OUTPUT,
    Checkable,
    CutShort,
    Intention,
    Outcome,
    Tool,
    ToolContext,
    ToolFailed,
    ToolSource,
    ToolSpec,
    spec_of,
)

from .foreign_code import called
from .long_results import LongResults, bounded
from .timeout import OutOfTime, SignOfLife, within

_DANGER = (EffectClass.READ, EffectClass.IDEMPOTENT, EffectClass.RECONCILABLE, EffectClass.EFFECT)
"""From calls that may always run again to calls that never may."""

CarryOut = Callable[[Intention, ToolContext, CallRecord], Awaitable[Step]]
"""Carries out an intention of a tool; `ToolFailed` says why that is not possible."""


@dataclass(frozen=True, slots=True)
class ToolListener:
    """Takes the progress and output of a running tool."""

    progress: Callable[[], None]
    output: Callable[[str], None]


class ToolExecution:
    """The agent's own tools, the tools that may appear and disappear, and the folder they work in."""

    def __init__(
        self,
        agent: Agent,
        more: ToolSource,
        workspace: Path,
        report: Report,
        carry_out: CarryOut,
        clock: Clock,
        settings: TurnSettings,
        outputs: LongResults,
        secrets: Secrets = no_secrets,
    ) -> None:
        self._own: Mapping[str, Tool] = {tool.name: tool for tool in agent.tools}
        self._more = more
        self._wanted = agent.more
        self._tools = self._own
        """The tools that the model was last told of."""
        self._workspace = workspace
        self._report = report
        self._carry_out = carry_out
        self._clock = clock
        self._settings = settings
        self._outputs = outputs
        self._secrets = secrets

    @property
    def settled(self) -> bool:
        """Whether it is known which tools there are now."""
        return self._more.settled

    async def settle(self) -> None:
        """Wait, for a bounded time, until it is known which tools there are."""
        await self._more.settle()

    def look(self) -> None:
        """Take the tools of this moment for the next prompt. The agent's own tools win over others."""
        more = {tool.name: tool for tool in self._more.tools() if self._is_wanted(tool.name)}
        self._tools = {**more, **self._own}

    def _is_wanted(self, name: str) -> bool:
        return any(fnmatchcase(name, pattern) for pattern in self._wanted)

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        """The descriptions of the tools for the model."""
        return tuple(spec_of(tool) for tool in self._tools.values())

    def plan(self, call: ToolCall) -> PlannedCall:
        """A call for the journal, with the effect class its tool declares now; READ for an unknown name."""
        tool = self._tools.get(call.name)
        effect = tool.effect if tool else EffectClass.READ
        return PlannedCall(call.id, call.name, call.arguments, effect)

    def starts_program(self, name: str) -> bool:
        """Whether a call of that name makes the gateway start or use a program."""
        own = self._own.get(name)
        tool = self._more.find(name) if own is None and self._is_wanted(name) else own
        return bool(getattr(tool, "starts_program", False))

    async def run(self, fence: Fence, call: CallRecord, listener: ToolListener) -> Step:
        """Run a started call and return the step to commit; a tool's failure is a result as well.

        If the tool returns an intention, it is carried out here as a part of the run.
        """
        life = SignOfLife(self._clock)
        context = self._context(fence, call, listener, life)
        step = await self._outcome(context, call, life)
        reader = READ_OUTPUT if READ_OUTPUT in self._tools else None
        return await self._given(step, call, reader)

    async def _given(self, step: Step, call: CallRecord, reader: str | None) -> Step:
        """The step as it is committed: secrets are masked first, then long results are shortened."""
        step = masked(step, self._secrets())
        return await bounded(step, call, self._outputs, self._settings.tools.shown, reader, self._report)

    async def _outcome(self, context: ToolContext, call: CallRecord, life: SignOfLife) -> Step:
        tool = await self._found(call.name)
        if tool is None:
            known = ", ".join(sorted(self._tools)) or "none"
            return _failed(call, f"There is no tool {call.name!r}. There are: {known}.")
        if _DANGER.index(call.effect) < _DANGER.index(tool.effect):
            # The call was planned under a safer class: it passed weaker rules and might be run again.
            return _failed(
                call,
                f"The tool {call.name} has changed since you called it. Call it again if you still want it.",
            )
        try:
            found = await self._in_time(tool, context, call, life)
            if isinstance(found, Intention):
                return await self._carry_out(found, context, call)
        except ToolFailed as failure:
            return _failed(call, self._without_secrets(str(failure)))
        except CutShort as cut:
            return Step((await self._given_up(tool, context, call, self._without_secrets(str(cut))),))
        except (StaleWrite, StoreClosed, SyncFailed):
            raise
        except Exception as fault:  # noqa: BLE001 - the boundary to foreign code: the fault is the result
            self._report(f"the tool {call.name} in turn {context.turn}", fault)
            # The tool may have done its effect before the fault, so an effect must not look like a failure.
            if call.effect in (EffectClass.READ, EffectClass.IDEMPOTENT):
                return _failed(call, f"The tool failed unexpectedly: {self._without_secrets(repr(fault))}")
            return Step((_unknown(call, self._without_secrets(repr(fault))),))
        return Step((Returned(call.id, CallState.DONE, str(found)),))

    async def _in_time(self, tool: Tool, context: ToolContext, call: CallRecord, life: SignOfLife) -> Outcome:
        """Run the tool within its own time limit, or else within the default since its last sign of life."""
        own, seconds, grace = _own_time(tool), self._seconds(tool), self._settings.grace / SECOND
        work = called(lambda: tool.run(context, call.arguments))
        try:
            return await within(self._clock, seconds, grace, work, life if own is None else None)
        except OutOfTime:
            why = "gave no sign of life for" if own is None else "was not done after"
            raise CutShort(f"it {why} {seconds:g} seconds") from None

    async def _found(self, name: str) -> Tool | None:
        """The tool as it is now, not as it was when the model was told of it."""
        own = self._own.get(name)
        if own is not None or not self._is_wanted(name):
            return own
        if not self._more.settled:
            await self._more.settle()
        return self._more.find(name)

    def _seconds(self, tool: Tool) -> float:
        """How many seconds the tool may take: its own limit, or else the configured one."""
        own = _own_time(tool)
        return self._settings.tools.timeout / SECOND if own is None else own

    async def _given_up(self, tool: Tool, context: ToolContext, call: CallRecord, why: str) -> Returned:
        """Settle a call that ran out of time by its class, like a call that a crash cut off."""
        match call.effect:
            case EffectClass.READ | EffectClass.IDEMPOTENT:
                return Returned(call.id, CallState.FAILED, given_up_text(call, why))
            case EffectClass.RECONCILABLE:
                return await self._asked(tool, context, call, why)
            case EffectClass.EFFECT:
                return _unknown(call, why)

    async def ask(self, fence: Fence, call: CallRecord, listener: ToolListener) -> Step:
        """Ask a reconcilable tool for the outcome of a cut-off call; without an answer it is unknown."""
        tool = await self._found(call.name)
        result = (
            _unknown(call)
            if tool is None
            else await self._asked(
                tool, self._context(fence, call, listener, SignOfLife(self._clock)), call, ""
            )
        )
        return await self._given(Step((result,)), call, None)

    async def _asked(self, tool: Tool, context: ToolContext, call: CallRecord, why: str) -> Returned:
        if not hasattr(tool, "check"):
            return _unknown(call, why)
        try:
            work = called(lambda: cast("Checkable", tool).check(context, call.arguments))
            found = await within(self._clock, self._seconds(tool), self._settings.grace / SECOND, work)
        except (ToolFailed, CutShort) as failure:
            return _unknown(call, self._without_secrets(str(failure)))
        except OutOfTime:
            return _unknown(call, "the tool did not answer in time")
        except Exception as fault:  # noqa: BLE001 - the boundary to foreign code: the outcome stays unknown
            self._report(f"asking the tool {call.name} in turn {context.turn}", fault)
            return _unknown(call, self._without_secrets(repr(fault)))
        if found is None:
            return Returned(call.id, CallState.FAILED, not_happened_text(call))
        return Returned(call.id, CallState.DONE, str(found))

    def _without_secrets(self, words: str) -> str:
        """The text of a failure for the transcript. Masks known secrets first: a pattern may cut one."""
        return without_secrets(self._secrets().without(words))

    def _context(
        self, fence: Fence, call: CallRecord, listener: ToolListener, life: SignOfLife
    ) -> ToolContext:
        def progress() -> None:
            life.note()
            listener.progress()

        def output(text: str) -> None:
            life.note()
            listener.output(text)

        return ToolContext(
            fence.session,
            fence.turn,
            fence.generation,
            self._workspace,
            call.key,
            progress,
            output,
            call.effect,
            self._secrets(),
        )


def _failed(call: CallRecord, words: str) -> Step:
    return Step((Returned(call.id, CallState.FAILED, words),))


def _own_time(tool: Tool) -> float | None:
    own = getattr(tool, "timeout", None)
    return float(own) if isinstance(own, (int, float)) else None


def _unknown(call: CallRecord, why: str = "") -> Returned:
    words = f"{unknown_text(call)} ({why})" if why else unknown_text(call, call.output)
    return Returned(call.id, CallState.UNKNOWN, words)
