"""Running tools for a turn: planned with the class they declare, run with their key, never raising."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from holdfast.model import (
    CallRecord,
    CallState,
    Claimed,
    EffectClass,
    PlannedCall,
    Returned,
    ToolCall,
)
from holdfast.policy.results import not_happened_text, unknown_text
from holdfast.tools import Checkable, Tool, ToolContext, ToolFailed


@dataclass(frozen=True, slots=True)
class Toolbox:
    """The tools an agent may use, and the folder they work in."""

    tools: Mapping[str, Tool]
    workspace: Path

    def plan(self, call: ToolCall) -> PlannedCall:
        """How a call enters the journal: the class its tool declares now; a name nobody knows is harmless."""
        tool = self.tools.get(call.name)
        effect = tool.effect if tool else EffectClass.READ
        return PlannedCall(call.id, call.name, call.arguments, effect)

    async def run(self, claimed: Claimed, call: CallRecord) -> Returned:
        """Run a started call and give its result; a tool's failure is a result as well."""
        tool = self.tools.get(call.name)
        if tool is None:
            known = ", ".join(sorted(self.tools))
            return Returned(call.id, CallState.FAILED, f"There is no tool {call.name!r}. There are: {known}.")
        try:
            text = await tool.run(self._context(claimed, call), call.arguments)
        except ToolFailed as failure:
            return Returned(call.id, CallState.FAILED, str(failure))
        except Exception as fault:  # noqa: BLE001 - the boundary to other people's code: the fault is the result
            # What an effect did before its fault nobody knows; it must not look like a plain failure.
            if call.effect is EffectClass.EFFECT:
                return Returned(call.id, CallState.UNKNOWN, f"{unknown_text(call)} ({fault!r})")
            return Returned(call.id, CallState.FAILED, f"The tool broke: {fault!r}")
        return Returned(call.id, CallState.DONE, text)

    async def ask(self, claimed: Claimed, call: CallRecord) -> Returned:
        """Ask a reconcilable tool what became of a call that was cut off; what it cannot tell is unknown."""
        tool = self.tools.get(call.name)
        if tool is None or not hasattr(tool, "check"):
            return Returned(call.id, CallState.UNKNOWN, unknown_text(call))
        try:
            found = await cast("Checkable", tool).check(self._context(claimed, call), call.arguments)
        except Exception as fault:  # noqa: BLE001 - the boundary to other people's code: it could not tell
            return Returned(call.id, CallState.UNKNOWN, f"{unknown_text(call)} ({fault!r})")
        if found is None:
            return Returned(call.id, CallState.FAILED, not_happened_text(call))
        return Returned(call.id, CallState.DONE, found)

    def _context(self, claimed: Claimed, call: CallRecord) -> ToolContext:
        fence = claimed.fence
        return ToolContext(fence.session, fence.turn, fence.generation, self.workspace, call.key)
