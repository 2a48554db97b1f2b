"""`/goal`: shows, sets and stops the goal of this conversation."""

from __future__ import annotations

from holdfast.model import GoalState
from holdfast.policy.goals import (
    LONGEST,
    NOTHING_TO_STOP,
    set_words,
    state_words,
    stopped_words,
)

from .command_context import CommandCall, CommandContext, done, open_turn, refuse

STOP = "stop"


async def goal(context: CommandContext, asked: CommandCall) -> None:
    row, text = asked.row, asked.command.args
    if not text:
        await _show(context, asked)
    elif text.lower() == STOP:
        await _stop(context, asked)
    elif len(text) > LONGEST:
        await refuse(context, asked, "too_long", f"Not set: a goal may have at most {LONGEST} characters.")
    else:
        reply = asked.reply(set_words(text, context.goal_budget))
        await context.store.set_goal(
            row.key, row.place.address, text, context.goal_budget, row.sender, row.position, reply
        )


async def _show(context: CommandContext, asked: CommandCall) -> None:
    found = await context.store.goal(asked.row.key)
    unfinished = await open_turn(context, await context.store.live_session(asked.row.key))
    await done(context, asked, state_words(found, unfinished is not None))


async def _stop(context: CommandContext, asked: CommandCall) -> None:
    found = await context.store.goal(asked.row.key)
    if found is None or found.state is not GoalState.ACTIVE:
        await refuse(context, asked, "no_goal", NOTHING_TO_STOP)
    else:
        await context.store.stop_goal(
            asked.row.key, asked.row.position, asked.reply(stopped_words(found.text))
        )
