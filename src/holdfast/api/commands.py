"""What an operator can do to a running gateway. The command line and the web share these operations."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from holdfast.clock import Clock, Ids, in_time
from holdfast.config.settings import LOCAL_PERSON
from holdfast.errors import BadRequest, NotFound, StoreUnavailable
from holdfast.gateway.restart_requests import RESTART, RESTART_WHEN_QUIET
from holdfast.model import (
    Accepted,
    Attachment,
    Batch,
    Delivery,
    Inbound,
    InboxKind,
    InboxState,
    Owed,
    Position,
    QuestionId,
    Rejected,
    SendResult,
    Sent,
    Session,
    TryAgain,
    place_at,
)
from holdfast.outbox import line_for
from holdfast.platforms import Arrival
from holdfast.platforms.web import NotTaken, WebChat
from holdfast.policy.intake.attachments import short_name
from holdfast.records import dataclass
from holdfast.recovery import SAFE_MODE_OFF, SAFE_MODE_ON
from holdfast.store import ArrivalSettings, Edit, Store

from .arguments import MessageTooLong, Unwilling
from .queries import GatewayQueries, address_of
from .to_json import Json

ACCOUNT = "holdfast"
"""The account of the operators' requests in the inbox."""
_LOOK_AGAIN = 0.2
_PATIENCE = 10.0
_MANY = 10_000
SETTLEMENTS = ("sent", "retry", "drop")


