"""`/agent` and `/model`: show or choose who answers in this chat from its next turn on."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.agents import Choice
from holdfast.model import ChatSettings

from . import replies
from .command_context import CommandCall, CommandContext, done, refuse

_USUAL = "default"


async def answers_here(context: CommandContext, asked: CommandCall) -> Choice:
    chat = asked.row.place.address
    return context.agents.choose(chat, await context.store.chat_settings(chat))


async def agent(context: CommandContext, asked: CommandCall) -> None:
    """Show or choose the agent that answers here. A new agent begins with its own default model.

    A person who is not an owner chooses among the agents that the routes name for the chat.
    """
    wanted = asked.command.args
    names = context.agents.offered(asked.row.place.address, asked.owner)
    if not wanted:
        now = await answers_here(context, asked)
        await done(context, asked, _listed("agent", now.name or "the only agent", names))
    elif wanted not in (*names, _USUAL):
        await _refuse(context, asked, "agent", names)
    else:
        await _choose(context, asked, ChatSettings(agent="" if wanted == _USUAL else wanted, model=""))


async def model(context: CommandContext, asked: CommandCall) -> None:
    """Show or choose the model of the agent that answers here."""
    wanted = asked.command.args
    now = await answers_here(context, asked)
    names = now.agent.models
    if not wanted:
        answers = now.model or (names[0] if names else "the agent's only model")
        await done(context, asked, _listed("model", answers, names))
    elif wanted not in (*names, _USUAL):
        await _refuse(context, asked, "model", names)
    else:
        await _choose(context, asked, ChatSettings(model="" if wanted == _USUAL else wanted))


async def _choose(context: CommandContext, asked: CommandCall, chosen: ChatSettings) -> None:
    """Store the choice, then owe the reply. A crash in between repeats both; the choice stays the same."""
    await context.store.configure_chat(asked.row.place.address, chosen)
    now = await answers_here(context, asked)
    await done(context, asked, f"From the next turn on: {replies.who_answers(now)}.")


async def _refuse(context: CommandContext, asked: CommandCall, what: str, names: Sequence[str]) -> None:
    there = f"Choose one of: {', '.join(names)}." if names else "There is nothing to choose from here."
    text = f"There is no {what} {replies.excerpt(asked.command.args, 40)}; nothing was changed. {there}"
    await refuse(context, asked, f"unknown_{what}", text)


def _listed(what: str, now: str, names: Sequence[str]) -> str:
    if len(names) < 2:
        return f"Now: {now}. There is no other {what} to choose."
    lines = [f"Now: {now}.", *(f"/{what} {name}" for name in names), f"/{what} {_USUAL}: as configured"]
    return "\n".join(lines)
