"""The smallest agent: it says back what was said, at once."""

from __future__ import annotations

from holdfast.model import Replied, StopReason
from holdfast.policy.turn.views import Role
from holdfast.records import dataclass

from .base import Agent, OnText, Prompt, unheard


@dataclass(frozen=True, slots=True)
class EchoModel:
    """Says back everything that has been said since it last answered."""

    async def reply(self, prompt: Prompt, on_text: OnText = unheard) -> Replied:
        said: list[str] = []
        for message in prompt.messages:
            if message.role is Role.ASSISTANT:
                said.clear()
            elif message.role is Role.USER:
                said.append(message.text)
        text = "\n".join(said) or "(nothing was said)"
        on_text(text)
        return Replied(text, StopReason.COMPLETE)


def echo_agent() -> Agent:
    """An agent without tools that says back what was said."""
    return Agent(EchoModel())
