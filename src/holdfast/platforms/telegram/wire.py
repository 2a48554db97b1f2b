"""Reads updates into events, and makes calls of deliveries. Pure; nothing here raises.

An update can contain anything. A field of the wrong form counts as absent; if an update cannot be understood
without it, the update is set aside with the reason.

The id of an event comes from its message, not from its update: after a week of silence, update ids start
anywhere, and a repeated id would make the gateway skip a new message.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TypeGuard

from holdfast.model import ChatKind, Delivery, Origin, OwedKind, Place, QuestionId, SetAside, place_at
from holdfast.platforms.base import Arrival, Revision
from holdfast.policy.delivery.parts import mark_for
from holdfast.records import dataclass

from .buttons import ButtonPress, command_keyboard, command_of, keyboard, press_of
from .content import NO_CONTENT, TelegramFile, content_of, integer, part, text_in
from .format import NOTHING_SEEN, has_something_to_see, readable, render, unlinked

PLATFORM = "telegram"
WANTED = ("message", "edited_message", "callback_query", "my_chat_member")
"""The kinds of updates that the bot asks Telegram for."""
_DIRECT_TOPIC = "dm"
_MOST_SHOWN = 4_000
_KINDS = {"private": ChatKind.DIRECT, "group": ChatKind.GROUP, "supergroup": ChatKind.GROUP}
_CHANNELS = ("channel_post", "edited_channel_post")
_OTHERS = frozenset(
    (
        *("chat_member", "chat_join_request", "chat_boost", "removed_chat_boost", "poll", "poll_answer"),
        *("message_reaction", "message_reaction_count", "chosen_inline_result", "inline_query"),
        *("business_connection", "business_message", "edited_business_message", "deleted_business_messages"),
        *("shipping_query", "pre_checkout_query", "purchased_paid_media"),
    )
)
"""Kinds of updates that an agent has no use for."""

Json = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Me:
    """The bot itself: its id, and the name that commands in groups are addressed to."""

    account: str
    username: str = ""


@dataclass(frozen=True, slots=True)
class FoundMessage:
    """A message, an edit or a press; its files are still at Telegram."""

    event: Arrival | Revision
    files: tuple[TelegramFile, ...] = ()
    album: str | None = None
    """The id of the album that the message belongs to."""
    press: ButtonPress | None = None
    query: str | None = None
    """The id of the press; an answer to it stops the button's spinning."""


@dataclass(frozen=True, slots=True)
class Moved:
    """A group has got a new id."""

    old: str
    new: str


@dataclass(frozen=True, slots=True)
class BotMembership:
    """A change of whether the bot may write in a chat."""

    chat: str
    welcome: bool


Read = FoundMessage | SetAside | Moved | BotMembership | None
"""None: nothing that the gateway uses."""


def read(update: object, me: Me) -> Read:
    """The event in an update; never raises, for any input."""
    if not _is_object(update):
        return SetAside(None, "an update that is no object", payload_text(update))
    id_ = integer(update, "update_id")
    event_id = None if id_ is None else f"update:{id_}"
    for kind in WANTED:
        content = update.get(kind)
        if content is not None:
            reader = _READERS[kind]
            found = reader(content, me, id_) if _is_object(content) else f"a {kind} that is no object"
            return SetAside(event_id, found, payload_text(update)) if isinstance(found, str) else found
    if any(kind in update for kind in _CHANNELS):
        return SetAside(event_id, "posts of channels are not read", payload_text(update))
    if not _OTHERS.isdisjoint(update):
        return None
    return SetAside(event_id, "an update of a kind that is not known", payload_text(update))


def _is_object(value: object) -> TypeGuard[Json]:
    return isinstance(value, dict) and all(isinstance(name, str) for name in value)


def payload_text(payload: object) -> str:
    """The input as text for the set-aside row, cut if it is long."""
    try:
        return json.dumps(payload)[:_MOST_SHOWN]
    except (TypeError, ValueError, RecursionError):
        return "(cannot be shown)"


def _message(message: Json, me: Me, update: int | None) -> FoundMessage | Moved | str | None:
    chat, number = part(message, "chat"), integer(message, "message_id")
    chat_id = integer(chat, "id")
    if chat_id is None or number is None:
        return "a message without its chat or its id"
    moved = _moved(message, chat_id)
    if moved is not None:
        return moved
    origin = _origin(message, me)
    if isinstance(origin, str):
        return origin
    content = content_of(message)
    if content is None:
        return None
    if content == NO_CONTENT:
        return f"a message with nothing in it that can be read ({', '.join(sorted(message))[:200]})"
    if origin.kind is ChatKind.GROUP and _is_for_another(content.text, me):
        return None
    arrival = Arrival(
        f"message:{chat_id}:{number}",
        origin,
        _start_as_help(content.text),
        str(number),
        _time(integer(message, "date")),
        replies_to=_replied(message, me),
    )
    return FoundMessage(arrival, content.files, text_in(message, "media_group_id") or None)


