"""Backup, restore and release as people run them, with real gateways writing and dying."""

import asyncio
import hashlib
import io
import json
import sqlite3
import tarfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from holdfast.api.client import ask, listen
from tests.support.commands import Spoken, as_json, command, holdfast, notes, up
from tests.support.web import asked_until, program

ANSWER = "All 4 steps are done"


@contextmanager
def chat(home: Path) -> Iterator[Spoken]:
    talk = Spoken("chat", "--home", home, "--wait", "20")
    try:
        yield talk
    finally:
        talk.drop()


def positions(home: Path) -> list[int]:
    with closing(sqlite3.connect(f"file:{home}/ledger.db?mode=ro", uri=True)) as db:
        return [row[0] for row in db.execute("SELECT position FROM inbox ORDER BY position")]


def owed(home: Path) -> list[str]:
    with closing(sqlite3.connect(f"file:{home}/ledger.db?mode=ro", uri=True)) as db:
        return [row[0] for row in db.execute("SELECT body FROM outbox WHERE state = 'sent'")]


async def _told(home: Path, words: str) -> None:
    """Return once the terminal's chat has been told this."""
    async for event in listen(home, "/api/chats/terminal/events"):
        if event.name == "delivery" and words in event.data["text"]:
            return


@pytest.mark.guards("R19")
def test_backups_under_load_are_each_one_instant_of_the_ledger(tmp_path: Path) -> None:
    home = tmp_path / "home"
    kept: list[tuple[Path, int, int]] = []
    with up(home, "--no-supervise", "--agent", "echo"):
        asyncio.run(_load(home, kept))
        assert as_json("verify", "--home", home)["sound"]
    assert len(kept) == 4
    for file, at_least, at_most in kept:
        new = file.with_suffix("")
        assert command("restore", file, "--home", new).code == 0
        assert as_json("verify", "--home", new)["sound"]
        found = positions(new)
        assert found == list(range(1, len(found) + 1))
        assert at_least <= len(found) <= at_most


async def _load(home: Path, kept: list[tuple[Path, int, int]]) -> None:
    """Four people write without a pause while backups are made; none of them is turned away."""
    accepted = asked = 0
    over = False

    async def person(number: int) -> None:
        nonlocal accepted, asked
        while not over:
            asked += 1
            await ask(home, "say", chat=f"chat-{number}", text=f"message {asked}")
            accepted += 1

    people = [asyncio.create_task(person(number)) for number in range(4)]
    for number in range(4):
        file, before = home.with_name(f"copy-{number}.tar"), accepted
        done = await asyncio.to_thread(holdfast, "backup", file, "--home", home)
        assert done.returncode == 0, done.stderr
        kept.append((file, before, asked))
        assert accepted > before, "people were answered meanwhile"
    over = True
    await asyncio.gather(*people)


def release(home: Path) -> None:
    """Let the one turn go on that is held, and is not at work."""
    standing = as_json("status", "--home", home)
    assert [one["kind"] for one in standing["held"]] == ["turn"]
    assert standing["running"] == []
    assert len(as_json("release", "--all", "--home", home)["released"]) == 1


@pytest.mark.parametrize("at_rest", [False, True], ids=["running", "at rest"])
@pytest.mark.guards("R19")
def test_work_cut_by_a_restore_goes_on_when_it_is_released_and_its_effects_are_not_repeated(
    tmp_path: Path, at_rest: bool
) -> None:
    home, file, new = tmp_path / "home", tmp_path / "kept.tar", tmp_path / "new"
    with up(home, "--no-supervise", pace="0.3"), chat(home) as talk:
        talk.say("Do 4 steps.")
        talk.until("wrote the note of step 2")
        assert command("backup", file, "--home", home).code == 0
        talk.until(ANSWER)
        assert command("restore", file, "--home", home).code == 78, "a gateway runs there"
    assert command("restore", file, "--home", home).code == 1, "it is not empty"
    assert as_json("restore", file, "--home", new)["held"]["turns"] == 1
    if at_rest:
        release(new)
    with up(new, "--no-supervise"):
        with program(new) as client:
            asked_until(client, "/readyz", 200)
        assert "restored from a backup" in as_json("continuity", "--home", new)["reports"][0]["lines"][0]
        if not at_rest:
            release(new)
        asyncio.run(_told(new, ANSWER))
    assert as_json("release", "--home", new)["held"] == []
    assert sum(ANSWER in text for text in owed(new)) == 1
    assert notes(new) == ["note of step 4"], "the note of step 2 was written before the backup, elsewhere"


@pytest.mark.guards("R19")
def test_a_backup_is_never_replaced_unasked_and_holds_no_secret(tmp_path: Path) -> None:
    home, file = tmp_path / "home", tmp_path / "kept.tar"
    with up(home, "--no-supervise"):
        pass
    (home / "token").write_text("the-token-of-this-home")
    assert command("backup", file, "--home", home).code == 0
    first = file.read_bytes()
    assert b"the-token-of-this-home" not in first
    refused = command("backup", file, "--home", home)
    assert refused.code == 1 and "was not touched" in refused.err
    assert file.read_bytes() == first
    assert command("backup", file, "--home", home, "--force").code == 0
    assert file.stat().st_mode & 0o077 == 0
    assert json.loads(holdfast("backup", tmp_path, "--home", home, "--json").stdout)["path"].endswith(".tar")


@pytest.mark.guards("R19")
def test_a_damaged_and_a_newer_backup_are_refused_and_change_nothing(tmp_path: Path) -> None:
    home, file = tmp_path / "home", tmp_path / "kept.tar"
    with up(home, "--no-supervise"):
        pass
    assert command("backup", file, "--home", home).code == 0
    whole = file.read_bytes()
    for number, damaged in enumerate((whole[:5000], whole[:2000] + b"x" + whole[2001:], b"no backup")):
        (bad := tmp_path / f"bad-{number}.tar").write_bytes(damaged)
        refused = command("restore", bad, "--home", tmp_path / "new")
        assert refused.code == 78 and "nothing was changed" in refused.err
    newer = _made_newer(file, tmp_path)
    refused = command("restore", newer, "--home", tmp_path / "new")
    assert refused.code == 78 and "schema 999" in refused.err
    assert not (tmp_path / "new").exists()
    assert command("restore", file, "--home", home, "--force").code == 0
    assert len(list(tmp_path.glob("home.before-*"))) == 1


def _made_newer(file: Path, folder: Path) -> Path:
    with tarfile.open(file) as tar:
        contents = {one.name: tar.extractfile(one).read() for one in tar}  # type: ignore[union-attr]  # files only
    ledger = folder / "newer.db"
    ledger.write_bytes(contents["ledger.db"])
    with closing(sqlite3.connect(ledger)) as db:
        db.execute("PRAGMA user_version = 999")
    contents["ledger.db"] = ledger.read_bytes()
    manifest = json.loads(contents["manifest.json"])
    manifest["files"]["ledger.db"]["sha256"] = hashlib.sha256(contents["ledger.db"]).hexdigest()
    contents["manifest.json"] = json.dumps(manifest).encode()
    newer = folder / "newer.tar"
    with tarfile.open(newer, "w") as tar:
        for name, data in contents.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return newer
