"""Rules about goals, checked by the turns they caused."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from holdfast.testing.observation.history import GoalLine, History, InboxLine, TurnLine

_GOAL = "goal:"


def r17_goals(history: History) -> Iterator[str]:
    """R17: a goal goes on after turns that succeed, within its budget, and never after its end."""
    ledger = history.ledger
    turns = {turn.id: turn for turn in ledger.turns}
    rows: dict[str, list[InboxLine]] = defaultdict(list)
    for row in ledger.inbox:
        if row.kind == "wakeup" and row.event_id.startswith(_GOAL):
            cause = _cause(row)
            after = turns.get(cause)
            rows[cause if _sets(row) or after is None else after.session].append(row)
            if not _sets(row) and (after is None or after.state != "done"):
                yield f"{row.event_id} goes on after a turn that is {after.state if after else 'missing'}"
    for goal in ledger.goals:
        yield from _one(history, goal, rows[goal.session], turns)


def _one(
    history: History, goal: GoalLine, rows: list[InboxLine], turns: dict[str, TurnLine]
) -> Iterator[str]:
    """The turns of the goals of one session."""
    setting: InboxLine | None = None
    count = 0
    for row in rows:
        count = 1 if _sets(row) else count + 1
        setting = row if _sets(row) else setting
        if count > goal.budget:
            yield f"the goal of {goal.session} has had {count} turns of {goal.budget}"
        if setting is None:
            yield f"{row.event_id} goes on with a goal that no person has set"
        elif row is not setting:
            yield from _was_over(history, row, setting, turns)
    if count != goal.used:
        yield f"the goal of {goal.session} has used {goal.used} turns, but {count} were queued"
    last = [turn for turn in turns.values() if turn.session == goal.session]
    turned_away = any(row.state not in ("taken", "dropped") for row in rows)
    stands = goal.state == "active" and goal.session not in history.ledger.ended and not turned_away
    if stands and last and max(last).state == "done":
        yield f"the goal of {goal.session} is active and its last turn is done, but no turn follows"


def _was_over(
    history: History, row: InboxLine, setting: InboxLine, turns: dict[str, TurnLine]
) -> Iterator[str]:
    """Whether the agent had reported on the goal, or its person had written, before this turn was queued."""
    after = turns[_cause(row)]
    for call in history.ledger.calls:
        reporting = turns.get(call.turn) if (call.name, call.state) == ("goal", "done") else None
        if reporting is None or reporting.session != after.session:
            continue
        if (setting.turn or "") <= reporting.id <= after.id:
            yield f"{row.event_id} goes on after turn {reporting.id} reported on the goal"
    for said in history.ledger.inbox:
        between = setting.position < said.position < row.position and said.key == row.key
        wrote = said.kind == "message" and said.state == "taken" and not said.reason
        if between and wrote:
            yield f"{row.event_id} goes on after {said.text!r} was written"


def _sets(row: InboxLine) -> bool:
    """Whether it is the first turn of a goal: its id names the session and the command."""
    return row.event_id.count(":") > 1


def _cause(row: InboxLine) -> str:
    return row.event_id.split(":")[1]
