"""The contract of a tool: it declares its effect class, gets a context, and returns text or an intention."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any, Protocol

from holdfast.model import EffectClass, SessionId, TurnId
from holdfast.records import dataclass
from holdfast.telemetry.known_secrets import NONE, KnownSecrets

from .intentions import Intention

Outcome = str | Intention
"""What the model is told, or what the gateway shall do about the call and tell it then."""


def unnoticed() -> None:
    """Nobody counts."""


def unread(text: str) -> None:
    """Nobody looks."""


@dataclass(frozen=True, slots=True)
class ToolContext:
    """What a tool knows of the call it serves. It never sees the store."""

    session: SessionId
    turn: TurnId
    generation: int
    workspace: Path
    key: str
    """The idempotency key: the same on every run of this call."""
    progress: Callable[[], None] = unnoticed
    """To call when a long-running tool moves: it is alive, and not to be stopped as stuck."""
    output: Callable[[str], None] = unread
    """To call with what a running tool puts out, piece by piece: that is progress, and seen by who watches.
    It is no part of the result; what the model is to be told the tool returns."""
    effect: EffectClass = EffectClass.EFFECT
    """The class this call was planned with, whatever its tool declares by now."""
    secrets: KnownSecrets = NONE
    """What the gateway leaves out of the result; a tool that cuts its result masks before it cuts."""


class ToolFailed(Exception):
    """The tool ran and failed; its words become the call's result."""


class CutShort(Exception):
    """The tool was ended before it was done, for its time or for what it used; the words say what is known.

    The call is settled by its class, like one that was cut off: an effect may have happened, or a part of it.
    """


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as a model is told of it."""

    name: str
    description: str = ""
    parameters: Mapping[str, Any] = field(default_factory=lambda: {"type": "object"})
    """A JSON schema of its arguments."""


def spec_of(tool: Tool) -> ToolSpec:
    """What a model is told of a tool; one that does not describe itself is known by its name alone."""
    nothing = ToolSpec(tool.name)
    return ToolSpec(
        tool.name,
        getattr(tool, "description", nothing.description),
        getattr(tool, "parameters", nothing.parameters),
    )


class Tool(Protocol):
    """One thing an agent can do.

    It may also have a `description` and `parameters` (a JSON schema) for the model to read, and a `timeout`
    in seconds after which a run of it is given up; otherwise it is when it gave no sign of life for the time
    that is configured. `starts_program` is true of one whose program the gateway contains: the card that asks
    for consent then says how.
    """

    @property
    def name(self) -> str: ...

    @property
    def effect(self) -> EffectClass:
        """What may be done with a call of it that was cut off; when in doubt, `effect`."""
        ...

    async def run(self, context: ToolContext, arguments: str) -> Outcome:
        """Do it and return what the model is told; raise `ToolFailed` when it did not work.

        An `Intention` instead is carried out by the gateway and committed with the journal.

        Cancelled when a person stops the turn or its time is up, with a moment to end: what it still returns
        is its result; without one the call is settled by its class.
        """
        ...


class ToolSource(Protocol):
    """Tools that come and go while the gateway runs, for every agent."""

    @property
    def settled(self) -> bool:
        """Whether what there is now is known; if not, it is about to be."""
        ...

    async def settle(self) -> None:
        """Return once it is settled, or what is missing has had its time."""
        ...

    def tools(self) -> Sequence[Tool]:
        """Those there are now."""
        ...

    def find(self, name: str) -> Tool | None:
        """What a call of that name runs now: the tool, or what says why it is gone; None: none of these."""
        ...


class NoMoreTools:
    """A source of none."""

    settled = True

    async def settle(self) -> None:
        return None

    def tools(self) -> Sequence[Tool]:
        return ()

    def find(self, name: str) -> Tool | None:
        return None


class Checkable(Protocol):
    """A `reconcilable` tool can be asked what became of a call that was cut off."""

    async def check(self, context: ToolContext, arguments: str) -> str | None:
        """The result if it happened, None if it did not; raise `ToolFailed` when that cannot be told."""
        ...
