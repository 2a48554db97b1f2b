"""Bugs put into the product on purpose: the checker finds each by killing a scenario, with no test for it."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from holdfast.inbox import Receiver
from holdfast.model import CallState, Sent
from holdfast.outbox import sender
from holdfast.policy import admission, calls, recovery, retry
from holdfast.recovery import verdicts
from holdfast.store.sqlite import SqliteStore
from holdfast.store.sqlite.home import HomeLock
from holdfast.store.sqlite.sql import SQL, Query
from holdfast.testing import FaultRates, Options, random_world, run_world, sweep
from holdfast.testing.platforms import FakePlatform
from holdfast.turns import Showing, asking, telling
from holdfast.turns.runner import Run
from holdfast.turns.shown import Shown
from tests.sim.scenarios import CANONICAL

Plant = Callable[[pytest.MonkeyPatch], None]


def confirm_before_the_commit(patch: pytest.MonkeyPatch) -> None:
    async def read_once(self: Receiver) -> Any:
        incoming = await self._platform.receive(None)
        await self._platform.confirm(incoming, ())
        settings = self._arrival()
        found = self._sort(await self._as_they_are_now(incoming.events, settings), settings)
        return await self._keep(found, incoming.cursor, None, settings)

    patch.setattr(Receiver, "read_once", read_once)


def resend_unmarked(patch: pytest.MonkeyPatch) -> None:
    settle: Any = SqliteStore.settle_delivery
    patch.setattr(
        SqliteStore,
        "settle_delivery",
        lambda self, id, result, repeated=False, owe=(): settle(self, id, result, False, owe),
    )


def take_the_lost_for_sent(patch: pytest.MonkeyPatch) -> None:
    record: Any = SqliteStore.record_delivery
    patch.setattr(
        SqliteStore, "record_delivery", lambda self, id, result, owe=(): record(self, id, Sent(), owe)
    )


def run_effects_again(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(calls, "_cut_off", lambda call, allowed: calls.ToRun(call, again=True))


def run_before_the_commit(patch: pytest.MonkeyPatch) -> None:
    async def run_tools(self: Run, step: Any) -> None:
        for one in step.calls:
            self._tools.run(one.call)
        results = await self._tools.next_results()
        self._draft.start(tuple(one.call.id for one in step.calls))
        await self._keeper.save()
        self._draft.say(*results)

    patch.setattr(Run, "_run_tools", run_tools)


def tell_the_unknown_as_done(patch: pytest.MonkeyPatch) -> None:
    done = CallState.DONE
    patch.setattr(calls, "_cut_off", lambda call, allowed: calls.Settlement(call.id, done, "done"))


def owe_nothing_at_the_end(patch: pytest.MonkeyPatch) -> None:
    finish: Any = SqliteStore.finish
    patch.setattr(
        SqliteStore,
        "finish",
        lambda self, fence, state, append=(), owe=(), *rest, **more: finish(
            self, fence, state, append, (), *rest, **more
        ),
    )


def owe_after_the_end(patch: pytest.MonkeyPatch) -> None:
    finish: Any = SqliteStore.finish

    async def then_owe(
        self: SqliteStore,
        fence: Any,
        state: Any,
        append: Any = (),
        owe: Any = (),
        *rest: Any,
        **more: Any,
    ) -> None:
        await finish(self, fence, state, append, (), *rest, **more)
        for owed in owe:
            await self.owe(owed)

    patch.setattr(SqliteStore, "finish", then_owe)


def boot_beside_another(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(HomeLock, "take", lambda self: None)


def owe_it_in_one_piece(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(telling, "parts_for", lambda text, longest: (text,))


def carry_commands_out_in_silence(patch: pytest.MonkeyPatch) -> None:
    settle: Any = SqliteStore.settle_row
    patch.setattr(
        SqliteStore, "settle_row", lambda self, at, state, why=None, owe=(): settle(self, at, state, why)
    )


def count_no_strikes(patch: pytest.MonkeyPatch) -> None:
    counted = "strikes = strikes + 1, "
    text = SQL["raise_generation"].source
    assert counted in text
    patch.setitem(SQL, "raise_generation", Query(text.replace(counted, "")))


def raise_no_generation(patch: pytest.MonkeyPatch) -> None:
    raised = "generation = generation + 1, "
    text = SQL["raise_generation"].source
    assert raised in text
    patch.setitem(SQL, "raise_generation", Query(text.replace(raised, "")))


def owe_what_recovery_finds_in_one_piece(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(verdicts, "parts_for", lambda text, longest: (text,))


def forget_what_was_set_aside(patch: pytest.MonkeyPatch) -> None:
    text = SQL["add_set_aside"].source
    patch.setitem(SQL, "add_set_aside", Query(f"{text.partition('WHERE')[0]} WHERE 0"))


def leave_the_notice(patch: pytest.MonkeyPatch) -> None:
    async def end(self: Showing, dedupe: str | None = None) -> bool:
        for notice in await self.store.live_notices():
            if not notice.running:
                await self.store.forget_notice(notice.delivery.id)
        return True

    patch.setattr(Showing, "close_notices", end)


def end_the_notice_only_in_order(patch: pytest.MonkeyPatch) -> None:
    close: Any = Showing.close_notices

    async def of_this_life(self: Showing, dedupe: str | None = None) -> bool:
        if dedupe is not None:
            return bool(await close(self, dedupe))
        for notice in await self.store.live_notices():
            if not notice.running:
                await self.store.forget_notice(notice.delivery.id)
        return True

    patch.setattr(Showing, "close_notices", of_this_life)


def let_the_timers_go_on(patch: pytest.MonkeyPatch) -> None:
    async def nothing(self: Shown) -> None:
        return None

    patch.setattr(Shown, "rest", nothing)
    patch.setattr(Shown, "end", nothing)
    patch.setattr(Shown, "drop", lambda self: None)


def tell_without_a_row(patch: pytest.MonkeyPatch) -> None:
    async def tell(self: SqliteStore, fence: Any, owed: Any) -> bool:
        return await self.owe(owed)

    patch.setattr(SqliteStore, "tell_working", tell)


def tell_beside_the_old_one(patch: pytest.MonkeyPatch) -> None:
    forget = "INSERT OR REPLACE INTO notices"
    text = SQL["add_notice"].source
    patch.setitem(SQL, "add_notice", Query(text.replace("INSERT INTO notices", forget)))
    patch.setitem(SQL, "notice_of", Query("SELECT delivery FROM notices WHERE session = :session AND 0"))
    patch.setattr(Showing, "close_notices", _nothing_left)


async def _nothing_left(self: Showing, dedupe: str | None = None) -> bool:
    return True


def send_the_old_words_again(patch: pytest.MonkeyPatch) -> None:
    async def leave(self: SqliteStore, id: Any, text: str) -> None:
        return None

    async def as_it_was(self: sender.Sender, delivery: Any) -> Any:
        return delivery

    patch.setattr(SqliteStore, "reword_notice", leave)
    patch.setattr(sender.Sender, "_with_last_words", as_it_was)


def take_a_preview_for_the_delivery(patch: pytest.MonkeyPatch) -> None:
    send: Any = FakePlatform.send

    async def sent_already(self: FakePlatform, delivery: Any) -> Any:
        shown = any(seen.what == "beside" for seen in self._around.history.seen)
        return Sent("draft") if shown and delivery.kind == "reply" else await send(self, delivery)

    patch.setattr(FakePlatform, "send", sent_already)


def begin_more_for_who_is_let_out(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Run, "_bars", lambda self: None)


def resume_old_work(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(recovery, "within", lambda *facts: True)


def run_old_messages(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(admission, "age", lambda now, at: 0)


def send_old_replies(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(sender, "before_send", lambda *facts: None)
    patch.setattr(retry, "give_up", lambda *facts: None)


def keep_what_a_model_said_as_it_is(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(asking, "without_secrets", str)


PLANTED: dict[str, tuple[Plant, str, str]] = {
    "begins more for who is let out": (
        begin_more_for_who_is_let_out,
        "somebody let out in the middle of work, and in again",
        "I14",
    ),
    "resumes old work": (resume_old_work, "work too old to go on", "I12"),
    "runs old messages": (run_old_messages, "a message too old to run", "I12"),
    "sends old replies": (send_old_replies, "a reply too old to send", "I12"),
    "keeps what a model said as it is": (keep_what_a_model_said_as_it_is, "a model that refuses", "I15"),
    "confirms before the commit": (confirm_before_the_commit, "answered deliveries", "I1"),
    "resends unmarked": (resend_unmarked, "tools side by side", "I4"),
    "runs effects again": (run_effects_again, "every class of tool", "broke"),
    "runs before the commit": (run_before_the_commit, "every class of tool", "I5"),
    "tells the unknown as done": (tell_the_unknown_as_done, "every class of tool", "I6"),
    "owes nothing at the end": (owe_nothing_at_the_end, "an answer", "I3"),
    "owes after the end": (owe_after_the_end, "an answer", "I3"),
    "boots beside another": (boot_beside_another, "a second gateway", "I8"),
    "owes it in one piece": (owe_it_in_one_piece, "a reply of several parts", "I3"),
    "carries commands out in silence": (carry_commands_out_in_silence, "a queue of three that steers", "I2"),
    "counts no strikes": (count_no_strikes, "one that kills beside one that does not", "I11"),
    "raises no generation": (raise_no_generation, "a queue", "I9"),
    "owes what recovery finds in one piece": (
        owe_what_recovery_finds_in_one_piece,
        "an answer of several parts that recovery finds",
        "I3",
    ),
    "leaves the notice as it was": (leave_the_notice, "long work, to its end", "R12"),
    "ends the notice only in an orderly life": (end_the_notice_only_in_order, "long work, to its end", "R12"),
    "lets the timers of a turn go on": (let_the_timers_go_on, "long work, stopped", "R10.5"),
    "tells without a row to end it by": (tell_without_a_row, "long work, to its end", "R12"),
    "tells beside the old one": (tell_beside_the_old_one, "long work, cut by a restart", "R12"),
    "sends the old words again": (
        send_the_old_words_again,
        "long work where messages can be asked about, repeated, or nothing",
        "R10.5",
    ),
    "takes a preview for the delivery": (take_a_preview_for_the_delivery, "long work, to its end", "I3"),
    "forgets what was set aside": (
        forget_what_was_set_aside,
        "something unreadable and somebody unknown",
        "not read",
    ),
}


def found_in(name: str) -> str:
    """What a sweep of the scenario says, in words; the run without a kill may say it already."""
    try:
        swept = sweep(CANONICAL[name], Options(seed=1), most=1)
    except AssertionError as error:
        return str(error)
    return "".join(map(str, swept.failures))


@pytest.mark.parametrize("what", PLANTED)
def test_a_planted_bug_is_found(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    plant, scenario, invariant = PLANTED[what]
    plant(monkeypatch)
    assert invariant in found_in(scenario)


def test_a_lost_send_taken_for_sent_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    take_the_lost_for_sent(monkeypatch)
    losing = FaultRates(lost_request=0.3)
    found = [
        words
        for seed in range(20)
        for words in run_world(*_with(seed, losing)).violations
        if words.startswith("I3")
    ]
    assert any("nobody sees it" in words for words in found)


def _with(seed: int, rates: FaultRates) -> tuple[Any, Options]:
    scenario, options = random_world(seed)
    return scenario, replace(options, faults=rates, kill_rate=0.0)
