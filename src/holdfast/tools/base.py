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
"""The result for the model, or an intention that the gateway carries out before it answers the model."""


def ignore_progress() -> None:
    """No one watches this call."""


def ignore_output(text: str) -> None:
    """No one reads this output."""


@dataclass(frozen=True, slots=True)
class ToolContext:
    """What a tool knows of its call. A tool never sees the store."""

    session: SessionId
    turn: TurnId
    generation: int
    workspace: Path
    key: str
    """The idempotency key: the same on every run of this call."""
    progress: Callable[[], None] = ignore_progress
    """A long-running tool calls this while it works, so that the gateway does not stop it as stuck."""
    output: Callable[[str], None] = ignore_output
    """A running tool calls this with each piece of its output. It counts as progress, and people who watch
    see it. It is no part of the result: a tool returns whatever the model has to read."""
    effect: EffectClass = EffectClass.EFFECT
    """The class this call was planned with, whatever its tool declares now."""
    secrets: KnownSecrets = NONE
    """What the gateway removes from the result. A tool that shortens its result masks it before."""


class ToolFailed(Exception):
    """The tool ran and failed; its message becomes the result of the call."""


class CutShort(Exception):
    """The tool was ended early, for its time or its use of the machine; the message says what is known.

    The class settles the call, as after a crash: an effect may have happened, completely or in part.
    """


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as the model reads it."""

    name: str
    description: str = ""
    parameters: Mapping[str, Any] = field(default_factory=lambda: {"type": "object"})
    """A JSON schema of its arguments."""


def spec_of(tool: Tool) -> ToolSpec:
    """What the model reads of a tool; a tool without a description has only its name."""
    nothing = ToolSpec(tool.name)
    return ToolSpec(
        tool.name,
        getattr(tool, "description", nothing.description),
        getattr(tool, "parameters", nothing.parameters),
    )


class Tool(Protocol):
    """One thing an agent can do.

    A tool may also have a `description` and `parameters` (a JSON schema) for the model, and a `timeout` in
    seconds, after which the gateway gives a run up. Without a `timeout`, the gateway gives a run up when it
    shows no progress for the configured time. `starts_program` is true if the tool runs a program that the
    gateway contains; the card that asks for consent then says how it is contained.
    """

    @property
    def name(self) -> str: ...

    @property
    def effect(self) -> EffectClass:
        """What the gateway may do with a call that was cut off; if in doubt, `effect`."""
        ...

    async def run(self, context: ToolContext, arguments: str) -> Outcome:
        """Do the work and return the result for the model; raise `ToolFailed` if it did not work.

        The gateway carries out a returned `Intention` and commits it with the journal.

        The gateway cancels a run when a person stops the turn or its time is up, and waits a moment. What the
        run still returns is its result. If it returns nothing, its class settles the call.
        """
        ...


class ToolSource(Protocol):
    """Tools that come and go while the gateway runs, for every agent."""

    @property
    def settled(self) -> bool:
        """Whether the tools are known now; if not, they will be soon."""
        ...

    async def settle(self) -> None:
        """Return when the tools are known, or the missing ones took too long."""
        ...

    def tools(self) -> Sequence[Tool]:
        """The tools of this source now."""
        ...

    def find(self, name: str) -> Tool | None:
        """The tool that a call of this name runs now, or one that says why it is gone; None: no such tool."""
        ...


class NoMoreTools:
    """A source without tools."""

    settled = True

    async def settle(self) -> None:
        return None

    def tools(self) -> Sequence[Tool]:
        return ()

    def find(self, name: str) -> Tool | None:
        return None


class Checkable(Protocol):
    """A `reconcilable` tool, which can say what happened to a call that was cut off."""

    async def check(self, context: ToolContext, arguments: str) -> str | None:
        """The result if the call happened, None if not; raise `ToolFailed` if the tool cannot tell."""
        ...
