"""Each row of recovery's table on the real ledger, by the real reconciler: found, written back, told once."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import pytest

from holdfast.model import (
    RESTORED,
    ChatSettings,
    Delivery,
    Interruption,
    Noted,
    NoteKind,
    OnInterruption,
    OwedKind,
    PersonId,
    QuestionKind,
    SessionId,
    StopKind,
    Tail,
    Turn,
    TurnState,
    served_by,
)
from holdfast.policy.recovery.outcome import LEADS_TO, Outcome, Row, table
from holdfast.policy.settings import DAY, HOUR, RecoverySettings
from holdfast.recovery import Outside, Reconciler
from tests.support.ledger import (
    BOB,
    PLATFORM,
    SERVED,
    Ledger,
    address,
    answers,
    asks,
    key,
    planned,
    result,
)

SETTINGS = RecoverySettings()

Found = tuple[SessionId, dict[str, Any]]
"""Whose turn it is, and what is true outside the ledger."""
FOUND: dict[str, Callable[[Ledger], Awaitable[Found]]] = {}
Setup = Callable[[Ledger], Awaitable[Found]]


def found(function: Setup) -> Setup:
    """The work that the row of this name is about, in chat `c1`, just after a crash."""
    FOUND[function.__name__] = function
    return function


async def cut_off(ledger: Ledger, **outside: Any) -> Found:
    claimed = await ledger.begin()
    await ledger.start(claimed.fence, "a")
    await ledger.append(claimed.fence, result("a"))
    await ledger.crash()
    return claimed.session.id, outside


@found
async def suspended(ledger: Ledger) -> Found:
    session, outside = await cut_off(ledger)
    ledger.damage("UPDATE sessions SET suspended_at = 1, suspended_why = 'too_many_strikes'")
    return session, outside


@found
async def stop_asked(ledger: Ledger) -> Found:
    claimed = await ledger.begin()
    await ledger.store.stop(key(), StopKind.STOP, None)
    await ledger.crash()
    return claimed.session.id, {}


@found
async def not_allowed(ledger: Ledger) -> Found:
    await ledger.say(sender=BOB)
    claimed = await ledger.claim()
    await ledger.crash()
    return claimed.session.id, {}


@found
async def restored(ledger: Ledger) -> Found:
    claimed = await ledger.begin()
    await ledger.store.interrupt(claimed.fence, RESTORED)
    await ledger.crash()
    return claimed.session.id, {}


@found
async def answered(ledger: Ledger) -> Found:
    claimed = await ledger.begin()
    await ledger.append(claimed.fence, answers("forty-two"), tail=Tail.ANSWER)
    await ledger.crash()
    return claimed.session.id, {}


@found
async def resume_produced_nothing(ledger: Ledger) -> Found:
    session, outside = await cut_off(ledger)
    await ledger.store.interrupt_orphans()
    await ledger.settle("resume")
    again = await ledger.claim()
    await ledger.append(again.fence, Noted(NoteKind.INTERRUPTED, 1, "go on"), tail=Tail.NOTE)
    await ledger.store.interrupt(again.fence, Interruption.RESTART_TIMEOUT)
    # As another version may have left it: no interruption since that note.
    ledger.damage("UPDATE turns SET interruptions = noted")
    await ledger.crash()
    return session, outside


async def asked(ledger: Ledger) -> Found:
    claimed = await ledger.begin()
    await ledger.start(claimed.fence, "c1")
    await ledger.append(claimed.fence, ask=(ledger.question(),), tail=Tail.QUESTION)
    await ledger.crash()
    return claimed.session.id, {}


@found
async def question_open(ledger: Ledger) -> Found:
    return await asked(ledger)


@found
async def unanswered(ledger: Ledger) -> Found:
    session = await asked(ledger)
    ledger.clock.advance(HOUR + 1)
    return session


@found
async def approval_expired(ledger: Ledger) -> Found:
    claimed = await ledger.begin()
    await ledger.append(claimed.fence, asks("c1"), plan=(planned("c1"),))
    may_i = ledger.question(kind=QuestionKind.APPROVAL, call_hash="h")
    await ledger.append(claimed.fence, ask=(may_i,), tail=Tail.QUESTION)
    await ledger.crash()
    ledger.clock.advance(2 * HOUR + 1)
    return claimed.session.id, {}


@found
async def too_many_strikes(ledger: Ledger) -> Found:
    return await ledger.die(SETTINGS.strikes), {}


@found
async def too_many_interruptions(ledger: Ledger) -> Found:
    claimed = await ledger.begin()
    for count in range(SETTINGS.interruptions):
        # Each run has something to show, so none is a strike.
        await ledger.start(claimed.fence, f"a{count}")
        await ledger.append(claimed.fence, result(f"a{count}"))
        await ledger.store.interrupt(claimed.fence, Interruption.RESTART_TIMEOUT)
        if count < SETTINGS.interruptions - 1:
            await ledger.settle("resume")
            claimed = await ledger.claim()
    assert (await ledger.store.session(claimed.session.id)).strikes == 0
    await ledger.crash()
    return claimed.session.id, {}


@found
async def owner_alive(ledger: Ledger) -> Found:
    owner = ledger.store.instance
    session, _ = await cut_off(ledger)
    await ledger.store.interrupt_orphans()
    return session, {"alive": frozenset({owner})}


@found
async def reply_unknown(ledger: Ledger) -> Found:
    claimed = await ledger.begin()
    await ledger.append(claimed.fence, tail=Tail.REPLYING)
    await ledger.crash()
    return claimed.session.id, {}


@found
async def origin_unknown(ledger: Ledger) -> Found:
    # The owner has put another bot in the place of the one this chat wrote to.
    return await cut_off(ledger, served=frozenset({served_by(PLATFORM, "another")}))


@found
async def platform_down(ledger: Ledger) -> Found:
    return await cut_off(ledger, connected=frozenset())


@found
async def unknown_reason(ledger: Ledger) -> Found:
    claimed = await ledger.begin()
    await ledger.store.interrupt(claimed.fence, "of_a_newer_version")
    await ledger.crash()
    return claimed.session.id, {}


@found
async def too_old(ledger: Ledger) -> Found:
    session = await cut_off(ledger)
    ledger.clock.advance(HOUR + 1)
    return session


async def wanting(ledger: Ledger, wanted: OnInterruption) -> Found:
    cut = await cut_off(ledger)
    await ledger.store.configure_chat(address(), ChatSettings(on_interruption=wanted))
    return cut


@found
async def chat_says_never(ledger: Ledger) -> Found:
    return await wanting(ledger, OnInterruption.NEVER)


@found
async def chat_says_ask(ledger: Ledger) -> Found:
    return await wanting(ledger, OnInterruption.ASK)


@found
async def safe_mode_suspect(ledger: Ledger) -> Found:
    session = await ledger.die(SETTINGS.suspect_strikes)
    await ledger.say("and now?")
    return session, {"safe_mode": True}


@found
async def safe_mode(ledger: Ledger) -> Found:
    return await cut_off(ledger, safe_mode=True)


@found
async def quarantine(ledger: Ledger) -> Found:
    await ledger.die(SETTINGS.suspect_strikes, "c0")
    await ledger.settle("platform_down", "c0")
    return await ledger.die(SETTINGS.suspect_strikes), {}


@found
async def resume(ledger: Ledger) -> Found:
    return await cut_off(ledger)


def reconciler(ledger: Ledger, outside: dict[str, Any]) -> Reconciler:
    me = frozenset({ledger.store.instance})
    usual = Outside(me, frozenset({PLATFORM}), SERVED, _allowed)
    given = replace(usual, **{**outside, "alive": me | outside.get("alive", frozenset())})
    return Reconciler(ledger.store, ledger.clock, SETTINGS, lambda: given)


def _allowed(person: PersonId) -> bool:
    return person != BOB


async def told(ledger: Ledger, kind: OwedKind) -> list[Delivery]:
    return [
        part for part in await ledger.outbox() if part.kind is kind and not part.dedupe.startswith("ack:")
    ]


async def met(ledger: Ledger, row: Row) -> tuple[Turn, SessionId]:
    """The row is what decides, and deciding again changes nothing more."""
    session, outside = await FOUND[row.name](ledger)
    await reconciler(ledger, outside).round()
    turn = await ledger.turn(session)
    async with ledger.unchanged():
        await reconciler(ledger, outside).round()
    return turn, session


@pytest.mark.guards("R5", "C6", "C7", "C18")
@pytest.mark.parametrize("row", table(), ids=lambda row: row.name)
async def test_a_row_is_met_written_back_and_told_once(ledger: Ledger, row: Row) -> None:
    turn, session = await met(ledger, row)
    assert turn.state is LEADS_TO[row.outcome]
    if row.outcome is Outcome.HOLD:
        assert turn.held == row.name
    elif turn.ended_at is not None:
        assert turn.why == row.name
    notices = [part.text for part in await told(ledger, OwedKind.NOTICE)]
    if row.outcome is Outcome.PARK:
        (parked,) = notices
        assert "so I parked this conversation" in parked and parked.endswith(f"/resume {session}")
    else:
        assert notices == ([row.sentence] if row.told else [])
    suspended = (await ledger.store.session(session)).suspended_at is not None
    assert suspended is (row.outcome in (Outcome.PARK, Outcome.PARK_WITH_SESSION))


HOLDS = [row for row in table() if row.outcome is Outcome.HOLD]


@pytest.mark.guards("R5")
@pytest.mark.parametrize("row", HOLDS, ids=lambda row: row.name)
async def test_a_hold_ends_at_the_window_at_the_latest(ledger: Ledger, row: Row) -> None:
    session, outside = await FOUND[row.name](ledger)
    await reconciler(ledger, outside).round()
    assert (await ledger.turn(session)).held == row.name
    # Time in the quarantine lane or in safe mode is no age; what a restore holds waits for the operator.
    ledger.clock.advance(DAY)
    await reconciler(ledger, outside).round()
    turn = await ledger.turn(session)
    in_line = row.name in ("quarantine", "restored", "safe_mode")
    assert turn.state is (TurnState.INTERRUPTED if in_line else TurnState.EXPIRED)
    assert turn.why == (None if in_line else "too_old")


@pytest.mark.guards("R6.4", "R8.3", "R13")
@pytest.mark.parametrize("name", ["chat_says_ask", "safe_mode_suspect"])
async def test_the_gateway_asks_once_continue_or_drop(ledger: Ledger, name: str) -> None:
    (row,) = [row for row in table() if row.name == name]
    await met(ledger, row)
    (question,) = await told(ledger, OwedKind.QUESTION)
    assert (question.text, question.options) == (row.sentence, ("continue", "drop"))


async def test_an_open_question_that_never_went_out_goes_out_and_no_other(ledger: Ledger) -> None:
    (row,) = [row for row in table() if row.name == "question_open"]
    await met(ledger, row)
    assert [part.dedupe for part in await told(ledger, OwedKind.QUESTION)] == ["question:q1"]
    assert [one.key for one in await ledger.send()] == ["question:q1/1"]
