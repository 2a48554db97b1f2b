"""The two applications: one for browsers and programs on the port, one on the socket in the home."""

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

_WANTS_TOKEN = "this socket needs the token of its home, as the HTTP API does: Authorization: Bearer TOKEN"


def api(inside: RunningGateway, streams: Streams) -> tuple[ApiRoute, ...]:
    """All routes of the API, with the one that describes them."""
    routes = (
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
        "GET", "/openapi.json", "This description.", handler=Description(routes), answer="Object"
    )
    return (*routes, described)


def page_application(
    routes: Iterable[ApiRoute], sign_in: SignIn, names: HostNames, proofs: Proofs
) -> ASGIApp:
    """The page and the API, for signed-in browsers and for programs that have the token."""
    app = _routed(*routes, *page_routes(LoginRoutes(sign_in, proofs), Assets()))
    return SecurityChecks(app, sign_in, names, proofs)


def home_application(routes: Iterable[ApiRoute], verbs: Mapping[str, Operation], sign_in: SignIn) -> ASGIApp:
    """The same API and every verb by its name, on the home's socket, for programs that have the token."""
    app = _routed(*routes, *(ApiRoute("POST", f"/local/{name}", name, verb) for name, verb in verbs.items()))

    async def with_token(scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope)
        token = bearer(headers) or ""

        def has_token() -> bool:
            return sign_in.is_token(token)

        try:
            check_framing(headers)
            if not has_token():
                raise HttpError("not_signed_in", _WANTS_TOKEN)
        except HttpError as fault:
            await answer_to(fault)(scope, receive, send)
            return
        await app({**scope, SIGNED_IN: has_token}, receive, send)

    return with_token


def _routed(*routes: ApiRoute) -> ASGIApp:
    return Starlette(routes=[one.route() for one in routes], exception_handlers={HTTPException: _unrouted})


def health(inside: RunningGateway) -> tuple[ApiRoute, ...]:
    async def healthz(_: Json) -> Json:
        if silence := inside.silence():
            raise HttpError(
                "try_again",
                f"the ledger has stored nothing for {silence:.0f} s: the disk is full or its writer hangs",
            )
        return {"state": inside.state().value}

    async def readyz(_: Json) -> Json:
        state = inside.state().value
        if not inside.is_ready():
            doing = "still recovering interrupted work" if state == RunState.RUNNING else state
            raise HttpError("try_again", f"the gateway is {doing}", {"Retry-After": "1"})
        return {"state": state}

    return (
        ApiRoute(
            "GET",
            "/healthz",
            "The process is alive, its event loop runs and its ledger stores what is written.",
            Operation({}, healthz),
            answer="State",
            is_open=True,
        ),
        ApiRoute(
            "GET",
            "/readyz",
            "The gateway starts turns. It does not before recovery has decided, nor while it drains.",
            Operation({}, readyz),
            answer="State",
            is_open=True,
        ),
    )


def page_routes(login: LoginRoutes, files: Assets) -> tuple[ApiRoute, ...]:
    """The routes that browsers open. They are not part of the API."""
    return (
        ApiRoute("GET", "/login", "Sign in.", handler=files),
        ApiRoute("POST", "/login", "Sign in.", handler=login.enter),
        ApiRoute("POST", "/logout", "Sign out.", handler=login.leave),
        ApiRoute("GET", "/", "The chat.", handler=files),
        ApiRoute("GET", "/{file}", "A file of the page.", handler=files),
    )


async def _unrouted(request: Request, fault: Exception) -> Response:
    assert isinstance(fault, HTTPException)
    if fault.status_code == 405:
        allowed = dict(fault.headers or {})
        return answer_to(HttpError("not_allowed", f"this path does not take {request.method}", allowed))
    return answer_to(HttpError("not_found", "there is no such path"))
