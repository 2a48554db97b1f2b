"""What holds for every test: no network beyond this machine, and no verdict that depends on its speed."""

import ipaddress
import socket
from typing import Any

import pytest
from hypothesis import settings

settings.register_profile("holdfast", deadline=None)
settings.load_profile("holdfast")


def is_local(address: Any) -> bool:
    if not isinstance(address, tuple):  # a Unix socket's path
        return True
    host = str(address[0])
    try:
        return ipaddress.ip_address(host.partition("%")[0]).is_loopback
    except ValueError:
        return host == "localhost"


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """A test that would leave this machine fails at once."""
    real_connect = socket.socket.connect

    def connect(self: socket.socket, address: Any) -> None:
        if not is_local(address):
            raise RuntimeError(f"a test tried to reach {address!r}")
        real_connect(self, address)

    monkeypatch.setattr(socket.socket, "connect", connect)
