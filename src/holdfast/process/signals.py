"""Signals as requests for a drain."""

from __future__ import annotations

import asyncio
import signal

from holdfast.gateway.gateway import Gateway
from holdfast.policy.intake.admission import Drain


class Signals:
    """The first signal begins a drain; every further one ends the waiting."""

    def __init__(self) -> None:
        self._count = 0
        self._gateway: Gateway | None = None

    def listen(self) -> None:
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, self.heard)

    def attach(self, gateway: Gateway) -> None:
        """From now on this gateway is meant; what came before is passed on to it."""
        self._gateway = gateway
        if self._count:
            gateway.request(Drain.SHUTDOWN, at_once=self._count > 1)

    def heard(self) -> None:
        self._count += 1
        if self._gateway is not None:
            self._gateway.request(Drain.SHUTDOWN, at_once=self._count > 1)
