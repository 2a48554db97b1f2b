"""Limits the open connections of one listening socket, and how long each may keep the gateway waiting."""

from __future__ import annotations

import asyncio
import logging
from functools import partial
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from holdfast.policy.connections import Connection, ConnectionLimits, Phase, gives_way, is_overdue

_LOOK_AGAIN = 1.0

log = logging.getLogger(__name__)


class Connections:
    """Counts every connection and closes those that exceed the limits."""

    def __init__(self, limits: ConnectionLimits) -> None:
        self._limits = limits
        self._open: dict[BoundedProtocol, None] = {}
        self._timer: asyncio.TimerHandle | None = None

    def protocol(self) -> Any:
        """The factory that uvicorn calls for each new connection."""
        return partial(BoundedProtocol, self)

    def add(self, one: BoundedProtocol) -> None:
        self._open[one] = None
        number = gives_way([each.facts() for each in self._open], self._limits)
        if number is not None:
            log.warning("too many connections are open; the gateway closed one that waited for its client")
            list(self._open)[number].drop()
        if self._timer is None:
            self._close_overdue()

    def remove(self, one: BoundedProtocol) -> None:
        self._open.pop(one, None)

    def _close_overdue(self) -> None:
        """Close overdue connections; look again as long as any connection is open."""
        loop = asyncio.get_running_loop()
        for one in [one for one in self._open if is_overdue(one.facts(), loop.time(), self._limits)]:
            one.drop()
        self._timer = loop.call_later(_LOOK_AGAIN, self._close_overdue) if self._open else None


class BoundedProtocol(H11Protocol):
    """A connection that records what it waits for, and since when."""

    def __init__(self, connections: Connections, *arguments: Any, **more: Any) -> None:
        super().__init__(*arguments, **more)
        self._all = connections
        self._phase = Phase.HEAD
        self._since = self._heard = self.loop.time()
        self._unread: float | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as in uvicorn
        super().connection_made(transport)
        self._all.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._all.remove(self)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        self._heard = self.loop.time()
        super().data_received(data)
        self._turn()

    def pause_writing(self) -> None:
        """The send buffer is full: write nothing more until the client has read some."""
        self._unread = self.loop.time()
        super().pause_writing()

    def resume_writing(self) -> None:
        self._unread = None
        super().resume_writing()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._turn()

    def _turn(self) -> None:
        phase = {h11.IDLE: Phase.HEAD, h11.SEND_BODY: Phase.BODY}.get(self.conn.their_state, Phase.ANSWER)
        if phase is not self._phase:
            self._phase, self._since = phase, self.loop.time()

    def facts(self) -> Connection:
        peer = self.client[0] if self.client else ""
        if self._unread is not None:
            return Connection(peer, Phase.UNREAD, self._unread, self._unread)
        return Connection(peer, self._phase, self._since, self._heard)

    def drop(self) -> None:
        """Close it at once: its client sends no complete request, or does not read the answer."""
        self._all.remove(self)
        self.transport.abort()
