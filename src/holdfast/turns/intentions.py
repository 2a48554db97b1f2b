"""What tools want done, done: each intention becomes what is committed with the journal."""

from __future__ import annotations

from holdfast.model import CallRecord
from holdfast.records import dataclass
from holdfast.store import Step
from holdfast.tools import (
    Intention,
    KillProcess,
    LookAtProcess,
    ReportGoal,
    StartProcess,
    ToolContext,
    ToolFailed,
    WriteToProcess,
)

from .goals import GoalWork
from .processes import ProcessWork


@dataclass(frozen=True, slots=True)
class Intentions:
    """One run's way to carry out what its tools intend; None for what this gateway has not."""

    processes: ProcessWork | None = None
    goals: GoalWork | None = None

    async def carry_out(self, intention: Intention, context: ToolContext, call: CallRecord) -> Step:
        """Do it, and give what is to be committed; `ToolFailed` says why that cannot be."""
        match intention:
            case StartProcess() | LookAtProcess() | WriteToProcess() | KillProcess() if self.processes:
                return await self.processes.carry_out(intention, context, call)
            case ReportGoal() if self.goals:
                return await self.goals.report(intention, call)
        raise ToolFailed(f"this gateway cannot do that yet ({type(intention).__name__})")
