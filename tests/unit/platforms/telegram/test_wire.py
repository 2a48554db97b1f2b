"""What updates mean, whatever stands in them; and where a delivery goes."""

import copy
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.model import (
    ChatAddress,
    ChatKind,
    Origin,
    OwedKind,
    Place,
    QuestionId,
    SetAside,
)
from holdfast.platforms.base import Arrival, Revision
from holdfast.platforms.telegram import BotMembership, FoundMessage, Moved, joined, press_of, read, to_send
from holdfast.platforms.telegram.buttons import LONGEST_DATA, data_for, label
from holdfast.policy.delivery.parts import POSSIBLY_REPEATED
from tests.unit.platforms.telegram.payloads import (
    ADA,
    DOCUMENT,
    FORUM,
    GROUP,
    ME,
    PHOTO,
    SUPERGROUP,
    delivery,
    message,
    place,
    press,
    update,
)


def found(payload: Any) -> FoundMessage:
    result = read(payload, ME)
    assert isinstance(result, FoundMessage)
    return result


def arrival(payload: Any) -> Arrival:
    event = found(payload).event
    assert isinstance(event, Arrival)
    return event


def test_a_message_in_a_direct_chat() -> None:
    assert arrival(update("message", message(text="hello"))) == Arrival(
        "message:1001:7", Origin(place(), ChatKind.DIRECT, "1001"), "hello", "7", 1_800_000_000_000
    )


@pytest.mark.parametrize(
    ("more", "kind", "where"),
    [
        ({}, ChatKind.DIRECT, place()),
        ({"message_thread_id": 5, "is_topic_message": True}, ChatKind.DIRECT, place(thread="5")),
        ({"chat": GROUP}, ChatKind.GROUP, place(-2001)),
        ({"chat": SUPERGROUP, "message_thread_id": 5}, ChatKind.GROUP, place(-1000000003001)),
        (
            {"chat": FORUM, "message_thread_id": 5, "is_topic_message": True},
            ChatKind.GROUP,
            place(-1000000003001, "5"),
        ),
        ({"chat": FORUM}, ChatKind.GROUP, place(-1000000003001)),
        (
            {"chat": SUPERGROUP, "direct_messages_topic": {"topic_id": 1001}},
            ChatKind.GROUP,
            place(-1000000003001, "dm1001"),
        ),
    ],
)
def test_only_a_topic_is_a_place_of_its_own(more: dict[str, Any], kind: ChatKind, where: Place) -> None:
    origin = arrival(update("message", message(text="x", **more))).origin
    assert (origin.kind, origin.place) == (kind, where)


def test_the_same_message_is_the_same_event_whatever_its_update() -> None:
    first, again = (arrival(update("message", message(text="x"), number)) for number in (1, 999))
    assert first.event_id == again.event_id
    assert arrival(update("message", message(8, text="x"), 1)).event_id != first.event_id


@pytest.mark.parametrize(
    ("content", "text", "files"),
    [
        ({"photo": PHOTO, "caption": "look"}, "look", [("large", "photo.jpg", "image/jpeg", 90000)]),
        ({"document": DOCUMENT}, "", [("doc", "notes.txt", "text/plain", 12)]),
        ({"voice": {"file_id": "v", "duration": 3}}, "", [("v", "voice", "audio/ogg", None)]),
        (
            {"animation": {"file_id": "a"}, "document": {"file_id": "a"}},
            "",
            [("a", "animation", "video/mp4", None)],
        ),
        ({"document": {**DOCUMENT, "file_name": "../../etc/x"}}, "", [("doc", "x", "text/plain", 12)]),
        ({"document": {**DOCUMENT, "file_name": "..\\a\\"}}, "", [("doc", "document", "text/plain", 12)]),
        ({"location": {"latitude": 1.5, "longitude": 2}}, "Location: 1.5, 2", []),
        ({"contact": {"first_name": "Bo", "phone_number": "+1"}}, "Contact: Bo +1", []),
    ],
)
def test_what_a_person_put_into_a_message(
    content: dict[str, Any], text: str, files: list[tuple[str, str, str, int | None]]
) -> None:
    one = found(update("message", message(**content)))
    assert isinstance(one.event, Arrival)
    assert one.event.text == text
    assert [(file.id, file.name, file.media_type, file.size) for file in one.files] == files


def test_an_edit_revises_the_message_in_its_topic() -> None:
    edited = message(text="better", edit_date=1_800_000_060, message_thread_id=5, is_topic_message=True)
    one = found(update("edited_message", edited))
    assert one.event == Revision("edit:message:1001:7:100", place(thread="5"), "7", "better")


