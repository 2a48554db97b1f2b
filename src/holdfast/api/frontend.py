"""What a gateway's process opens for people, and what stands open to whoever listens there."""

from __future__ import annotations

import socket
from collections.abc import Callable, Mapping
from typing import Protocol

from holdfast.clock import Clock
from holdfast.config.settings import Settings
from holdfast.gateway.files.blobs import BlobFiles
from holdfast.gateway.lifecycle import RunState
from holdfast.gateway.metrics import ProcessTotals
from holdfast.policy.settings import SECOND
from holdfast.records import dataclass
from holdfast.store import Store
from holdfast.telemetry import Secrets, no_secrets

from .arguments import Operation
from .chat_feed import ChatFeed

_BEATS_MISSED = 3
"""Signs of life that may fail to come before the one who writes counts as dead."""


class Open(Protocol):
    """Something that listens until it is closed; closing it leaves nobody hanging."""

    async def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class ListeningSocket:
    """The socket for people, which outlives a process where its keeper holds it."""

    held: socket.socket | None
    """The one that the process before this one listened on."""
    hold: Callable[[socket.socket], None]
    """Have this one held for the next process."""


@dataclass(frozen=True, slots=True)
class RunningGateway:
    """A gateway as those who listen for people know it."""

    settings: Settings
    store: Store
    clock: Clock
    verbs: Mapping[str, Operation]
    """Everything that can be asked of it."""
    following: ChatFeed
    state: Callable[[], RunState]
    counts: ProcessTotals
    recovered: Callable[[], bool]
    """Whether it has been decided what becomes of all that the run before left."""
    blobs: BlobFiles
    listening: ListeningSocket
    secrets: Secrets = no_secrets

    def is_ready(self) -> bool:
        """Whether turns are begun here."""
        return self.state() is RunState.RUNNING and self.recovered()

    def silence(self) -> float:
        """Seconds since the ledger last kept a sign of life beyond the time it has for one; 0 if in time."""
        late = self.clock.monotonic() - self.counts.beat_at
        return late if late > _BEATS_MISSED * self.settings.gateway.heartbeat / SECOND else 0.0


class Door(Protocol):
    """Opens what listens for people; raises `Unusable` when a person has to change something first."""

    async def __call__(self, inside: RunningGateway) -> Open: ...
