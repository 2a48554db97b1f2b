"""Running tools for a turn: planned with the class they declare, run with their key, never raising."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import cast

from holdfast.agents import Agent
from holdfast.clock import Clock
from holdfast.model import (
    CallRecord,
    CallState,
    EffectClass,
    Fence,
    PlannedCall,
    Returned,
    ToolCall,
)
from holdfast.policy.results import given_up_text, not_happened_text, unknown_text
from holdfast.policy.settings import SECOND, TurnSettings
from holdfast.records import dataclass
from holdfast.store import Step
from holdfast.telemetry import without_secrets
from holdfast.tools import (
    READ_OUTPUT,
    Checkable,
    CutShort,
    Intention,
    Tool,
    ToolContext,
    ToolFailed,
    ToolSource,
    ToolSpec,
    spec_of,
)

from .boundary import called
from .outputs import Outputs, bounded
from .report import Report
from .timing import OutOfTime, within

CarryOut = Callable[[Intention, ToolContext, CallRecord], Awaitable[Step]]
"""Does what a tool wants done; `ToolFailed` says why that cannot be."""


@dataclass(frozen=True, slots=True)
class Ear:
    """Where a run of a tool is heard."""

    progress: Callable[[], None]
    output: Callable[[str], None]


class Toolbox:
    """The tools of an agent and those that come and go, and the folder they work in."""

    def __init__(
        self,
        agent: Agent,
        more: ToolSource,
        workspace: Path,
        report: Report,
        carry_out: CarryOut,
        clock: Clock,
        settings: TurnSettings,
        outputs: Outputs,
    ) -> None:
        self._own: Mapping[str, Tool] = {tool.name: tool for tool in agent.tools}
        self._more = more
        self._tools = self._own
        """Those the model was told of last."""
        self._workspace = workspace
        self._report = report
        self._carry_out = carry_out
        self._clock = clock
        self._settings = settings
        self._outputs = outputs

    @property
    def settled(self) -> bool:
        """Whether it is known what there is now."""
        return self._more.settled

    async def settle(self) -> None:
        """Wait for what is about to be known; bounded."""
        await self._more.settle()

    def look(self) -> None:
        """Have the tools as they are now: those the model is told of next. An agent's own come first."""
        self._tools = {**{tool.name: tool for tool in self._more.tools()}, **self._own}

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        """What the model is told of them."""
        return tuple(spec_of(tool) for tool in self._tools.values())

    def plan(self, call: ToolCall) -> PlannedCall:
        """How a call enters the journal: the class its tool declares now; a name nobody knows is harmless."""
        tool = self._tools.get(call.name)
        effect = tool.effect if tool else EffectClass.READ
        return PlannedCall(call.id, call.name, call.arguments, effect)

    async def run(self, fence: Fence, call: CallRecord, ear: Ear) -> Step:
        """Run a started call and give what came of it, to be committed; a tool's failure is a result as well.

        What it wants done instead is done here, as a part of its run.
        """
        context = self._context(fence, call, ear)
        outcome = await self._outcome(context, call)
        step = (
            Step((outcome,))
            if isinstance(outcome, Returned)
            else await self._carried_out(outcome, context, call)
        )
        reader = READ_OUTPUT if READ_OUTPUT in self._tools else None
        return await bounded(step, call, self._outputs, self._settings.tools.shown, reader, self._report)

    async def _carried_out(self, intention: Intention, context: ToolContext, call: CallRecord) -> Step:
        try:
            return await self._carry_out(intention, context, call)
        except ToolFailed as failure:
            return Step((Returned(call.id, CallState.FAILED, without_secrets(str(failure))),))

    async def _outcome(self, context: ToolContext, call: CallRecord) -> Returned | Intention:
        tool = await self._found(call.name)
        if tool is None:
            known = ", ".join(sorted(self._tools)) or "none"
            return Returned(call.id, CallState.FAILED, f"There is no tool {call.name!r}. There are: {known}.")
        seconds = self._seconds(tool)
        try:
            work = called(lambda: tool.run(context, call.arguments))
            found = await within(self._clock, seconds, self._settings.grace / SECOND, work)
        except ToolFailed as failure:
            return Returned(call.id, CallState.FAILED, without_secrets(str(failure)))
        except OutOfTime:
            return await self._given_up(tool, context, call, f"it was not done after {seconds:g} seconds")
        except CutShort as cut:
            return await self._given_up(tool, context, call, without_secrets(str(cut)))
        except Exception as fault:  # noqa: BLE001 - the boundary to other people's code: the fault is the result
            self._report(f"the tool {call.name} in turn {context.turn}", fault)
            # What it did before its fault nobody knows; of an effect that must not look like a plain failure.
            if call.effect in (EffectClass.READ, EffectClass.IDEMPOTENT):
                return Returned(call.id, CallState.FAILED, f"The tool broke: {_shown(fault)}")
            return Returned(call.id, CallState.UNKNOWN, f"{unknown_text(call)} ({_shown(fault)})")
        return found if isinstance(found, Intention) else Returned(call.id, CallState.DONE, str(found))

    async def _found(self, name: str) -> Tool | None:
        """What a call runs: the tool as it is now, not as it was when the model was told of it."""
        own = self._own.get(name)
        if own is None and not self._more.settled:
            await self._more.settle()
        return own or self._more.find(name)

    def _seconds(self, tool: Tool) -> float:
        """How long a run of it may take: as it says itself, else as is configured."""
        own = getattr(tool, "timeout", None)
        return float(own) if isinstance(own, (int, float)) else self._settings.tools.timeout / SECOND

    async def _given_up(self, tool: Tool, context: ToolContext, call: CallRecord, why: str) -> Returned:
        """Settle by its class a call that was ended before it was done, as one that was cut off."""
        match call.effect:
            case EffectClass.READ | EffectClass.IDEMPOTENT:
                return Returned(call.id, CallState.FAILED, given_up_text(call, why))
            case EffectClass.RECONCILABLE:
                return await self._asked(tool, context, call, why)
            case EffectClass.EFFECT:
                return _unknown(call, why)

    async def ask(self, fence: Fence, call: CallRecord, ear: Ear) -> Step:
        """Ask a reconcilable tool what became of a call that was cut off; what it cannot tell is unknown."""
        tool = await self._found(call.name)
        result = (
            _unknown(call)
            if tool is None
            else await self._asked(tool, self._context(fence, call, ear), call, "")
        )
        return await bounded(
            Step((result,)), call, self._outputs, self._settings.tools.shown, None, self._report
        )

    async def _asked(self, tool: Tool, context: ToolContext, call: CallRecord, why: str) -> Returned:
        if not hasattr(tool, "check"):
            return _unknown(call, why)
        try:
            work = called(lambda: cast("Checkable", tool).check(context, call.arguments))
            found = await within(self._clock, self._seconds(tool), self._settings.grace / SECOND, work)
        except (ToolFailed, CutShort) as failure:
            return _unknown(call, without_secrets(str(failure)))
        except OutOfTime:
            return _unknown(call, "it could not be asked in time")
        except Exception as fault:  # noqa: BLE001 - the boundary to other people's code: it could not tell
            self._report(f"asking the tool {call.name} in turn {context.turn}", fault)
            return _unknown(call, _shown(fault))
        if found is None:
            return Returned(call.id, CallState.FAILED, not_happened_text(call))
        return Returned(call.id, CallState.DONE, str(found))

    def _context(self, fence: Fence, call: CallRecord, ear: Ear) -> ToolContext:
        return ToolContext(
            fence.session,
            fence.turn,
            fence.generation,
            self._workspace,
            call.key,
            ear.progress,
            ear.output,
            call.effect,
        )


def _unknown(call: CallRecord, why: str = "") -> Returned:
    return Returned(
        call.id, CallState.UNKNOWN, f"{unknown_text(call)} ({why})" if why else unknown_text(call)
    )


def _shown(fault: Exception) -> str:
    """A fault as the transcript keeps it; what raised it may have put a secret into it."""
    return without_secrets(repr(fault))
