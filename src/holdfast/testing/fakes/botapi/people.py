"""People who use the bot: what they do, and exactly what they see, chat by chat and topic by topic."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count

from holdfast.records import dataclass

from .core import BotApi
from .entities import Entity, Formatted, Json, commands_in
from .methods import open_topic
from .world import Chat, ChatMessage, Topic, User


@dataclass(frozen=True, slots=True)
class SeenMessage:
    """One message as a person sees it now."""

    id: int
    by: str
    text: str
    thread: int | None = None
    reply_to: int | None = None
    buttons: tuple[str, ...] = ()
    edited: bool = False
    entities: tuple[Entity, ...] = ()
    media: tuple[str, ...] = ()

    def looks(self, kind: str) -> list[str]:
        """The parts of the text with this look."""
        whole = Formatted(self.text, self.entities)
        return [whole.under(entity) for entity in self.entities if entity.kind == kind]


class BotPeople:
    """All people who talk to one bot."""

    def __init__(self, api: BotApi) -> None:
        self.api = api
        self._albums = count(1)

    def add(self, name: str) -> Person:
        """Add a person; the bot cannot write to them before they write."""
        return Person(self, self.api.world.add_person(name))

    def group(self, name: str, *people: Person, kind: str = "supergroup", topics: bool = False) -> int:
        """A group with these people and the bot; `kind` may also be `group` or `channel`."""
        users = {person.id: person.user for person in people}
        if kind == "group":
            return self.api.world.add_group(name, users).id
        chat = self.api.world.add_supergroup(name, users, kind)
        chat.has_topics = topics
        return chat.id

    def direct_messages(self, name: str, *people: Person) -> int:
        """A channel's direct messages: each of these people has their own topic, by their id."""
        chat = self.api.world.add_supergroup(name, {person.id: person.user for person in people})
        chat.is_direct_messages = True
        chat.topics = {person.id: Topic(person.id, person.user.name) for person in people}
        return chat.id

    def upgrade(self, group: int, by: Person) -> int:
        """Make a group a supergroup, which has another id; both groups announce it."""
        world = self.api.world
        old = world.chats[group]
        new = world.add_supergroup(old.name, old.people)
        old.became = new.id
        self.tell(old, by.user, {"migrate_to_chat_id": new.id})
        self.tell(new, by.user, {"migrate_from_chat_id": old.id})
        return new.id

    def tell(self, chat: Chat, by: User, service: Json) -> ChatMessage:
        """A service message."""
        at = self.api.now // 1_000
        message = self.api.world.post(chat, lambda id_: ChatMessage(id_, chat, by, at, service=service))
        self.bring("message", message)
        return message

    def bring(self, kind: str, message: ChatMessage) -> None:
        """Send the bot an update about a message, if the bot is in the chat."""
        if message.chat.gone is None:
            self.api.updates.add(kind, message.payload(), message.chat.id)

    def babble(self, kind: str, content: Json) -> None:
        """Send an update of any kind with any content."""
        self.api.updates.add(kind, content)

    def new_album(self) -> str:
        return f"album{next(self._albums)}"

    def sees(self, chat: int, thread: int | None = None) -> list[SeenMessage]:
        """The messages of a chat or a topic, in order and as they are now, without drafts."""
        found = self.api.world.chats.get(chat)
        messages = found.messages.values() if found else ()
        return [_seen(one) for one in messages if _topic(one) == thread and not one.service]

    def drafts(self, chat: int, thread: int | None = None) -> list[str]:
        """The unfinished texts that are visible there now."""
        drafts = self.api.beside(chat, thread).drafts.values()
        return [one.content.text or "Thinking…" for one in drafts]

    def typing(self, chat: int, thread: int | None = None) -> bool:
        """Whether the bot is shown as typing there now."""
        return self.api.beside(chat, thread).typing_at is not None

    def times_shown(self, text: str, chat: int | None = None) -> int:
        """How many messages with this text people ever saw."""
        return sum(
            one.how == "message" and one.text == text and chat in (None, one.chat) for one in self.api.shown
        )


