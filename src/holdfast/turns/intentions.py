"""What tools want done, done: each intention becomes what is committed with the journal."""

from __future__ import annotations

from holdfast.model import CallRecord
from holdfast.records import dataclass
from holdfast.store import Step
from holdfast.tools import Ask, Intention, ToolContext, ToolFailed

from .asked import Asked


@dataclass(frozen=True, slots=True)
class Intentions:
    """One run's way to carry out what its tools intend."""

    asked: Asked

    async def carry_out(self, intention: Intention, context: ToolContext, call: CallRecord) -> Step:
        """Do it, and give what is to be committed; `ToolFailed` says why that cannot be."""
        match intention:
            case Ask():
                return self.asked.person(intention, call)
            case _:
                raise ToolFailed(f"this gateway cannot do that yet ({type(intention).__name__})")
