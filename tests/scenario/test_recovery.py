"""Recovery on the real ledger: the reconciler decides by policy, writes back, and runs nothing."""

from collections.abc import Callable

import pytest

from holdfast.inbox.inbound_row import account_of, inbound_of
from holdfast.model import Batch, ChatKind, Origin, PersonId, Place, Sharing, Tail, TurnState
from holdfast.platforms import Arrival
from holdfast.policy.recovery.outcome import Outcome
from holdfast.policy.settings import HOUR, QueueSettings, RecoverySettings
from holdfast.recovery import Outside, Reconciler
from tests.support.ledger import PLATFORM, SERVED, Ledger, answers


def reconciler(ledger: Ledger, allowed: Callable[[PersonId], bool] = lambda _: True) -> Reconciler:
    outside = Outside(frozenset({ledger.store.instance}), frozenset({PLATFORM}), SERVED, allowed)
    return Reconciler(ledger.store, ledger.clock, RecoverySettings(), lambda: outside)


async def test_a_turn_cut_off_by_a_crash_goes_on_by_itself(ledger: Ledger) -> None:
    claimed = await ledger.begin()
    await ledger.crash()
    assert await reconciler(ledger).round() == {Outcome.RESUME: 1}
    assert (await ledger.claim()).turn.id == claimed.turn.id


@pytest.mark.guards("R4.4")
async def test_a_second_boot_changes_nothing_more(ledger: Ledger) -> None:
    for n in range(3):
        await ledger.begin(chat=f"c{n}")
    await ledger.crash()
    await reconciler(ledger).round()
    async with ledger.unchanged():
        assert await reconciler(ledger).round() == {}


@pytest.mark.guards("R5", "C3", "O4", "O11")
async def test_an_answer_that_was_complete_is_owed_without_a_model_call_and_once(ledger: Ledger) -> None:
    claimed = await ledger.begin()
    await ledger.append(claimed.fence, answers("forty-two"), tail=Tail.ANSWER)
    await ledger.crash()
    assert await reconciler(ledger).round() == {Outcome.DONE: 1}
    await reconciler(ledger).round()
    assert [part.text for part in await ledger.outbox()] == ["forty-two"]
    assert (await ledger.turn(claimed.session.id)).state is TurnState.DONE


@pytest.mark.guards("R5", "C4", "C16")
async def test_work_too_old_is_left_and_told_once(ledger: Ledger) -> None:
    claimed = await ledger.begin()
    await ledger.crash()
    ledger.clock.advance(HOUR + 1)
    await reconciler(ledger).round()
    await reconciler(ledger).round()
    assert (await ledger.turn(claimed.session.id)).state is TurnState.EXPIRED
    assert len(await ledger.outbox()) == 1


async def test_who_cannot_be_checked_is_not_allowed_and_keeps_nobody_else_waiting(ledger: Ledger) -> None:
    ours = await ledger.begin(chat="c1")
    await ledger.say(chat="c2", sender=PersonId("web:unknown"))
    theirs = await ledger.claim()

    def allowed(person: PersonId) -> bool:
        if person == "web:unknown":
            raise LookupError("the list cannot be read")
        return True

    await ledger.crash()
    assert await reconciler(ledger, allowed).round() == {Outcome.RESUME: 1, Outcome.CANCEL: 1}
    assert (await ledger.turn(theirs.session.id)).why == "not_allowed"
    assert (await ledger.claim()).turn.id == ours.turn.id


@pytest.mark.guards("R8.2")
async def test_two_suspects_resume_one_after_the_other(ledger: Ledger) -> None:
    for chat in ("c1", "c2"):
        await ledger.die(2, chat=chat)
        await ledger.settle("platform_down")
    assert await reconciler(ledger).round() == {Outcome.RESUME: 1, Outcome.HOLD: 1}


async def test_two_platforms_may_use_the_same_names_for_accounts_and_events(ledger: Ledger) -> None:
    positions = set()
    for platform in ("telegram", "discord"):
        origin = Origin(Place(platform, "bot", "1"), ChatKind.DIRECT, "7")
        arrival = Arrival("event-1", origin, f"hello from {platform}")
        row = inbound_of(arrival, Sharing(), QueueSettings())
        (accepted,) = await ledger.store.accept(Batch(account_of(platform, "bot"), (row,)))
        assert accepted.fresh
        positions.add(accepted.position)
    assert len(positions) == 2
