"""Running tools for a turn: planned with the class they declare, run with their key, never raising."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import cast

from holdfast.agents import Agent
from holdfast.model import (
    CallRecord,
    CallState,
    EffectClass,
    Fence,
    PlannedCall,
    Returned,
    ToolCall,
)
from holdfast.policy.results import not_happened_text, unknown_text
from holdfast.store import Step
from holdfast.telemetry import without_secrets
from holdfast.tools import Checkable, Intention, Tool, ToolContext, ToolFailed, ToolSource, ToolSpec, spec_of

from .boundary import called
from .report import Report

CarryOut = Callable[[Intention, ToolContext, CallRecord], Awaitable[Step]]
"""Does what a tool wants done; `ToolFailed` says why that cannot be."""


class Toolbox:
    """The tools of an agent and those that come and go, and the folder they work in."""

    def __init__(
        self, agent: Agent, more: ToolSource, workspace: Path, report: Report, carry_out: CarryOut
    ) -> None:
        self._own: Mapping[str, Tool] = {tool.name: tool for tool in agent.tools}
        self._more = more
        self._tools = self._own
        """Those the model was told of last."""
        self._workspace = workspace
        self._report = report
        self._carry_out = carry_out

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

    async def run(self, fence: Fence, call: CallRecord, progress: Callable[[], None]) -> Step:
        """Run a started call and give what came of it, to be committed; a tool's failure is a result as well.

        What it wants done instead is done here, as a part of its run.
        """
        context = self._context(fence, call, progress)
        outcome = await self._outcome(context, call)
        return (
            Step((outcome,))
            if isinstance(outcome, Returned)
            else await self._carried_out(outcome, context, call)
        )

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
        try:
            found = await called(lambda: tool.run(context, call.arguments))
        except ToolFailed as failure:
            return Returned(call.id, CallState.FAILED, without_secrets(str(failure)))
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

    async def ask(self, fence: Fence, call: CallRecord, progress: Callable[[], None]) -> Returned:
        """Ask a reconcilable tool what became of a call that was cut off; what it cannot tell is unknown."""
        tool = await self._found(call.name)
        if tool is None or not hasattr(tool, "check"):
            return Returned(call.id, CallState.UNKNOWN, unknown_text(call))
        context = self._context(fence, call, progress)
        try:
            found = await called(lambda: cast("Checkable", tool).check(context, call.arguments))
        except ToolFailed as failure:
            return Returned(
                call.id, CallState.UNKNOWN, f"{unknown_text(call)} ({without_secrets(str(failure))})"
            )
        except Exception as fault:  # noqa: BLE001 - the boundary to other people's code: it could not tell
            self._report(f"asking the tool {call.name} in turn {fence.turn}", fault)
            return Returned(call.id, CallState.UNKNOWN, f"{unknown_text(call)} ({_shown(fault)})")
        if found is None:
            return Returned(call.id, CallState.FAILED, not_happened_text(call))
        return Returned(call.id, CallState.DONE, str(found))

    def _context(self, fence: Fence, call: CallRecord, progress: Callable[[], None]) -> ToolContext:
        return ToolContext(
            fence.session, fence.turn, fence.generation, self._workspace, call.key, progress, call.effect
        )


def _shown(fault: Exception) -> str:
    """A fault as the transcript keeps it; what raised it may have put a secret into it."""
    return without_secrets(repr(fault))
