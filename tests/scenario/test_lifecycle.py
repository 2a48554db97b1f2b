"""Starting and stopping a whole gateway, with real stages on a real ledger and a clock that stands still."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from holdfast.config.settings import DrainSettings, GatewaySettings
from holdfast.errors import StoreUnavailable, SyncFailed, Unusable
from holdfast.gateway.lifecycle import RunState, longest_stop
from holdfast.gateway.restart_requests import OF_AN_EARLIER_RUN, RestartRequests
from holdfast.model import (
    Batch,
    Delivery,
    Inbound,
    InboxKind,
    Interruption,
    Key,
    OnInterruption,
    PersonId,
    Place,
    Position,
    SendResult,
    Stopped,
    TryAgain,
    Turn,
    TurnState,
)
from holdfast.platforms import Incoming, PlatformDown
from holdfast.policy.intake.admission import Drain
from holdfast.policy.settings import HOUR, MINUTE, SECOND, ProgressSettings
from holdfast.store import Store, open_ledger
from holdfast.store.sqlite import database
from holdfast.testing import ManualClock, SeededIds
from tests.support.gateways import PLATFORM, STEP, Mail, Post, Town
from tests.support.loops import on_a_loop
from tests.support.stage import Between

RESTARTING = "The gateway is restarting."


UNSPOKEN = GatewaySettings(progress=ProgressSettings(notice=HOUR))
"""Long work is not spoken of, so that what is said is said of something else."""


@asynccontextmanager
async def town(home: Path, settings: GatewaySettings | None = None) -> AsyncIterator[Town]:
    made = Town(home, settings)
    await made.start()
    try:
        yield made
    finally:
        if not made.running.done():
            await made.crash()


async def turn_of(town: Town, chat: str = "c1", platform: str = PLATFORM) -> Turn:
    session = await town.store.live_session(Key(Place(platform, "bot", chat).address))
    assert session is not None
    return (await town.store.turns(session.id))[0]


@on_a_loop
async def test_a_message_is_answered(tmp_path: Path) -> None:
    async with town(tmp_path) as one:
        one.mail.say("hello")
        await one.until(lambda: one.mail.texts() == ["answer to hello"])
        one.gateway.request(Drain.SHUTDOWN)
        assert await one.ended_after(1_000) is Stopped.STOPPED
        assert one.faults == []


@pytest.mark.guards("R14", "D14")
@on_a_loop
async def test_a_message_of_who_is_let_out_while_it_waits_is_not_answered(tmp_path: Path) -> None:
    async with town(tmp_path) as one:
        one.model.hold("first")
        one.mail.say("first")
        await one.until(lambda: one.model.begun == ["first"])
        one.mail.say("second")
        await one.until(lambda: bool(one.mail.texts()))
        one.owner = PersonId("somebody else")
        one.model.gates["first"].set()
        await one.until(lambda: "answer to first" in one.mail.texts())
        await one.pass_time(2_000)
        assert one.model.begun == ["first"]
        assert (await one.store.row(Position(2))).reason == "not_allowed"


@pytest.mark.guards("R3.2", "C5")
@on_a_loop
async def test_a_drain_waits_for_what_finishes_and_cuts_only_what_does_not(tmp_path: Path) -> None:
    async with town(tmp_path) as one:
        one.model.hold("finisher", "straggler")
        one.mail.say("finisher", "a")
        one.mail.say("straggler", "b")
        one.mail.say("quick", "c")
        await one.until(lambda: len(one.model.begun) == 3 and bool(one.mail.texts("c")))
        one.gateway.request(Drain.RESTART)
        await one.until(lambda: one.gateway.state is RunState.DRAINING)
        begun = one.clock.now()
        await one.pass_time(10_000)
        one.model.gates["finisher"].set()
        await one.until(lambda: "answer to finisher" in one.mail.texts("a"))
        finisher = await turn_of(one, "a")
        assert one.gateway.state is RunState.DRAINING, "the other still runs"
        drain = one.settings.drain
        assert await one.ended_after(drain.wait + 1_000) is Stopped.RESTART
        assert one.clock.now() - begun >= drain.wait, "the time was used"
        await one.start()
        assert (finisher.state, finisher.interruptions) == (TurnState.DONE, 0)
        straggler = await turn_of(one, "b")
        assert (straggler.interruptions, straggler.interruption) == (1, Interruption.RESTART_TIMEOUT)
        assert (await turn_of(one, "c")).interruptions == 0
        one.model.gates["straggler"].set()
        await one.until(lambda: "answer to straggler" in one.mail.texts("b"), step=STEP)
        assert (await turn_of(one, "b")).id == straggler.id, "the same turn goes on"


@pytest.mark.guards("R5")
@pytest.mark.parametrize("jump", [2 * HOUR, -2 * HOUR])
def test_a_wall_clock_that_jumps_during_work_makes_it_neither_old_nor_young(
    tmp_path: Path, jump: int
) -> None:
    @on_a_loop
    async def run() -> None:
        one = Town(tmp_path, UNSPOKEN)
        await one.start()
        one.model.hold("long")
        one.mail.say("long")
        await one.until(lambda: bool(one.model.begun))
        one.clock.jump(jump)
        one.gateway.request(Drain.SHUTDOWN, at_once=True)
        await one.ended()
        one.model.gates["long"].set()
        await one.start()
        await one.until(lambda: "answer to long" in one.mail.texts(), step=STEP)
        assert (await turn_of(one)).state is TurnState.DONE
        await one.crash()

    run()


@pytest.mark.guards("R5")
@on_a_loop
async def test_work_that_is_old_stays_so_when_the_wall_clock_is_set_back(tmp_path: Path) -> None:
    async with town(tmp_path, UNSPOKEN) as one:
        one.model.hold("long")
        one.mail.say("long")
        await one.until(lambda: bool(one.model.begun))
        await one.crash()
        one.clock.advance(2 * HOUR)
        one.clock.jump(-2 * HOUR)
        await one.start()
        await one.until(lambda: bool(one.mail.texts()), step=STEP)
        assert (await turn_of(one)).why == "too_old"


@pytest.mark.guards("R9.3", "R4.3")
@on_a_loop
async def test_what_was_written_while_the_gateway_was_away_is_told_that_it_joins_the_interrupted_work(
    tmp_path: Path,
) -> None:
    async with town(tmp_path, UNSPOKEN) as one:
        one.model.hold("first")
        one.mail.say("first")
        await one.until(lambda: bool(one.model.begun))
        await one.crash()
        one.mail.say("second")
        one.mail.say("third")
        one.model.hold("second", "third")
        await one.start()
        # Whether recovery or the platform was first is the loop's choice.
        await one.until(lambda: one.model.begun[-1] in ("first", "second"), step=STEP)
        for text in ("first", "second", "third"):
            one.model.gates[text].set()
        await one.until(lambda: "answer to third" in one.mail.texts(), step=STEP)
        acks = [text for text in one.mail.texts() if not text.startswith("answer")]
        rows = [await one.store.row(Position(number)) for number in (1, 2, 3)]
        if rows[0].turn == rows[1].turn:
            assert "in the same turn" in acks[0] and "Queued" not in acks[0]
        else:
            assert "Queued" in acks[0]
        assert "Queued" in acks[1]


@pytest.mark.guards("R5")
@on_a_loop
async def test_work_of_a_bot_that_is_not_configured_any_more_is_held_until_it_is(tmp_path: Path) -> None:
    async with town(tmp_path, UNSPOKEN) as one:
        one.model.hold("long")
        one.mail.say("long")
        await one.until(lambda: bool(one.model.begun))
        await one.crash()
        one.mail.account = "another"
        await one.start()
        await one.until(lambda: one.gateway.continuity is not None, step=STEP)
        await one.pass_time(2_000)
        turn = await turn_of(one)
        assert (turn.state, turn.held) == (TurnState.INTERRUPTED, "origin_unknown")
        await one.crash()
        one.mail.account = "bot"
        one.model.gates["long"].set()
        await one.start()
        await one.until(lambda: "answer to long" in one.mail.texts(), step=STEP)


class Throttling(Post):
    """Wants to hear nothing for so many milliseconds, once."""

    def __init__(self, mail: Mail, clock: ManualClock, wait: int) -> None:
        super().__init__(mail)
        self._clock = clock
        self._wait = wait

    async def send(self, delivery: Delivery) -> SendResult:
        wait, self._wait = self._wait, 0
        if wait:
            return TryAgain(self._clock.now() + wait, "slow down", counts=False)
        return await super().send(delivery)


@pytest.mark.guards("R3.3", "R10.3")
@pytest.mark.parametrize(("wait", "is_waited_for"), [(20_000, True), (5 * MINUTE, False)])
def test_a_drain_waits_for_a_throttled_reply_that_is_due_within_its_time_and_for_no_other(
    tmp_path: Path, wait: int, is_waited_for: bool
) -> None:
    @on_a_loop
    async def run() -> None:
        one = Town(tmp_path, UNSPOKEN)
        one.post = lambda mail: Throttling(mail, one.clock, wait)
        await one.start()
        one.mail.say("quick")
        await one.until(lambda: bool(one.model.begun))
        await one.pass_time(1_000)
        begun = one.clock.now()
        one.gateway.request(Drain.SHUTDOWN)
        assert await one.ended_after(one.settings.drain.wait) is Stopped.STOPPED
        assert one.mail.texts() == (["answer to quick"] if is_waited_for else [])
        assert is_waited_for or one.clock.now() - begun < 20_000, "what comes later is the next run's to send"

    run()


@pytest.mark.guards("R3.1", "O10")
@on_a_loop
async def test_each_chat_with_a_running_turn_is_told_once_before_the_wait_and_no_other(
    tmp_path: Path,
) -> None:
    async with town(tmp_path, UNSPOKEN) as one:
        one.model.hold("long")
        one.mail.say("quick", "idle")
        one.mail.say("long", "busy")
        await one.until(lambda: one.mail.texts("idle") == ["answer to quick"] and "long" in one.model.begun)
        one.gateway.request(Drain.RESTART)
        one.gateway.request(Drain.RESTART)
        await one.until(lambda: bool(one.mail.texts("busy")))
        (told,) = one.mail.texts("busy")
        assert told.startswith(RESTARTING)
        assert "waits up to 1 minute" in told and "not done by then" in told, "it says how long"
        assert "try to resume" in told
        await one.ended_after(one.settings.drain.wait + 1_000)
        assert len(one.mail.texts("busy")) == 1
        assert one.mail.texts("idle") == ["answer to quick"]


@pytest.mark.guards("R3.1", "R6.4")
@pytest.mark.parametrize(
    ("wanted", "words"),
    [(OnInterruption.ASK, "ask you when it runs again"), (OnInterruption.NEVER, "set to resume nothing")],
)
def test_a_chat_that_wants_no_resume_is_told_that_instead(
    tmp_path: Path, wanted: OnInterruption, words: str
) -> None:
    @on_a_loop
    async def run() -> None:
        one = Town(tmp_path)
        one.with_settings(on_interruption=wanted)
        await one.start()
        one.model.hold("long")
        one.mail.say("long")
        await one.until(lambda: bool(one.model.begun))
        one.gateway.request(Drain.SHUTDOWN, at_once=True)
        await one.until(lambda: bool(one.mail.texts()) or one.running.done())
        await one.ended()
        await one.start()
        await one.until(lambda: bool(one.mail.texts()), step=STEP)
        assert "shutting down" in one.mail.texts()[0]
        assert words in one.mail.texts()[0]
        assert "does not wait" in one.mail.texts()[0], "it was asked to stop at once"
        assert "try to resume" not in one.mail.texts()[0]
        await one.crash()

    run()


@pytest.mark.guards("R3.3")
@on_a_loop
async def test_a_second_signal_stops_at_once_and_still_marks_what_it_cuts(tmp_path: Path) -> None:
    async with town(tmp_path) as one:
        one.model.hold("long")
        one.mail.say("long")
        await one.until(lambda: bool(one.model.begun))
        one.gateway.request(Drain.SHUTDOWN)
        await one.until(lambda: one.gateway.state is RunState.DRAINING)
        before = one.clock.now()
        one.gateway.request(Drain.SHUTDOWN, at_once=True)
        assert await one.ended() is Stopped.STOPPED
        assert one.clock.now() == before
        await one.start()
        cut = await turn_of(one)
        assert (cut.interruptions, cut.interruption) == (1, Interruption.SHUTDOWN_TIMEOUT)


@pytest.mark.guards("R3.3")
@on_a_loop
async def test_a_signal_during_a_restart_leaves_it_a_restart(tmp_path: Path) -> None:
    async with town(tmp_path) as one:
        one.model.hold("long")
        one.mail.say("long")
        await one.until(lambda: bool(one.model.begun))
        one.gateway.request(Drain.RESTART)
        one.gateway.request(Drain.SHUTDOWN, at_once=True)
        assert await one.ended() is Stopped.RESTART
        await one.start()
        assert (await turn_of(one)).interruption == Interruption.RESTART_TIMEOUT


@pytest.mark.guards("R3.1", "D1", "O1")
@on_a_loop
async def test_a_message_during_a_drain_is_kept_said_so_and_answered_after_the_restart(
    tmp_path: Path,
) -> None:
    async with town(tmp_path) as one:
        one.model.hold("long")
        one.mail.say("long", "a")
        await one.until(lambda: bool(one.model.begun))
        one.gateway.request(Drain.RESTART)
        await one.until(lambda: one.gateway.state is RunState.DRAINING)
        one.mail.say("meanwhile", "b")
        await one.until(lambda: bool(one.mail.texts("b")))
        assert "This is kept; I go on with it after the restart." in one.mail.texts("b")[0]
        await one.ended_after(one.settings.drain.wait + 1_000)
        assert "meanwhile" not in one.model.begun, "no turn starts during a drain"
        await one.start()
        await one.until(lambda: "answer to meanwhile" in one.mail.texts("b"))


@on_a_loop
async def test_what_waited_of_somebody_who_is_not_allowed_any_more_is_not_run(tmp_path: Path) -> None:
    async with town(tmp_path) as one:
        one.gateway.request(Drain.RESTART)
        one.mail.say("secret")
        await one.ended_after(1_000)
        one.owner = PersonId(f"{PLATFORM}:carl")
        await one.start()
        one.mail.say("hello", "d", sender="carl")
        await one.until(lambda: "answer to hello" in one.mail.texts("d"))
        assert "secret" not in one.model.begun
        (row,) = [row for row in one.mail.arrivals if row.text == "secret"]
        assert await one.store.waiting(Key(row.origin.place.address)) == ()


@pytest.mark.guards("R3.3", "E2")
@on_a_loop
async def test_a_reply_that_is_owed_is_work_for_the_drain(tmp_path: Path) -> None:
    async with town(tmp_path) as one:
        one.mail.sends_hang = True
        one.mail.say("hello")
        await one.until(lambda: bool(one.model.begun))
        one.gateway.request(Drain.SHUTDOWN)
        await one.until(lambda: one.gateway.state is RunState.DRAINING)
        await one.pass_time(2_000)
        assert not one.running.done(), "nothing runs, but a reply is on its way"
        assert await one.ended_after(one.settings.drain.wait) is Stopped.STOPPED
        one.mail.sends_hang = False
        await one.start()
        await one.until(lambda: one.mail.texts() == ["answer to hello"], step=STEP)


@pytest.mark.guards("R3.1")
@on_a_loop
async def test_a_message_that_comes_while_people_are_told_of_the_drain_begins_no_turn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its chat would be cut off without having been told."""
    async with town(tmp_path) as one:
        one.model.hold("long", "late")
        one.mail.say("long")
        await one.until(lambda: bool(one.model.begun))
        tell = one.store.tell_running

        async def told(*given: Any) -> Any:
            one.mail.say("late", chat="c2")
            await one.pass_time(2_000)
            return await tell(*given)

        monkeypatch.setattr(one.store, "tell_running", told)
        one.gateway.request(Drain.RESTART)
        await one.until(lambda: RESTARTING in "".join(one.mail.texts()), step=STEP)
        assert one.model.begun == ["long"]
        one.model.gates["long"].set()
        assert await one.ended_after(one.settings.drain.wait) is Stopped.RESTART


