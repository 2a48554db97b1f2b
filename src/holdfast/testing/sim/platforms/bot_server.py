"""Telegram in a world: the people and chats of the simulated Bot API, as scenarios name them."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Coroutine
from contextvars import Context
from typing import Any

from aiohttp import ServerDisconnectedError

from holdfast.model import WORKING, Delivery, OwedKind, Place, SetAside
from holdfast.platforms import Revision
from holdfast.platforms.telegram.adapter import capabilities
from holdfast.platforms.telegram.wire import PLATFORM
from holdfast.testing.fakes.botapi.core import BotApi
from holdfast.testing.fakes.botapi.core import ShownByBot as PutBefore
from holdfast.testing.fakes.botapi.people import BotPeople, Person
from holdfast.testing.fakes.botapi.updates import Update
from holdfast.testing.fakes.botapi.world import ChatMessage
from holdfast.testing.marks import STRANGER
from holdfast.testing.observation.history import Confirmed, PlatformEvent, Shown
from holdfast.testing.sim.faults import SECRET_WORDS
from holdfast.testing.sim.life import throw_away
from holdfast.testing.sim.ports import WorldClock

from .bot_names import ACCOUNT, OWNER, TOKEN
from .servers import TOPIC, Around, PlatformServer, is_group, person_in, run_of

MEMBERS = (OWNER, "ann", "bob")
"""The members of every group."""
_REPEATED = "possibly repeated"


class BotServer(PlatformServer):
    """The server side of one bot. The queue of the Bot API holds everything for the gateway."""

    def __init__(self, around: Around) -> None:
        super().__init__(around, PLATFORM, capabilities(), ACCOUNT)
        self.api = BotApi(WorldClock(around.loop, around.wall), TOKEN)
        self.api.updates.on_confirmed = self._confirmed
        self._people = BotPeople(self.api)
        self._known: dict[str, Person] = {}
        self._groups: dict[str, int] = {}
        self._topics: dict[tuple[int, str], int] = {}
        self.open_wires: set[asyncio.Future[Any]] = set()
        """Requests that wait for their answers."""
        self._requests: list[asyncio.Task[None]] = []
        self._waiting: dict[int, tuple[str, Revision | None]] = {}
        """Events in the queue by their update, with what each changes."""
        self._person(OWNER)

    def go_down(self, seconds: float) -> None:
        super().go_down(seconds)
        if seconds > 0:
            for answer in list(self.open_wires):
                if not answer.done():
                    answer.set_exception(ServerDisconnectedError(SECRET_WORDS))

    def begin(self, request: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Carry a request out, even if its caller dies."""
        self._requests = [one for one in self._requests if not one.done()]
        self._requests.append(self.around.loop.create_task(request(), context=Context()))

    def end(self) -> None:
        throw_away(self._requests, Context())

    @property
    def renders(self) -> bool:
        return True

    # Names of scenarios

    def person_id(self, name: str) -> str:
        return f"{self.name}:{self._person(name).id}"

    def place(self, chat: str) -> Place:
        where, topic = self._where(chat, person_in(chat))
        return Place(self.name, self.bot, str(where), None if topic is None else str(topic))

    def _person(self, name: str) -> Person:
        if name not in self._known:
            self._known[name] = self._people.add(name)
        return self._known[name]

    def _where(self, chat: str, person: str) -> tuple[int, int | None]:
        """A chat and its topic; the first mention creates them."""
        name, _, topic = chat.partition(TOPIC)
        if is_group(name):
            if name not in self._groups:
                members = [self._person(member) for member in MEMBERS]
                self._groups[name] = self._people.group(name, *members, topics=True)
            where = self._groups[name]
        else:
            where = self.api.world.private(self._person(person).user).id
        if topic and (where, topic) not in self._topics:
            self._topics[where, topic] = self._person(person).open_topic(topic, where)
        return where, self._topics[where, topic] if topic else None

    def _named(self, chat: str, person: str) -> str:
        """Its name in the history."""
        where, topic = self._where(chat, person)
        return chat if chat == STRANGER else f"{where}{'' if topic is None else f'/{topic}'}"

    # What people do

    def say(self, chat: str, text: str, person: str = "", pressed: object = None) -> str:
        who = person or person_in(chat)
        where, topic = self._where(chat, who)
        number = self._person(who).write(text, where, topic)
        self._note(f"message:{where}:{number}", "message", chat, text, who, str(number))
        return str(number)

    def give(self, chat: str, text: str, content: bytes, person: str = "") -> str:
        """A person sends a file with these words."""
        who = person or person_in(chat)
        where, topic = self._where(chat, who)
        number = self._person(who).send_file(content, caption=text, chat=where, thread=topic)
        self._note(f"message:{where}:{number}", "message", chat, text, who, str(number))
        return str(number)

    def press(self, chat: str, option: int, person: str = "") -> None:
        who = person or person_in(chat)
        where, topic = self._where(chat, who)
        asking = [one for one in self.api.world.chats[where].messages.values() if _buttons(one)]
        asking = [one for one in asking if topic is None or one.thread == topic]
        if asking:
            labels = _buttons(asking[-1])
            label = labels[option % len(labels)]
            query = self._person(who).press(label, asking[-1].id, where, seen_long_ago=self._draws(0.2))
            # A person in a group may press in one of its topics, and the answer goes there.
            self._note(f"press:{query}", "message", chat, label, who, place=self._topic_of(asking[-1]))

    def revise(self, chat: str, message_id: str, text: str | None) -> None:
        who = person_in(chat)
        where, _ = self._where(chat, who)
        if text is None:
            # Telegram does not tell the bot.
            self._person(who).delete(int(message_id), where)
            self.around.history.gone.add((self.name, message_id))
            return
        self._person(who).edit(int(message_id), text, where)
        id_ = f"edit:message:{where}:{message_id}:{self.api.updates.last}"
        revision = Revision(id_, self.place(chat), message_id, text)
        self._revisions.append(revision)
        self._note(id_, "revision", chat, text, revision=revision)

    def babble(self, chat: str, text: str) -> None:
        self._people.babble("message", {"text": text})
        self._note(f"update:{self.api.updates.last}", "junk", chat, text)

    def _draws(self, chance: float) -> bool:
        return self.around.faults.between(0, 1) < chance

    def _note(
        self,
        id_: str,
        kind: str,
        chat: str,
        text: str,
        person: str = "",
        message: str = "",
        revision: Revision | None = None,
        place: str = "",
    ) -> None:
        named = place or (self._named(chat, person) if person else chat)
        who = self.person_id(person) if person else ""
        self._waiting[self.api.updates.last] = (id_, revision)
        self.around.history.events.append(PlatformEvent(self.account, id_, kind, named, text, who, message))
        self.around.trace(f"{self.name} has {id_}")

    # Confirmation and expiry

    def _confirmed(self, update: Update) -> None:
        if update.id not in self._waiting:
            return
        id_, revision = self._waiting.pop(update.id)
        known = self._is_kept(revision or SetAside(id_, "", ""), id_)
        self.around.history.confirmed.append(Confirmed(self.account, id_, known))
        self.around.trace(f"{self.name} confirmed {id_}")

    def forget_what_is_old(self) -> None:
        """Drop updates older than a day, as Telegram does."""
        self.api.updates.pending()
        for update in self.api.updates.expired:
            if update.id in self._waiting:
                id_, _ = self._waiting.pop(update.id)
                self.around.history.forgotten.add((self.account, id_))

    # What people see

    def shown_for(self, delivery: Delivery, put: PutBefore, current: int | None) -> None:
        """People see a message of the bot from now on, for this part of a delivery."""
        message = self.api.world.chats[put.chat].messages[put.message]
        chat, id_ = self._topic_of(message), self.name_of(put.chat, put.message)
        if delivery.kind is OwedKind.QUESTION:
            self._asking.add(id_)
        marked = _REPEATED in put.text.partition(")")[0]
        owed = self.around.owed_for(delivery.dedupe, delivery.part)
        told = (delivery.key, delivery.order, put.text, marked, owed, self._files(message))
        reply_to = None if message.reply_to is None else str(message.reply_to)
        shown = Shown(self.name, chat, *told, reply_to, self.around.loop.time())
        self.around.history.shown.append(shown)
        self.around.trace(f"{self.name} shows {delivery.key}{' marked' if marked else ''}")
        if delivery.dedupe.startswith(WORKING):
            self._spoken[id_] = run_of(delivery)
            what = "again" if delivery.attempts else "message"
            self.see(what, chat, put.text, *self._spoken[id_], current, id_, marked)

    def name_of(self, chat: int | str, message: int | str) -> str:
        """Telegram counts the numbers of messages separately in each chat."""
        return f"{chat}:{message}"

    def _topic_of(self, message: ChatMessage) -> str:
        return f"{message.chat.id}/{message.thread}" if message.in_topic else str(message.chat.id)

    def _files(self, message: ChatMessage) -> tuple[str, ...]:
        """The files of a message, by the hashes of their bytes."""
        media: dict[str, Any] = dict(message.media)
        given = media.get("document") or next(iter(media.get("photo", ())), None)
        if not given:
            return ()
        return (hashlib.sha256(self.api.world.files[given["file_id"]].content).hexdigest(),)


def _buttons(message: ChatMessage) -> list[str]:
    rows: Any = (message.markup or {}).get("inline_keyboard", [])
    return [str(button["text"]) for row in rows for button in row]
