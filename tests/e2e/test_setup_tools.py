"""`holdfast setup tools`: what this machine can contain, and a choice that is written only when made."""

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.commands import PATIENCE, as_json, environment, holdfast

ELSEWHERE = """
import sys
from types import SimpleNamespace
from holdfast.cli.program import run
from holdfast.tools.containment import launcher
launcher.sys = SimpleNamespace(platform="darwin")
sys.exit(run(sys.argv[1:]))
"""
"""The command line on a system that has neither bubblewrap nor Landlock."""


def configured(home: Path) -> str:
    path = home / "holdfast.toml"
    return path.read_text() if path.exists() else ""


@pytest.mark.guards("R22.1")
def test_it_says_how_contained_programs_run_and_writes_nothing_by_itself(tmp_path: Path) -> None:
    done = holdfast("setup", "tools", "--home", tmp_path)
    assert done.returncode == 0, done.stderr
    assert "programs of agents are contained" in done.stdout
    assert configured(tmp_path) == ""


@pytest.mark.guards("R22.1")
def test_off_is_written_with_what_it_means_and_can_be_taken_back(tmp_path: Path) -> None:
    (tmp_path / "holdfast.toml").write_text("# mine\n[tools]\nnetwork = false\n")
    done = holdfast("setup", "tools", "--home", tmp_path, "--containment", "off")
    assert done.returncode == 0, done.stderr
    assert "NOT contained" in done.stdout and "token" in done.stdout
    text = configured(tmp_path)
    assert "# mine" in text and "network = false" in text and 'containment = "off"' in text
    assert "not contained" in holdfast("setup", "tools", "--home", tmp_path).stdout
    found = as_json("setup", "tools", "--home", tmp_path, "--containment", "required")
    assert (found["containment"], found["possible"]) == ("required", "bubblewrap")
    assert 'containment = "required"' in configured(tmp_path)


@pytest.mark.guards("R22.1")
@pytest.mark.parametrize(("said", "written"), [("n", ""), ("y", 'containment = "off"')])
def test_where_nothing_can_be_contained_a_terminal_asks_and_the_usual_answer_is_no(
    tmp_path: Path, said: str, written: str
) -> None:
    ours, theirs = pty.openpty()
    words = [sys.executable, "-c", ELSEWHERE, "setup", "tools", "--home", str(tmp_path)]
    with subprocess.Popen(
        words, stdin=theirs, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment(), text=True
    ) as process:
        os.close(theirs)
        os.write(ours, f"{said}\n".encode())
        output, _ = process.communicate(timeout=PATIENCE)
    os.close(ours)
    assert process.returncode == 0, output
    assert "cannot contain programs of agents" in output and "NOT contained" in output
    assert written in configured(tmp_path) and bool(configured(tmp_path)) == bool(written)
