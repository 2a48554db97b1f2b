"""What tools want done, done: each intention becomes what is committed with the journal."""

from __future__ import annotations

from holdfast.model import CallRecord, Claimed
from holdfast.records import dataclass
from holdfast.store import Step, Store
from holdfast.tools import Ask, Intention, ReadOutput, SearchHistory, ToolContext, ToolFailed, WantRestart

from .asked import Asked
from .outputs import Outputs, read_output
from .remembering import search_history
from .restarting import want_restart


@dataclass(frozen=True, slots=True)
class Intentions:
    """One run's way to carry out what its tools intend."""

    store: Store
    claimed: Claimed
    asked: Asked
    outputs: Outputs
    shown: int
    """Characters of one result that a model is shown."""

    async def carry_out(self, intention: Intention, context: ToolContext, call: CallRecord) -> Step:
        """Do it, and give what is to be committed; `ToolFailed` says why that cannot be."""
        match intention:
            case Ask():
                return self.asked.person(intention, call)
            case SearchHistory():
                return await search_history(self.store, self.claimed, intention, call)
            case ReadOutput():
                return await read_output(self.outputs, intention, call, self.shown)
            case WantRestart():
                return await want_restart(self.store, self.claimed, intention, call)
        raise ToolFailed(f"this gateway cannot do that yet ({type(intention).__name__})")
