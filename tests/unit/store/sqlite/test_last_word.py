"""An orderly end that the ledger has no room for is known at the next start."""

import os
from pathlib import Path

import pytest

from holdfast.errors import DiskFull, StoreUnavailable
from holdfast.model import InstanceId, Stopped
from holdfast.store import open_ledger
from holdfast.store.sqlite import last_word
from holdfast.store.sqlite.last_word import LastWord, read_last_word, reserve_last_word, say_last_word
from holdfast.store.sqlite.writer import WriterThread
from holdfast.testing import ManualClock, SeededIds
from tests.support.loops import on_a_loop

WORD = LastWord(InstanceId("one"), Stopped.RESTART, 5)


def test_what_was_said_is_read_back_and_forgotten_when_the_next_run_begins(tmp_path: Path) -> None:
    assert read_last_word(tmp_path) is None
    reserve_last_word(tmp_path)
    assert read_last_word(tmp_path) is None
    say_last_word(tmp_path, WORD)
    assert read_last_word(tmp_path) == WORD
    reserve_last_word(tmp_path)
    assert read_last_word(tmp_path) is None


def test_saying_it_takes_no_room_that_was_not_taken_before(tmp_path: Path) -> None:
    reserve_last_word(tmp_path)
    before = (tmp_path / last_word.FILE).stat()
    say_last_word(tmp_path, LastWord(InstanceId("x" * 26), Stopped.STOPPED, 2**43))
    after = (tmp_path / last_word.FILE).stat()
    assert (after.st_size, after.st_blocks, after.st_ino) == (before.st_size, before.st_blocks, before.st_ino)
    assert after.st_mode & 0o077 == 0


@pytest.mark.parametrize(
    "words", ["", "one", "one stopped", "one gone 5", "one stopped soon", "a b c d", "\xff"]
)
def test_what_cannot_be_read_says_nothing(tmp_path: Path, words: str) -> None:
    (tmp_path / last_word.FILE).write_text(words, encoding="latin-1")
    assert read_last_word(tmp_path) is None


def test_a_run_that_could_not_reserve_it_cannot_say_it(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No such file"):
        say_last_word(tmp_path, WORD)


@pytest.mark.guards("R16")
@pytest.mark.parametrize("fault", [DiskFull("no room"), StoreUnavailable("not now")])
@pytest.mark.parametrize("how", [Stopped.STOPPED, Stopped.RESTART])
def test_an_end_without_room_is_known_as_orderly_at_the_next_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: Exception, how: Stopped
) -> None:
    clock = ManualClock()

    def refuses(self: WriterThread, work: object) -> object:
        raise fault

    @on_a_loop
    async def first() -> None:
        store = await open_ledger(tmp_path, clock, SeededIds(clock))
        with monkeypatch.context() as full:
            full.setattr(WriterThread, "submit", refuses)
            await store.end_instance(how)
        await store.close()

    @on_a_loop
    async def second() -> None:
        store = await open_ledger(tmp_path, clock, SeededIds(clock, "second"))
        assert (await store.continuity()).previous_ended == how.value
        await store.close()

    first()
    clock.advance(1_000)
    second()
    assert read_last_word(tmp_path) is None
    assert os.listdir(tmp_path).count(last_word.FILE) == 1
