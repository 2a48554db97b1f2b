"""Telling systemd how the service is: a datagram to the socket it named, or nothing."""

from __future__ import annotations

import socket

READY = "READY=1"
STOPPING = "STOPPING=1"
ALIVE = "WATCHDOG=1"


class Notifier:
    """Says a word to whoever asked for it; that nobody listens is no fault of the gateway."""

    def __init__(self, address: str | None) -> None:
        # A leading @ stands for an abstract socket, whose name begins with a zero byte.
        self._address = "\0" + address[1:] if address and address.startswith("@") else address

    def say(self, *words: str) -> bool:
        """Send one message; False when there was nobody to hear it."""
        if not self._address:
            return False
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as out:
                out.setblocking(False)
                out.sendto("\n".join(words).encode(), self._address)
        except OSError:
            return False
        return True
