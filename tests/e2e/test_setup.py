"""Setting a Telegram bot up and looking it over, as people do: real processes, a real server for the bot."""

import json
import os
import pty
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import httpx
import pytest

from tests.support.commands import PATIENCE, as_json, command, environment, holdfast

TOKEN = "1000:canary-AAE-not-to-be-seen"


@contextmanager
def bot_api(token: str = TOKEN) -> Iterator[str]:
    """The fake Bot API as a process; gives its address."""
    process = subprocess.Popen(
        [sys.executable, "-m", "holdfast.testing.fakes.botapi", "--port", "0", "--token", token],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        output: IO[str] | None = process.stdout
        assert output is not None
        yield output.readline().split()[0]
    finally:
        process.kill()
        process.communicate()


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with bot_api() as found:
        yield found


def setup(home: Path, address: str, *more: object, token: str = TOKEN) -> subprocess.CompletedProcess[str]:
    arguments = ("setup", "telegram", "--home", home, "--base-url", address, "--token-stdin", *more)
    return holdfast(*arguments, said=f"{token}\n")


def everything_in(home: Path) -> dict[str, str]:
    return {str(path.relative_to(home)): path.read_text() for path in home.rglob("*") if path.is_file()}


def test_a_bot_is_checked_set_up_and_looked_over(tmp_path: Path, address: str) -> None:
    done = setup(tmp_path, address, "--owner", "4242")
    assert done.returncode == 0, done.stderr
    assert "@holdfast is set up" in done.stdout and "holdfast up" in done.stdout
    config = tmp_path / "holdfast.toml"
    assert TOKEN not in config.read_text() + done.stdout + done.stderr
    assert 'owners = ["telegram:4242"]' in config.read_text()
    token = tmp_path / "telegram.token"
    assert token.read_text().strip() == TOKEN and stat.S_IMODE(token.stat().st_mode) == 0o600

    looked = command("doctor", "--home", tmp_path, "--json")
    findings = json.loads(looked.out)["findings"]
    assert looked.code == 0 and TOKEN not in looked.out + looked.err
    assert {one["check"] for one in findings} >= {"telegram", "webhook", "updates", "clock", "disk", "owners"}

    token.chmod(0o644)
    assert command("doctor", "--home", tmp_path).code == 1


def test_set_up_again_keeps_what_is_in_the_file_and_says_what_to_do(tmp_path: Path, address: str) -> None:
    (tmp_path / "holdfast.toml").write_text('# my gateway\nowners = ["telegram:7"]\n\n[drain]\nwait = 5\n')
    for _ in range(2):
        answer = json.loads(setup(tmp_path, address, "--owner", "4242", "--json").stdout)
        assert (answer["account"], answer["owner"], answer["running"]) == ("1000", "telegram:4242", False)
    text = (tmp_path / "holdfast.toml").read_text()
    assert "# my gateway" in text and 'owners = ["telegram:4242", "telegram:7"]' in text
    assert text.count("[telegram]") == text.count("token_file") == 1
    assert as_json("config", "--home", tmp_path)


@pytest.mark.parametrize(
    ("token", "words"),
    [
        ("1000:wrong", "does not know this token"),
        ("no token at all", "that is not a token"),
        ("", "not a token"),
    ],
)
def test_a_token_that_is_none_writes_nothing(tmp_path: Path, address: str, token: str, words: str) -> None:
    done = setup(tmp_path / "home", address, token=token)
    assert done.returncode != 0 and words in done.stderr
    assert not (tmp_path / "home").exists()
    if token:
        assert token not in done.stdout + done.stderr


def test_without_a_network_nothing_is_written_and_the_words_hold_no_token(tmp_path: Path) -> None:
    done = setup(tmp_path / "home", "http://127.0.0.1:9", "--json")
    assert done.returncode == 1
    assert "gives no answer" in json.loads(done.stderr)["error"]
    assert TOKEN not in done.stdout + done.stderr
    assert not (tmp_path / "home").exists()


def test_a_configuration_that_cannot_be_written_is_left_as_it_was(tmp_path: Path, address: str) -> None:
    (tmp_path / "holdfast.toml").write_text('owners = [\n  "telegram:7",\n]\n')
    before = everything_in(tmp_path)
    done = setup(tmp_path, address, "--owner", "4242")
    assert done.returncode == 78 and 'token_file = "telegram.token"' in done.stderr
    assert everything_in(tmp_path) == before


def test_a_token_in_a_variable_is_written_nowhere(tmp_path: Path, address: str) -> None:
    where = ("--home", tmp_path, "--base-url", address)
    done = holdfast("setup", "telegram", *where, "--token-env", "BOT_TOKEN", BOT_TOKEN=TOKEN)
    assert done.returncode == 0, done.stderr
    assert not any(TOKEN in text for text in everything_in(tmp_path).values())
    missing = holdfast("doctor", "--home", tmp_path, "--json")
    (found,) = (one for one in json.loads(missing.stdout)["findings"] if one["check"] == "telegram token")
    assert missing.returncode == 1 and "BOT_TOKEN" not in found["fix"] and found["grade"] == "bad"
    good = holdfast("doctor", "--home", tmp_path, BOT_TOKEN=TOKEN)
    assert good.returncode == 0 and TOKEN not in good.stdout + good.stderr


def test_a_webhook_that_is_in_the_way_is_found_and_taken_away_on_demand(tmp_path: Path) -> None:
    with bot_api() as address:
        httpx.post(
            f"{address}/bot{TOKEN}/setWebhook", data={"url": "http://127.0.0.1:9/x"}
        ).raise_for_status()
        assert "has a webhook" in setup(tmp_path, address).stdout
        assert command("doctor", "--home", tmp_path).code == 1
        assert "has a webhook" not in setup(tmp_path, address, "--drop-webhook").stdout
        assert command("doctor", "--home", tmp_path).code == 0


def test_at_a_terminal_the_token_is_asked_for_and_never_shown(tmp_path: Path, address: str) -> None:
    main, side = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "holdfast", "setup", "telegram", "--home", tmp_path, "--base-url", address],
        stdin=side,
        stdout=side,
        stderr=side,
        env=environment(),
        start_new_session=True,
    )
    os.close(side)
    # The blank after the question stands there once nothing that is typed is shown any more.
    seen = _answer(main, ("not shown): ", TOKEN), ("numeric id", "4242"))
    assert process.wait(PATIENCE) == 0, seen
    assert "@holdfast" in seen and TOKEN not in seen
    assert 'owners = ["telegram:4242"]' in (tmp_path / "holdfast.toml").read_text()


def _answer(terminal: int, *asked: tuple[str, str]) -> str:
    """Type each answer once its question stands there; all that was seen."""
    seen, waiting = "", list(asked)
    while True:
        try:
            more = os.read(terminal, 4096)
        except OSError:
            return seen
        if not more:
            return seen
        seen += more.decode()
        if waiting and waiting[0][0] in seen:
            os.write(terminal, f"{waiting.pop(0)[1]}\n".encode())
