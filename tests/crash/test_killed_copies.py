"""Backups and restores killed with SIGKILL at every place where they touch the disk: whole, or not there."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from holdfast.maintenance.backup import make_backup
from tests.support.gateways import Town
from tests.support.loops import on_a_loop

ROOT = Path(__file__).parents[2]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home with a turn under way."""
    made = tmp_path / "home"
    _talk(made)
    (made / "mark").write_text("the old one")
    (made / "blobs").mkdir()
    (made / "blobs" / "abc").write_text("an attachment")
    return made


@on_a_loop
async def _talk(home: Path) -> None:
    town = Town(home)
    await town.start()
    town.model.hold("long")
    town.mail.say("short")
    town.mail.say("long", chat="c2")
    await town.until(lambda: "long" in town.model.begun and bool(town.mail.sent))
    await town.crash()


def killed(*arguments: object) -> dict[str, list[str]]:
    """How it stood, and at which places it was killed for it to stand so."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.support.killed_copies", *map(str, arguments)],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, list[str]] = {}
    for line in done.stdout.splitlines():
        _, stands, where = line.split("\t")
        found.setdefault(stands, []).append(where)
    assert found and any(wheres[-1] == "the end" for wheres in found.values())
    return found


@pytest.mark.guards("R19")
def test_a_backup_killed_anywhere_is_whole_or_not_there(home: Path, tmp_path: Path) -> None:
    folder = tmp_path / "kept"
    folder.mkdir()
    found = killed("backup", home, folder / "x.tar")
    assert set(found) == {"none", "whole"}, found
    assert any(where.startswith("os.link") for where in found["none"])


@pytest.mark.guards("R19")
def test_a_restore_killed_anywhere_leaves_the_old_home_or_the_new_one(home: Path, tmp_path: Path) -> None:
    town = Town(home)
    file = tmp_path / "x.tar"
    make_backup(home, file, town.clock, False, lambda what, done, of: None)
    place = tmp_path / "place" / "home"
    place.parent.mkdir()
    found = killed("restore", file, place, home)
    assert set(found) == {"old", "new"}, found
    assert found["new"][-1] == "the end"
    assert len(found["old"]) > 20 and len(found["new"]) > 1


@pytest.mark.guards("R19")
def test_what_a_killed_one_left_is_cleared_away_by_the_next(home: Path, tmp_path: Path) -> None:
    (tmp_path / ".x.tar.abc.partial" / "home").mkdir(parents=True)
    make_backup(home, tmp_path / "x.tar", Town(home).clock, False, lambda what, done, of: None)
    assert not list(tmp_path.glob(".*.partial"))
