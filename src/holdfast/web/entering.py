"""Signing in: a link that is good once, or the token typed into a form; the answer is a cookie."""

from __future__ import annotations

from urllib.parse import parse_qs

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from holdfast.policy.settings import SECOND

from .signing import COOKIE_LASTS, SignIn
from .static import Files
from .table import bytes_of

_LONGEST_FORM = 4_096


class Entering:
    """The way in. After it no secret stands in any address."""

    def __init__(self, sign_in: SignIn, files: Files, cookie: str) -> None:
        self._sign_in = sign_in
        self._files = files
        self._cookie = cookie

    async def look(self, request: Request) -> Response:
        """The form; with a key, the way in. Who only asks for the head of it (a preview) spends no key."""
        key = request.query_params.get("key")
        if key is None or request.method != "GET":
            return await self._files(request)
        return self._answer(request, self._sign_in.follow(key))

    async def submit(self, request: Request) -> Response:
        """The form, filled in."""
        form = parse_qs((await bytes_of(request, _LONGEST_FORM)).decode("utf-8", "replace"))
        return self._answer(request, self._sign_in.enter(form.get("token", [""])[0].strip()))

    async def leave(self, request: Request) -> Response:
        response = RedirectResponse("/login", 303)
        response.delete_cookie(self._cookie, httponly=True, samesite="strict")
        return response

    def _answer(self, request: Request, cookie: str | None) -> Response:
        if cookie is None:
            return self._files.page(request, "refused.html", 401)
        response = RedirectResponse("/", 303, {"Cache-Control": "no-store"})
        response.set_cookie(
            self._cookie, cookie, COOKIE_LASTS // SECOND, path="/", httponly=True, samesite="strict"
        )
        return response
