"""The routes of the operator pages; most are a verb of the local API under a path."""

from __future__ import annotations

import os
import signal
from collections.abc import AsyncGenerator

from starlette.background import BackgroundTask
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from holdfast.api.arguments import Operation
from holdfast.api.frontend import RunningGateway
from holdfast.api.to_json import Json
from holdfast.clock import first_of
from holdfast.store import TOPICS
from holdfast.web.errors import HttpError
from holdfast.web.events import StreamEvent, Streams

from .route import ApiRoute

_QUERIES = (
    ("/api/status", "status", "The gateway: its state, its supervisor, and what runs, waits and is owed."),
    ("/api/overview", "overview", "The gateway at a glance: counts, pace, and the runs with their outcomes."),
    ("/api/plan", "plan", "Turns that a restart would cut now."),
    ("/api/continuity", "continuity", "Work that the last run left, and the reports of the last starts."),
    ("/api/runs", "runs", "The last process runs, newest first."),
    ("/api/sessions", "sessions", "A page of sessions, newest first."),
    ("/api/sessions/{session}", "session", "One session: its turns, the end of its transcript, what waits."),
    ("/api/trace/{position}", "trace", "Everything that happened to one message."),
    ("/api/allowed", "allowed", "Calls that run without a question, because an owner allowed them always."),
    ("/api/people", "people", "Grants beyond the configuration, and people who ask to be let in."),
    ("/api/set-aside", "set_aside", "Input that could not be read, newest first."),
)
_COMMANDS = ("stop", "new", "resume", "retry", "unhold")
_COMMAND_NAMES = {"unhold": "release"}
_LEAST_PAUSE = 0.25
"""The least seconds between two events of change."""
_CHECK_EVERY = 5.0


class OperatorRoutes:
    """All routes of the operator pages."""

    def __init__(self, inside: RunningGateway, streams: Streams) -> None:
        self._inside = inside
        self._streams = streams

    def table(self) -> tuple[ApiRoute, ...]:
        verbs = self._inside.verbs
        queries = (
            ApiRoute("GET", path, words, verbs[verb], answer=verb.title().replace("_", ""))
            for path, verb, words in _QUERIES
        )
        commands = (
            ApiRoute(
                "POST",
                f"/api/sessions/{{session}}/{name}",
                f"The command /{_COMMAND_NAMES.get(name, name)}, given in this session by the owner.",
                verbs[name],
                without=("chat",),
                answer="Carried",
            )
            for name in _COMMANDS
        )
        return (*queries, *commands, *self._outbox(), *self._people(), self._allowed(), *self._gateway())

    def _people(self) -> tuple[ApiRoute, ...]:
        verbs, path = self._inside.verbs, "/api/people"
        words = "Let a person in by the code that the gateway gave them."
        return (
            ApiRoute("POST", f"{path}/pair", words, verbs["pair"], answer="Paired"),
            ApiRoute("POST", f"{path}/allow", "Let a person or a group in.", verbs["allow"], answer="LetIn"),
            ApiRoute(
                "POST", f"{path}/remove", "Remove a person or a group.", verbs["remove"], answer="LetIn"
            ),
        )

    def _allowed(self) -> ApiRoute:
        words = "Revoke a rule: the gateway asks again before such a call."
        verb = self._inside.verbs["revoke_allowed"]
        return ApiRoute("POST", "/api/allowed/{rule}/revoke", words, verb, answer="Revoked")

    def _outbox(self) -> tuple[ApiRoute, ...]:
        verbs = self._inside.verbs
        settling = tuple(
            ApiRoute(
                "POST",
                f"/api/outbox/{{delivery}}/{how}",
                words,
                _settle_as(verbs["settle"], how),
                answer="Settled",
            )
            for how, words in (
                ("retry", "Send a part whose outcome is unknown again, marked as repeated."),
                ("sent", "Record that a part whose outcome was unknown has arrived."),
                ("drop", "Drop a part whose outcome is unknown."),
            )
        )
        words = "Sends whose outcome is unknown, oldest first."
        return (
            ApiRoute("GET", "/api/outbox", words, _unknown_sends(verbs["outbox"]), answer="Unknown"),
            *settling,
        )

    def _gateway(self) -> tuple[ApiRoute, ...]:
        verbs, path = self._inside.verbs, "/api/gateway"
        return (
            ApiRoute(
                "POST",
                f"{path}/restart",
                "Restart the gateway, now or when no turn runs.",
                verbs["restart"],
                answer="Asked",
            ),
            ApiRoute(
                "POST",
                f"{path}/stop",
                "Stop the gateway; its supervisor does not start it again.",
                verbs["shutdown"],
                answer="Asked",
            ),
            ApiRoute(
                "POST",
                f"{path}/kill",
                "Kill the process, for a demonstration of recovery.",
                handler=self._kill,
                answer="Asked",
            ),
            ApiRoute(
                "GET",
                "/api/events",
                "An event for each change, so that a reader knows when to look again.",
                handler=self._follow,
                answer="text/event-stream",
            ),
        )

    async def _kill(self, request: Request) -> Response:
        if not self._inside.settings.demo:
            raise HttpError("forbidden", "only a demonstration allows this; set web.demo = true")
        return JSONResponse({"asked": "kill"}, background=BackgroundTask(_die))

    async def _follow(self, request: Request) -> Response:
        return self._streams.answer(request, self._changes())

    async def _changes(self) -> AsyncGenerator[StreamEvent, None]:
        """All topics at once, then those that have changed, a few times a second at most."""
        store, clock = self._inside.store, self._inside.clock
        state: str = self._inside.state().value
        topics: tuple[str, ...] = TOPICS
        versions = {topic: store.version(topic) for topic in TOPICS}
        yield StreamEvent("changed", {"topics": list(topics), "state": state})
        while True:
            await first_of(*(store.changed(*known) for known in versions.items()), clock.sleep(_CHECK_EVERY))
            await clock.sleep(_LEAST_PAUSE)
            now = {topic: store.version(topic) for topic in TOPICS}
            topics = tuple(topic for topic in TOPICS if now[topic] > versions[topic])
            before, state, versions = state, self._inside.state().value, now
            if topics or state != before:
                yield StreamEvent("changed", {"topics": list(topics), "state": state})


def _settle_as(settle: Operation, how: str) -> Operation:
    """The verb `settle` with its argument `how` fixed."""
    return Operation({"delivery": "number"}, lambda given: settle.run({**given, "how": how}))


def _unknown_sends(outbox: Operation) -> Operation:
    """The verb `outbox`, with its only state so far: `unknown`."""

    async def listed(given: Json) -> Json:
        asked = {name: value for name, value in given.items() if name != "state"}
        return await outbox.run({**asked, "unknown": True})

    return Operation({"state": "=unknown?", "after": "number?", "limit": "count?"}, listed)


async def _die() -> None:
    """End the process as a power cut would: without any cleanup."""
    os.kill(os.getpid(), signal.SIGKILL)
