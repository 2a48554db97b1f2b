"""The seam between a gateway's process and its page: what the process opens, and what the page gets."""

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
"""Heartbeats that may be missing before the ledger's writer counts as hanging."""


class Open(Protocol):
    """Something that listens until it is closed. Closing it ends every open connection."""

    async def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class ListeningSocket:
    """The socket of the page. It outlives the process if the supervisor holds it."""

    held: socket.socket | None
    """The socket on which the process before this one listened."""
    hold: Callable[[socket.socket], None]
    """Asks the supervisor to hold this socket for the next process."""


@dataclass(frozen=True, slots=True)
class RunningGateway:
    """A gateway as the page sees it."""

    settings: Settings
    store: Store
    clock: Clock
    verbs: Mapping[str, Operation]
    """Every operation of the gateway, by name."""
    following: ChatFeed
    state: Callable[[], RunState]
    counts: ProcessTotals
    recovered: Callable[[], bool]
    """Whether recovery has decided about all work that the last run left."""
    blobs: BlobFiles
    listening: ListeningSocket
    secrets: Secrets = no_secrets

    def is_ready(self) -> bool:
        """Whether this gateway starts turns."""
        return self.state() is RunState.RUNNING and self.recovered()

    def silence(self) -> float:
        """Seconds since the ledger's last heartbeat, if that is too long ago; else 0."""
        late = self.clock.monotonic() - self.counts.beat_at
        return late if late > _BEATS_MISSED * self.settings.gateway.heartbeat / SECOND else 0.0


class Door(Protocol):
    """Opens the page; raises `Unusable` if a person must change something first."""

    async def __call__(self, inside: RunningGateway) -> Open: ...
