"""The contract of an agent: a model that gives one reply to one transcript, and the tools it may use.

An agent does not run the tool loop: `turns` does, and journals every call.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from holdfast.model import ChatAddress, ChatSettings, EffectClass, Replied, Usage
from holdfast.policy.turn.views import Message
from holdfast.records import dataclass
from holdfast.tools import Tool, ToolSpec

OnText = Callable[[str], None]
"""The model calls it with its text so far, as often as it likes. The text is only shown, never delivered."""


def unheard(text: str) -> None:
    """Ignore the text: no chat shows the reply as it grows."""


class ModelError(Exception):
    """The model gave no reply. `transient`: the same request may succeed a little later.

    The gateway shows the words to the person.
    """

    def __init__(self, words: str, transient: bool = False, retry_after: float | None = None) -> None:
        super().__init__(words)
        self.transient = transient
        self.retry_after = retry_after
        """Seconds that the provider asked to wait, if it did."""


class ContextOverflow(ModelError):
    """The prompt is longer than the model can read; the same prompt must not be sent again."""


@dataclass(frozen=True, slots=True)
class Metered:
    """A reply with its tokens and cost, which count towards the limits."""

    reply: Replied
    usage: Usage | None = None


@dataclass(frozen=True, slots=True)
class Prompt:
    """Everything that a model gets for one reply."""

    messages: Sequence[Message]
    """The transcript, in a form that every provider accepts."""
    tools: Sequence[ToolSpec] = ()
    """The tools that it may call."""
    instructions: str = ""
    """The system prompt; it is not part of the transcript."""
    model: str | None = None
    """The model that this chat chose, if it did."""
    key: str = ""
    """The idempotency key of this reply: the same for every request of it, also after a crash."""


def replies_of(model: Model) -> EffectClass:
    """The effect class of this model's replies. Without one it is `READ`: a cut reply is requested again."""
    found = getattr(model, "replies", EffectClass.READ)
    return found if isinstance(found, EffectClass) else EffectClass.EFFECT


class Model(Protocol):
    """Anything that can reply to a conversation.

    It may also have an attribute `replies`, an `EffectClass`, if `reply` has effects of its own. `EFFECT`:
    the gateway does not request a cut reply again; its outcome is unknown, and the gateway tells the person.
    `IDEMPOTENT`: the other side does it once for each `Prompt.key`. Without the attribute, the gateway may
    request a reply any number of times.
    """

    async def reply(self, prompt: Prompt, on_text: OnText = unheard) -> Replied | Metered:
        """Give ONE reply to the prompt, `Metered` if its cost is known, or raise `ModelError`.

        The gateway calls it again after a crash, unless `replies` is `EFFECT`; it must not depend on memory.
        It is cancelled when the turn is cut.
        """
        ...


@dataclass(frozen=True, slots=True)
class Agent:
    """A model, the tools it may use, and its system prompt."""

    model: Model
    tools: tuple[Tool, ...] = ()
    instructions: str = ""
    room: int | None = None
    """The most tokens its model can read: older entries are summed up before that. None: not known."""
    models: tuple[str, ...] = ()
    """The models a chat may choose, for `Prompt.model`; the first is the default."""
    more: tuple[str, ...] = ("*",)
    """Patterns of the MCP tools it may use besides its own."""

    @property
    def names(self) -> tuple[str, ...]:
        """None: a single agent needs no name."""
        return ()

    def offered(self, chat: ChatAddress, owner: bool) -> tuple[str, ...]:
        """None: there is only one agent."""
        return ()

    def choose(self, chat: ChatAddress, settings: ChatSettings) -> Choice:
        """This agent: it answers in every chat."""
        return Choice(self, settings.model or None)


@dataclass(frozen=True, slots=True)
class Choice:
    """The agent that answers in a chat."""

    agent: Agent
    model: str | None = None
    """The model that the chat chose, if it did."""
    name: str = ""
    words: str = ""
    """A notice, sent once: the agent or model that the chat chose is gone."""
    gone: str = ""
    """Names the choice that is gone: the notice is sent once for each."""


class Chooser(Protocol):
    """Decides which agent answers in which chat."""

    @property
    def names(self) -> tuple[str, ...]:
        """All agents' names; none if there is only one agent."""
        ...

    def offered(self, chat: ChatAddress, owner: bool) -> tuple[str, ...]:
        """The agents that a person may choose in this chat; an owner may choose more."""
        ...

    def choose(self, chat: ChatAddress, settings: ChatSettings) -> Choice: ...
