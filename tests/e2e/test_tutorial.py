"""The tutorial, as a person would follow it: its configuration, its lines, its kills, its commands."""

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from holdfast.cli.chat.screen import PROMPT
from holdfast.config.load import load_settings
from tests.support.commands import Spoken, command, environment, kill_gateway, up
from tests.support.machine import gate, wait_for
from tests.unit.project.tree import ROOT

PAGE = (ROOT / "docs" / "tutorial" / "real-model.md").read_text(encoding="utf-8")
KILL = "$ kill -9 $(cut -d' ' -f2 ~/.holdfast/lock)"
PORT = "8001"


def blocks(kind: str) -> list[str]:
    """What stands in the page's blocks of that kind."""
    return re.findall(rf"^```{kind}\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)


@contextmanager
def model_server() -> Iterator[str]:
    """The server the page starts, at a free port; gives that."""
    (line,) = re.findall(rf"^    \.venv/bin/python (-m \S+ --port {PORT})$", PAGE, re.MULTILINE)
    with subprocess.Popen(
        [sys.executable, *line.replace(PORT, "0").split()],
        stdout=subprocess.PIPE,
        text=True,
        env=environment(),
    ) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().split(":")[-1].removesuffix("/v1\n")
        finally:
            process.terminate()


def followed(talk: Spoken, home: Path, block: str) -> None:
    """Say what the page says, and see what it shows, in its order; kill where it does."""
    for line in block.splitlines():
        if line == KILL:
            kill_gateway(home)
        elif line.startswith(PROMPT):
            talk.say(line.removeprefix(PROMPT))
        else:
            talk.until(line.strip())


@pytest.mark.guards("R7.2", "R7.3", "R11.2", "R13")
def test_the_tutorial_is_what_happens(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    first, cut, denied, beside = blocks("text")
    # When a command has begun is for a person to see; here it says so itself, outside of the home.
    (tmp_path / "seen").mkdir()
    begun = gate(tmp_path / "seen", "begun")
    cut = cut.replace("sleep 30", f"echo > {begun}; sleep 600")
    with model_server() as port:
        config = blocks("toml")[0].replace(PORT, port)
        (home / "holdfast.toml").write_text(f'{config}\nwrite = ["{begun.parent}"]\n')
        with up(home):
            assert "local" in command("status", "--home", home).out
            talk = Spoken("chat", "--home", home, "--wait", "20")
            try:
                followed(talk, home, first)
                before, yes, after = cut.partition("> yes\n")
                followed(talk, home, before + yes)
                wait_for(begun)
                followed(talk, home, after)
                followed(talk, home, denied)
                followed(talk, home, beside)
            finally:
                talk.drop()
            assert command("processes", "--home", home).out == "No background process runs.\n"
            assert command("verify", "--home", home).code == 0
    (dates,) = (home / "workspace").rglob("dates.txt")
    assert len(dates.read_text().splitlines()) == 1


@pytest.mark.parametrize("block", blocks("toml"))
def test_each_configuration_of_the_tutorial_is_one_that_is_understood(tmp_path: Path, block: str) -> None:
    (tmp_path / "holdfast.toml").write_text(block)
    load_settings(tmp_path, {})
