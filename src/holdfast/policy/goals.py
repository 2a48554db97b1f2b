"""The words of standing goals: for the model at each turn, and for people when a goal stops."""

from __future__ import annotations

from holdfast.model import Goal, GoalState

REPORTING = "goal"
"""The tool by which an agent reports that a goal is reached, or cannot be."""
LONGEST = 4_000
"""Characters of the longest goal."""
_SHOWN = 200


def continuation(text: str, used: int, budget: int) -> str:
    """What the wake-up of a goal's next turn says to the model."""
    return (
        f"Standing goal: {text}\n\nThe person set it with /goal. This is turn {used} of at most {budget} for "
        f"it. Go on from where you are; do not wait for an answer. When you have reached the goal, or cannot "
        f"go on without a person, report that with the tool `{REPORTING}`. Otherwise the next turn follows "
        f"by itself."
    )


def set_words(text: str, budget: int) -> str:
    return (
        f"I work towards this by myself from now on, for up to {budget} turns: “{_shown(text)}”. I stop when "
        "you write anything, or send /goal stop. /goal shows how far I am."
    )


def spent_words(text: str, budget: int) -> str:
    return (
        f"I have used all {budget} turns of the goal “{_shown(text)}” and did not report it as reached, so I "
        "stop. /goal with a text sets one again."
    )


def written_words(text: str) -> str:
    return (
        f"You wrote, so I no longer go on by myself with the goal “{_shown(text)}”. "
        "/goal with a text sets one again."
    )


def stopped_words(text: str) -> str:
    return f"Stopped: I no longer go on by myself with “{_shown(text)}”. A running turn still finishes."


NONE_SET = "There is no standing goal here. /goal with a text sets one: I then work on it turn after turn."
NOTHING_TO_STOP = "There is no standing goal here to stop."
_ENDED = {
    GoalState.DONE: "reached, as the agent reported",
    GoalState.BLOCKED: "given up: the agent reported that it cannot go on by itself",
    GoalState.STOPPED: "stopped",
    GoalState.SPENT: "not reached in the turns it had",
}


def state_words(goal: Goal | None, unfinished: bool) -> str:
    """The answer to `/goal`; `unfinished` is whether a turn of the session is open."""
    if goal is None:
        return NONE_SET
    used = f"{goal.used} of {goal.budget} turns used"
    if goal.state is not GoalState.ACTIVE:
        said = f" It said: {_shown(goal.words)}" if goal.words else ""
        return f"The goal “{_shown(goal.text)}” is {_ENDED[goal.state]} ({used}).{said}"
    if goal.waits or unfinished:
        return f"I work towards “{_shown(goal.text)}” ({used}). /goal stop ends that."
    return (
        f"The goal “{_shown(goal.text)}” is set, but I do not work on it now: the last turn did not succeed "
        f"({used}). /retry goes on with it, /goal stop ends it."
    )


def _shown(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _SHOWN else f"{line[:_SHOWN]}…"
