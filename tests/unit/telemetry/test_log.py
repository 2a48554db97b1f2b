"""The gateway's log: kept, rotated, read again, and without secrets."""

import asyncio
import errno
import json
import logging
from collections.abc import Callable, Iterator
from logging.handlers import RotatingFileHandler
from pathlib import Path

import pytest

from holdfast.maintenance.log_reader import follow, last_lines, read_line
from holdfast.telemetry import is_secret_name, without_secrets
from holdfast.telemetry import log as keeping
from holdfast.testing import ManualClock


@pytest.fixture
def root() -> Iterator[logging.Logger]:
    """The root logger, as it was afterwards."""
    root = logging.getLogger()
    handlers, level, complains = list(root.handlers), root.level, logging.raiseExceptions
    yield root
    logging.raiseExceptions = complains
    root.handlers[:] = handlers
    root.setLevel(level)


def written(home: Path, *lines: str, **about: str) -> None:
    log = keeping.Log(home)
    log.begin()
    for line in lines:
        logging.getLogger("holdfast.test").info(line, extra=about)
    log.end()


def test_a_line_is_one_json_object_with_when_how_grave_what_and_whom(
    tmp_path: Path, root: logging.Logger, capsys: pytest.CaptureFixture[str]
) -> None:
    written(tmp_path, "a turn begins", turn="t1", session="s1")
    (line,) = (tmp_path / "logs" / "gateway.log").read_text().splitlines()
    found = json.loads(line)
    at = found.pop("at")
    assert at.endswith("Z") and len(at) == 24
    assert found == {"level": "info", "what": "a turn begins", "turn": "t1", "session": "s1"}
    assert "a turn begins" in capsys.readouterr().err


@pytest.mark.usefixtures("root")
def test_a_line_that_finds_no_room_in_its_file_is_shown_once_and_without_secrets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(self: RotatingFileHandler, record: logging.LogRecord) -> bool:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(RotatingFileHandler, "shouldRollover", full)
    written(tmp_path, "asked with Authorization: Bearer abcdefghijklmnopqrstuvwxyz")
    (line,) = capsys.readouterr().err.splitlines()
    assert "asked with" in line and "abcdefghijklmnop" not in line


def test_a_fault_is_kept_with_where_it_happened(tmp_path: Path, root: logging.Logger) -> None:
    log = keeping.Log(tmp_path)
    log.begin()
    try:
        raise ValueError("broken with password=hunter2")
    except ValueError as fault:
        logging.getLogger("holdfast.test").error("it broke: %r", fault, exc_info=fault)
    log.end()
    (line,) = last_lines(tmp_path, 5)
    assert line["level"] == "error"
    assert "ValueError" in line["exception"] and "test_log.py" in line["exception"]
    assert "hunter2" not in json.dumps(line)


def test_files_are_put_aside_by_size_and_read_over_them(
    tmp_path: Path, root: logging.Logger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keeping, "LARGEST", 1_000)
    written(tmp_path, *(f"line {number}" for number in range(40)))
    assert len(list((tmp_path / "logs").iterdir())) > 2
    shown = [line["what"] for line in last_lines(tmp_path, 30)]
    assert shown == [f"line {number}" for number in range(10, 40)]


def test_following_shows_what_comes_also_over_a_rotation(tmp_path: Path) -> None:
    log = tmp_path / "logs" / "gateway.log"
    log.parent.mkdir()
    log.write_text('{"what": "old"}\n')

    async def read() -> list[str]:
        clock = ManualClock()
        lines = follow(tmp_path, clock)
        found: list[str] = []

        async def reading() -> None:
            async for line in lines:
                found.append(line["what"])

        task = asyncio.ensure_future(reading())
        await asyncio.wait({task}, timeout=0)
        acts: tuple[Callable[[], object], ...] = (
            lambda: log.write_text(log.read_text() + '{"what": "one"}\n{"what": "tw'),
            lambda: log.write_text(log.read_text() + 'o"}\n{"what": "three"}\n'),
            lambda: log.rename(f"{log}.1").with_name("gateway.log").write_text('{"what": "four"}\n'),
        )
        for act in acts:
            await _looked(clock)
            act()
            await _looked(clock)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        return found

    assert asyncio.run(read()) == ["one", "two", "three", "four"]


async def _looked(clock: ManualClock) -> None:
    for _ in range(5):
        clock.advance(300)
        for _ in range(5):
            await asyncio.wait({asyncio.ensure_future(_nothing())})


async def _nothing() -> None:
    return None


def test_a_line_cut_by_a_kill_is_shown_as_it_stands() -> None:
    assert read_line(b'{"at": "2026')["what"] == '{"at": "2026'


@pytest.mark.parametrize(
    "text",
    [
        "Authorization: Bearer SECRETSECRET",
        "open http://127.0.0.1:8787/login?key=SECRETSECRET",
        "open http://127.0.0.1:8787/login#key=SECRETSECRET",
        "https://api.telegram.org/bot123456789:SECRETSECRETSECRETSECRETSECRETSECRET/getMe",
        "token=SECRETSECRET&x=1",
        '{"api_key": "SECRETSECRET"}',
        "postgres://user:SECRETSECRET@db/x",
        "sk-SECRETSECRETSECRETSECRET",
        "slack xoxb-SECRETSECRET-SECRETSECRET",
        "bot_token: SECRETSECRET",
    ],
)
def test_what_looks_like_a_secret_is_left_out(text: str) -> None:
    assert "SECRET" not in without_secrets(text)


def test_what_is_none_stays() -> None:
    words = "turn 01m7h0v4npcjr9satf4bt3xwj3 of web/main/terminal took 12:30:45, 3 tokens; session=01m7h0v4"
    assert without_secrets(words) == words
    assert is_secret_name("telegram.token") and is_secret_name("API_KEY")
    assert not is_secret_name("drain.wait") and not is_secret_name("keys")
