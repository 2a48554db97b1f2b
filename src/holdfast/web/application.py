"""The applications: every way in its table; for people with the page and the guard before all of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from holdfast.app.door import Inside
from holdfast.app.lifecycle import RunState
from holdfast.app.local import Verb
from holdfast.app.shown import Json

from .chat_ways import ChatWays
from .entering import Entering
from .events import Streams
from .faults import Fault, answer_to
from .guard import SIGNED_IN, Guard, Names, Proofs, bearer, check_framing
from .metrics import Metrics
from .openapi import Description
from .operator_ways import OperatorWays
from .signing import SignIn
from .static import Files
from .table import Way

_WANTS_TOKEN = "this socket wants the token of its home, as the HTTP API does: Authorization: Bearer TOKEN"


def api(inside: Inside, streams: Streams) -> tuple[Way, ...]:
    """Everything the API can do, and its description."""
    ways = (
        *health(inside),
        *ChatWays(inside, streams).table(),
        *OperatorWays(inside, streams).table(),
        Way(
            "GET",
            "/metrics",
            "Figures for monitoring.",
            handler=Metrics(inside, streams),
            answer="text/plain",
        ),
    )
    described = Way("GET", "/openapi.json", "This description.", handler=Description(ways), answer="Object")
    return (*ways, described)


def for_people(ways: Iterable[Way], sign_in: SignIn, names: Names, proofs: Proofs) -> ASGIApp:
    """The page and the API, for browsers that are signed in and programs that have the token."""
    app = _routed(*ways, *doors(Entering(sign_in, proofs), Files()))
    return Guard(app, sign_in, names, proofs)


def at_home(ways: Iterable[Way], verbs: Mapping[str, Verb], sign_in: SignIn) -> ASGIApp:
    """The same API on the home's socket, and everything that can be asked by name, for the token's holder."""
    app = _routed(*ways, *(Way("POST", f"/local/{name}", name, verb) for name, verb in verbs.items()))

    async def holders(scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope)
        token = bearer(headers) or ""

        def is_holder() -> bool:
            return sign_in.is_token(token)

        try:
            check_framing(headers)
            if not is_holder():
                raise Fault("not_signed_in", _WANTS_TOKEN)
        except Fault as fault:
            await answer_to(fault)(scope, receive, send)
            return
        await app({**scope, SIGNED_IN: is_holder}, receive, send)

    return holders


def _routed(*ways: Way) -> ASGIApp:
    return Starlette(routes=[way.route() for way in ways], exception_handlers={HTTPException: _unrouted})


def health(inside: Inside) -> tuple[Way, ...]:
    async def healthz(_: Json) -> Json:
        if silence := inside.silence():
            raise Fault(
                "try_again", f"the ledger has kept nothing for {silence:.0f} s: no room, or its writer hangs"
            )
        return {"state": inside.state().value}

    async def readyz(_: Json) -> Json:
        state = inside.state().value
        if not inside.is_ready():
            doing = "looking at what the last run left" if state == RunState.RUNNING else state
            raise Fault("try_again", f"the gateway is {doing}", {"Retry-After": "1"})
        return {"state": state}

    return (
        Way(
            "GET",
            "/healthz",
            "The process lives, its loop turns and its ledger keeps what is written.",
            Verb({}, healthz),
            answer="State",
            is_open=True,
        ),
        Way(
            "GET",
            "/readyz",
            "Turns are begun: not so before recovery has decided, nor while it drains.",
            Verb({}, readyz),
            answer="State",
            is_open=True,
        ),
    )


def doors(entering: Entering, files: Files) -> tuple[Way, ...]:
    """What browsers open; not part of the API."""
    return (
        Way("GET", "/login", "Sign in.", handler=files),
        Way("POST", "/login", "Sign in.", handler=entering.enter),
        Way("POST", "/logout", "Sign out.", handler=entering.leave),
        Way("GET", "/", "The chat.", handler=files),
        Way("GET", "/{file}", "A file of the page.", handler=files),
    )


async def _unrouted(request: Request, fault: Exception) -> Response:
    assert isinstance(fault, HTTPException)
    if fault.status_code == 405:
        allowed = dict(fault.headers or {})
        return answer_to(Fault("not_allowed", f"{request.method} is not for this path", allowed))
    return answer_to(Fault("not_found", "there is no such path"))
