"""A Telegram bot as a platform: it reads and sends through `Client`, and keeps nothing that matters."""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Protocol

from holdfast.clock import Clock
from holdfast.errors import Report, unreported
from holdfast.model import (
    Accepted,
    ChatAddress,
    Cursor,
    Delivery,
    Fence,
    Place,
    QuestionId,
    SendResult,
    SetAside,
    TryAgain,
    place_at,
)
from holdfast.platforms.base import Ack, Arrival, Capabilities, Incoming, PlatformDown, Revision, Working
from holdfast.platforms.pace import Pace, Rate
from holdfast.policy.consent.approver import PERSON
from holdfast.policy.delivery.parts import width
from holdfast.policy.settings import DAY, SECOND

from .client import CallFault, CallRefused, Client, FloodWait
from .content import integer, text_in
from .cursor import UpdateCursor, reached
from .files import LARGEST, Downloads
from .format import LONGEST
from .results import down, is_about_looks, is_edited, sent, unsent
from .upload import LARGEST_UPLOAD, Stored, is_no_photo, is_photo, nothing_stored, send_file
from .wire import (
    PLATFORM,
    FoundMessage,
    Me,
    Moved,
    Read,
    chat_and_topic,
    is_direct_topic,
    joined,
    read,
    text_for,
    to_send,
)

Asked = Callable[[ChatAddress], Awaitable[Sequence[QuestionId]]]
"""Returns the latest questions of a chat."""
Menu = Sequence[tuple[str, str]]
"""The commands, each with its description."""

CURSOR = "updates"
DIRECT = Rate(2, 2.0)
"""Telegram's advice: one message a second in a chat, with a small burst ..."""
GROUP = Rate(20, 60.0)
"""... and twenty a minute in a group ..."""
ALL = Rate(30, 1.0)
"""... and thirty a second in all."""
TYPING = 4.0
"""Seconds between two signs of typing: Telegram shows each for five."""
SHOW_EVERY = 1.5
_PATIENT = 5.0
"""Seconds a send waits for its place; a send that must wait longer goes back into the ledger."""
_MOST_MENU = 100


class Source(Protocol):
    """A source of updates: the poller or the webhook."""

    async def begin(self) -> None: ...

    async def read(self, offset: int | None) -> list[object]: ...

    def confirm(self) -> None: ...

    async def close(self) -> None: ...


async def nothing_asked(chat: ChatAddress) -> Sequence[QuestionId]:
    """No questions: for a bot without a ledger."""
    return ()


