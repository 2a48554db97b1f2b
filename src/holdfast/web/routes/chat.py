"""What people do in chats: say something, read what was said, follow what happens."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator

from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response

from holdfast.api.chat_snapshot import watch
from holdfast.api.frontend import RunningGateway
from holdfast.api.to_json import Json
from holdfast.errors import BadRequest
from holdfast.gateway.files.blobs import LARGEST, media_type_of
from holdfast.web.events import StreamEvent, Streams

from .route import ApiRoute, bytes_of

_CURSOR = re.compile(r"(\d{1,18})(?:;([0-9a-z]*);(\d{1,18}))?")
_NO_SESSION = ""
"""What stands in an id for the session of a reader who came before there was one."""
_CHAT = "/api/chats/{chat}"
_NO_PAGE = {
    "Content-Security-Policy": "sandbox; default-src 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
}
"""Whatever a file is, a browser that opens it makes no page of it."""
_KEPT = ("following", "delivery", "entry", "session")
"""Events that say what is committed; by the first of these that is in it an event is named."""


class ChatRoutes:
    """The ways that are about one chat or all of them, and the files that go with messages."""

    def __init__(self, inside: RunningGateway, streams: Streams) -> None:
        self._inside = inside
        self._streams = streams
        self._blobs = inside.blobs
        self._events = ApiRoute(
            "GET",
            f"{_CHAT}/events",
            "Everything that happens in a chat, as it is committed; Last-Event-ID wins over the query.",
            handler=self._follow,
            query={"after": "number?", "session": "text?", "seq": "number?"},
            answer="text/event-stream",
        )
        self._download = ApiRoute(
            "GET",
            "/api/blobs/{digest}",
            "A stored file, as a download by this name.",
            handler=self._fetch,
            query={"name": "text?"},
            answer="application/octet-stream",
        )

    def table(self) -> tuple[ApiRoute, ...]:
        verbs = self._inside.verbs
        return (
            ApiRoute(
                "GET", "/api/chats", "Chats that go on, newest work first.", verbs["chats"], answer="Chats"
            ),
            ApiRoute("GET", _CHAT, "How a chat stands.", verbs["chat"], answer="Chat"),
            ApiRoute(
                "POST",
                f"{_CHAT}/messages",
                "Say something; answered once it is committed. The same event again changes nothing.",
                verbs["say"],
                status=202,
                answer="Said",
            ),
            ApiRoute(
                "GET",
                f"{_CHAT}/messages",
                "What the chat was told after a number, in order and without a gap.",
                verbs["messages"],
                answer="Messages",
            ),
            ApiRoute(
                "PATCH",
                f"{_CHAT}/messages/{{position}}",
                "Change what a message says that still waits.",
                verbs["revise"],
                answer="Revised",
            ),
            ApiRoute(
                "DELETE",
                f"{_CHAT}/messages/{{position}}",
                "Take back a message that still waits.",
                verbs["withdraw"],
                answer="Revised",
            ),
            self._events,
            ApiRoute(
                "POST",
                "/api/blobs",
                f"Store a file to go with a message: its bytes, at most {LARGEST}, and its Content-Type.",
                handler=self._keep,
                takes="application/octet-stream",
                status=201,
                answer="Blob",
            ),
            self._download,
        )

    async def _follow(self, request: Request) -> Response:
        given = self._events.given_in_url(request)
        known = request.headers.get("last-event-id")
        if known:
            given |= _cursor(known)
        chat = given.pop("chat")
        return self._streams.answer(request, self._happenings(chat, **given), self._standings(chat))

    async def _happenings(
        self, chat: str, after: int = 0, session: str | None = None, seq: int = 0
    ) -> AsyncGenerator[StreamEvent, None]:
        """What is owed and what turns commit; each event's id says how much has been seen with it."""
        following = self._inside.following
        async for found in following.follow(chat, after, session, seq):
            name = next((name for name in _KEPT if name in found), None)
            if name is None:
                yield _passing(found)
                continue
            if "delivery" in found:
                after = found["delivery"]["number"]
            elif "entry" in found:
                session, seq = found["session"], found["entry"]["seq"]
            else:
                # Without a session no step was there: whoever comes again with this has all of them to hear.
                session, seq = found.get("session", _NO_SESSION), found.get("seq", 0)
            data = found["delivery"] if name == "delivery" else found
            yield StreamEvent(name, data, f"{after};{session};{seq}")

    async def _standings(self, chat: str) -> AsyncGenerator[StreamEvent, None]:
        inside = self._inside
        async for found in watch(inside.store, inside.clock, chat, inside.settings.home, inside.secrets):
            yield StreamEvent("standing", found)

    async def _keep(self, request: Request) -> Response:
        data = await bytes_of(request, LARGEST)
        if not data:
            raise BadRequest("an attachment has at least one byte")
        return JSONResponse(await self._blobs.keep(data, request.headers.get("content-type", "")), 201)

    async def _fetch(self, request: Request) -> Response:
        given = self._download.given_in_url(request)
        found, path = await self._blobs.find(given["digest"])
        headers = {"Cache-Control": "private, max-age=31536000, immutable", **_NO_PAGE}
        name = given.get("name") or found.digest[:12]
        kind = await asyncio.to_thread(media_type_of, path)
        return FileResponse(path, 200, headers, kind, filename=name)


def _passing(found: Json) -> StreamEvent:
    """What is shown to whoever is there, and moves nobody's cursor."""
    return (
        StreamEvent("preview", {"text": found["preview"]})
        if "preview" in found
        else StreamEvent(next(iter(found)), found)
    )


def _cursor(known: str) -> Json:
    """What a browser that comes again has seen."""
    found = _CURSOR.fullmatch(known)
    if found is None:
        raise BadRequest("Last-Event-ID is not one of ours")
    number, session, seq = found.groups()
    return {"after": int(number), "session": session or _NO_SESSION, "seq": int(seq or 0)}
