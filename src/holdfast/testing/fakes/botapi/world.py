"""Telegram's side: people, chats with their topics and messages, and files.

Ids are counted, never random, so the same story gives the same ids. As on Telegram, private chats and basic
groups share one sequence of message ids, and each supergroup has its own.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import field
from itertools import count

from holdfast.records import dataclass

from .entities import NOTHING, Formatted, Json
from .errors import bad_request, forbidden, upgraded

LARGEST_DOWNLOAD = 20 * 1024 * 1024
_FIRST_PERSON, _FIRST_GROUP, _FIRST_SUPERGROUP = 1_001, -2_001, -1_000_000_003_001


@dataclass(frozen=True, slots=True)
class User:
    """A person, or the bot."""

    id: int
    name: str
    is_bot: bool = False

    def payload(self) -> Json:
        return {
            "id": self.id,
            "is_bot": self.is_bot,
            "first_name": self.name,
            "username": self.name.lower().replace(" ", "_"),
        }


@dataclass(slots=True)
class Topic:
    """A thread of a chat that has topics."""

    id: int
    name: str
    closed: bool = False


@dataclass(slots=True)
class ChatMessage:
    """A message as it is now."""

    id: int
    chat: Chat
    sender: User
    date: int
    content: Formatted = NOTHING
    media: Json = field(default_factory=dict)
    """With media, the content is the caption."""
    service: Json = field(default_factory=dict)
    thread: int | None = None
    in_topic: bool = False
    reply_to: int | None = None
    markup: Json | None = None
    album: str | None = None
    edited: int | None = None

    def payload(self, with_reply: bool = True) -> Json:
        """The message as the bot receives it."""
        shown: Json = {"message_id": self.id, "date": self.date, "chat": self.chat.payload()}
        if self.chat.kind == "channel":
            shown["sender_chat"] = self.chat.payload()
        else:
            shown["from"] = self.sender.payload()
        shown |= self._where(with_reply)
        text, looks = ("caption", "caption_entities") if self.media else ("text", "entities")
        if self.content.text:
            shown[text] = self.content.text
        if self.content.entities:
            shown[looks] = [entity.payload() for entity in self.content.entities]
        more = {"edit_date": self.edited, "media_group_id": self.album, "reply_markup": self.markup}
        shown |= {name: value for name, value in more.items() if value is not None}
        return shown | self.media | self.service

    def _where(self, with_reply: bool) -> Json:
        where: Json = {}
        if self.chat.is_direct_messages and self.thread is not None:
            where["direct_messages_topic"] = {"topic_id": self.thread}
        elif self.thread is not None:
            where["message_thread_id"] = self.thread
            if self.in_topic:
                where["is_topic_message"] = True
        replied = self.chat.messages.get(self.reply_to) if self.reply_to is not None else None
        if replied is not None and with_reply:
            where["reply_to_message"] = replied.payload(with_reply=False)
        return where


@dataclass(slots=True)
class Chat:
    """A place for messages; `kind` is the Bot API's word."""

    id: int
    kind: str
    name: str
    has_topics: bool = False
    is_direct_messages: bool = False
    """The chat behind a channel, where the messages of each subscriber are a topic."""
    people: dict[int, User] = field(default_factory=dict)
    topics: dict[int, Topic] = field(default_factory=dict)
    messages: dict[int, ChatMessage] = field(default_factory=dict)
    gone: str | None = None
    """Why the bot can send nothing here any more, in the words of the Bot API."""
    became: int | None = None
    """The supergroup that this group became."""

    def payload(self) -> Json:
        name = "first_name" if self.kind == "private" else "title"
        shown: Json = {"id": self.id, "type": self.kind, name: self.name}
        if self.has_topics and self.kind == "supergroup":
            shown["is_forum"] = True
        if self.is_direct_messages:
            shown["is_direct_messages"] = True
        return shown


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A file by its id."""

    id: str
    content: bytes
    path: str
    size: int

    @property
    def unique(self) -> str:
        return hashlib.sha256(self.content).hexdigest()[:16]

    def payload(self, with_path: bool = False) -> Json:
        shown: Json = {"file_id": self.id, "file_unique_id": self.unique, "file_size": self.size}
        return shown | {"file_path": self.path} if with_path else shown


class BotWorld:
    """Everything on the server's side except the queue of updates."""

    def __init__(self, bot: User) -> None:
        self.bot = bot
        self.people: dict[int, User] = {}
        self.chats: dict[int, Chat] = {}
        self.files: dict[str, StoredFile] = {}
        self.bot_has_topics = True
        """Whether private chats with the bot may have topics."""
        self._people, self._groups = count(_FIRST_PERSON), count(_FIRST_GROUP, -1)
        self._supergroups = count(_FIRST_SUPERGROUP, -1)
        self._shared = count(1)
        self._own: dict[int, count[int]] = {}
        self._files = count(1)

    def add_person(self, name: str) -> User:
        user = User(next(self._people), name)
        self.people[user.id] = user
        return user

    def private(self, user: User) -> Chat:
        """The chat of this person with the bot; it exists from their first message on."""
        chat = self.chats.get(user.id)
        if chat is None:
            chat = Chat(user.id, "private", user.name, self.bot_has_topics, people={user.id: user})
            self.chats[chat.id] = chat
        return chat

    def add_group(self, name: str, people: dict[int, User]) -> Chat:
        chat = Chat(next(self._groups), "group", name, people=dict(people))
        self.chats[chat.id] = chat
        return chat

    def add_supergroup(self, name: str, people: dict[int, User], kind: str = "supergroup") -> Chat:
        chat = Chat(next(self._supergroups), kind, name, people=dict(people))
        self.chats[chat.id] = chat
        return chat

    def new_message_id(self, chat: Chat) -> int:
        if chat.kind in ("private", "group"):
            return next(self._shared)
        return next(self._own.setdefault(chat.id, count(1)))

    def post(self, chat: Chat, make: Callable[[int], ChatMessage]) -> ChatMessage:
        """Keep a new message under the next id of its chat."""
        message = make(self.new_message_id(chat))
        chat.messages[message.id] = message
        return message

    def keep(
        self, content: bytes, name: str, folder: str = "documents", size: int | None = None
    ) -> StoredFile:
        number = next(self._files)
        digest = hashlib.sha256(content).hexdigest()[:20]
        suffix = f".{name.rpartition('.')[2]}" if "." in name else ""
        path = f"{folder}/file_{number}{suffix}"
        stored = StoredFile(f"F{number:04d}-{digest}", content, path, len(content) if size is None else size)
        self.files[stored.id] = stored
        return stored

    def to_say(self, chat_id: int) -> Chat:
        """The chat to send to; raises the refusal if the bot may not."""
        chat = self.chats.get(chat_id)
        if chat is None:
            known = chat_id in self.people
            raise (
                forbidden("bot can't initiate conversation with a user")
                if known
                else bad_request("chat not found")
            )
        if chat.became is not None:
            raise upgraded(chat.became)
        if chat.gone is not None:
            raise forbidden(chat.gone)
        return chat
