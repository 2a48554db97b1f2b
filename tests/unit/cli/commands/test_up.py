import subprocess
import sys

import pytest

from holdfast.cli.commands.up import parse_up


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        ([], (None, None, True, None)),
        (["--home", "x"], ("x", None, True, None)),
        (["--home=x", "--agent=demo"], ("x", "demo", True, None)),
        (["--agent", "mine:agent", "--no-supervise"], (None, "mine:agent", False, None)),
        (["--no-supervise", "--supervise", "--json"], (None, None, True, None)),
        (["--port", "0"], (None, None, True, "0")),
    ],
)
def test_plain_arguments_are_read_without_the_full_command_line(
    arguments: list[str], meant: tuple[str | None, str | None, bool, str | None]
) -> None:
    up = parse_up(arguments)
    assert up is not None
    assert (up.home, up.agent, up.supervised, up.port) == meant


@pytest.mark.parametrize(
    "arguments",
    [
        ["--help"],
        ["--home"],
        ["--home="],
        ["--home", "--agent"],
        ["extra"],
        ["--hoem", "x"],
        ["--json=1"],
        ["--port"],
    ],
)
def test_anything_else_is_left_to_it(arguments: list[str]) -> None:
    assert parse_up(arguments) is None


def test_up_starts_without_what_only_other_commands_need() -> None:
    code = "import holdfast.cli, holdfast.cli.commands.up, sys; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {name.split(".")[0] for name in done.stdout.split()}
    assert not loaded & {"typer", "rich", "click", "asyncio", "sqlite3", "json", "logging"}
    assert not loaded & {"dataclasses", "inspect", "pathlib", "re", "socket", "subprocess", "typing"}
    assert "holdfast.store" not in done.stdout.split()