class Telegram:
    """One bot. Only its read position (`UpdateCursor`) and the outbox outlive this process."""

    name = PLATFORM
    cursor: str | None = CURSOR

    def __init__(
        self,
        client: Client,
        account: str,
        clock: Clock,
        source: Source,
        files: Downloads,
        ack: Ack = Ack.OFFSET,
        asked: Asked = nothing_asked,
        menu: Menu = (),
        report: Report = unreported,
        stored: Stored = nothing_stored,
    ) -> None:
        self.account = account
        self.capabilities = capabilities(ack)
        self._client = client
        self._clock = clock
        self._source = source
        self._files = files
        self._asked = asked
        self._menu = menu
        self._report = report
        self._stored = stored
        self._me = Me(account)
        self._reached = UpdateCursor()
        self._became: dict[str, str] = {}
        """Groups that have a new id, known from a refused send."""
        self._presses: list[str] = []
        self._without_drafts: set[ChatAddress] = set()
        self._direct = Pace(clock.monotonic, DIRECT, ALL)
        self._groups = Pace(clock.monotonic, GROUP, ALL)

    # Reading.

    async def connect(self) -> None:
        await self._client.open()
        try:
            me = await self._client.call("getMe")
            if not isinstance(me, dict) or str(integer(me, "id")) != self.account:
                raise PlatformDown("the token belongs to another bot than the configured one")
            self._me = Me(self.account, text_in(me, "username"))
            await self._source.begin()
        except CallFault as fault:
            raise down(fault) from None
        await self._files.begin()
        await self._offer_menu()

    async def receive(self, after: str | None) -> Incoming:
        """The next batch. Nothing of it is confirmed before the next call, whose position the ledger gave."""
        self._reached = reached(after)
        while True:
            updates = await self._source.read(self._reached.offset(self._clock.now()))
            if updates:
                return await self._incoming(updates)

    async def confirm(self, incoming: Incoming, accepted: tuple[Accepted, ...]) -> None:
        self._source.confirm()
        presses, self._presses = self._presses, []
        for press in presses:
            # A button that keeps spinning does no harm; most such presses are from before a restart.
            await self._call_and_log("answerCallbackQuery", {"callback_query_id": press})

    async def close(self) -> None:
        await self._source.close()
        await self._client.close()

    async def _offer_menu(self) -> None:
        commands = [{"command": name, "description": words[:256]} for name, words in self._menu[:_MOST_MENU]]
        if commands:
            await self._call_and_log("setMyCommands", {"commands": commands})

    async def _incoming(self, updates: list[object]) -> Incoming:
        found = [read(update, self._me) for update in updates]
        moves = [one for one in found if isinstance(one, Moved)]
        asks = self.capabilities.ack is Ack.OFFSET
        # A webhook delivers in any order: earlier updates may not be committed yet.
        now_at = self._reached.after(updates if asks else [], moves, self._clock.now())
        if asks and now_at == self._reached:
            raise PlatformDown("Telegram sent updates without ids")
        self._presses = [
            one.query for one in found if isinstance(one, FoundMessage) and one.query is not None
        ]
        events = [await self._event(one, now_at) for one in self._in_albums(found)]
        there = tuple(event for event in events if event is not None)
        return Incoming(there, Cursor(CURSOR, now_at.value()))

    def _in_albums(self, found: list[Read]) -> list[Read]:
        """Join each album to one message; a webhook can repeat single items, so it keeps the id of each."""
        whole = joined(found)
        if self.capabilities.ack is Ack.OFFSET:
            return whole
        ids = {one.event.event_id for one in whole if isinstance(one, FoundMessage)}
        items = [
            one.event.event_id for one in found if isinstance(one, FoundMessage) and one.album is not None
        ]
        rest = [SetAside(id_, "part of an album", "") for id_ in items if id_ not in ids]
        return [*whole, *rest]

    async def _event(self, found: Read, now_at: UpdateCursor) -> Arrival | Revision | SetAside | None:
        if isinstance(found, SetAside):
            return found
        if not isinstance(found, FoundMessage):
            return None
        event = found.event
        lines: list[str] = []
        attachments = []
        for file in found.files:
            fetched = await self._files.fetch(file)
            if isinstance(fetched, str):
                lines.append(fetched)
            else:
                attachments.append(fetched)
        text = "\n\n".join(filter(None, (event.text or "", *lines)))
        if isinstance(event, Revision):
            place = now_at.known(event.place)
            number = _numbered(event.place, place, event.message_id)
            return replace(event, place=place, text=text, attachments=tuple(attachments), message_id=number)
        place = now_at.known(event.origin.place)
        return replace(
            event,
            origin=replace(event.origin, place=place),
            text=text,
            attachments=tuple(attachments),
            message_id=event.message_id and _numbered(event.origin.place, place, event.message_id),
            replies_to=event.replies_to and _numbered(event.origin.place, place, event.replies_to),
            pressed=await self._question(found, place),
        )

    async def _question(self, found: FoundMessage, place: Place) -> QuestionId | None:
        """The question of a press; if its id was too long for a button, it is found by its hash."""
        assert isinstance(found.event, Arrival)
        press = found.press
        if press is None or press.question is not None:
            return found.event.pressed
        asked = await self._asked(place.address)
        return next((one for one in asked if press.is_of(one)), found.event.pressed)

    # Sending.

    async def send(self, delivery: Delivery) -> SendResult:
        chat = place_at(delivery.chat)
        wait = self._pace(chat).to_send(_without_topic(chat), _PATIENT)
        if wait > _PATIENT:
            return TryAgain(self._clock.now() + round(wait * SECOND), "too many messages", counts=False)
        if wait > 0:
            await self._clock.sleep(wait)
        try:
            return await self._send(delivery, chat)
        except CallFault as fault:
            if isinstance(fault, FloodWait):
                self._pace(chat).wait(_without_topic(chat), fault.seconds)
            return unsent(fault, self._clock.now())

    async def _send(self, delivery: Delivery, chat: Place) -> SendResult:
        """Send; if Telegram refuses the form, send again in the form that it accepts."""
        now_at, plain, as_photo = self._now_at(chat), False, is_photo(delivery.files)
        for _ in range(4):
            prefix = "" if now_at == chat else f"{now_at.chat}:"
            there = delivery._replace(chat=now_at.address, reply_to=_anchor(delivery.reply_to, prefix))
            try:
                return sent(await self._ask(there, plain, as_photo), prefix)
            except CallRefused as refusal:
                if refusal.moved_to is not None and str(refusal.moved_to) != now_at.chat:
                    self._became[chat.chat] = str(refusal.moved_to)
                    now_at = replace(chat, chat=str(refusal.moved_to))
                elif not plain and is_about_looks(refusal):
                    plain = True
                elif as_photo and is_no_photo(refusal):
                    as_photo = False
                else:
                    raise
        raise CallRefused(400, "refused in every form")

    async def _ask(self, delivery: Delivery, plain: bool, as_photo: bool) -> object:
        request = to_send(delivery, plain)
        for file in delivery.files:
            path = self._stored(file.digest)
            if not path.is_file():
                raise CallRefused(400, f"the bytes of {file.name} are not kept any more")
            return await send_file(self._client, request, file, path, as_photo)
        return await self._client.call("sendMessage", request)

    async def find(self, delivery: Delivery) -> None:
        """None: a bot cannot read its own messages."""

    def _now_at(self, chat: Place) -> Place:
        return replace(chat, chat=self._became.get(chat.chat, self._reached.last_id(chat.chat)))

    def _pace(self, chat: Place) -> Pace:
        return self._groups if _is_group(chat) else self._direct

    # Progress.

    async def show(self, chat: ChatAddress, working: Working) -> bool:
        place = place_at(chat)
        has_room = not _is_group(place) and chat not in self._without_drafts
        if working.draft and has_room:
            return await self._draft(chat, place, working)
        if working.typing and not is_direct_topic(place):
            where = chat_and_topic(self._now_at(place))
            with suppress(CallRefused):
                await self._call_to_show(place, "sendChatAction", {**where, "action": "typing"})
        return has_room

    async def _draft(self, chat: ChatAddress, place: Place, working: Working) -> bool:
        if not self._direct.may_show(_without_topic(place)):
            return True
        where = {"draft_id": _draft_id(working.by), **chat_and_topic(place)}
        for plain in (False, True):
            text = text_for(_end_of(working.draft), plain=plain, commands=False)
            try:
                await self._call_to_show(place, "sendMessageDraft", {**where, **text})
            except CallRefused as refusal:
                if plain or not is_about_looks(refusal):
                    break
            else:
                return True
        self._without_drafts.add(chat)
        return False

    async def edit(self, chat: ChatAddress, message_id: str, text: str, in_line: bool = False) -> bool:
        place = place_at(chat)
        now_at = self._now_at(place)
        number = _anchor(message_id, "" if now_at == place else f"{now_at.chat}:")
        if number is None:
            # A message of a group that has moved cannot be edited.
            return True
        if not await self._may_edit(place, in_line):
            return False
        for plain in (False, True):
            words = {**text_for(text, plain=plain), "message_id": int(number)}
            try:
                await self._call_to_show(place, "editMessageText", {"chat_id": int(now_at.chat), **words})
            except CallRefused as refusal:
                if plain or not is_about_looks(refusal):
                    return is_edited(refusal)
            else:
                return True
        return False

    async def _may_edit(self, place: Place, in_line: bool) -> bool:
        pace = self._pace(place)
        if not in_line:
            return pace.may_show(_without_topic(place))
        wait = pace.to_send(_without_topic(place), _PATIENT)
        if 0 < wait <= _PATIENT:
            await self._clock.sleep(wait)
        return wait <= _PATIENT

    async def _call_to_show(self, place: Place, method: str, parameters: Mapping[str, object]) -> None:
        """Show something; raises `PlatformDown`, or `CallRefused` if it can never be shown."""
        try:
            await self._client.call(method, parameters)
        except CallRefused:
            raise
        except CallFault as fault:
            if isinstance(fault, FloodWait):
                self._pace(place).wait(_without_topic(place), fault.seconds)
            raise down(fault) from None

    async def _call_and_log(self, method: str, parameters: Mapping[str, object]) -> None:
        """Make a call whose failure does no harm: it is only logged."""
        try:
            await self._client.call(method, parameters)
        except CallFault as fault:
            self._report(f"asking Telegram for {method}", fault)