@dataclass(frozen=True, slots=True)
class GatewayCommands:
    """Each command returns after its commit: its answer stays true after a crash."""

    store: Store
    clock: Clock
    ids: Ids
    web: WebChat
    looks: GatewayQueries
    stop_all: Callable[[], str]
    """Asks the supervisor of this process to stop it; returns the supervisor's name."""
    arrival: Callable[[], ArrivalSettings]
    """The settings for messages that arrive now."""
    patience: float = 5.0
    """Seconds in which a message is kept; after that its sender is told to try again."""

    async def say(
        self,
        chat: str,
        text: str,
        event_id: str | None = None,
        question: str | None = None,
        attachments: Sequence[str | Mapping[str, str]] = (),
    ) -> Json:
        """Write in a web chat, as a person would. The same event again changes nothing."""
        if "/" in chat:
            raise Unwilling("say writes only in web chats; their names have no slash")
        if text.strip() or not attachments:
            self._check_text(text)  # A file may come without words.
        event = event_id or self.ids.new()
        arrival = Arrival(
            event,
            self.web.origin(chat, LOCAL_PERSON.partition(":")[2]),
            text,
            event,
            sent_at=self.clock.now(),
            attachments=tuple([await self._attachment(one) for one in attachments]),
            pressed=QuestionId(question) if question else None,
        )
        try:
            accepted = await in_time(self.clock, self.patience, self.web.post(arrival))
        except NotTaken as refusal:
            raise Unwilling(str(refusal)) from None
        except TimeoutError:
            self.web.give_up(event)
            words = f"the gateway could not confirm within {self.patience:g} s that it kept this"
            raise StoreUnavailable(f"{words}; send it again as event {event}, which counts once") from None
        return {"event_id": event, **_answer(accepted)}

    def _check_text(self, text: str) -> None:
        if not text.strip():
            raise BadRequest.value("text", text, "text that is more than spaces")
        most = self.arrival().queue.longest
        if len(text) > most:
            words = f"nothing was kept: this has {len(text)} characters, and at most {most} are allowed"
            raise MessageTooLong(f"{words}. Send it in parts, or as a file")

    async def _attachment(self, given: str | Mapping[str, str]) -> Attachment:
        digest, name = (given, "") if isinstance(given, str) else (given["digest"], given.get("name", ""))
        blob = await self.store.bring_blob(digest)
        return Attachment(digest, short_name(name) or digest[:12], blob.media_type, blob.size)

    async def revise(self, chat: str, position: int, text: str) -> Json:
        """Change the text of a message that still waits."""
        return await self._revise(chat, position, text)

    async def withdraw(self, chat: str, position: int) -> Json:
        """Take back a message that still waits."""
        return await self._revise(chat, position, None)

    async def _revise(self, chat: str, position: int, text: str | None) -> Json:
        if text is not None:
            self._check_text(text)
        address = address_of(chat)
        try:
            row = await self.store.row(Position(position))
        except NotFound:
            raise NotFound("message of this chat", position) from None
        if row.place.address != address or row.message_id is None:
            raise NotFound("message of this chat", position)
        edit = Edit(address, row.message_id, text, row.attachments)
        if await self.store.revise(edit, self.arrival()) is None:
            raise Unwilling("this message no longer waits: the agent is answering it, or it is settled")
        found = await self.store.row(Position(position))
        return {"position": position, "state": found.state.value, "text": found.text}

    async def command(
        self, words: str, session: str | None, chat: str | None, event_id: str | None = None
    ) -> Json:
        """Give a command in a conversation, as its people could, and wait until it is carried out.

        It is a row like theirs: carried out once, before queued messages, with its reply in their chat.
        """
        found = await self._one_session(session, chat)
        row = Inbound(
            event_id or self.ids.new(),
            found.key,
            place_at(found.chat),
            LOCAL_PERSON,
            words,
            InboxKind.COMMAND,
        )
        (accepted,) = await self.store.accept(Batch(ACCOUNT, (row,)), self.arrival())
        try:
            state, reason = await in_time(self.clock, _PATIENCE, self._carried_out(accepted.position))
        except TimeoutError:
            return {**_answer(accepted), "state": InboxState.WAITING.value}
        return {**_answer(accepted), "state": state.value, "reason": reason}

    async def restart(self, when_quiet: bool = False, event_id: str | None = None) -> Json:
        """Ask for a restart, at once or when no turn runs. The same request again changes nothing."""
        what = RESTART_WHEN_QUIET if when_quiet else RESTART
        fresh = await self.store.request(what, f"local:{event_id or self.ids.new()}", LOCAL_PERSON)
        return {"asked": what, "fresh": fresh}

    async def resume(
        self, session: str | None = None, chat: str | None = None, event_id: str | None = None
    ) -> Json:
        """Resume a session that is parked, held or ended, or whose interrupted work was not resumed."""
        found = await self._one_session(session, chat)
        return await self.command(f"/resume {found.id}", found.id, None, event_id)

    async def cancel(
        self, session: str | None = None, chat: str | None = None, event_id: str | None = None
    ) -> Json:
        """Stop the unfinished turn of exactly this session. The session is kept."""
        found = await self._one_session(session, chat)
        if found.ended_at is not None:
            raise Unwilling(f"session {found.id} has ended, so nothing in it is unfinished")
        return await self.command("/stop", found.id, None, event_id)

    async def forget(self, session: str, event_id: str | None = None) -> Json:
        """Stop what runs in a session, and erase its content for good. Rows without content stay."""
        found = await self._one_session(session, None)
        return await self.command(f"/forget session {found.id}", found.id, None, event_id)

    async def safe_mode(self, on: bool, event_id: str | None = None) -> Json:
        """Turn safe mode on or off. It stays so across restarts."""
        what = SAFE_MODE_ON if on else SAFE_MODE_OFF
        fresh = await self.store.request(what, f"local:{event_id or self.ids.new()}", LOCAL_PERSON)
        return {"asked": "on" if on else "off", "fresh": fresh}

    async def settle(self, delivery: int, how: str) -> Json:
        """Settle a part with an unknown outcome: it was `sent`, `retry` sends it again, `drop` gives it up.

        Refused if it is settled already. A part that is sent again is marked as a possible repeat. A line in
        the chat says that a part was given up. So the person sees both.
        """
        if how not in SETTLEMENTS:
            raise Unwilling(f"how = {how!r} is not allowed; allowed: {', '.join(SETTLEMENTS)}")
        found = next((one for one in await self.store.in_doubt(_MANY) if one.id == delivery), None)
        if found is None:
            raise Unwilling(f"part {delivery} has no unknown outcome: it is settled, or it does not exist")
        result, repeated, owe = _settlement(found, how, self.clock.now())
        await self.store.settle_delivery(found.id, result, repeated, owe)
        return {"delivery": delivery, "settled": how}

    async def shutdown(self) -> Json:
        """Stop this gateway and its supervisor."""
        return {"asked": self.stop_all()}

    async def _one_session(self, session: str | None, chat: str | None) -> Session:
        found = await self.looks.find(session, chat)
        if found is None:
            raise NotFound("live session of the chat" if chat else "session", chat or session or "")
        return found

    async def _carried_out(self, position: Position) -> tuple[InboxState, str | None]:
        """How a command ended. A command that became a message is done, even if the message waits."""
        while True:
            row = await self.store.row(position)
            if row.kind is not InboxKind.COMMAND:
                return InboxState.EXECUTED, None
            if row.state is not InboxState.WAITING:
                return row.state, row.reason
            await self.clock.sleep(_LOOK_AGAIN)


def _answer(accepted: Accepted) -> Json:
    return {"position": accepted.position, "fresh": accepted.fresh, "words": accepted.words}


def _settlement(part: Delivery, how: str, now: int) -> tuple[SendResult, bool, tuple[Owed, ...]]:
    if how == "sent":
        return Sent(part.platform_id), part.repeated, ()
    if how == "retry":
        return TryAgain(now, "an operator had it sent again"), True, ()
    line = line_for(part, may_have_arrived=True)
    return Rejected("an operator left it; it may have arrived"), part.repeated, line
