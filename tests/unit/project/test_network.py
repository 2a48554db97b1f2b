import socket

import pytest


def test_a_test_cannot_leave_this_machine() -> None:
    with socket.socket() as outside, pytest.raises(RuntimeError, match="tried to reach"):
        outside.connect(("192.0.2.1", 80))


def test_a_test_may_talk_to_itself() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket() as client:
        client.connect(server.getsockname())
