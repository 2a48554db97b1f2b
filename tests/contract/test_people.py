"""Access in the ledger (R14): codes, grants, and what survives."""

from dataclasses import replace

import pytest

from holdfast.model import Batch, Cursor, GrantScope, Knock, PersonId
from holdfast.policy.intake.pairing import Paired, PairingRefusal, PairingRefused
from holdfast.policy.settings import HOUR, PairingSettings
from holdfast.store import ArrivalSettings
from tests.support.ledger import ACCOUNT, ANN, BOB, Ledger, address, place

OWNER = PersonId("web:local")
CODE = "ABCD2345"
OTHER = "WXYZ6789"


def knock(event: str = "e1", code: str | None = CODE, person: PersonId = ANN, chat: str = "c1") -> Batch:
    """A stranger's message, refused, whose sender may be told how to be let in."""
    one = Knock(event, person, place(chat), code, f"m-{event}")
    return Batch(ACCOUNT, refused=((event, "person_not_allowed"),), cursor=Cursor("o", event), knocks=(one,))


async def told(ledger: Ledger, chat: str = "c1") -> list[str]:
    return [part.text for part in await ledger.store.deliveries(address(chat))]


async def pair(ledger: Ledger, code: str = CODE, owner: bool = True) -> Paired | PairingRefused:
    return await ledger.store.pair(code, OWNER, owner)


@pytest.mark.guards("R14")
async def test_a_stranger_is_told_a_code_in_the_commit_that_refuses_them_and_nothing_of_theirs_is_kept(
    ledger: Ledger,
) -> None:
    assert await ledger.store.accept(knock()) == ()
    (words,) = await told(ledger)
    assert "ABCD-2345" in words
    (asking,) = await ledger.store.asking()
    assert (asking.person, asking.chat) == (ANN, address())
    assert await ledger.try_claim() is None
    assert await ledger.store.grants() == ()


async def test_an_event_that_is_brought_again_brings_no_second_code_also_after_a_crash(
    ledger: Ledger,
) -> None:
    await ledger.store.accept(knock())
    await ledger.crash()
    await ledger.store.accept(knock(code=OTHER))
    assert len(await told(ledger)) == 1
    assert await pair(ledger, OTHER) == PairingRefused(PairingRefusal.UNKNOWN)


async def test_a_stranger_gets_a_few_codes_and_then_no_answer_until_time_has_passed(ledger: Ledger) -> None:
    for number in range(5):
        await ledger.store.accept(knock(f"e{number}", f"ABCD234{number + 2}"))
    assert len(await told(ledger)) == 3
    ledger.clock.advance(HOUR)
    await ledger.store.accept(knock("later", OTHER))
    assert len(await told(ledger)) == 4


async def test_with_so_many_codes_open_no_other_stranger_gets_one(ledger: Ledger) -> None:
    few = ArrivalSettings(pairing=PairingSettings(open=1))
    await ledger.store.accept(knock(), few)
    await ledger.store.accept(knock("e2", OTHER, BOB, "c2"), few)
    assert len(await ledger.store.asking()) == 1
    assert await told(ledger, "c2") == []


async def test_an_approved_code_lets_its_person_in_for_good_and_is_good_once(ledger: Ledger) -> None:
    await ledger.store.accept(knock())
    await ledger.store.accept(knock("e2", OTHER))
    assert await pair(ledger) == Paired(ANN)
    await ledger.crash()
    (grant,) = await ledger.store.grants()
    assert (grant.scope, grant.subject, grant.by) == (GrantScope.PERSON, ANN, OWNER)
    assert await ledger.store.asking() == ()
    assert await pair(ledger) == PairingRefused(PairingRefusal.USED)
    assert await pair(ledger, OTHER) == PairingRefused(PairingRefusal.USED)
    assert sum("You may talk to me now" in words for words in await told(ledger)) == 1


async def test_a_code_that_is_too_old_or_given_by_nobody_who_may_lets_nobody_in(ledger: Ledger) -> None:
    await ledger.store.accept(knock())
    assert await pair(ledger, owner=False) == PairingRefused(PairingRefusal.NOT_OWNER)
    ledger.clock.advance(HOUR)
    assert await ledger.store.asking() == ()
    assert await pair(ledger) == PairingRefused(PairingRefusal.EXPIRED)
    assert await ledger.store.grants() == ()


async def test_wrong_codes_are_counted_over_a_crash_and_then_no_code_is_looked_at(ledger: Ledger) -> None:
    await ledger.store.accept(knock())
    for number in range(5):
        assert await pair(ledger, f"ZZZZZZZ{number + 2}") == PairingRefused(PairingRefusal.UNKNOWN)
    await ledger.crash()
    assert await pair(ledger) == PairingRefused(PairingRefusal.TOO_MANY_TRIES)
    ledger.clock.advance(HOUR)
    await ledger.store.accept(knock("later", OTHER))
    assert await pair(ledger, OTHER) == Paired(ANN)


async def test_in_a_chat_that_is_not_let_in_its_address_is_told_once_for_ever(ledger: Ledger) -> None:
    for number in range(3):
        batch = knock(f"e{number}", None, chat="-100")
        topic = replace(batch.knocks[0], place=replace(place("-100"), thread=str(number)))
        await ledger.store.accept(replace(batch, knocks=(topic,)))
    topics = [replace(place("-100"), thread=str(number)).address for number in range(3)]
    words = [part.text for chat in topics for part in await ledger.store.deliveries(chat)]
    assert len(words) == 1 and "holdfast people allow fake/bot/-100`" in words[0]
    assert await ledger.store.asking() == ()


async def test_what_was_granted_is_taken_back_and_stays_so(ledger: Ledger) -> None:
    assert await ledger.store.grant(GrantScope.CHAT, address("-100"), OWNER)
    assert not await ledger.store.grant(GrantScope.CHAT, address("-100"), OWNER)
    assert await ledger.store.grant(GrantScope.OWNER, BOB, OWNER)
    seen = ledger.store.version("access")
    assert await ledger.store.revoke(BOB, OWNER)
    assert await ledger.store.changed("access", seen) > seen
    assert not await ledger.store.revoke(BOB, OWNER)
    await ledger.crash()
    assert [grant.subject for grant in await ledger.store.grants()] == [address("-100")]
