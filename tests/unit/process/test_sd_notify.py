import socket
from pathlib import Path

from holdfast.process.sd_notify import READY, Notifier


def test_systemd_hears_a_datagram(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
        listener.bind(str(tmp_path / "n"))
        assert Notifier(str(tmp_path / "n")).say(READY, "STATUS=well")
        assert listener.recv(100) == b"READY=1\nSTATUS=well"


def test_an_abstract_socket_is_found_behind_its_at_sign(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
        listener.bind("\0" + str(tmp_path / "n"))
        assert Notifier("@" + str(tmp_path / "n")).say(READY)
        assert listener.recv(100) == b"READY=1"


def test_that_nobody_listens_is_no_fault(tmp_path: Path) -> None:
    assert not Notifier(None).say(READY)
    assert not Notifier(str(tmp_path / "gone")).say(READY)
