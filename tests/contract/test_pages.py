"""What a page reads: chats that go on, how much they were told; and the files that go with messages."""

import pytest

from holdfast.errors import NotFound
from holdfast.model import StopKind, TurnState
from tests.support.ledger import Ledger, address, key, owed, place


async def test_chats_that_go_on_come_with_the_newest_work_first(ledger: Ledger) -> None:
    here = place()
    for chat in ("c1", "c2", "c3"):
        await ledger.complete(f"first of {chat}", chat=chat)
        ledger.clock.advance(1)
    await ledger.complete("second", chat="c1")
    ledger.clock.advance(1)
    await ledger.store.stop(key("c2"), StopKind.NEW, None)
    found = await ledger.store.chats(here.platform, here.account)
    assert [(line.chat, line.first) for line in found] == [
        (address("c1"), "first of c1"),
        (address("c3"), "first of c3"),
    ]
    assert found[0].state is TurnState.DONE


async def test_pages_of_chats_hold_each_of_them_once_also_while_work_goes_on(ledger: Ledger) -> None:
    here = place()
    for number in range(5):
        await ledger.complete(chat=f"c{number}")
        ledger.clock.advance(1)
    first = await ledger.store.chats(here.platform, here.account, limit=2)
    # What moves to the top meanwhile is not met again, and pushes nobody off the next page.
    await ledger.complete(chat="c4")
    rest = await ledger.store.chats(here.platform, here.account, first[-1].turn, limit=9)
    assert [line.chat for line in (*first, *rest)] == [address(f"c{number}") for number in (4, 3, 2, 1, 0)]


async def test_no_other_account_has_these_chats(ledger: Ledger) -> None:
    await ledger.complete()
    here = place()
    for platform, account in (
        (here.platform, "other"),
        ("other", here.account),
        (here.platform, here.account[:-1]),
    ):
        assert await ledger.store.chats(platform, account) == ()


async def test_the_newest_number_is_that_of_the_last_part(ledger: Ledger) -> None:
    assert await ledger.store.last_number(address()) == 0
    await ledger.say()
    await ledger.store.owe(owed("one", "a", "b"))
    assert await ledger.store.last_number(address()) == 2
    assert await ledger.store.last_number(address("c2")) == 0


async def test_a_file_is_remembered_once_for_ever(ledger: Ledger) -> None:
    with pytest.raises(NotFound):
        await ledger.store.blob("d")
    assert await ledger.store.keep_blob("d", 3, "text/plain")
    ledger.clock.advance(1)
    assert not await ledger.store.keep_blob("d", 3, "text/html")
    found = await ledger.store.blob("d")
    assert (found.digest, found.size, found.media_type) == ("d", 3, "text/plain")
    await ledger.crash()
    assert await ledger.store.blob("d") == found