def _replied(message: Json, me: Me) -> str | None:
    """The bot's message that this one replies to; None for a reply to another sender."""
    replied = part(message, "reply_to_message")
    number, sender = integer(replied, "message_id"), integer(part(replied, "from"), "id")
    return str(number) if number is not None and str(sender) == me.account else None


def _moved(message: Json, chat: int) -> Moved | None:
    """A move of a group. The old and the new group both report it, in any order; one is enough."""
    new, old = integer(message, "migrate_to_chat_id"), integer(message, "migrate_from_chat_id")
    if new is not None:
        return Moved(str(chat), str(new))
    return Moved(str(old), str(chat)) if old is not None else None


def _edit(message: Json, me: Me, update: int | None) -> FoundMessage | str | None:
    found = _message(message, me, update)
    if not isinstance(found, FoundMessage) or not isinstance(found.event, Arrival):
        return found if isinstance(found, str) else None
    was = found.event
    assert was.message_id is not None
    changed = integer(message, "edit_date")
    event_id = f"edit:{was.event_id}:{changed if update is None else update}"
    return FoundMessage(Revision(event_id, was.origin.place, was.message_id, was.text), found.files)


def _origin(message: Json, me: Me) -> Origin | str:
    kind = _KINDS.get(text_in(part(message, "chat"), "type"))
    sender = integer(part(message, "from"), "id")
    if kind is None:
        return "a message from a kind of chat that is not read"
    if "sender_chat" in message:
        # An anonymous admin or a channel: it has no id of a person that could be let in.
        return "a message in the name of a chat, not of a person"
    if sender is None:
        return "a message without its sender"
    return Origin(_place(message, me), kind, str(sender))


def _place(message: Json, me: Me) -> Place:
    """The chat and the topic. A thread without a topic is only a chain of replies in a group."""
    direct = integer(part(message, "direct_messages_topic"), "topic_id")
    thread = integer(message, "message_thread_id") if message.get("is_topic_message") is True else None
    topic = f"{_DIRECT_TOPIC}{direct}" if direct is not None else None if thread is None else str(thread)
    return Place(PLATFORM, me.account, str(integer(part(message, "chat"), "id")), topic)


def _start_as_help(text: str) -> str:
    """The text, with `/help` for `/start`, which clients send by themselves when a person opens the chat."""
    return "/help" if text.partition(" ")[0].partition("@")[0] == "/start" else text


def _is_for_another(text: str, me: Me) -> bool:
    command = text.split(maxsplit=1)[0] if text.startswith("/") else ""
    _, at, name = command.partition("@")
    return bool(at and me.username) and name.lower() != me.username.lower()


def _press(query: Json, me: Me, update: int | None) -> FoundMessage | str:
    id_, sender = text_in(query, "id"), integer(part(query, "from"), "id")
    message, data = part(query, "message"), text_in(query, "data")
    kind = _KINDS.get(text_in(part(message, "chat"), "type"))
    if not id_ or sender is None or kind is None or integer(part(message, "chat"), "id") is None:
        return "a press without its id, its person or its chat"
    press, command = press_of(data), command_of(data)
    place = _place(message, me)
    if command is not None:
        words, thread = command
        place = Place(place.platform, place.account, place.chat, thread or place.thread)
        return FoundMessage(Arrival(f"press:{id_}", Origin(place, kind, str(sender)), words), query=id_)
    if press is None:
        return "a press of a button that is not ours"
    place = Place(place.platform, place.account, place.chat, press.thread or place.thread)
    words = _pressed_label(message, data) or str(press.option + 1)
    pressed = press.question or QuestionId(f"#{press.hashed}")
    arrival = Arrival(f"press:{id_}", Origin(place, kind, str(sender)), words, pressed=pressed)
    return FoundMessage(arrival, press=press, query=id_)


def _pressed_label(message: Json, data: str) -> str:
    """The label of the button, if it holds the whole option."""
    rows = part(message, "reply_markup").get("inline_keyboard")
    for row in rows if isinstance(rows, list) else ():
        for button in row if isinstance(row, list) else ():
            if _is_object(button) and button.get("callback_data") == data:
                words = text_in(button, "text")
                return "" if words.endswith("…") else words
    return ""


