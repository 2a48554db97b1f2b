import json
import subprocess
import sys
from pathlib import Path

import pytest

from holdfast import __version__
from holdfast.cli.program import run

COMMANDS = [
    "up",
    "stop",
    "restart",
    "chat",
    "status",
    "sessions",
    "show",
    "trace",
    "continuity",
    "verify",
    "config",
    "resume",
    "cancel",
    "outbox",
    "set-aside",
    "release",
    "safe-mode",
    "allowed",
    "drill",
]
BELOW = [["service", "print"], ["sessions", "delete"], ["outbox", "settle"], ["allowed", "revoke"]]


@pytest.mark.parametrize("command", [[name] for name in COMMANDS] + BELOW)
def test_every_command_explains_itself_and_has_home_and_json(
    command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*command, "--help"]) == 0
    said = capsys.readouterr().out
    assert "--home" in said
    assert "--json" in said
    assert len(said) > 300


def test_all_commands_stand_in_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--help"]) == 0
    said = capsys.readouterr().out
    assert all(f" {name} " in said for name in [*COMMANDS, "service"])


def test_the_version_is_the_packages(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--version"]) == 0
    assert capsys.readouterr().out.strip() == __version__


@pytest.mark.parametrize(
    "arguments", [["dance"], ["status", "--hoem", "x"], ["show"], ["drill", "--kills", "0"]]
)
def test_what_cannot_be_understood_ends_with_1_and_says_why(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(arguments) == 1
    assert capsys.readouterr().err


def test_a_bad_home_ends_with_78_also_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "file"
    file.touch()
    assert run(["status", "--home", str(file)]) == 78
    assert run(["status", "--home", str(file), "--json"]) == 78
    words, as_json = capsys.readouterr().err.splitlines()
    assert "is not allowed" in words
    assert "is not allowed" in json.loads(as_json)["error"]


def test_every_setting_says_where_it_comes_from(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "holdfast.toml").write_text("workers = 3\n")
    assert run(["config", "--home", str(tmp_path), "--json"]) == 0
    settings = {one["key"]: one for one in json.loads(capsys.readouterr().out)["settings"]}
    assert settings["workers"]["value"] == 3
    assert settings["workers"]["source"] == str(tmp_path / "holdfast.toml")
    assert settings["busy"]["source"] == "default"


def test_the_unit_names_the_home(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["service", "print", "--home", str(tmp_path)]) == 0
    said = capsys.readouterr().out
    assert "[Service]" in said
    assert str(tmp_path) in said


def test_a_drill_never_works_in_a_home_that_has_something_in_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "ledger.db").touch()
    assert run(["drill", "--home", str(tmp_path)]) == 78
    assert "empty folder" in capsys.readouterr().err


def test_looking_at_a_home_where_nothing_ran_says_so_and_makes_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    home = ["--home", str(tmp_path)]
    assert run(["status", *home]) == 1
    assert "not running" in capsys.readouterr().out
    for command in (
        ["sessions"],
        ["verify"],
        ["show", "terminal"],
        ["trace", "1"],
        ["continuity"],
        ["restart", "--plan"],
    ):
        assert run([*command, *home]) == 78, command
        assert "nothing has run there yet" in capsys.readouterr().err
    for command in (["chat"], ["restart"]):
        assert run([*command, *home]) == 1, command
        assert "no gateway runs" in capsys.readouterr().err
    assert run(["stop", *home]) == 0
    assert "nothing to stop" in capsys.readouterr().out
    assert not list(tmp_path.iterdir())


def test_looking_at_a_file_that_is_no_ledger_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "ledger.db").write_bytes(b"this is no ledger" * 500)
    for command in (["status"], ["sessions"], ["verify"], ["show", "terminal"], ["restart", "--plan"]):
        assert run([*command, "--home", str(tmp_path)]) == 1, command
        assert "file is not a database" in capsys.readouterr().err


def test_the_command_line_waits_for_no_stage_and_no_web_server() -> None:
    heavy = ("outbox", "recovery", "turns", "inbox", "web", "testing", "app.actions", "app.gateway")
    found = subprocess.run(
        [sys.executable, "-c", "import holdfast.cli.program, sys; print(*sys.modules)"],
        check=True,
        capture_output=True,
        text=True,
    ).stdout.split()
    unwanted = ("starlette", "uvicorn", "httpx", *(f"holdfast.{name}" for name in heavy))
    assert [name for name in found if name in unwanted] == []
