"""Parks as people meet them: true words, a button for the owner, no poison through fresh sessions."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from holdfast.api.held_items import TOLD, HeldItems
from holdfast.config.settings import LOCAL_PERSON
from holdfast.model import Began, InboxState, Key, PersonId, Place, Position, Session, TurnState
from holdfast.policy.intake.admission import Drain
from holdfast.policy.recovery.parks import ON_HOLD
from holdfast.policy.settings import SafeModeSettings
from holdfast.store import Wanted
from tests.scenario.test_operating import operator
from tests.support.gateways import PLATFORM, STEP, Town
from tests.support.loops import on_a_loop

CAROL = "carol"


@asynccontextmanager
async def town(home: Path, **settings: object) -> AsyncIterator[Town]:
    made = Town(home)
    made.people = frozenset({PersonId(f"{PLATFORM}:{CAROL}")})
    made.with_settings(safe_mode=SafeModeSettings(unclean_exits=100, exits_after_park=100), **settings)
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


async def dies(town: Town, text: str, times: int, chat: str = "c1") -> None:
    """Somebody writes what kills the gateway, and it dies so many times of it."""
    town.model.hold(text)
    before = town.model.begun.count(text)
    town.mail.say(text, chat)
    for runs in range(before + 1, before + times + 1):
        await town.until(lambda runs=runs: town.model.begun.count(text) == runs, step=STEP)  # type: ignore[misc]
        await town.crash()
        await town.start()


async def parks(town: Town, count: int, chat: str = "c1") -> list[str]:
    def told() -> list[str]:
        return [text for text in town.mail.texts(chat) if "so I parked this conversation" in text]

    await town.until(lambda: len(told()) == count, step=STEP)
    return told()


@pytest.mark.guards("R8.6")
@on_a_loop
async def test_a_park_says_how_many_crashes_and_how_many_restarts_led_to_it(tmp_path: Path) -> None:
    async with town(tmp_path) as one:
        await dies(one, "deadly", 2)
        await one.until(lambda: one.model.begun.count("deadly") == 3, step=STEP)
        one.gateway.request(Drain.RESTART, at_once=True)
        await one.ended()
        await one.start()
        (told,) = await parks(one, 1)
        assert told.startswith(
            "The gateway crashed or was killed twice while it worked on this, and a restart of the gateway "
            "cut this work off before it made any progress, so I parked this conversation."
        )
        assert told.endswith(f"For the owner: /resume {(await session_of(one)).id}")


@pytest.mark.guards("R8.4", "R1.2")
@on_a_loop
async def test_poison_does_not_go_on_through_fresh_sessions(tmp_path: Path) -> None:
    async with town(tmp_path) as one:
        await dies(one, "poison", 3)
        await parks(one, 1)
        for number in (2, 3):
            await dies(one, "poison", 1)
            assert (await parks(one, number))[-1].startswith(
                "After an earlier park, the gateway crashed or was killed once while it worked on this"
            )
        assert "an owner has to release them" in (await parks(one, 3))[-1]
        one.mail.say("poison")
        one.mail.say("hello?")
        await one.until(lambda: one.mail.texts().count(f"Kept. {ON_HOLD}") == 2, step=STEP)
        await one.crash()
        await one.start()
        await one.pass_time(60_000)
        assert one.model.begun.count("poison") == 5, "three deaths, then one for each session, then none"
        one.mail.say("/release", sender=CAROL)
        one.mail.say("/release", chat="c2")
        await one.until(lambda: len(one.mail.texts("c2")) == 1, step=STEP)
        assert (await one.store.overview(0)).on_hold == 1
        one.model.gates["poison"].set()
        one.mail.say("/release")
        await one.until(lambda: "answer to hello?" in one.mail.texts(), step=STEP)
        assert (await session_of(one)).began is Began.SUSPENDED
        assert (await session_of(one)).strikes == 0, "its first turn completed"
        assert (await one.store.overview(0)).on_hold == 0


@pytest.mark.guards("R8.4")
@on_a_loop
async def test_a_message_that_the_operator_drops_while_on_hold_is_told_so(tmp_path: Path) -> None:
    async with town(tmp_path) as one:
        await dies(one, "poison", 3)
        for number in (2, 3):
            await parks(one, number - 1)
            await dies(one, "poison", 1)
        await parks(one, 3)
        one.mail.say("hello?")
        await one.until(lambda: f"Kept. {ON_HOLD}" in one.mail.texts(), step=STEP)
        await HeldItems(one.store, one.clock).release(drop=True)
        await one.until(lambda: TOLD in one.mail.texts(), step=STEP)
        (told,) = [part for part in one.mail.sent if part.text == TOLD]
        assert told.reply_to == next(part.reply_to for part in one.mail.sent if ON_HOLD in part.text)
        assert "answer to hello?" not in one.mail.texts()


@pytest.mark.guards("R8.4")
@on_a_loop
async def test_a_fresh_session_after_a_park_is_free_once_a_turn_of_it_completed(tmp_path: Path) -> None:
    async with town(tmp_path) as one:
        await dies(one, "poison", 3)
        await parks(one, 1)
        one.mail.say("harmless")
        await one.until(lambda: "answer to harmless" in one.mail.texts(), step=STEP)
        await dies(one, "unlucky", 1)
        one.model.gates["unlucky"].set()
        await one.until(lambda: "answer to unlucky" in one.mail.texts(), step=STEP)
        assert len(await parks(one, 1)) == 1


@pytest.mark.guards("R8.2", "R14")
@on_a_loop
async def test_the_button_of_a_park_resumes_it_for_an_owner_once_and_refuses_others(tmp_path: Path) -> None:
    async with town(tmp_path) as one:
        await dies(one, "poison", 3)
        await parks(one, 1)
        parked = await session_of(one)
        (notice,) = [part for part in one.mail.sent if "so I parked" in part.text]
        assert notice.options == (f"/resume {parked.id}",)
        one.mail.say("something else")
        await one.until(lambda: "answer to something else" in one.mail.texts(), step=STEP)
        await one.crash()
        await one.start()
        found = (await one.store.find_sessions(Wanted(state="parked"))).lines
        assert ([line.id for line in found], (await one.store.overview(0)).parked) == ([parked.id], 1)
        (press,) = notice.options
        one.mail.say(press, sender=CAROL)
        await one.until(lambda: "only an owner can resume it" in one.mail.texts()[-1], step=STEP)
        one.model.gates["poison"].set()
        one.mail.say(press)
        one.mail.say(press)
        go_on = "answer to Go on with what was left unfinished."
        await one.until(lambda: go_on in one.mail.texts(), step=STEP)
        one.mail.say(press)
        await one.pass_time(10_000)
        live = await session_of(one)
        assert (live.id, live.suspended_at) == (parked.id, None)
        assert one.mail.texts().count(go_on) == 1, "pressed three times, resumed once"
        assert (await one.store.overview(0)).parked == 0


@pytest.mark.guards("R8.2")
@on_a_loop
async def test_an_owner_resumes_a_parked_session_of_another_chat_by_its_id(tmp_path: Path) -> None:
    async with town(tmp_path) as one:
        await dies(one, "poison", 3, chat="c2")
        await parks(one, 1, chat="c2")
        parked = await session_of(one, "c2")
        one.mail.say(f"/resume {parked.id}")
        await one.until(
            lambda: "answer to Go on with what was left unfinished." in one.mail.texts("c2"), step=STEP
        )
        assert one.mail.texts("c1") == ["The conversation goes on. Everything said and done in it is kept."]
        (newest, *_) = await one.store.turns(parked.id)
        assert newest.state is TurnState.DONE
        row = await one.store.row(Position(2))
        assert (row.key, row.state) == (parked.key, InboxState.TAKEN)


@pytest.mark.guards("R15", "R8.2")
@on_a_loop
async def test_an_operator_who_resumes_a_parked_session_is_told_that_it_is_done(tmp_path: Path) -> None:
    async with town(tmp_path) as one:
        one.people, one.owner = one.people | {one.owner}, LOCAL_PERSON
        await dies(one, "poison", 3)
        await parks(one, 1)
        parked = await session_of(one)
        one.model.gates["poison"].set()
        asked = asyncio.ensure_future(operator(one).resume(session=parked.id))
        await one.until(asked.done, step=STEP)
        found = asked.result()
        assert (found["state"], found["reason"]) == ("executed", None), "its message may have been taken"
        await one.until(
            lambda: "answer to Go on with what was left unfinished." in one.mail.texts(), step=STEP
        )