def _membership(change: Json, me: Me, update: int | None) -> BotMembership | str:
    chat, status = integer(part(change, "chat"), "id"), text_in(part(change, "new_chat_member"), "status")
    if chat is None or not status:
        return "a change of membership without its chat or its state"
    return BotMembership(str(chat), status in ("member", "administrator", "creator", "restricted"))


_READERS = {
    "message": _message,
    "edited_message": _edit,
    "callback_query": _press,
    "my_chat_member": _membership,
}


def _time(seconds: int | None) -> int | None:
    return seconds * 1_000 if seconds is not None and 0 < seconds < 1 << 40 else None


def joined(found: list[Read]) -> list[Read]:
    """Join the items of each album in this read to one message.

    Telegram sends the items of an album one by one and does not mark the last one. To wait for more, the
    gateway would have to leave messages unconfirmed or keep them in memory. A later item is a message of its
    own.
    """
    result: list[Read] = []
    for each in found:
        last = result[-1] if result else None
        whole = _joined_pair(last, each)
        if whole is None:
            result.append(each)
        else:
            result[-1] = whole
    return result


def _joined_pair(album: Read, item: Read) -> FoundMessage | None:
    if not isinstance(album, FoundMessage) or not isinstance(item, FoundMessage):
        return None
    first, more = album.event, item.event
    if not isinstance(first, Arrival) or not isinstance(more, Arrival):
        return None
    if album.album is None or album.album != item.album or first.origin != more.origin:
        return None
    text = "\n\n".join(filter(None, (first.text, more.text)))
    whole = Arrival(
        first.event_id, first.origin, text, first.message_id, first.sent_at, replies_to=first.replies_to
    )
    return FoundMessage(whole, (*album.files, *item.files), album.album)


def chat_and_topic(place: Place) -> dict[str, object]:
    """The chat and the topic as parameters of a call."""
    chat = int(place.chat) if place.chat.lstrip("-").isdecimal() else place.chat
    thread = place.thread or ""
    if is_direct_topic(place) and thread[len(_DIRECT_TOPIC) :].isdecimal():
        return {"chat_id": chat, "direct_messages_topic_id": int(thread.removeprefix(_DIRECT_TOPIC))}
    return {"chat_id": chat, "message_thread_id": int(thread)} if thread.isdecimal() else {"chat_id": chat}


def is_direct_topic(place: Place) -> bool:
    """Whether this is a topic of a channel's direct messages."""
    return (place.thread or "").startswith(_DIRECT_TOPIC)


def to_send(delivery: Delivery, plain: bool = False) -> dict[str, object]:
    """The parameters for one part of a delivery, without its file; `plain`: as plain text.

    If the message that it replies to is gone, it goes to the same topic without it: Telegram can do that.
    """
    place = place_at(delivery.chat)
    mark = mark_for(delivery)
    words = caption_for if delivery.files else text_for
    # The gateway's own notices offer commands on purpose; a model's reply offers none.
    request = chat_and_topic(place) | words(
        delivery.text, mark, plain, commands=delivery.kind is not OwedKind.REPLY
    )
    if delivery.reply_to is not None and delivery.reply_to.isdecimal():
        request["reply_parameters"] = {
            "message_id": int(delivery.reply_to),
            "allow_sending_without_reply": True,
        }
    if delivery.options and delivery.part == delivery.parts:
        if delivery.kind is OwedKind.QUESTION:
            request["reply_markup"] = keyboard(QuestionId(delivery.dedupe), delivery.options, place.thread)
        elif delivery.kind is OwedKind.NOTICE:
            request["reply_markup"] = command_keyboard(delivery.options, place.thread)
    return request


def caption_for(text: str, mark: str = "", plain: bool = False, commands: bool = True) -> dict[str, object]:
    """The parameters for the caption of a file; there may be none."""
    if not has_something_to_see(text):
        return {"caption": mark.strip()} if mark else {}
    words = text_for(text, mark, plain, commands)
    return {"caption": words.pop("text"), **words}


def text_for(text: str, mark: str = "", plain: bool = False, commands: bool = True) -> dict[str, object]:
    """The parameters for a text, in messages, edits and drafts; without `commands`, none can be tapped."""
    if plain:
        words = unlinked(readable(text), commands) if has_something_to_see(text) else NOTHING_SEEN
        return {"text": mark + words}
    rendered = render(text, mark, commands)
    request: dict[str, object] = {"text": rendered.text}
    return request | {"parse_mode": "HTML"} if rendered.html else request