def test_an_album_that_came_together_is_one_message() -> None:
    items = [
        message(number, photo=PHOTO, media_group_id=album, **({"caption": "all"} if number == 1 else {}))
        for number, album in ((1, "a"), (2, "a"), (3, "b"))
    ]
    one, other = joined([read(update("message", item), ME) for item in items])
    assert isinstance(one, FoundMessage) and isinstance(other, FoundMessage)
    assert isinstance(one.event, Arrival)
    assert (one.event.event_id, one.event.text, len(one.files)) == ("message:1001:1", "all", 2)
    assert len(other.files) == 1


def test_messages_that_are_no_album_are_never_joined() -> None:
    texts = [read(update("message", message(number, text="x")), ME) for number in (1, 2)]
    assert joined(texts) == texts


@pytest.mark.parametrize(
    "question", ["asked:01hxyz:c3-1", *("q" * n for n in range(38, 66)), "é" * 31, "é" * 200, "a:b#c.d"]
)
@pytest.mark.parametrize("thread", [None, "5", "dm1001", "9" * 19])
def test_a_button_names_its_question_in_64_bytes(question: str, thread: str | None) -> None:
    data = data_for(QuestionId(question), 2, thread)
    assert len(data.encode()) <= LONGEST_DATA
    read_back = press_of(data)
    assert read_back is not None
    assert (read_back.option, read_back.thread) == (2, thread)
    assert read_back.is_of(QuestionId(question))
    assert not read_back.is_of(QuestionId(question + "x"))


def buttons(*labels: str, topic: str = "") -> dict[str, Any]:
    rows = [[{"text": one, "callback_data": f"q{n}{topic}:asked"}] for n, one in enumerate(labels)]
    return {"inline_keyboard": rows}


def test_a_press_answers_its_question_with_what_stands_on_the_button() -> None:
    shown = message(9, reply_markup=buttons("Yes", "Not now"))
    one = found(update("callback_query", press("q1:asked", message=shown)))
    assert one.event == Arrival(
        "press:q1", Origin(place(), ChatKind.DIRECT, "1001"), "Not now", pressed=QuestionId("asked")
    )
    assert one.query == "q1"


@pytest.mark.parametrize(
    "shown",
    [
        message(9, date=0),
        message(9, reply_markup=buttons("Yes", label("Something long " * 9), topic=".5")),
        message(9, reply_markup=buttons("Yes", "No", topic=".6")),
        message(9, reply_markup={"inline_keyboard": [7, [None]]}),
    ],
)
def test_a_press_whose_words_are_not_known_answers_with_its_number(shown: dict[str, Any]) -> None:
    event = arrival(update("callback_query", press("q1.5:asked", message=shown)))
    assert (event.text, event.pressed, event.origin.place.thread) == ("2", "asked", "5")


def test_a_press_in_a_topic_answers_with_what_stands_on_the_button() -> None:
    shown = message(9, reply_markup=buttons("Yes", "Not now", topic=".5"))
    assert arrival(update("callback_query", press("q1.5:asked", message=shown))).text == "Not now"


@pytest.mark.parametrize(
    "quiet",
    [
        update("message", message(new_chat_members=[ADA])),
        update("message", message(forum_topic_created={"name": "x"}, is_topic_message=True)),
        update("message", message(text="/stop@other_bot", chat=GROUP)),
        update("message_reaction", {}),
        update("edited_message", message(pinned_message=message())),
    ],
)
def test_what_is_of_no_interest_is_passed_over(quiet: dict[str, Any]) -> None:
    assert read(quiet, ME) is None


def test_commands_to_this_bot_are_read() -> None:
    for text in ("/stop@Holdfast_Bot now", "/stop", "mail@other_bot"):
        assert arrival(update("message", message(text=text, chat=GROUP))).text == text


def test_what_the_adapter_has_to_know_of_a_chat() -> None:
    moved = Moved("-2001", "-1000000003001")
    assert read(update("message", message(chat=GROUP, migrate_to_chat_id=-1000000003001)), ME) == moved
    assert read(update("message", message(chat=SUPERGROUP, migrate_from_chat_id=-2001)), ME) == moved
    for status, welcome in (("kicked", False), ("left", False), ("member", True)):
        change = {"chat": message()["chat"], "new_chat_member": {"status": status, "user": ADA}}
        assert read(update("my_chat_member", change), ME) == BotMembership("1001", welcome)


