"""The applications: every way in its table; for people with the page and the guard before all of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from holdfast.api.arguments import Operation
from holdfast.api.frontend import RunningGateway
from holdfast.api.to_json import Json
from holdfast.gateway.lifecycle import RunState

from .assets import Assets
from .auth import SignIn
from .errors import HttpError, answer_to
from .events import Streams
from .metrics import Metrics
from .openapi import Description
from .routes.chat import ChatRoutes
from .routes.login import LoginRoutes
from .routes.operator import OperatorRoutes
from .routes.route import ApiRoute
from .security import SIGNED_IN, HostNames, Proofs, SecurityChecks, bearer, check_framing

_WANTS_TOKEN = "this socket wants the token of its home, as the HTTP API does: Authorization: Bearer TOKEN"


def api(inside: RunningGateway, streams: Streams) -> tuple[ApiRoute, ...]:
    """Everything the API can do, and its description."""
    ways = (
        *health(inside),
        *ChatRoutes(inside, streams).table(),
        *OperatorRoutes(inside, streams).table(),
        ApiRoute(
            "GET",
            "/metrics",
            "Figures for monitoring.",
            handler=Metrics(inside, streams),
            answer="text/plain",
        ),
    )
    described = ApiRoute(
        "GET", "/openapi.json", "This description.", handler=Description(ways), answer="Object"
    )
    return (*ways, described)


def for_people(ways: Iterable[ApiRoute], sign_in: SignIn, names: HostNames, proofs: Proofs) -> ASGIApp:
    """The page and the API, for browsers that are signed in and programs that have the token."""
    app = _routed(*ways, *doors(LoginRoutes(sign_in, proofs), Assets()))
    return SecurityChecks(app, sign_in, names, proofs)


def at_home(ways: Iterable[ApiRoute], verbs: Mapping[str, Operation], sign_in: SignIn) -> ASGIApp:
    """The same API on the home's socket, and everything that can be asked by name, for the token's holder."""
    app = _routed(*ways, *(ApiRoute("POST", f"/local/{name}", name, verb) for name, verb in verbs.items()))

    async def holders(scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope)
        token = bearer(headers) or ""

        def is_holder() -> bool:
            return sign_in.is_token(token)

        try:
            check_framing(headers)
            if not is_holder():
                raise HttpError("not_signed_in", _WANTS_TOKEN)
        except HttpError as fault:
            await answer_to(fault)(scope, receive, send)
            return
        await app({**scope, SIGNED_IN: is_holder}, receive, send)

    return holders


def _routed(*ways: ApiRoute) -> ASGIApp:
    return Starlette(routes=[way.route() for way in ways], exception_handlers={HTTPException: _unrouted})


def health(inside: RunningGateway) -> tuple[ApiRoute, ...]:
    async def healthz(_: Json) -> Json:
        if silence := inside.silence():
            raise HttpError(
                "try_again", f"the ledger has kept nothing for {silence:.0f} s: no room, or its writer hangs"
            )
        return {"state": inside.state().value}

    async def readyz(_: Json) -> Json:
        state = inside.state().value
        if not inside.is_ready():
            doing = "looking at what the last run left" if state == RunState.RUNNING else state
            raise HttpError("try_again", f"the gateway is {doing}", {"Retry-After": "1"})
        return {"state": state}

    return (
        ApiRoute(
            "GET",
            "/healthz",
            "The process lives, its loop turns and its ledger keeps what is written.",
            Operation({}, healthz),
            answer="State",
            is_open=True,
        ),
        ApiRoute(
            "GET",
            "/readyz",
            "Turns are begun: not so before recovery has decided, nor while it drains.",
            Operation({}, readyz),
            answer="State",
            is_open=True,
        ),
    )


def doors(entering: LoginRoutes, files: Assets) -> tuple[ApiRoute, ...]:
    """What browsers open; not part of the API."""
    return (
        ApiRoute("GET", "/login", "Sign in.", handler=files),
        ApiRoute("POST", "/login", "Sign in.", handler=entering.enter),
        ApiRoute("POST", "/logout", "Sign out.", handler=entering.leave),
        ApiRoute("GET", "/", "The chat.", handler=files),
        ApiRoute("GET", "/{file}", "A file of the page.", handler=files),
    )


async def _unrouted(request: Request, fault: Exception) -> Response:
    assert isinstance(fault, HTTPException)
    if fault.status_code == 405:
        allowed = dict(fault.headers or {})
        return answer_to(HttpError("not_allowed", f"{request.method} is not for this path", allowed))
    return answer_to(HttpError("not_found", "there is no such path"))
