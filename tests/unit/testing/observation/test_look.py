"""What is seen of a ledger from outside: when work last moved, whatever became of it since."""

from pathlib import Path

import pytest

from holdfast.model import QuestionId
from holdfast.policy.settings import HOUR, MINUTE
from holdfast.store import LEDGER
from holdfast.testing.invariants.ages import Ages, Now
from holdfast.testing.observation.look import LedgerWatch
from tests.support.backends import SqliteBackend
from tests.support.ledger import ANN, Ledger, never_asked
from tests.support.loops import on_a_loop


@on_a_loop
@pytest.mark.guards("R5")
async def test_an_answer_is_progress_when_it_is_given_and_not_when_its_turn_goes_on(tmp_path: Path) -> None:
    ledger, ages = Ledger(SqliteBackend(tmp_path)), Ages()
    await ledger.open()
    begun = await ledger.begin()
    await ledger.ask(begun.fence)
    look = LedgerWatch(tmp_path / LEDGER, ages, Now(ledger.clock.now(), boot=1, uptime=0))
    ledger.clock.advance(MINUTE)
    await ledger.store.answer(QuestionId("q1"), await ledger.word("red"), "red", ANN)
    look.claimed(Now(ledger.clock.now(), boot=1, uptime=MINUTE))

    # The power goes before the turn does, and comes back two hours later.
    ledger.clock.advance(2 * HOUR)
    await ledger.crash()
    await ledger.claim(never_asked)
    now = Now(ledger.clock.now(), boot=2, uptime=MINUTE)
    look.claimed(now)

    assert ages.age(begun.turn.id, 0, now) == 2 * HOUR + 1
    look.close()
    await ledger.store.close()