@pytest.mark.parametrize(
    ("payload", "reason"),
    [
        (None, "no object"),
        ([], "no object"),
        ({}, "kind that is not known"),
        (update("hologram", {}), "kind that is not known"),
        (update("channel_post", message()), "posts of channels"),
        (update("message", "text"), "no object"),
        (update("message", {}), "without its chat"),
        (update("message", message(chat={"id": "1001"}, text="x")), "without its chat"),
        (update("message", message(chat={"id": 10**30}, text="x")), "without its chat"),
        (update("message", message(text="x") | {"from": None}), "without its sender"),
        (update("message", message(True, text="x")), "without its chat or its id"),
        (update("message", message(sender_chat=GROUP, text="x")), "in the name of a chat"),
        (update("message", message(chat={"id": 1, "type": "hive"}, text="x")), "kind of chat"),
        (update("message", message(dice={"value": 3})), "nothing in it that can be read"),
        (update("message", message(text=7)), "nothing in it that can be read"),
        (update("callback_query", press("buy:1")), "not ours"),
        (update("callback_query", press("q1:x", message=None)), "without its id"),
        (update("my_chat_member", {}), "without its chat"),
    ],
)
def test_what_cannot_be_read_is_set_aside_with_the_reason(payload: Any, reason: str) -> None:
    aside = read(payload, ME)
    assert isinstance(aside, SetAside)
    assert reason in aside.reason


def test_hostile_sizes_and_halves_of_characters_are_read() -> None:
    assert len(arrival(update("message", message(text="x" * 10_000_000))).text) == 10_000_000
    event = arrival(update("message", message(text="a\ud83d b \ud83c\udf0a \x00")))
    assert event.text == "a\ufffd b 🌊 \x00"
    assert event.text.encode()
    huge = read({"update_id": 10**5000, "hologram": 10**5000}, ME)
    assert isinstance(huge, SetAside) and huge.event_id is None
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    assert isinstance(read(update("hologram", deep), ME), SetAside)
    assert arrival(update("message", message(text="x", date=10**18))).sent_at is None


WHOLE = [
    update("message", message(text="hello", reply_to_message=message(6, text="before"))),
    update("message", message(photo=PHOTO, caption="look", media_group_id="a", chat=FORUM)),
    update("edited_message", message(text="hello", edit_date=1)),
    update("callback_query", press("q1.5:asked", message=message(reply_markup=buttons("Yes", "No")))),
    update("my_chat_member", {"chat": GROUP, "from": ADA, "new_chat_member": {"status": "kicked"}}),
]
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(), max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


def ways(value: Any, so_far: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The way to each value in a payload."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [so_far, *(way for key, one in inner for way in ways(one, (*so_far, key)))]


@given(st.data())
@settings(max_examples=300)
def test_nothing_that_stands_in_an_update_makes_reading_fail(data: st.DataObject) -> None:
    payload = copy.deepcopy(data.draw(st.sampled_from(WHOLE)))
    way = data.draw(st.sampled_from([way for way in ways(payload) if way]))
    holder: Any = payload
    for key in way[:-1]:
        holder = holder[key]
    holder[way[-1]] = data.draw(ANYTHING)
    result = read(payload, ME)
    joined([result, result])
    if isinstance(result, FoundMessage):
        json.dumps(repr(result)).encode()
        event = result.event
        assert (event.text or "").encode() is not None


@pytest.mark.parametrize(
    ("where", "parameters"),
    [
        (place(), {"chat_id": 1001}),
        (place(-2001, "5"), {"chat_id": -2001, "message_thread_id": 5}),
        (place(-2001, "dm7"), {"chat_id": -2001, "direct_messages_topic_id": 7}),
    ],
)
def test_a_part_goes_to_its_chat_and_topic(where: Place, parameters: dict[str, int]) -> None:
    text = {"text": "<b>hi</b> &lt;you&gt;", "parse_mode": "HTML"}
    assert to_send(delivery(chat=where.address)) == parameters | text


def test_a_part_replies_and_says_that_it_may_be_a_repeat() -> None:
    request = to_send(delivery(reply_to="42", repeated=True))
    assert request["reply_parameters"] == {"message_id": 42, "allow_sending_without_reply": True}
    assert str(request["text"]).startswith(POSSIBLY_REPEATED)
    assert to_send(delivery(repeated=True), plain=True)["text"] == f"{POSSIBLY_REPEATED}**hi** <you>"


def test_buttons_stand_below_the_last_part_and_bring_their_question_back() -> None:
    chat = ChatAddress(place(-2001, "5").address)
    asked = {"chat": chat, "kind": OwedKind.QUESTION, "options": ("Yes", "No"), "parts": 2}
    assert "reply_markup" not in to_send(delivery(**asked, part=1))
    markup: Any = to_send(delivery(**asked, part=2))["reply_markup"]
    (row,) = markup["inline_keyboard"]
    assert [button["text"] for button in row] == ["Yes", "No"]
    again = press_of(row[1]["callback_data"])
    assert again is not None
    assert (again.question, again.option, again.thread) == ("asked:t1:c1-1", 1, "5")
