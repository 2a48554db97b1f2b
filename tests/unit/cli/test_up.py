import subprocess
import sys
from pathlib import Path

import pytest

from holdfast.cli.up import Up, parse_up


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        ([], Up()),
        (["--home", "x"], Up(Path("x"))),
        (["--home=x", "--agent=demo"], Up(Path("x"), "demo")),
        (["--agent", "mine:agent", "--no-supervise"], Up(None, "mine:agent", False)),
        (["--no-supervise", "--supervise"], Up()),
    ],
)
def test_plain_arguments_are_read_without_the_full_command_line(arguments: list[str], meant: Up) -> None:
    assert parse_up(arguments) == meant


@pytest.mark.parametrize(
    "arguments",
    [["--help"], ["--home"], ["--home="], ["--home", "--agent"], ["extra"], ["--hoem", "x"], ["--json"]],
)
def test_anything_else_is_left_to_it(arguments: list[str]) -> None:
    assert parse_up(arguments) is None


def test_up_starts_without_what_only_other_commands_need() -> None:
    code = "import holdfast.cli, holdfast.cli.up, sys; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {name.split(".")[0] for name in done.stdout.split()}
    assert not loaded & {"typer", "rich", "click", "asyncio", "sqlite3", "json", "logging"}
    assert "holdfast.store" not in done.stdout.split()
