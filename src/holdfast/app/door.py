"""What a gateway's process opens for people, and what stands open to whoever listens there."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

from holdfast.clock import Clock
from holdfast.records import dataclass
from holdfast.store import Store

from .counting import Counts
from .following import Following
from .lifecycle import RunState
from .local import Verb
from .settings import Settings


class Open(Protocol):
    """Something that listens until it is closed; closing it leaves nobody hanging."""

    async def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Inside:
    """A gateway as those who listen for people know it."""

    settings: Settings
    store: Store
    clock: Clock
    verbs: Mapping[str, Verb]
    """Everything that can be asked of it."""
    following: Following
    state: Callable[[], RunState]
    counts: Counts


class Door(Protocol):
    """Opens what listens for people; raises `Unusable` when a person has to change something first."""

    async def __call__(self, inside: Inside) -> Open: ...
