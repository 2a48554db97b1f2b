"""The routes of chats: send a message, read what was said, follow what happens."""

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
"""In an event id: the session of a reader who connected before the chat had a session."""
_CHAT = "/api/chats/{chat}"
_NO_PAGE = {
    "Content-Security-Policy": "sandbox; default-src 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
}
"""A browser that opens a stored file never shows it as a page."""
_KEPT = ("following", "delivery", "entry", "session")
"""Kinds of committed events. An event is named by the first of these that it contains."""


class ChatRoutes:
    """The routes for one chat, for all chats, and for the files of messages."""

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
                "GET",
                "/api/chats",
                "Chats with a current session, newest work first.",
                verbs["chats"],
                answer="Chats",
            ),
            ApiRoute("GET", _CHAT, "The current state of a chat.", verbs["chat"], answer="Chat"),
            ApiRoute(
                "POST",
                f"{_CHAT}/messages",
                "Send a message; the answer follows its commit. The same event_id again changes nothing.",
                verbs["say"],
                status=202,
                answer="Said",
            ),
            ApiRoute(
                "GET",
                f"{_CHAT}/messages",
                "Replies, notices and questions after a number, in order and without a gap.",
                verbs["messages"],
                answer="Messages",
            ),
            ApiRoute(
                "PATCH",
                f"{_CHAT}/messages/{{position}}",
                "Change the text of a message that still waits.",
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
        """Deliveries and committed steps; each event's id says how much a reader has seen with it."""
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
                # There was no session and so no step: a reader who reconnects with this id gets all steps.
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
    """An event that is only shown to connected readers; it moves no cursor."""
    return (
        StreamEvent("preview", {"text": found["preview"]})
        if "preview" in found
        else StreamEvent(next(iter(found)), found)
    )


def _cursor(known: str) -> Json:
    """What a reconnecting browser has seen, by its last event id."""
    found = _CURSOR.fullmatch(known)
    if found is None:
        raise BadRequest("Last-Event-ID did not come from this gateway")
    number, session, seq = found.groups()
    return {"after": int(number), "session": session or _NO_SESSION, "seq": int(seq or 0)}
