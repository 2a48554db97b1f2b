"""Standing goals in words."""

import pytest

from holdfast.model import Goal, GoalState, PersonId, SessionId
from holdfast.policy.goals import NONE_SET, state_words


def goal(state: GoalState, words: str = "", waits: bool = False) -> Goal:
    return Goal(SessionId("s"), "tidy up", state, 20, 3, 0, PersonId("web:ann"), words, waits)


@pytest.mark.guards("R17")
@pytest.mark.parametrize(
    ("found", "unfinished", "says"),
    [
        (None, False, NONE_SET),
        (goal(GoalState.ACTIVE), True, "I work towards “tidy up” (3 of 20 turns used)"),
        (goal(GoalState.ACTIVE, waits=True), False, "I work towards “tidy up” (3 of 20 turns used)"),
        (goal(GoalState.ACTIVE), False, "is set, but I do not work on it now: the last turn did not succeed"),
        (
            goal(GoalState.DONE, "all tidy"),
            False,
            "is reached, as the agent reported (3 of 20 turns used). It said",
        ),
        (goal(GoalState.BLOCKED), False, "is given up: the agent reported"),
        (goal(GoalState.STOPPED), False, "is stopped (3 of 20"),
        (goal(GoalState.SPENT), False, "not reached in the turns it had"),
    ],
)
def test_a_goal_is_shown_as_it_stands(found: Goal | None, unfinished: bool, says: str) -> None:
    assert says in state_words(found, unfinished)
