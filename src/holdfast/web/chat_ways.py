"""What people do in chats: say something, read what was said, follow what happens."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator

from starlette.requests import Request
from starlette.responses import Response

from holdfast.app.chats import Chats, watch
from holdfast.app.door import Inside
from holdfast.app.local import BadRequest
from holdfast.app.shown import Json

from .events import Event, Streams
from .table import Way, given_in_url

_CURSOR = re.compile(r"(\d{1,18})(?:;([0-9a-z]+);(\d{1,18}))?")
_FOLLOW = {"chat": "text", "after": "number?", "session": "text?", "seq": "number?"}
_MOST = 500


class ChatWays:
    """The ways that are about one chat or all of them."""

    def __init__(self, inside: Inside, streams: Streams) -> None:
        self._inside = inside
        self._streams = streams
        self._chats = Chats(inside.store)

    def table(self) -> tuple[Way, ...]:
        chat = "/api/chats/{chat}"
        return (
            Way("GET", "/api/chats", "Chats that go on, newest first.", self._chats.chats),
            Way("GET", chat, "How a chat stands.", self._chats.chat),
            Way(
                "POST",
                f"{chat}/messages",
                "Say something; answered once it is committed. The same event again changes nothing.",
                self._inside.actions.say,
                body={"text": "text", "event_id": "text?", "question": "text?"},
                status=202,
                refuses=("refused",),
            ),
            Way(
                "GET",
                f"{chat}/messages",
                "What the chat was told after a number, in order and without a gap.",
                self._messages,
                query={"after": "number?", "limit": "number?"},
            ),
            Way(
                "GET",
                f"{chat}/events",
                "Everything that happens in a chat, as it is committed.",
                handler=self._follow,
                query={name: kind for name, kind in _FOLLOW.items() if name != "chat"},
                media_type="text/event-stream",
            ),
        )

    async def _messages(self, chat: str, after: int = 0, limit: int = 100) -> Json:
        found = (await self._inside.actions.looks.outbox(chat, after, min(limit, _MOST)))["deliveries"]
        return {"messages": found, "after": found[-1]["number"] if found else after}

    async def _follow(self, request: Request) -> Response:
        given = given_in_url(request, _FOLLOW)
        known = request.headers.get("last-event-id")
        if known:
            given |= _cursor(known)
        chat = given.pop("chat")
        return self._streams.answer(self._happenings(chat, **given), self._standings(chat))

    async def _happenings(
        self, chat: str, after: int = 0, session: str | None = None, seq: int = 0
    ) -> AsyncGenerator[Event, None]:
        """What is owed and what turns commit; each event's id says how much has been seen with it."""
        following = self._inside.following
        async for found in following.follow(chat, after, session=session, seq=seq, previews=True):
            if "preview" in found:
                yield Event("preview", {"text": found["preview"]})
                continue
            if "delivery" in found:
                after = found["delivery"]["number"]
            elif "entry" in found:
                session, seq = found["session"], found["entry"]["seq"]
            elif "session" in found:
                session, seq = found["session"], found.get("seq", 0)
            name = next(name for name in ("following", "delivery", "entry", "session") if name in found)
            data = found["delivery"] if name == "delivery" else found
            yield Event(name, data, f"{after};{session};{seq}" if session else str(after))

    async def _standings(self, chat: str) -> AsyncGenerator[Event, None]:
        async for found in watch(self._inside.store, self._inside.clock, chat):
            yield Event("standing", found)


def _cursor(known: str) -> Json:
    """What a browser that comes again has seen."""
    found = _CURSOR.fullmatch(known)
    if found is None:
        raise BadRequest("Last-Event-ID is not one of ours")
    number, session, seq = found.groups()
    return {"after": int(number), **({"session": session, "seq": int(seq)} if session else {})}
