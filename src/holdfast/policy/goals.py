"""Standing goals: what the model is told turn by turn, and what people are told when one stops."""

from __future__ import annotations

from holdfast.model import Goal, GoalState

REPORTING = "goal"
"""The tool by which an agent reports that a goal is reached, or cannot be."""
LONGEST = 4_000
"""Characters a goal may have."""
_SHOWN = 200


def continuation(text: str, used: int, budget: int) -> str:
    """What queues the next turn of a goal says."""
    return (
        f"Standing goal: {text}\n\nThe person set it with /goal. This is turn {used} of at most {budget} for "
        f"it. Go on from where you are; "
        f"nobody needs to answer. When it is reached, or when you cannot go on without a person, say so with "
        f"the tool `{REPORTING}`; without that, the next turn follows by itself."
    )


def set_words(text: str, budget: int) -> str:
    return (
        f"I work towards this by myself from now on, for up to {budget} turns: “{_shown(text)}”. Anything "
        "you write stops that; so does /goal stop. /goal shows where it stands."
    )


def spent_words(text: str, budget: int) -> str:
    return (
        f"The goal “{_shown(text)}” has had its {budget} turns and is not reported as reached, so I stop. "
        "/goal with a text sets one again."
    )


def written_words(text: str) -> str:
    return (
        f"You wrote, so I no longer go on by myself with the goal “{_shown(text)}”. "
        "/goal with a text sets one again."
    )


def stopped_words(text: str) -> str:
    return f"Stopped: I no longer go on by myself with “{_shown(text)}”. A turn that runs is let finish."


NONE_SET = "There is no standing goal here. /goal with a text sets one: I then work at it turn after turn."
NOTHING_TO_STOP = "There is no standing goal here that could be stopped."
_ENDED = {
    GoalState.DONE: "reached, as the agent reported",
    GoalState.BLOCKED: "given up: the agent reported that it cannot go on by itself",
    GoalState.STOPPED: "stopped",
    GoalState.SPENT: "not reached in the turns it had",
}


def state_words(goal: Goal | None, unfinished: bool) -> str:
    """How a goal stands, for who asks; `unfinished` says whether a turn of its session is."""
    if goal is None:
        return NONE_SET
    used = f"{goal.used} of {goal.budget} turns used"
    if goal.state is not GoalState.ACTIVE:
        said = f" It said: {_shown(goal.words)}" if goal.words else ""
        return f"The goal “{_shown(goal.text)}” is {_ENDED[goal.state]} ({used}).{said}"
    if goal.waits or unfinished:
        return f"I work towards “{_shown(goal.text)}” ({used}). /goal stop ends that."
    return (
        f"The goal “{_shown(goal.text)}” stands and nothing goes on: the last turn did not succeed ({used}). "
        "/retry goes on with it, /goal stop ends it."
    )


def _shown(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _SHOWN else f"{line[:_SHOWN]}…"
