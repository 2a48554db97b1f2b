"""The smallest agent: it repeats each message at once."""

from __future__ import annotations

from holdfast.model import Replied, StopReason
from holdfast.policy.turn.views import Role
from holdfast.records import dataclass

from .base import Agent, OnText, Prompt, unheard


@dataclass(frozen=True, slots=True)
class EchoModel:
    """Repeats all messages since its last reply."""

    async def reply(self, prompt: Prompt, on_text: OnText = unheard) -> Replied:
        said: list[str] = []
        for message in prompt.messages:
            if message.role is Role.ASSISTANT:
                said.clear()
            elif message.role is Role.USER:
                said.append(message.text)
        text = "\n".join(said) or "(no text)"
        on_text(text)
        return Replied(text, StopReason.COMPLETE)


def echo_agent() -> Agent:
    """An agent without tools that repeats each message."""
    return Agent(EchoModel())
