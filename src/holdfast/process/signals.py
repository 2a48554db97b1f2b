"""Signals as requests for a drain."""

from __future__ import annotations

import asyncio
import signal

from holdfast.gateway.gateway import Gateway
from holdfast.policy.intake.admission import Drain


class Signals:
    """The first signal begins a drain. The next one ends the waiting."""

    def __init__(self) -> None:
        self._count = 0
        self._gateway: Gateway | None = None

    def listen(self) -> None:
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, self.receive)

    def attach(self, gateway: Gateway) -> None:
        """Signals go to this gateway from now on. It also gets the signals that came before."""
        self._gateway = gateway
        if self._count:
            gateway.request(Drain.SHUTDOWN, at_once=self._count > 1)

    def receive(self) -> None:
        self._count += 1
        if self._gateway is not None:
            self._gateway.request(Drain.SHUTDOWN, at_once=self._count > 1)
