"""Which conversation a message belongs to, and how long it lasts: a whole gateway, crashed and restarted."""

import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from holdfast.agents import Role
from holdfast.model import (
    Began,
    BusyMode,
    ChatKind,
    InboxState,
    Key,
    PersonId,
    Place,
    Position,
    Session,
    StopKind,
    TurnState,
)
from holdfast.policy.intake.admission import Drain
from holdfast.policy.recovery.outcome import table
from holdfast.policy.settings import DAY, HOUR, MINUTE, QueueSettings, ResetSettings
from holdfast.store import Scope
from tests.support.gateways import PLATFORM, STEP, Town
from tests.support.loops import on_a_loop

SENTENCES = {row.name: row.sentence for row in table()}
QUIET_FOR_LONG = "This chat was quiet for long, so this is a fresh conversation; the earlier one is kept."
A_NEW_DAY = "A new day has begun, so this is a fresh conversation; the earlier one is kept."
CUT_THRICE = (
    "3 restarts of the gateway cut this work off before it made any progress, so I parked this conversation. "
    "All of it is kept. Your next message starts a fresh one, and an owner can resume this one."
)
PARKED = "The earlier conversation here is parked and kept; this is a fresh one."


@asynccontextmanager
async def town(home: Path, **settings: object) -> AsyncIterator[Town]:
    made = Town(home)
    made.with_settings(**settings)
    await made.start()
    try:
        yield made
    finally:
        if not made.running.done():
            await made.crash()


async def session_of(town: Town, chat: str = "c1") -> Session:
    session = await town.store.live_session(Key(Place(PLATFORM, "bot", chat).address))
    assert session is not None
    return session


async def answered(town: Town, text: str, chat: str = "c1") -> None:
    town.mail.say(text, chat)
    await town.until(lambda: f"answer to {text}" in town.mail.texts(chat), step=STEP)


async def begun(town: Town, text: str, chat: str = "c1") -> None:
    """A turn that will not end until its gate is opened."""
    town.model.hold(text)
    town.mail.say(text, chat)
    await town.until(lambda: text in town.model.begun)


async def restarted(town: Town) -> None:
    """Gone without a word, and there again."""
    await town.crash()
    await town.start()


@pytest.mark.guards("R1.1", "A16", "E16")
@on_a_loop
async def test_topics_of_a_chat_are_conversations_of_their_own_and_each_hears_its_own(tmp_path: Path) -> None:
    async with town(tmp_path) as one:
        one.model.hold("work")
        one.mail.say("work", thread="t1")
        await one.until(lambda: "work" in one.model.begun)
        one.mail.say("beside", thread="t2")
        one.mail.say("above")
        await one.until(lambda: bool(one.mail.texts() and one.mail.texts(thread="t2")))
        assert one.mail.texts(thread="t2") == ["answer to beside"]
        assert one.mail.texts() == ["answer to above"]
        one.gateway.request(Drain.RESTART)
        await one.until(lambda: bool(one.mail.texts(thread="t1")))
        one.gateway.request(Drain.RESTART, at_once=True)
        await one.ended()
        one.model.gates["work"].set()
        await one.start()
        await one.until(lambda: "answer to work" in one.mail.texts(thread="t1"), step=STEP)
        assert "restarting" in one.mail.texts(thread="t1")[0]
        assert (len(one.mail.texts()), len(one.mail.texts(thread="t2"))) == (1, 1)
        assert len(await one.store.sessions()) == 3


@pytest.mark.guards("R1.1")
@on_a_loop
async def test_people_of_a_group_talk_for_themselves_and_those_of_its_thread_together(tmp_path: Path) -> None:
    async with town(tmp_path) as one:
        one.people = frozenset({PersonId(f"{PLATFORM}:carl")})
        one.chats = frozenset({Place(PLATFORM, "bot", "g").address})
        for thread in (None, "t"):
            for sender in ("ann", "carl"):
                one.mail.say(f"{sender} {thread}", "g", sender, thread, ChatKind.GROUP)
        await one.until(lambda: len(one.mail.sent) == 4)
        assert sorted(one.mail.texts("g", "t")) == ["answer to ann t", "answer to carl t"]
        keys = sorted(line.key for line in await one.store.sessions())
        group = Place(PLATFORM, "bot", "g").address
        assert keys == [f"{group}/t", f"{group}@ann", f"{group}@carl"]


