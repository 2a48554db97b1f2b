"""The contract of an agent: a model that gives one reply to one transcript, and the tools it may use.

The tool loop is not its business: it stands in `turns` and is journaled.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from holdfast.model import ChatAddress, ChatSettings, EffectClass, Replied, Usage
from holdfast.policy.turn.views import Message
from holdfast.records import dataclass
from holdfast.tools import Tool, ToolSpec

OnText = Callable[[str], None]
"""Called with what the model has written so far, as often as it likes; lossy, never a delivery."""


def unheard(text: str) -> None:
    """Nobody listens."""


class ModelError(Exception):
    """The model gave no reply. `transient` when the same question may be answered a little later.

    The words are shown to the person.
    """

    def __init__(self, words: str, transient: bool = False, retry_after: float | None = None) -> None:
        super().__init__(words)
        self.transient = transient
        self.retry_after = retry_after
        """Seconds the provider asked us to wait, if it did."""


class ContextOverflow(ModelError):
    """What the model was shown is more than it can read at once: not to be asked again as it is."""


@dataclass(frozen=True, slots=True)
class Metered:
    """A reply, with what it cost: what limits on tokens and cost are counted by."""

    reply: Replied
    usage: Usage | None = None


@dataclass(frozen=True, slots=True)
class Prompt:
    """What a model is shown for one reply."""

    messages: Sequence[Message]
    """The conversation, in a form that every provider accepts."""
    tools: Sequence[ToolSpec] = ()
    """What it may call."""
    instructions: str = ""
    """Who it is and how it should work; not part of the transcript."""
    model: str | None = None
    """The one this chat has chosen, if it has."""
    key: str = ""
    """The idempotency key of this reply: the same whenever it is asked for again after a crash."""


def replies_of(model: Model) -> EffectClass:
    """What may be done with a reply of this model that was cut off: asked for again, unless it says no."""
    found = getattr(model, "replies", EffectClass.READ)
    return found if isinstance(found, EffectClass) else EffectClass.EFFECT


class Model(Protocol):
    """Anything that can answer a conversation.

    It may also have an attribute `replies`, an `EffectClass`, for a `reply` that does things by itself:
    `EFFECT` when a reply that was cut off must not be asked for again (its outcome is unknown, and the person
    is told), `IDEMPOTENT` when the other side does it once by `Prompt.key`. Without it, a reply may be asked
    for any number of times.
    """

    async def reply(self, prompt: Prompt, on_text: OnText = unheard) -> Replied | Metered:
        """Give ONE reply to what it is shown, `Metered` if its cost is known, or raise `ModelError`.

        Called again after a crash, unless `replies` is `EFFECT`; nothing may depend on memory. Cancelled when
        the turn is cut.
        """
        ...


@dataclass(frozen=True, slots=True)
class Agent:
    """What answers: a model, the tools it may use, and what it is told about itself."""

    model: Model
    tools: tuple[Tool, ...] = ()
    instructions: str = ""
    room: int | None = None
    """Tokens its model may be shown at once: what is older is summed up before that. None: nobody knows."""
    models: tuple[str, ...] = ()
    """What its model may be asked to be, by `Prompt.model`; the first is what it is unless asked."""
    more: tuple[str, ...] = ("*",)
    """Patterns: which of the tools that come and go it may use besides its own."""

    @property
    def names(self) -> tuple[str, ...]:
        """Alone, it needs none."""
        return ()

    def offered(self, chat: ChatAddress, owner: bool) -> tuple[str, ...]:
        """Alone, there is nobody to choose."""
        return ()

    def choose(self, chat: ChatAddress, settings: ChatSettings) -> Choice:
        """Alone, it answers everywhere."""
        return Choice(self, settings.model or None)


@dataclass(frozen=True, slots=True)
class Choice:
    """Who answers in a chat."""

    agent: Agent
    model: str | None = None
    """What its model shall be, if the chat chose that."""
    name: str = ""
    words: str = ""
    """What people are told, once: that who or what they chose is gone."""
    gone: str = ""
    """What that was: the words are said once for it."""


class Chooser(Protocol):
    """Knows who answers where."""

    @property
    def names(self) -> tuple[str, ...]:
        """All there are; none where there is nobody to choose."""
        ...

    def offered(self, chat: ChatAddress, owner: bool) -> tuple[str, ...]:
        """Those a person may choose from in this chat, an owner or not."""
        ...

    def choose(self, chat: ChatAddress, settings: ChatSettings) -> Choice: ...
