"""The agent's report on the goal, committed with its call."""

from __future__ import annotations

from holdfast.errors import StoreFault
from holdfast.model import CallRecord, CallState, GoalState, Key, Returned
from holdfast.records import dataclass
from holdfast.store import GoalReport, Step, Store
from holdfast.tools import ReportGoal, ToolFailed


@dataclass(frozen=True, slots=True)
class GoalWork:
    """Takes the reports of one run on the goal of its conversation."""

    store: Store
    key: Key

    async def report(self, said: ReportGoal, call: CallRecord) -> Step:
        try:
            goal = await self.store.goal(self.key)
        except StoreFault as fault:
            raise ToolFailed(f"nothing was done: the ledger could not be read ({fault})") from fault
        if goal is None or goal.state is not GoalState.ACTIVE:
            raise ToolFailed("there is no standing goal in this conversation")
        state = GoalState.DONE if said.reached else GoalState.BLOCKED
        text = "Noted. The gateway starts no further turn for this goal. Tell the person in your answer."
        return Step((Returned(call.id, CallState.DONE, text),), goal=GoalReport(state, said.words))