@pytest.mark.guards("R1.2", "A2", "A9", "A15")
@pytest.mark.parametrize(
    ("policy", "passes", "began", "told"),
    [
        (ResetSettings(), 30 * DAY, Began.FIRST, []),
        (ResetSettings(idle=HOUR), HOUR // 2, Began.FIRST, []),
        (ResetSettings(idle=HOUR), 2 * HOUR, Began.IDLE, [QUIET_FOR_LONG]),
        (ResetSettings(daily_at=0), DAY, Began.DAILY, [A_NEW_DAY]),
    ],
)
def test_only_the_reset_policy_ends_a_conversation_by_age_and_it_is_told_once(
    tmp_path: Path, policy: ResetSettings, passes: int, began: Began, told: list[str]
) -> None:
    @on_a_loop
    async def run() -> None:
        async with town(tmp_path, reset=policy) as one:
            await answered(one, "first")
            first = await session_of(one)
            one.clock.advance(passes)
            await restarted(one)
            await answered(one, "second")
            await answered(one, "third")
            session = await session_of(one)
            assert (session.began, session.id == first.id) == (began, not told)
            assert sorted(one.mail.texts()) == sorted(
                ["answer to first", *told, "answer to second", "answer to third"]
            )

    run()


@pytest.mark.guards("R1.3", "A1")
@on_a_loop
async def test_interrupted_work_keeps_its_conversation_whatever_the_reset_policy_says(tmp_path: Path) -> None:
    async with town(tmp_path, reset=ResetSettings(idle=MINUTE)) as one:
        await answered(one, "first")
        session = await session_of(one)
        await begun(one, "work")
        await one.crash()
        one.clock.advance(30 * MINUTE)
        one.mail.say("how far?")
        one.model.gates["work"].set()
        await one.start()
        await one.until(lambda: "answer to how far?" in one.mail.texts(), step=STEP)
        assert (await session_of(one)).id == session.id
        assert QUIET_FOR_LONG not in one.mail.texts()


@pytest.mark.guards("R2.2", "A4", "A6")
@on_a_loop
async def test_a_chat_that_was_answered_is_untouched_by_a_crash_and_a_long_turn_is_known(
    tmp_path: Path,
) -> None:
    async with town(tmp_path) as one:
        await answered(one, "hello", "idle")
        await begun(one, "work", "busy")
        one.clock.advance(20 * MINUTE)
        await answered(one, "hello again", "idle")
        calls = len(one.model.begun)
        one.model.gates["work"].set()
        await restarted(one)
        await one.until(lambda: "answer to work" in one.mail.texts("busy"), step=STEP)
        await one.pass_time(10_000)
        assert len(one.model.begun) == calls + 1
        assert one.mail.texts("idle") == ["answer to hello", "answer to hello again"]
        (turn, *_) = await one.store.turns((await session_of(one, "idle")).id)
        assert turn.interruptions == 0


@pytest.mark.guards("R1.2", "R1.3", "R8.1", "C12", "C14")
@on_a_loop
async def test_a_turn_that_hangs_in_drain_after_drain_is_parked_and_the_next_message_is_free(
    tmp_path: Path,
) -> None:
    async with town(tmp_path) as one:
        await begun(one, "hangs")
        session = await session_of(one)
        for runs in (1, 2, 3):
            await one.until(lambda runs=runs: one.model.begun.count("hangs") == runs, step=STEP)  # type: ignore[misc]
            one.gateway.request(Drain.RESTART, at_once=True)
            await one.ended()
            await one.start()
        await one.until(lambda: any("parked" in text for text in one.mail.texts()), step=STEP)
        parked = f"{CUT_THRICE} For the owner: /resume {session.id}"
        await answered(one, "hello")
        assert one.model.begun.count("hangs") == 3
        fresh = await session_of(one)
        assert (fresh.began, fresh.id != session.id) == (Began.SUSPENDED, True)
        await restarted(one)
        await answered(one, "still there?")
        assert [one.mail.texts().count(words) for words in (parked, PARKED)] == [1, 1]
        assert (await session_of(one)).id == fresh.id


@pytest.mark.guards("R9.1", "D11", "D13", "D15", "D16")
@pytest.mark.parametrize(
    ("mode", "turns"),
    [
        (BusyMode.QUEUE, [("first", "done"), ("second", "done"), ("third", "done")]),
        (BusyMode.COLLECT, [("first", "done"), ("second", "done")]),
        (BusyMode.INTERRUPT, [("first", "cancelled"), ("second", "cancelled"), ("third", "done")]),
    ],
)
def test_what_becomes_of_messages_during_a_turn_is_the_chats_mode(
    tmp_path: Path, mode: BusyMode, turns: list[tuple[str, str]]
) -> None:
    @on_a_loop
    async def run() -> None:
        async with town(tmp_path, busy=mode) as one:
            one.model.hold("second")
            await begun(one, "first")
            one.mail.say("second")
            if mode is BusyMode.INTERRUPT:
                await one.until(lambda: "second" in one.model.begun, step=STEP)
            one.mail.say("third")
            await one.until(lambda: len(one.mail.arrivals) == 3)
            await one.pass_time(1_000)
            for gate in one.model.gates.values():
                gate.set()
            await one.until(lambda: "answer to third" in one.mail.texts(), step=STEP)
            found = await one.store.turns((await session_of(one)).id)
            causes = [(await one.store.row(turn.cause)).text for turn in found]
            assert list(zip(causes, [turn.state for turn in found], strict=True))[::-1] == turns
            rows = [await one.store.row(Position(number)) for number in (1, 2, 3)]
            assert [row.state for row in rows] == [InboxState.TAKEN] * 3
            answers = [text for text in one.mail.texts() if text.startswith("answer")]
            assert len(answers) == len(set(answers)) == sum(state == "done" for _, state in turns)

    run()


@pytest.mark.guards("R9.3", "D2", "D3")
@on_a_loop
async def test_a_full_queue_refuses_in_words_and_what_was_said_to_be_queued_is_answered(
    tmp_path: Path,
) -> None:
    async with town(tmp_path, queue=QueueSettings(most=1)) as one:
        await begun(one, "first")
        one.mail.say("second")
        await one.until(lambda: len(one.mail.texts()) == 1)
        one.mail.say("third")
        await one.until(lambda: len(one.mail.texts()) == 2)
        queued, refused = one.mail.texts()
        assert refused.startswith("Not taken")
        await one.crash()
        one.model.gates["first"].set()
        await one.start()
        await one.until(lambda: "answer to second" in one.mail.texts(), step=STEP)
        await one.pass_time(5_000)
        assert "third" not in one.model.begun
        assert (await one.store.row(Position(3))).state is InboxState.REFUSED
        assert queued != refused


@pytest.mark.guards("R10.5")
@on_a_loop
async def test_a_reply_that_is_owed_outlives_the_conversation_it_came_from(tmp_path: Path) -> None:
    async with town(tmp_path) as one:
        one.mail.sends_hang = True
        one.mail.say("hello")
        await one.until(lambda: "hello" in one.model.begun)
        session = await session_of(one)
        await one.until(lambda: one.mail.sending > 0)
        one.mail.say("/new")
        await one.pass_time(2_000)
        assert (await one.store.session(session.id)).ended_at is not None
        await one.crash()
        one.mail.sends_hang = False
        await one.start()
        await one.until(lambda: len(one.mail.texts()) == 2, step=STEP)
        assert one.mail.texts()[0] == "answer to hello"


@pytest.mark.guards("R6.1", "C15", "C24")
@on_a_loop
async def test_work_goes_on_for_a_chat_where_nobody_says_a_word(tmp_path: Path) -> None:
    async with town(tmp_path) as one:
        await begun(one, "work")
        one.model.gates["work"].set()
        await restarted(one)
        await one.until(lambda: one.mail.texts() == ["answer to work"], step=STEP)
        note = one.model.shown[-1][-1]
        assert note.role is Role.NOTE
        assert "do not ask what to do next" in note.text
        assert [message.text for message in one.model.shown[-1] if message.role is Role.USER] == ["work"]
        (turn,) = await one.store.turns((await session_of(one)).id)
        assert turn.state is TurnState.DONE


def keep_only_the_ledger(home: Path) -> None:
    for file in home.iterdir():
        if file.is_dir():
            shutil.rmtree(file)
        elif not file.name.startswith("ledger.db"):
            file.unlink()


@pytest.mark.guards("A12")
@pytest.mark.parametrize("how", [Drain.SHUTDOWN, Drain.RESTART, None])
def test_a_conversation_goes_on_after_any_end_by_its_ledger_alone(tmp_path: Path, how: Drain | None) -> None:
    @on_a_loop
    async def run() -> None:
        async with town(tmp_path) as one:
            await answered(one, "first")
            before = await session_of(one)
            if how is None:
                await one.crash()
            else:
                one.gateway.request(how)
                await one.ended_after(5_000)
            keep_only_the_ledger(tmp_path)
            await one.start()
            await answered(one, "second")
            session = await session_of(one)
            assert (session.id, session.ended_at) == (before.id, None)
            shown = [message.text for message in one.model.shown[-1] if message.role is Role.USER]
            assert shown == ["first", "second"]

    run()


@pytest.mark.guards("A18")
@pytest.mark.parametrize("at_work", [True, False])
@pytest.mark.parametrize("erased", [True, False])
def test_a_conversation_ended_behind_a_running_gateway_is_followed_by_the_next_one(
    tmp_path: Path, at_work: bool, erased: bool
) -> None:
    @on_a_loop
    async def run() -> None:
        async with town(tmp_path) as one:
            if at_work:
                await begun(one, "first")
            else:
                await answered(one, "first")
            before = await session_of(one)
            if erased:
                scope = Scope(before.key, Position(2**40), before.id)
                while not await one.store.quiet(scope):
                    await one.pass_time(STEP)
                await one.store.erase(scope)
            else:
                await one.store.stop(before.key, StopKind.NEW, None)
            await answered(one, "second")
            await answered(one, "third")
            assert (await session_of(one)).id != before.id
            assert one.mail.texts().count("answer to second") == 1
            shown = [message.text for message in one.model.shown[-1] if message.role is Role.USER]
            assert shown == ["second", "third"]
            assert await one.store.verify() == ()

    run()


@pytest.mark.guards("D8")
@on_a_loop
async def test_what_comes_days_late_is_not_run_and_people_are_told_how_to_have_it_once_per_backlog(
    tmp_path: Path,
) -> None:
    async with town(tmp_path) as one:
        one.mail.say_late("pay the rent", one.clock.now() - 2 * DAY)
        one.mail.say_late("/new", one.clock.now() - 2 * DAY)
        one.mail.say_late("and the phone", one.clock.now() - 2 * DAY)
        await answered(one, "hello")
        assert one.model.begun == ["hello"]
        late = [text for text in one.mail.texts() if "hours before it reached me" in text]
        assert ["Send it again if you still want it." in text for text in late] == [True] * 2, (
            "and the command"
        )
        await restarted(one)
        one.clock.advance(7 * DAY)
        one.mail.say_late("pay the gas", one.clock.now() - 2 * DAY)
        await answered(one, "pay the rent")
        late = [text for text in one.mail.texts() if "so I have not started on it" in text]
        assert len(late) == 2, "another backlog is told of for itself"
        assert one.model.begun == ["hello", "pay the rent"]
