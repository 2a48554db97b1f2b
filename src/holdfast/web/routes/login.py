"""Sign in with a link or the token; the answer is a cookie and the page's own proof. Sign out."""

from __future__ import annotations

from urllib.parse import parse_qs

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from holdfast.policy.settings import SECOND
from holdfast.web.auth import SignIn
from holdfast.web.errors import HttpError
from holdfast.web.security import Proofs
from holdfast.web.sign_ins import LASTS

from .route import bytes_of

_LONGEST_FORM = 4_096
_REFUSED = {
    "key": "this link is not valid; a link works once, for 15 minutes; `holdfast link` prints a new one",
    "token": "this is not the token of this gateway",
}


class LoginRoutes:
    """The page posts a link's key or the token here; none of the secrets is ever part of a request's URL.

    A link carries its key after `#`, a part that browsers send to no server.
    """

    def __init__(self, sign_in: SignIn, proofs: Proofs) -> None:
        self._sign_in = sign_in
        self._proofs = proofs

    async def enter(self, request: Request) -> Response:
        form = parse_qs((await bytes_of(request, _LONGEST_FORM)).decode("utf-8", "replace"))
        what = "key" if "key" in form else "token"
        given = form.get(what, [""])[0].strip()
        sign = self._sign_in.follow if what == "key" else self._sign_in.enter
        secrets = await sign(given, request.headers.get("user-agent", ""))
        if secrets is None:
            raise HttpError("not_signed_in", _REFUSED[what])
        response = JSONResponse({"proof": secrets.proof})
        response.set_cookie(
            self._proofs.cookie,
            secrets.cookie,
            LASTS // SECOND,
            httponly=True,
            samesite="strict",
            secure=_came_by_tls(request),
        )
        return response

    async def leave(self, request: Request) -> Response:
        await self._sign_in.leave(*self._proofs.of(request.headers))
        response = JSONResponse({})
        response.delete_cookie(
            self._proofs.cookie, httponly=True, samesite="strict", secure=_came_by_tls(request)
        )
        return response


def _came_by_tls(request: Request) -> bool:
    """Whether the browser speaks TLS to a proxy in front of the gateway: `Origin` names its scheme."""
    return request.headers.get("origin", "").startswith("https://")
