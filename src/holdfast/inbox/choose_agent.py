"""`/agent` and `/model`: who answers in this chat from its next turn on; kept, and shown by `/status`."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.agents import Choice
from holdfast.model import ChatSettings

from . import replies
from .command_context import CommandCall, CommandContext, done, refuse

_USUAL = "default"


async def answers_here(desk: CommandContext, asked: CommandCall) -> Choice:
    chat = asked.row.place.address
    return desk.agents.choose(chat, await desk.store.chat_settings(chat))


async def agent(desk: CommandContext, asked: CommandCall) -> None:
    """Show or choose the agent that answers here. A new agent begins with its own default model.

    A person who is not an owner chooses among the agents that the routes name for the chat.
    """
    wanted = asked.command.args
    names = desk.agents.offered(asked.row.place.address, asked.owner)
    if not wanted:
        now = await answers_here(desk, asked)
        await done(desk, asked, _listed("agent", now.name or "the only agent", names))
    elif wanted not in (*names, _USUAL):
        await _refuse(desk, asked, "agent", names)
    else:
        await _choose(desk, asked, ChatSettings(agent="" if wanted == _USUAL else wanted, model=""))


async def model(desk: CommandContext, asked: CommandCall) -> None:
    """Show or choose the model of the agent that answers here."""
    wanted = asked.command.args
    now = await answers_here(desk, asked)
    names = now.agent.models
    if not wanted:
        answers = now.model or (names[0] if names else "the agent's only model")
        await done(desk, asked, _listed("model", answers, names))
    elif wanted not in (*names, _USUAL):
        await _refuse(desk, asked, "model", names)
    else:
        await _choose(desk, asked, ChatSettings(model="" if wanted == _USUAL else wanted))


async def _choose(desk: CommandContext, asked: CommandCall, chosen: ChatSettings) -> None:
    """Store the choice, then owe the reply. A crash in between repeats both; the choice stays the same."""
    await desk.store.configure_chat(asked.row.place.address, chosen)
    now = await answers_here(desk, asked)
    await done(desk, asked, f"From the next turn on: {replies.who_answers(now)}.")


async def _refuse(desk: CommandContext, asked: CommandCall, what: str, names: Sequence[str]) -> None:
    there = f"Choose one of: {', '.join(names)}." if names else "There is nothing to choose from here."
    text = f"There is no {what} {replies.shown(asked.command.args, 40)}; nothing was changed. {there}"
    await refuse(desk, asked, f"unknown_{what}", text)


def _listed(what: str, now: str, names: Sequence[str]) -> str:
    if len(names) < 2:
        return f"Now: {now}. There is no other {what} to choose."
    lines = [f"Now: {now}.", *(f"/{what} {name}" for name in names), f"/{what} {_USUAL}: as configured"]
    return "\n".join(lines)
