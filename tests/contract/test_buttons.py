"""The buttons of questions: known as long as they are seen, with what became of their question."""

import pytest

from holdfast.model import Claimed, DeliveryId, Owed, OwedKind, QuestionId, QuestionState, Sent, StopKind
from holdfast.store import QuestionCard
from tests.support.ledger import ANN, Ledger, address, key, never_asked

Q1 = QuestionId("q1")


async def asked(ledger: Ledger, sent: bool = True) -> Claimed:
    """A turn that waits for Ann's choice."""
    claimed = await ledger.begin()
    owed = Owed(address(), Q1, ("which one?",), OwedKind.QUESTION, None, ("a", "b"))
    await ledger.ask(claimed.fence, owed=owed, options=("a", "b"))
    if sent:
        (delivery,) = await ledger.send()
        await ledger.store.record_delivery(delivery.id, Sent("m1"), ())
    return claimed


async def only(ledger: Ledger, after: DeliveryId | None = None) -> QuestionCard:
    ((found,), _) = await ledger.store.cards(after)
    return found


async def test_buttons_are_known_with_what_became_of_their_question(ledger: Ledger) -> None:
    await asked(ledger)
    assert (await only(ledger)).state is QuestionState.OPEN
    await ledger.store.answer(Q1, await ledger.word("b"), "b", ANN)
    found = await only(ledger)
    assert (found.state, found.answer, found.delivery.platform_id) == (QuestionState.ANSWERED, "b", "m1")


async def test_buttons_that_were_taken_away_are_known_no_more_also_after_a_crash(ledger: Ledger) -> None:
    await asked(ledger)
    await ledger.store.set_question_aside(Q1)
    await ledger.store.close_card((await only(ledger)).delivery.id)
    assert (await ledger.store.cards(None))[0] == ()
    await ledger.crash()
    assert (await ledger.store.cards(None))[0] == ()
    assert (await ledger.outbox())[0].text == "which one?"


async def test_a_question_that_is_not_sent_yet_keeps_its_buttons_whatever_is_said(ledger: Ledger) -> None:
    await asked(ledger, sent=False)
    await ledger.store.close_card((await only(ledger)).delivery.id)
    assert (await only(ledger)).delivery.options == ("a", "b")


async def test_one_looks_on_from_where_one_has_looked_to(ledger: Ledger) -> None:
    await asked(ledger)
    _, newest = await ledger.store.cards(None)
    assert (await ledger.store.cards(newest)) == ((), newest)
    assert (await only(ledger, DeliveryId(newest - 1))).delivery.id == newest


@pytest.mark.parametrize("how", ["answered", "expired", "stopped"])
async def test_who_waits_for_questions_is_woken_however_one_ends(ledger: Ledger, how: str) -> None:
    await asked(ledger)
    before = ledger.store.version("questions")
    if how == "answered":
        await ledger.store.answer(Q1, await ledger.word("b"), "b", ANN)
    elif how == "expired":
        ledger.clock.advance(10**9)
        await ledger.store.expire_questions()
    else:
        await ledger.store.stop(key(), StopKind.STOP, None)
    assert ledger.store.version("questions") > before
    assert (await ledger.try_claim(never_asked) is not None) is (how == "answered")