@pytest.mark.guards("R3.3")
@on_a_loop
async def test_platforms_are_closed_when_nobody_reads_them_and_the_last_word_comes_after_that(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with town(tmp_path) as one:
        await one.until(lambda: one.mail.reading == 1)
        end, stood = one.store.end_instance, list[tuple[int, list[int]]]()

        async def ended(how: Stopped) -> None:
            stood.append((one.mail.reading, list(one.mail.closed)))
            await end(how)

        monkeypatch.setattr(one.store, "end_instance", ended)
        one.gateway.request(Drain.SHUTDOWN)
        assert await one.ended() is Stopped.STOPPED
        assert stood == [(0, [0])], "an orderly end is recorded once all of it has happened"


@on_a_loop
async def test_a_request_is_settled_before_it_is_carried_out(tmp_path: Path) -> None:
    """Carried out first, it would be carried out again by the process that comes after a crash in between."""
    clock = ManualClock()
    ledger = await open_ledger(tmp_path, clock, SeededIds(clock))
    store, done = Between(ledger), list[list[str]]()
    requests = RestartRequests(
        cast("Store", store), clock, 0, lambda: True, lambda why: done.append(list(store.log))
    )
    await ledger.request("restart", "once", None)
    store.faults["settle_request"] = [StoreUnavailable("busy")]
    with pytest.raises(StoreUnavailable):
        await requests.look(await ledger.requests())
    assert done == [], "what could not be settled is not carried out"
    await requests.look(await ledger.requests())
    assert done == [["settle_request"]]
    await ledger.close()


@pytest.mark.guards("R3.3", "G4")
@on_a_loop
async def test_a_platform_that_hangs_in_its_close_does_not_hold_up_the_end(tmp_path: Path) -> None:
    async with town(tmp_path) as one:
        await one.until(lambda: one.gateway.connections()[0].connected)
        one.mail.closes_hang = True
        one.gateway.request(Drain.SHUTDOWN)
        drain = one.settings.drain
        assert await one.ended_after(longest_stop(drain, one.settings.grace)) is Stopped.STOPPED
        assert [name for name, _ in one.faults] == ["closing the platforms"]
        await one.start()
        assert (await one.store.continuity()).previous_ended == Stopped.STOPPED
        one.mail.closes_hang = False


@on_a_loop
async def test_a_step_of_the_stop_that_fails_keeps_none_of_the_others_from_being_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with town(tmp_path) as one:
        one.model.hold("long")
        one.mail.say("long")
        await one.until(lambda: bool(one.model.begun))

        async def fails(*_: object) -> None:
            raise StoreUnavailable("busy")

        monkeypatch.setattr(one.store, "tell_running", fails)
        one.gateway.request(Drain.RESTART, at_once=True)
        assert await one.ended() is Stopped.RESTART
        await one.start()
        assert (await turn_of(one)).interruptions == 1


@on_a_loop
async def test_a_restart_asked_for_is_carried_out_once(tmp_path: Path) -> None:
    async with town(tmp_path) as one:
        one.mail.say("/restart")
        assert await one.ended_after(2_000) is Stopped.RESTART
        assert len(one.mail.texts()) == 1, "the command's reply goes out before the end"
        # The platform brings the same command again, as it would after a lost acknowledgement.
        one.mail.arrivals.append(one.mail.arrivals[0])
        await one.start()
        one.mail.say("hello")
        await one.until(lambda: "answer to hello" in one.mail.texts())
        await one.pass_time(2_000)
        assert one.gateway.state is RunState.RUNNING


@pytest.mark.guards("G11")
@on_a_loop
async def test_a_stop_asked_for_as_a_request_is_carried_out_once(tmp_path: Path) -> None:
    async with town(tmp_path) as one:
        await one.store.request("stop", "enough")
        assert await one.ended_after(2_000) is Stopped.STOPPED
        await one.start()
        await one.pass_time(5_000)
        assert one.gateway.state is RunState.RUNNING


@pytest.mark.guards("R3.5")
@pytest.mark.parametrize("what", ["stop", "restart", "restart_when_quiet"])
def test_a_request_left_by_an_earlier_run_is_void(tmp_path: Path, what: str) -> None:
    @on_a_loop
    async def run() -> None:
        left = await open_ledger(tmp_path, ManualClock(), SeededIds(ManualClock()), lambda fault: None)
        await left.request(what, "asked of the run before")
        await left.close()
        with closing(sqlite3.connect(tmp_path / "ledger.db", isolation_level=None)) as db:
            # As a ledger has it that was written before requests named their run.
            db.execute("INSERT INTO requests (what, dedupe, asked_at) VALUES (?, 'older', 1)", (what,))
        async with town(tmp_path) as one:
            await one.until(lambda: one.gateway.continuity is not None, step=STEP)
            await one.pass_time(5_000)
            assert one.gateway.state is RunState.RUNNING
            assert await one.store.requests() == (), "they are settled, with a reason"

    run()
    with closing(sqlite3.connect(tmp_path / "ledger.db", isolation_level=None)) as db:
        outcomes = {words for (words,) in db.execute("SELECT outcome FROM requests")}
    assert outcomes == {OF_AN_EARLIER_RUN}


@on_a_loop
async def test_a_restart_asked_of_an_earlier_process_has_happened(tmp_path: Path) -> None:
    async with town(tmp_path) as one:
        one.model.hold("hangs")
        one.mail.say("hangs")
        await one.until(lambda: bool(one.model.begun))
        await one.store.request("restart", "by the turn", after_turn=(await turn_of(one)).id)
        await one.crash()
        one.model.gates["hangs"].set()
        await one.start()
        await one.until(lambda: one.mail.texts() == ["answer to hangs"], step=STEP)
        await one.pass_time(40_000)
        assert one.gateway.state is RunState.RUNNING
        assert await one.store.requests() == ()


@on_a_loop
async def test_a_clock_set_back_makes_no_new_request_an_old_one(tmp_path: Path) -> None:
    async with town(tmp_path) as one:
        one.mail.say("hello")
        await one.until(lambda: one.mail.texts() == ["answer to hello"])
        one.clock.jump(-3_600_000)
        await one.store.request("restart", "now")
        assert await one.ended_after(2_000) is Stopped.RESTART


@pytest.mark.guards("R3.5")
@on_a_loop
async def test_a_turn_that_asks_for_a_restart_is_answered_first(tmp_path: Path) -> None:
    async with town(tmp_path) as one:
        one.model.hold("please restart")
        one.mail.say("please restart")
        await one.until(lambda: bool(one.model.begun))
        turn = await turn_of(one)
        await one.store.request("restart", "by the turn", after_turn=turn.id)
        await one.pass_time(5_000)
        assert one.gateway.state is RunState.RUNNING, "its reply is waited for"
        one.model.gates["please restart"].set()
        assert await one.ended_after(2_000) is Stopped.RESTART
        assert one.mail.texts() == ["answer to please restart"]


@pytest.mark.guards("R3.5", "G9")
@on_a_loop
async def test_a_turn_that_asks_and_never_ends_is_waited_for_no_longer_than_its_reply_may_take(
    tmp_path: Path,
) -> None:
    async with town(tmp_path) as one:
        one.model.hold("hangs")
        one.mail.say("hangs")
        await one.until(lambda: bool(one.model.begun))
        await one.store.request("restart", "by the turn", after_turn=(await turn_of(one)).id)
        await one.until(lambda: one.gateway.state is RunState.DRAINING, step=STEP)
        assert await one.ended_after(one.settings.drain.wait + 1_000) is Stopped.RESTART


@pytest.mark.guards("R3.6")
@on_a_loop
async def test_a_restart_when_quiet_waits_for_no_running_turn(tmp_path: Path) -> None:
    async with town(tmp_path, UNSPOKEN) as one:
        one.model.hold("long")
        one.mail.say("long")
        await one.until(lambda: bool(one.model.begun))
        await one.store.request("restart_when_quiet", "later")
        await one.pass_time(120_000)
        assert one.gateway.state is RunState.RUNNING
        one.model.gates["long"].set()
        assert await one.ended_after(2_000) is Stopped.RESTART
        assert one.mail.texts() == ["answer to long"]


@pytest.mark.guards("R4.1")
@on_a_loop
async def test_a_platform_that_is_down_at_boot_has_its_sessions_resumed_when_it_comes_back(
    tmp_path: Path,
) -> None:
    one = Town(tmp_path)
    other = Mail("other")
    one.more.append(other)
    await one.start()
    one.model.hold("there", "here")
    one.mail.say("here")
    other.say("there", sender="bob")
    await one.until(lambda: len(one.model.begun) == 2)
    await one.crash()
    other.down = True
    one.model.gates["there"].set()
    one.model.gates["here"].set()
    await one.start()
    await one.until(lambda: one.mail.texts() == ["answer to here"], step=STEP)
    await one.pass_time(10_000)
    assert other.texts() == []
    held = await turn_of(one, platform="other")
    assert (held.state, held.held) == (TurnState.INTERRUPTED, "platform_down")
    other.down = False
    await one.until(lambda: other.texts() == ["answer to there"], step=STEP)
    await one.crash()


@pytest.mark.guards("G19")
@on_a_loop
async def test_a_stage_that_breaks_begins_again_and_the_others_do_not_notice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with town(tmp_path) as one:
        await one.until(lambda: one.gateway.connections()[0].connected)
        broken = [RuntimeError("a bug"), RuntimeError("again")]
        requests = one.store.requests

        async def sometimes() -> object:
            if broken:
                raise broken.pop()
            return await requests()

        monkeypatch.setattr(one.store, "requests", sometimes)
        await one.store.request("other", "wakes the stage")
        await one.until(lambda: not broken, step=STEP)
        one.mail.say("hello")
        await one.until(lambda: one.mail.texts() == ["answer to hello"], step=STEP)
        await one.store.request("restart", "now")
        assert await one.ended_after(70_000) is Stopped.RESTART
        assert {type(fault) for _, fault in one.faults} == {RuntimeError}


@on_a_loop
async def test_a_disk_that_does_not_confirm_ends_it_without_an_orderly_word(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with town(tmp_path) as one:
        await one.until(lambda: one.gateway.connections()[0].connected)

        async def fails(*_: object) -> None:
            raise SyncFailed("the disk did not confirm")

        monkeypatch.setattr(one.store, "requests", fails)
        await one.store.request("anything", "wakes the stage")
        await one.until(lambda: one.running.done())
        with pytest.raises(SyncFailed):
            await one.running
        await one.store.close()


def test_the_longest_stop_counts_every_step() -> None:
    drain = DrainSettings(wait=60_000, teardown=9_000)
    assert longest_stop(drain, 5_000) > 60_000 + 9_000 + 5_000
    assert longest_stop(replace(drain, wait=0), 5_000) < 20_000


@on_a_loop
async def test_what_is_asked_for_before_the_run_is_not_lost(tmp_path: Path) -> None:
    one = Town(tmp_path)
    await one.start()
    one.gateway.request(Drain.SHUTDOWN, at_once=True)
    await asyncio.wait([one.running])
    assert await one.ended() is Stopped.STOPPED


async def wake(town: Town, kind: InboxKind, text: str = "nightly") -> None:
    """Work that no message began: a schedule, or an operator."""
    place = Place(PLATFORM, "bot", "c1")
    row = Inbound(f"w-{text}", Key(place.address), place, town.owner, text, kind)
    await town.store.accept(Batch("schedule", (row,)))


@pytest.mark.guards("F16")
@pytest.mark.parametrize("kind", [InboxKind.WAKEUP, InboxKind.OPERATOR])
@pytest.mark.parametrize("finishes", [True, False])
def test_a_drain_waits_for_work_that_no_chat_began_and_marks_what_it_cuts(
    tmp_path: Path, kind: InboxKind, finishes: bool
) -> None:
    @on_a_loop
    async def run() -> None:
        async with town(tmp_path, UNSPOKEN) as one:
            one.model.hold("nightly")
            await wake(one, kind)
            await one.until(lambda: one.model.begun == ["nightly"])
            one.gateway.request(Drain.RESTART)
            await one.pass_time(30_000)
            assert not one.running.done(), "it is waited for"
            if finishes:
                one.model.gates["nightly"].set()
            await one.until(lambda: one.running.done(), step=STEP)
            assert await one.running is Stopped.RESTART
            turn = await turn_of(one)
            ends = (
                (TurnState.DONE, None) if finishes else (TurnState.INTERRUPTED, Interruption.RESTART_TIMEOUT)
            )
            assert (turn.state, turn.interruption) == ends
            await one.store.close()
            one.model.gates["nightly"].set()
            await one.start()
            await one.until(lambda: one.mail.texts().count("answer to nightly") == 1, step=STEP)
            await one.pass_time(30_000)
            assert one.mail.texts().count("answer to nightly") == 1
            assert len(one.model.begun) == (1 if finishes else 2)

    run()


@pytest.mark.guards("O18")
@on_a_loop
async def test_a_platform_has_one_reader_however_often_it_is_lost_and_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    receive, connect = Post.receive, Post.connect
    reading, most, connects = 0, 0, 0
    faults: list[Exception] = [PlatformDown("1"), RuntimeError("2"), PlatformDown("3"), OSError("4")]

    async def watched(self: Post, after: str | None) -> Incoming:
        nonlocal reading, most
        reading += 1
        most = max(most, reading)
        try:
            if after is not None and faults:
                raise faults.pop()
            return await receive(self, after)
        finally:
            reading -= 1

    async def connected(self: Post) -> None:
        nonlocal connects
        connects += 1
        assert reading == 0, "connected again beside a reader"
        await connect(self)

    monkeypatch.setattr(Post, "receive", watched)
    monkeypatch.setattr(Post, "connect", connected)
    async with town(tmp_path) as one:
        one.mail.say("first")
        await one.until(lambda: not faults, step=STEP)
        one.mail.say("second")
        await one.until(lambda: "answer to second" in one.mail.texts(), step=STEP)
        assert one.mail.texts() == ["answer to first", "answer to second"]
        assert (most, connects) == (1, 5)


@pytest.mark.guards("O18")
@on_a_loop
async def test_two_readers_of_one_platform_are_refused(tmp_path: Path) -> None:
    one = Town(tmp_path)
    one.more.append(Mail())
    with pytest.raises(Unusable, match=f"{PLATFORM}/bot"):
        await one.start()
    await one.store.close()


@pytest.mark.guards("B7")
@on_a_loop
async def test_a_ledger_that_somebody_else_holds_for_minutes_costs_no_turn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Each try fails at once, so that many of them do.
    monkeypatch.setattr(database, "BUSY_SECONDS", 0.0)
    async with town(tmp_path, UNSPOKEN) as one:
        one.model.hold("work")
        one.mail.say("work")
        await one.until(lambda: one.model.begun == ["work"])
        sibling = sqlite3.connect(tmp_path / "ledger.db", isolation_level=None)
        sibling.execute("BEGIN IMMEDIATE")
        one.model.gates["work"].set()
        for _ in range(5 * MINUTE // SECOND):
            one.clock.advance(SECOND)
            await one.store.instances(1)
        tries = [fault for _, fault in one.faults if isinstance(fault, StoreUnavailable)]
        assert len(tries) > 10
        assert one.mail.texts() == []
        sibling.close()
        await one.until(lambda: bool(one.mail.texts()), step=STEP)
        await one.pass_time(30_000)
        assert one.mail.texts() == ["answer to work"]
        assert one.model.begun == ["work"]
        turn = await turn_of(one)
        assert (turn.state, turn.attempt) == (TurnState.DONE, 1)
