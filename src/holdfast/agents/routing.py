"""Who answers where: what a chat chose, else the first route that fits, else everybody's agent."""

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
    """Whoever answers where nothing else is said; one of them."""
    routes: tuple[tuple[str, str], ...] = ()
    """Patterns of addresses, and who answers there; the first that fits."""

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.by_name)

    def usual(self, chat: ChatAddress) -> str:
        """Who answers in this chat unless it chose somebody."""
        return next((name for pattern, name in self.routes if fnmatchcase(chat, pattern)), self.use)

    def offered(self, chat: ChatAddress, owner: bool) -> tuple[str, ...]:
        """Whom a person may choose there: an owner anybody, others those that routes name for the chat."""
        if owner:
            return self.names
        routed = (name for pattern, name in self.routes if fnmatchcase(chat, pattern))
        return tuple(dict.fromkeys((self.usual(chat), *routed)))

    def choose(self, chat: ChatAddress, settings: ChatSettings) -> Choice:
        """Who answers there now. Somebody always does: who was chosen and is gone is replaced, in words."""
        wanted = settings.agent or self.usual(chat)
        name = wanted if wanted in self.by_name else self.usual(chat)
        agent = self.by_name[name]
        if name != wanted:
            words = f"The agent {wanted} that was chosen here is not configured any more, so {name} answers."
            return Choice(agent, None, name, f"{words} /agent chooses another.", f"agent:{wanted}")
        return _with_model(name, agent, settings.model or None)


def _with_model(name: str, agent: Agent, wanted: str | None) -> Choice:
    if wanted is None or not agent.models or wanted in agent.models:
        return Choice(agent, wanted, name)
    words = f"{name} has no model {wanted} any more, which was chosen here, so {agent.models[0]} answers."
    return Choice(agent, None, name, f"{words} /model chooses another.", f"model:{name}:{wanted}")
