"""Decides which agent answers in a chat: its own choice, else the first route that fits, else the default."""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase

from holdfast.model import ChatAddress, ChatSettings
from holdfast.records import dataclass

from .base import Agent, Choice


@dataclass(frozen=True, slots=True)
class Agents:
    """Several agents by name."""

    by_name: Mapping[str, Agent]
    use: str
    """The name of the default agent."""
    routes: tuple[tuple[str, str], ...] = ()
    """Patterns of chat addresses, each with an agent's name; the first that fits counts."""

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.by_name)

    def usual(self, chat: ChatAddress) -> str:
        """The agent that answers in this chat if the chat made no choice."""
        return next((name for pattern, name in self.routes if fnmatchcase(chat, pattern)), self.use)

    def offered(self, chat: ChatAddress, owner: bool) -> tuple[str, ...]:
        """The agents a person may choose there: an owner all, others those that routes name for the chat."""
        if owner:
            return self.names
        routed = (name for pattern, name in self.routes if fnmatchcase(chat, pattern))
        return tuple(dict.fromkeys((self.usual(chat), *routed)))

    def choose(self, chat: ChatAddress, settings: ChatSettings) -> Choice:
        """The agent that answers there now. If the chosen one is gone, it is the usual one, with a notice."""
        wanted = settings.agent or self.usual(chat)
        name = wanted if wanted in self.by_name else self.usual(chat)
        agent = self.by_name[name]
        if name != wanted:
            words = (
                f"The agent {wanted}, which this chat chose, is not configured any more, so {name} answers."
            )
            return Choice(agent, None, name, f"{words} /agent chooses another.", f"agent:{wanted}")
        return _with_model(name, agent, settings.model or None)


def _with_model(name: str, agent: Agent, wanted: str | None) -> Choice:
    if wanted is None or not agent.models or wanted in agent.models:
        return Choice(agent, wanted, name)
    words = f"{name} no longer has the model {wanted}, which this chat chose, so {agent.models[0]} answers."
    return Choice(agent, None, name, f"{words} /model chooses another.", f"model:{name}:{wanted}")