class Person:
    """One person; without a chat, methods act in the direct chat with the bot."""

    def __init__(self, people: BotPeople, user: User) -> None:
        self._people = people
        self._api = people.api
        self.user = user

    @property
    def id(self) -> int:
        return self.user.id

    def _chat(self, chat: int | None) -> Chat:
        world = self._api.world
        if chat is not None:
            return world.chats[chat]
        return world.private(self.user)

    def write(
        self, text: str, chat: int | None = None, thread: int | None = None, reply_to: int | None = None
    ) -> int:
        """Write something; returns the message's id."""
        return self._post(self._chat(chat), Formatted(text, commands_in(text)), {}, thread, reply_to)

    def send_file(
        self,
        content: bytes,
        name: str = "notes.txt",
        media_type: str = "text/plain",
        caption: str = "",
        chat: int | None = None,
        thread: int | None = None,
        size: int | None = None,
    ) -> int:
        """Send a document; `size` lets it count as larger than it is."""
        stored = self._api.world.keep(content, name, size=size)
        media: Json = {"document": stored.payload() | {"file_name": name, "mime_type": media_type}}
        return self._post(self._chat(chat), Formatted(caption), media, thread, None)

    def send_photo(self, content: bytes, caption: str = "", chat: int | None = None) -> int:
        return self._post(self._chat(chat), Formatted(caption), self._photo(content), None, None)

    def send_album(self, photos: Sequence[bytes], caption: str = "", chat: int | None = None) -> list[int]:
        """Send photos together: each is a message, the first has the caption."""
        album, where = self._people.new_album(), self._chat(chat)
        captions = [caption, *[""] * (len(photos) - 1)]
        return [
            self._post(where, Formatted(words), self._photo(content), None, None, album)
            for words, content in zip(captions, photos, strict=True)
        ]

    def _photo(self, content: bytes) -> Json:
        keep = self._api.world.keep
        small, large = keep(content[:10], "s.jpg", "photos"), keep(content, "l.jpg", "photos")
        sizes = ((small, 90, 67), (large, 1280, 960))
        return {"photo": [one.payload() | {"width": width, "height": height} for one, width, height in sizes]}

    def _post(
        self,
        chat: Chat,
        content: Formatted,
        media: Json,
        thread: int | None,
        reply_to: int | None,
        album: str | None = None,
    ) -> int:
        in_topic = thread is not None and not chat.is_direct_messages
        if thread is None and reply_to is not None and chat.kind == "supergroup":
            # Replies form a thread in a plain supergroup, too, without a topic.
            replied = chat.messages[reply_to]
            thread, in_topic = replied.thread or reply_to, replied.in_topic
        at = self._api.now // 1_000
        message = self._api.world.post(
            chat,
            lambda id_: ChatMessage(
                id_, chat, self.user, at, content, media, {}, thread, in_topic, reply_to, album=album
            ),
        )
        self._people.bring("channel_post" if chat.kind == "channel" else "message", message)
        return message.id

    def edit(self, message_id: int, text: str, chat: int | None = None) -> None:
        """Change a text or caption that this person wrote."""
        where = self._chat(chat)
        message = where.messages[message_id]
        message.content, message.edited = Formatted(text, commands_in(text)), self._api.now // 1_000
        self._people.bring("edited_channel_post" if where.kind == "channel" else "edited_message", message)

    def delete(self, message_id: int, chat: int | None = None) -> None:
        """Delete a message; Telegram does not tell the bot."""
        del self._chat(chat).messages[message_id]

    def press(
        self, label: str, message_id: int | None = None, chat: int | None = None, seen_long_ago: bool = False
    ) -> str:
        """Press the newest button with this label (or that of a message); returns the press's id."""
        where = self._chat(chat)
        message, data = _button(where, label, message_id)
        query = self._api.press(self.user)
        shown = message.payload()
        if seen_long_ago:
            # A press on an old message comes without its content.
            shown = {"chat": where.payload(), "message_id": message.id, "date": 0}
        pressed: Json = {"id": query.id, "from": self.user.payload(), "message": shown, "data": data}
        self._api.updates.add("callback_query", pressed | {"chat_instance": str(where.id)}, where.id)
        return query.id

    def answer(self, query: str) -> str | None:
        """The answer to a press; None while the button still spins."""
        return self._api.queries[query].answered

    def open_topic(self, name: str, chat: int | None = None) -> int:
        """Begin a topic; returns its id."""
        message = open_topic(self._api, self._chat(chat), name, self.user)
        self._people.bring("message", message)
        return message.id

    def block(self) -> None:
        """Block the bot."""
        self._member(self._chat(None), "member", "kicked", "bot was blocked by the user")

    def unblock(self) -> None:
        self._member(self._chat(None), "kicked", "member", None)

    def kick_bot(self, chat: int) -> None:
        """Remove the bot from a group."""
        where = self._chat(chat)
        self._member(where, "member", "kicked", f"bot was kicked from the {where.kind} chat")

    def add_bot(self, chat: int) -> None:
        self._member(self._chat(chat), "left", "member", None)

    def _member(self, chat: Chat, old: str, new: str, gone: str | None) -> None:
        chat.gone = gone
        bot = self._api.world.bot.payload()
        until: dict[str, Json] = {"kicked": {"until_date": 0}}
        was, is_ = ({"user": bot, "status": status} | until.get(status, {}) for status in (old, new))
        change: Json = {"chat": chat.payload(), "from": self.user.payload(), "date": self._api.now // 1_000}
        self._api.updates.add(
            "my_chat_member", change | {"old_chat_member": was, "new_chat_member": is_}, chat.id
        )

    def sees(self, chat: int | None = None, thread: int | None = None) -> list[SeenMessage]:
        """All messages of the chat or topic, in order, as they are now."""
        return self._people.sees(self.id if chat is None else chat, thread)

    def hears(self, chat: int | None = None, thread: int | None = None) -> list[str]:
        """The texts of the bot there, in order, as they are now."""
        return [one.text for one in self.sees(chat, thread) if one.by == self._api.world.bot.name]

    def drafts(self, thread: int | None = None) -> list[str]:
        return self._people.drafts(self.id, thread)

    def typing(self, chat: int | None = None, thread: int | None = None) -> bool:
        return self._people.typing(self.id if chat is None else chat, thread)


def _topic(message: ChatMessage) -> int | None:
    return message.thread if message.in_topic or message.chat.is_direct_messages else None


def _rows(message: ChatMessage) -> list[list[Json]]:
    rows = (message.markup or {}).get("inline_keyboard", [])
    assert isinstance(rows, list)
    return rows


def _seen(message: ChatMessage) -> SeenMessage:
    buttons = tuple(str(button["text"]) for row in _rows(message) for button in row)
    return SeenMessage(
        message.id,
        message.sender.name,
        message.content.text,
        _topic(message),
        message.reply_to,
        buttons,
        message.edited is not None,
        message.content.entities,
        tuple(message.media),
    )


def _button(chat: Chat, label: str, message_id: int | None) -> tuple[ChatMessage, str]:
    for message in reversed(list(chat.messages.values())):
        if message_id in (None, message.id):
            for row in _rows(message):
                for button in row:
                    if button["text"] == label and "callback_data" in button:
                        return message, str(button["callback_data"])
    raise LookupError(f"no button {label!r} is visible here")