def capabilities(ack: Ack = Ack.OFFSET) -> Capabilities:
    """The capabilities of a bot. It has no keys and cannot look up sends, so unknown sends repeat marked."""
    return Capabilities(
        ack,
        edit=True,
        threads=True,
        buttons=True,
        longest=LONGEST,
        typing=TYPING,
        drafts=True,
        show_every=SHOW_EVERY,
        catch_up=DAY,
        attachments=LARGEST,
        files=LARGEST_UPLOAD,
        each_chat=DIRECT,
        all_chats=ALL,
        newcomers=True,
        own_chat=PERSON,
    )


def _is_group(place: Place) -> bool:
    return place.chat.startswith("-")


def _without_topic(place: Place) -> ChatAddress:
    """The chat without its topic: all topics share the limits."""
    return replace(place, thread=None).address


def _numbered(was: Place, known: Place, number: str) -> str:
    """A message's id for the ledger; in a group that has moved, with the chat that numbered it."""
    return number if was == known else f"{was.chat}:{number}"


def _anchor(name: str | None, prefix: str) -> str | None:
    """The number of a message in the chat as it is now; None if it belongs to another chat."""
    if name is None or not name.startswith(prefix):
        return None
    number = name.removeprefix(prefix)
    return number if number.isdecimal() else None


def _end_of(text: str) -> str:
    """The end of a growing text: people read the newest words."""
    if width(text) <= LONGEST:
        return text
    return f"…{text[-LONGEST // 2 + 1 :]}"


def _draft_id(by: Fence) -> int:
    """One number for each run, never 0: Telegram shows drafts with the same number as one growing text."""
    digest = hashlib.sha256(f"{by.turn}:{by.generation}".encode()).digest()
    return int.from_bytes(digest[:4], "big") % 0x7FFFFFFF + 1
