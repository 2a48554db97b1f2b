"""The disk that power cuts are tried on: what it may lose, and what it may not."""

import random
from collections.abc import Callable

from tests.support.disks.disk import SECTOR, Disk, Image, all_of, none_of, some_of
from tests.support.disks.events import Event, Made, Moved, Removed, Sized, SyncBegun, SyncEnded, Wrote

OLD, NEW = b"o" * SECTOR * 4, b"n" * SECTOR * 4
TRIES = 300


def synced(path: str, number: int, kept: bool = True) -> tuple[Event, ...]:
    return SyncBegun(path, number), SyncEnded(number, kept)


def disk_after(*events: Event) -> Disk:
    disk = Disk()
    for event in events:
        disk.apply(event)
    return disk


def states(make: Callable[[], Disk]) -> list[Image]:
    """Many states a cut may leave."""
    chance, disk = random.Random(1), make()
    return [all_of(disk), none_of(disk), *(some_of(disk, chance) for _ in range(TRIES))]


KNOWN = (Made("f"), *synced("", 1), Wrote("f", 0, OLD), *synced("f", 2))


def test_what_was_synced_is_there_whatever_is_cut() -> None:
    assert all(state == {"f": OLD} for state in states(lambda: disk_after(*KNOWN)))


def test_of_what_was_not_synced_any_sectors_may_be_there_each_of_them_whole() -> None:
    found = {state["f"] for state in states(lambda: disk_after(*KNOWN, Wrote("f", 0, NEW)))}
    sectors = {data[at : at + SECTOR] for data in found if data for at in range(0, len(data), SECTOR)}
    assert sectors == {OLD[:SECTOR], NEW[:SECTOR]}
    assert {OLD, NEW} < found
    assert len(found) > 8


def test_a_sector_written_twice_never_holds_the_second_without_the_first() -> None:
    """Both are in the same sector of the memory that is written to the disk."""
    writes = (Wrote("f", 0, b"1"), Wrote("f", 1, b"2"))
    found = {data[:2] for state in states(lambda: disk_after(*KNOWN, *writes)) if (data := state["f"])}
    assert found == {b"oo", b"1o", b"12"}


def test_a_size_may_arrive_without_what_was_written_and_the_other_way_round() -> None:
    found = {state["f"] for state in states(lambda: disk_after(*KNOWN, Wrote("f", len(OLD), NEW)))}
    assert OLD + bytes(len(NEW)) in found
    assert OLD in found


def test_a_file_cut_short_and_not_synced_may_still_be_long() -> None:
    found = {state["f"] for state in states(lambda: disk_after(*KNOWN, Sized("f", 0)))}
    assert found == {OLD, b""}


def test_a_name_is_certain_when_its_folder_was_synced_and_not_before() -> None:
    made = (Made("f"), Wrote("f", 0, OLD), *synced("f", 1))
    assert {"f" in state for state in states(lambda: disk_after(*made))} == {True, False}
    assert all("f" in state for state in states(lambda: disk_after(*made, *synced("", 2))))


def test_a_file_that_was_moved_has_one_of_its_names_and_one_that_was_removed_may_be_back() -> None:
    moved = states(lambda: disk_after(*KNOWN, Moved("f", "g")))
    assert {tuple(state) for state in moved} == {("f",), ("g",)}
    removed = states(lambda: disk_after(*KNOWN, Removed("f")))
    assert {tuple(state) for state in removed} == {("f",), ()}


def test_what_is_written_while_a_sync_is_under_way_is_not_made_certain_by_it() -> None:
    late = (SyncBegun("f", 3), Wrote("f", 0, NEW), SyncEnded(3))
    assert none_of(disk_after(*KNOWN, *late)) == {"f": OLD}


def test_after_a_failed_sync_only_writing_it_again_makes_it_certain() -> None:
    lost = (*KNOWN, Wrote("f", 0, NEW), *synced("f", 3, kept=False))
    assert none_of(disk_after(*lost, *synced("f", 4))) == {"f": OLD}
    assert none_of(disk_after(*lost, Wrote("f", 0, NEW), *synced("f", 4))) == {"f": NEW}
