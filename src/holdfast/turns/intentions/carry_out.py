"""Carry out the intentions of tools: each becomes a step that is committed with the journal."""

from __future__ import annotations

from holdfast.model import CallRecord, Claimed
from holdfast.policy.delivery.parts import Longest
from holdfast.records import dataclass
from holdfast.store import Step, Store
from holdfast.tools import (
    Ask,
    Intention,
    KillProcess,
    LookAtProcess,
    ReadOutput,
    ReportGoal,
    SearchHistory,
    SendFile,
    StartProcess,
    ToolContext,
    ToolFailed,
    WantRestart,
    WriteToProcess,
)
from holdfast.turns.tools.long_results import LongResults, read_output

from .goals import GoalWork
from .history_search import search_history
from .processes import ProcessWork
from .questions import Questions
from .restart import want_restart
from .send_file import send_file


@dataclass(frozen=True, slots=True)
class Intentions:
    """Carries out the intentions of one run's tools."""

    store: Store
    claimed: Claimed
    asked: Questions
    goals: GoalWork
    outputs: LongResults
    shown: int
    """How many characters of one result the model sees."""
    longest: Longest
    """How many characters one message to a chat may have."""
    processes: ProcessWork | None = None
    """None where background processes cannot run."""

    async def carry_out(self, intention: Intention, context: ToolContext, call: CallRecord) -> Step:
        """Carry it out, and return the step to commit; `ToolFailed` says why that is not possible."""
        match intention:
            case Ask():
                return self.asked.person(intention, call)
            case SearchHistory():
                return await search_history(self.store, self.claimed, intention, call)
            case ReadOutput():
                return await read_output(self.outputs, intention, call, self.shown)
            case SendFile():
                return await send_file(self.outputs, self.claimed, self.longest, intention, call)
            case WantRestart():
                return await want_restart(self.store, self.claimed, intention, call)
            case ReportGoal():
                return await self.goals.report(intention, call)
            case StartProcess() | LookAtProcess() | WriteToProcess() | KillProcess() if self.processes:
                return await self.processes.carry_out(intention, context, call)
        raise ToolFailed("background processes cannot run here")
