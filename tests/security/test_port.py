"""Attacks on the port while the gateway is away: another process that waits to take it."""

import os
import signal
import socket
import threading

import httpx
import pytest

from tests.support.commands import gateway_pid
from tests.support.outside import House
from tests.support.web import LONG, program, signed_in, url_of


class Squatter(threading.Thread):
    """Tries again and again to listen on a port, until it can or is told to stop."""

    def __init__(self, port: int) -> None:
        super().__init__()
        self._port = port
        self.over = threading.Event()
        self.tries = 0
        self.got_it = False

    def run(self) -> None:
        while not self.over.is_set() and not self.got_it:
            with socket.socket() as listening:
                listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
                self.tries += 1
                try:
                    listening.bind(("127.0.0.1", self._port))
                    listening.listen()
                    self.got_it = True
                except OSError:
                    self.over.wait(0.001)


@pytest.mark.guards("R22.9")
@pytest.mark.parametrize("how", ["killed", "restarted"])
def test_nobody_takes_the_port_during_a_restart_and_a_request_waits_for_the_next_process(
    settled: tuple[House, int], how: str
) -> None:
    house, port = settled
    parent = house.up(supervised=True)
    squatter = Squatter(port)
    squatter.start()
    with signed_in(house.home) as page:
        pid = gateway_pid(house.home)
        if how == "killed":
            os.kill(pid, signal.SIGKILL)
        else:
            house.ask("restart")
            parent.stopping()
        with httpx.Client(base_url=str(page.base_url), cookies=page.cookies, timeout=LONG) as other:
            other.headers["X-Holdfast"] = page.headers["X-Holdfast"]
            answers = [other.get("/api/status") for _ in range(20)]
        parent.ready()
    squatter.over.set()
    squatter.join()
    assert not squatter.got_it and squatter.tries > 10
    # None was refused; while it drains the one before still answers.
    assert {answer.status_code for answer in answers} == {200}
    assert answers[-1].json()["pid"] in (pid, gateway_pid(house.home))
    assert gateway_pid(house.home) != pid
    parent.stop()
    with socket.create_server(("127.0.0.1", port)):
        pass  # after a stop the port is free


@pytest.mark.guards("R22.9")
def test_a_port_that_was_changed_counts_at_the_next_restart_and_the_old_one_is_free(house: House) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free, socket.create_server(("127.0.0.1", 0)) as other:
        ports = [int(one.getsockname()[1]) for one in (free, other)]
    settings = house.home / "holdfast.toml"
    words = settings.read_text()
    settings.write_text(f"{words}web.port = {ports[0]}\n")
    house.port_from_settings()
    parent = house.up(supervised=True)
    assert url_of(house.home) == f"http://127.0.0.1:{ports[0]}/"
    settings.write_text(f"{words}web.port = {ports[1]}\n")
    os.kill(gateway_pid(house.home), signal.SIGKILL)
    parent.ready()
    assert url_of(house.home) == f"http://127.0.0.1:{ports[1]}/"
    with program(house.home) as client:
        assert client.get("/api/status").status_code == 200
    with socket.create_server(("127.0.0.1", ports[0])):
        pass
    os.kill(gateway_pid(house.home), signal.SIGKILL)
    parent.ready()
    assert url_of(house.home) == f"http://127.0.0.1:{ports[1]}/"
    parent.stop()
