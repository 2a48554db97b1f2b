"""What people do on Telegram's side is read as meant, and what is owed arrives where it belongs."""

from collections.abc import Callable
from typing import Any

import pytest

from holdfast.model import ChatKind, OwedKind
from holdfast.platforms.base import Arrival, Revision
from holdfast.platforms.telegram import (
    WANTED,
    BotMembership,
    FoundMessage,
    Me,
    Moved,
    joined,
    read,
    to_send,
)
from holdfast.testing import ManualClock
from holdfast.testing.fakes.botapi import BotApi, BotPeople, Person
from tests.support.loops import on_a_loop
from tests.unit.platforms.telegram.payloads import delivery
from tests.unit.testing.fakes.botapi.clients import scene

ME = Me("1000", "holdfast")


def pending(api: BotApi) -> list[Any]:
    return joined([read(update.payload(), ME) for update in api.updates.pending()])


def test_every_act_of_a_person_is_understood() -> None:
    api = BotApi(ManualClock())
    people = BotPeople(api)
    ada = people.add("Ada")
    first = ada.write("one")
    ada.edit(first, "two")
    ada.send_file(b"x", caption="look")
    ada.send_album([b"1", b"2", b"3"], "all")
    group = people.group("Small", ada, kind="group")
    people.upgrade(group, ada)
    ada.block()
    said, edited, file, album, *moved, standing = pending(api)
    assert (said.event.text, said.event.origin.kind) == ("one", ChatKind.DIRECT)
    assert isinstance(edited.event, Revision)
    assert (edited.event.message_id, edited.event.text) == (said.event.message_id, "two")
    assert (file.event.text, [one.name for one in file.files]) == ("look", ["notes.txt"])
    assert (album.event.text, len(album.files)) == ("all", 3)
    assert [type(one) for one in moved] == [Moved, Moved]
    assert standing == BotMembership(str(ada.id), welcome=False)
    assert {update.kind for update in api.updates.pending()} <= set(WANTED)


def _directly(people: BotPeople, ada: Person) -> int:
    return ada.write("question")


def _in_a_topic(people: BotPeople, ada: Person) -> int:
    return ada.write("question", thread=ada.open_topic("plans"))


def _in_a_forum(people: BotPeople, ada: Person) -> int:
    forum = people.group("Forum", ada, topics=True)
    return ada.write("question", forum, ada.open_topic("plans", forum))


def _in_a_thread_of_replies(people: BotPeople, ada: Person) -> int:
    group = people.group("Plain", ada)
    return ada.write("question", group, reply_to=ada.write("before", group))


def _in_direct_messages(people: BotPeople, ada: Person) -> int:
    return ada.write("question", people.direct_messages("Channel", ada), thread=ada.id)


@pytest.mark.parametrize(
    "ask", [_directly, _in_a_topic, _in_a_forum, _in_a_thread_of_replies, _in_direct_messages]
)
def test_an_answer_with_buttons_arrives_where_it_was_asked_and_its_press_comes_from_there(
    ask: Callable[[BotPeople, Person], int],
) -> None:
    @on_a_loop
    async def run() -> None:
        async with scene() as (bot, api, people, _, _):
            ada = people.add("Ada")
            number = ask(people, ada)
            asked = [one for one in pending(api) if isinstance(one, FoundMessage)][-1].event
            assert isinstance(asked, Arrival)
            place = asked.origin.place
            owed = delivery(
                chat=place.address,
                reply_to=asked.message_id,
                kind=OwedKind.QUESTION,
                options=("Go on", "Stop"),
                text="**Shall** I? <now>",
            )
            parameters: dict[str, Any] = dict(to_send(owed))
            await bot.send_message(**parameters)
            chat = int(place.chat)
            thread = int(place.thread.removeprefix("dm")) if place.thread else None
            *_, before, seen = ada.sees(chat, thread)
            assert (before.id, before.text) == (number, "question")
            assert (seen.text, seen.looks("bold"), seen.reply_to) == ("Shall I? <now>", ["Shall"], number)
            for long_ago in (False, True):
                ada.press("Stop", chat=chat, seen_long_ago=long_ago)
                press = pending(api)[-1].event
                assert (press.pressed, press.origin.place) == (owed.dedupe, place)
                assert press.text == ("2" if long_ago else "Stop")

    run()
