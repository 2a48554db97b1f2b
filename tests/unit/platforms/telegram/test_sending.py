"""What is owed arrives where it belongs, and what is said about it is the truth."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from holdfast.model import (
    Delivery,
    Fence,
    InstanceId,
    Lost,
    OwedKind,
    QuestionId,
    Rejected,
    Sent,
    SessionId,
    TryAgain,
    TurnId,
)
from holdfast.platforms import PlatformDown, Working
from holdfast.platforms.telegram.client import CallRefused
from holdfast.policy.delivery.parts import POSSIBLY_REPEATED
from holdfast.testing.fakes.botapi import Flood, LostAnswer, LostRequest, Rates, ServerError
from tests.support.loops import on_a_loop
from tests.unit.platforms.telegram.bots import Stage, stage
from tests.unit.platforms.telegram.payloads import delivery, place

RUN = Fence(SessionId("s1"), TurnId("t1"), 1, InstanceId("i1"))


def owed(chat: int, text: str = "the answer", thread: str | None = None, **more: Any) -> Delivery:
    return delivery(chat=place(chat, thread).address, text=text, **more)


async def ada_wrote(here: Stage) -> Any:
    ada = here.people.add("Ada")
    ada.write("hello")
    await here.read()
    return ada


@on_a_loop
async def test_an_answer_replies_to_its_message_in_its_topic_and_looks_as_it_was_meant() -> None:
    async with stage() as here:
        ada = await ada_wrote(here)
        topic = ada.open_topic("plans")
        number = ada.write("question", thread=topic)
        result = await here.bot.send(owed(ada.id, "**yes**, `now`", str(topic), reply_to=str(number)))
        *_, seen = ada.sees(thread=topic)
        assert (seen.text, seen.reply_to, seen.looks("bold"), seen.looks("code")) == (
            "yes, now",
            number,
            ["yes"],
            ["now"],
        )
        assert result == Sent(str(seen.id))


@on_a_loop
async def test_looks_that_telegram_does_not_take_are_left_out_and_the_words_stay() -> None:
    async with stage() as here:
        ada = await ada_wrote(here)
        real = here.bot._client.call

        async def picky(method: str, parameters: Any = None, within: int = 60) -> Any:
            if "parse_mode" in (parameters or {}):
                raise CallRefused(400, "Bad Request: can't parse entities: unexpected end tag")
            return await real(method, parameters, within)

        here.bot._client.call = picky  # type: ignore[method-assign]  # a server with another taste
        assert isinstance(await here.bot.send(owed(ada.id, "**yes**")), Sent)
        assert ada.hears() == ["**yes**"]


@on_a_loop
async def test_a_repeat_says_so() -> None:
    async with stage() as here:
        ada = await ada_wrote(here)
        await here.bot.send(owed(ada.id, repeated=True))
        assert ada.hears() == [f"{POSSIBLY_REPEATED}the answer"]


@pytest.mark.guards("R10.2")
@pytest.mark.parametrize(
    ("effect", "arrives"), [(LostAnswer(), True), (LostRequest(), False), (ServerError(502), False)]
)
def test_a_send_without_an_answer_may_have_arrived(
    effect: LostAnswer | LostRequest | ServerError, arrives: bool
) -> None:
    @on_a_loop
    async def run() -> None:
        async with stage() as here:
            ada = await ada_wrote(here)
            here.api.faults.add(effect, "sendMessage")
            assert isinstance(await here.bot.send(owed(ada.id)), Lost)
            assert bool(ada.hears()) == arrives

    run()


@on_a_loop
async def test_a_send_that_reached_nobody_did_certainly_not_arrive() -> None:
    async with stage(address="http://127.0.0.1:9", connect=False) as here:
        with pytest.raises(PlatformDown):
            await here.bot.send(owed(1001))
        with pytest.raises(PlatformDown):
            await here.bot.connect()
        with pytest.raises(PlatformDown, match="no connection"):
            await here.bot.send(owed(1001))


@on_a_loop
async def test_a_flood_says_until_when_and_counts_as_no_attempt() -> None:
    async with stage() as here:
        ada = await ada_wrote(here)
        here.api.faults.add(Flood(30), "sendMessage")
        result = await here.bot.send(owed(ada.id))
        assert isinstance(result, TryAgain)
        assert (result.at, result.counts) == (here.clock.now() + 30_000, False)
        asked = len(here.api.asked("sendMessage"))
        later = await here.bot.send(owed(ada.id))
        assert isinstance(later, TryAgain)
        assert len(here.api.asked("sendMessage")) == asked, "nothing goes there before"


@pytest.mark.guards("R10.3")
@on_a_loop
async def test_a_flood_in_one_topic_of_a_group_holds_its_other_topics_and_no_other_chat() -> None:
    async with stage() as here:
        ada = await ada_wrote(here)
        forum = here.people.group("Forum", ada, topics=True)
        topics = [str(ada.open_topic(name, forum)) for name in ("plans", "talk")]
        here.api.faults.add(Flood(30), "sendMessage")
        assert isinstance(await here.bot.send(owed(forum, thread=topics[0])), TryAgain)
        asked = len(here.api.asked("sendMessage"))
        for thread in (topics[1], None):
            held = await here.bot.send(owed(forum, thread=thread))
            assert isinstance(held, TryAgain)
            assert held.at >= here.clock.now() + 30_000
        assert not await here.bot.edit(place(forum, topics[1]).address, "5", "words"), "nor is it changed"
        assert len(here.api.asked("sendMessage")) == asked
        assert isinstance(await here.bot.send(owed(ada.id)), Sent)


def _blocked(here: Stage, ada: Any) -> Delivery:
    ada.block()
    return owed(ada.id)


def _nobody(here: Stage, ada: Any) -> Delivery:
    return owed(4711)


def _never_wrote(here: Stage, ada: Any) -> Delivery:
    return owed(here.people.add("Bob").id)


def _kicked(here: Stage, ada: Any) -> Delivery:
    group = here.people.group("Plain", ada)
    ada.kick_bot(group)
    return owed(group)


def _topic_gone(here: Stage, ada: Any) -> Delivery:
    return owed(ada.id, thread="4711")


def _topic_closed(here: Stage, ada: Any) -> Delivery:
    topic = ada.open_topic("plans")
    here.api.world.chats[ada.id].topics[topic].closed = True
    return owed(ada.id, thread=str(topic))


@pytest.mark.guards("R10.3")
@pytest.mark.parametrize("made", [_blocked, _nobody, _never_wrote, _kicked, _topic_gone, _topic_closed])
def test_where_nothing_can_go_nothing_goes_and_nothing_goes_elsewhere(
    made: Callable[[Stage, Any], Delivery],
) -> None:
    @on_a_loop
    async def run() -> None:
        async with stage() as here:
            ada = await ada_wrote(here)
            result = await here.bot.send(made(here, ada))
            assert isinstance(result, Rejected)
            assert result.whole_chat
            assert [one for one in here.api.shown if one.how == "message"] == []

    run()


@on_a_loop
async def test_a_reply_to_a_message_that_is_gone_goes_to_the_same_chat_without_it() -> None:
    async with stage() as here:
        ada = await ada_wrote(here)
        number = ada.write("forget this")
        ada.delete(number)
        assert isinstance(await here.bot.send(owed(ada.id, reply_to=str(number))), Sent)
        assert (ada.sees()[-1].text, ada.sees()[-1].reply_to) == ("the answer", None)


@on_a_loop
async def test_what_is_owed_to_a_group_that_moved_goes_where_it_is_now() -> None:
    async with stage() as here:
        ada = await ada_wrote(here)
        group = here.people.group("Small", ada, kind="group")
        before = ada.write("before", group)
        await here.read()
        large = here.people.upgrade(group, ada)
        others = [ada.write("something else", large) for _ in range(before)]
        assert before in others, "the number is another message's there"
        first = await here.bot.send(owed(group, "one", reply_to=str(before)))
        assert (ada.sees(large)[-1].text, ada.sees(large)[-1].reply_to) == ("one", None)
        await here.read()
        last = ada.write("after", large)
        (after,) = await here.arrivals()
        await here.bot.send(owed(group, "two", reply_to=after.message_id))
        assert (ada.sees(large)[-1].text, ada.sees(large)[-1].reply_to) == ("two", last)
        assert isinstance(first, Sent)
        assert first.platform_id is not None
        assert await here.bot.edit(place(group).address, first.platform_id, "one, done")
        assert "one, done" in ada.hears(large)


@pytest.mark.guards("R10.3")
@on_a_loop
async def test_topics_of_a_group_that_come_when_they_were_told_to_are_all_sent() -> None:
    async with stage() as here:
        ada = await ada_wrote(here)
        forum = here.people.group("Forum", ada, topics=True)
        waiting = {str(ada.open_topic(name, forum)): 0 for name in ("plans", "talk", "news")}
        here.api.faults.add(Flood(30), "sendMessage")
        tries = 0
        while waiting:
            thread, at = min(waiting.items(), key=lambda one: one[1])
            here.clock.advance(max(0, at - here.clock.now()))
            result = await here.passing(here.bot.send(owed(forum, thread=thread)))
            tries += 1
            assert tries < 20, f"{len(waiting)} topics keep one another from being sent to"
            if isinstance(result, TryAgain):
                waiting[thread] = result.at
            else:
                del waiting[thread]


@pytest.mark.guards("R12")
@on_a_loop
async def test_last_words_that_are_tried_again_and_again_after_a_flood_do_not_push_themselves_back() -> None:
    async with stage() as here:
        ada = await ada_wrote(here)
        group = here.people.group("Group", ada)
        result = await here.bot.send(owed(group, "working"))
        assert isinstance(result, Sent) and result.platform_id is not None
        chat = place(group).address
        here.api.faults.add(Flood(30), "editMessageText")
        with pytest.raises(PlatformDown):
            await here.bot.edit(chat, result.platform_id, "done", in_line=True)
        for _ in range(20):
            if await here.passing(here.bot.edit(chat, result.platform_id, "done", in_line=True)):
                return
            here.clock.advance(2_000)
        pytest.fail("it was never edited")


@on_a_loop
async def test_the_rates_that_telegram_advises_are_kept() -> None:
    async with stage(Rates()) as here:
        ada = await ada_wrote(here)
        here.clock.advance(5_000)

        async def all_of_them() -> list[object]:
            return [await here.bot.send(owed(ada.id, f"part {number}")) for number in range(4)]

        results = await here.passing(all_of_them())
        assert [type(result) for result in results].count(Sent) >= 3


# Questions.


@pytest.mark.guards("R13")
@pytest.mark.parametrize("name", ["asked:short", "approve:" + "x" * 100])
def test_a_button_names_its_question_however_long_its_id_is_and_stops_to_spin(name: str) -> None:
    @on_a_loop
    async def run() -> None:
        async with stage() as here:
            ada = await ada_wrote(here)
            options = ("Yes", "No")
            await here.bot.send(
                owed(ada.id, "Shall I?", kind=OwedKind.QUESTION, options=options, dedupe=name)
            )
            assert ada.sees()[-1].buttons == options
            here.asked += [QuestionId("asked:other"), QuestionId(name)]
            query = ada.press("No")
            (press,) = await here.arrivals()
            assert (press.pressed, press.text) == (name, "No")
            assert ada.answer(query) is not None

    run()


@pytest.mark.guards("R8.2")
@on_a_loop
async def test_the_button_of_a_notice_gives_its_command_as_if_it_were_typed_there() -> None:
    async with stage() as here:
        ada = await ada_wrote(here)
        command = "/resume 01m7p33fqdjypdwfhjsj2z5ayj"
        await here.bot.send(owed(ada.id, "Parked.", kind=OwedKind.NOTICE, options=(command,)))
        assert ada.sees()[-1].buttons == ("Resume it (owner)",)
        query = ada.press("Resume it (owner)")
        (press,) = await here.arrivals()
        assert (press.pressed, press.text, press.message_id) == (None, command, None)
        assert press.origin.person == f"telegram:{ada.id}"
        assert ada.answer(query) is not None


@pytest.mark.guards("R13")
@on_a_loop
async def test_a_press_of_an_option_too_long_for_its_button_answers_with_its_number() -> None:
    async with stage() as here:
        ada = await ada_wrote(here)
        options = (
            "No",
            "Yes, and say it to everybody who asks, in the same words, for a whole week",
        )
        await here.bot.send(owed(ada.id, "?", kind=OwedKind.QUESTION, options=options, dedupe="q"))
        *_, shown = ada.sees()
        assert shown.buttons[1].endswith("…") and len(shown.buttons[1]) < len(options[1])
        ada.press(shown.buttons[1])
        (press,) = await here.arrivals()
        assert (press.pressed, press.text) == ("q", "2")


@on_a_loop
async def test_a_press_from_long_ago_is_taken_although_nobody_can_answer_it_any_more() -> None:
    async with stage() as here:
        ada = await ada_wrote(here)
        await here.bot.send(owed(ada.id, "?", kind=OwedKind.QUESTION, options=("Yes",), dedupe="q"))
        ada.press("Yes")
        here.clock.advance(3_600_000)
        (press,) = await here.arrivals()
        assert press.pressed == "q"
        assert here.reports, "that its button spins on is only reported"


# What is only for eyes.


@on_a_loop
async def test_typing_is_seen_in_the_topic_and_what_grows_as_a_draft() -> None:
    async with stage() as here:
        ada = await ada_wrote(here)
        topic = ada.open_topic("plans")
        chat = place(ada.id, str(topic)).address
        await here.bot.show(chat, Working(RUN, typing=True))
        assert (ada.typing(thread=topic), ada.typing()) == (True, False)
        for text in ("so", "so far", "so far, **so"):
            here.clock.advance(2_000)
            await here.bot.show(chat, Working(RUN, typing=True, draft=text))
        assert ada.drafts(topic) == ["so far, **so"]
        await here.bot.send(owed(ada.id, "so far, so good", str(topic)))
        assert (ada.drafts(topic), ada.hears(thread=topic)) == ([], ["so far, so good"])
        assert len([one for one in here.api.shown if one.how == "message"]) == 1


@on_a_loop
async def test_drafts_give_way_to_sends() -> None:
    async with stage() as here:
        ada = await ada_wrote(here)
        chat = place(ada.id).address
        for number in range(10):
            await here.bot.show(chat, Working(RUN, draft=f"text {number}"))
        assert len(here.api.asked("sendMessageDraft")) == 1
        assert isinstance(await here.bot.send(owed(ada.id)), Sent), "and had not to wait for it"


@on_a_loop
async def test_in_a_group_only_typing_is_shown() -> None:
    async with stage() as here:
        ada = await ada_wrote(here)
        group = here.people.group("Plain", ada)
        await here.bot.show(place(group).address, Working(RUN, typing=True, draft="so far"))
        assert (ada.typing(group), here.api.asked("sendMessageDraft")) == (True, [])


@on_a_loop
async def test_a_message_is_edited_as_often_as_it_takes_and_one_that_is_gone_is_done() -> None:
    async with stage() as here:
        ada = await ada_wrote(here)
        result = await here.bot.send(owed(ada.id, "working"))
        assert isinstance(result, Sent)
        assert result.platform_id is not None
        chat = place(ada.id).address
        for _ in range(2):
            here.clock.advance(5_000)
            assert await here.bot.edit(chat, result.platform_id, "done"), "the same again changes nothing"
        assert ada.hears() == ["done"]
        here.clock.advance(5_000)
        assert await here.bot.edit(chat, "4711", "gone")
        here.clock.advance(5_000)
        here.api.faults.add(Flood(9), "editMessageText")
        with pytest.raises(PlatformDown) as raised:
            await here.bot.edit(chat, result.platform_id, "later")
        assert raised.value.retry_after == 9
        assert not await here.bot.edit(chat, result.platform_id, "later"), "not before its time"


@pytest.mark.guards("R12")
@on_a_loop
async def test_last_words_take_their_place_in_line_and_what_is_only_for_eyes_does_not() -> None:
    async with stage() as here:
        ada = await ada_wrote(here)
        result = await here.bot.send(owed(ada.id, "working"))
        assert isinstance(result, Sent) and result.platform_id is not None
        chat = place(ada.id).address
        assert not await here.bot.edit(chat, result.platform_id, "still working"), "there is no room now"
        assert await here.bot.edit(chat, result.platform_id, "done", in_line=True)
        assert ada.hears() == ["done"]
        late = asyncio.ensure_future(here.bot.edit(chat, result.platform_id, "done indeed", in_line=True))
        await here.passing(_of(late))
        assert ada.hears() == ["done indeed"], "it waits for its place"


async def _of(task: "asyncio.Future[bool]") -> bool:
    return await task
