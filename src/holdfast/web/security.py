"""The guard before everything: who may ask at all, from where, and what every answer says to browsers.

Browsers send cookies along with requests that other pages cause, and send them to every port of this host. So
Host and Origin must be ours on every request, and a cookie counts only beside the proof that our page keeps.
"""

from __future__ import annotations

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import cookie_parser
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from holdfast.records import dataclass

from .auth import SignIn
from .errors import HttpError, answer_to

PROOF = "x-holdfast"
SIGNED_IN = "holdfast.signed_in"
"""Under this name a request's scope holds a function that says whether who asks is still signed in."""
_HTTP = 80
_GUARDED = ("/api/", "/metrics", "/openapi.json")
"""Nobody needs to be signed in for anything else: health, the way in, and files that hold no secret."""

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; connect-src 'self'; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
_HEADERS = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    # No other page learns where somebody came from. Ours must: a form's Origin would be null without it.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


@dataclass(frozen=True, slots=True)
class HostNames:
    """Under which names browsers may ask for us."""

    hosts: frozenset[str]

    @staticmethod
    def of(host: str, port: int, more: frozenset[str]) -> HostNames:
        """The address we are at, this machine's own names, and those somebody configured.

        Those may stand behind a proxy at any port it chose; ours are without one only at the port of HTTP.
        """
        own = {f"[{host}]" if ":" in host else host, "localhost", "127.0.0.1", "[::1]"}
        bare = more | own if port == _HTTP else more
        return HostNames(
            frozenset(name.lower() for name in ({f"{name}:{port}" for name in own | more} | bare))
        )

    def has(self, host: str) -> bool:
        return host.lower() in self.hosts

    def is_origin(self, origin: str) -> bool:
        scheme, _, host = origin.partition("://")
        return scheme in ("http", "https") and self.has(host)


@dataclass(frozen=True, slots=True)
class Proofs:
    """Where a request carries what proves its sign-in."""

    cookie: str
    """The name of our cookie. It names the port: gateways beside each other do not overwrite each other's."""

    def of(self, headers: Headers) -> tuple[str, str]:
        """The cookie and the page's proof; empty where there is none."""
        # Cookies of other pages of this machine come along, whatever their port, and may be written anyhow.
        cookies = cookie_parser(headers.get("cookie", ""))
        return cookies.get(self.cookie, ""), headers.get(PROOF, "")


def bearer(headers: Headers) -> str | None:
    """The token that a program sends; None when it sends none."""
    scheme, _, token = headers.get("authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else None


def check_framing(headers: Headers) -> None:
    """A request says in one way how long its body is: a proxy before us could read two ways differently."""
    if "content-length" in headers and "transfer-encoding" in headers:
        words = "a request has Content-Length or Transfer-Encoding, not both"
        raise HttpError("bad_request", words, {"Connection": "close"})


class SecurityChecks:
    """Wraps an application; a request that may not come in is answered here."""

    def __init__(self, app: ASGIApp, sign_in: SignIn, names: HostNames, proofs: Proofs) -> None:
        self._app = app
        self._sign_in = sign_in
        self._names = names
        self._proofs = proofs

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
                headers.setdefault("Cache-Control", "no-store")
            await send(message)

        try:
            self._admit(scope)
        except HttpError as fault:
            await answer_to(fault)(scope, receive, with_headers)
            return
        await self._app(scope, receive, with_headers)

    def _admit(self, scope: Scope) -> None:
        headers = Headers(scope=scope)
        check_framing(headers)
        if not self._names.has(headers.get("host", "")):
            raise HttpError("forbidden", "this page is not known by that name; web.hosts allows more names")
        origin = headers.get("origin")
        if origin is not None and not self._names.is_origin(origin):
            raise HttpError("forbidden", "requests from other pages are refused")
        if scope["path"].startswith(_GUARDED):
            self._check_signed_in(headers)
            scope[SIGNED_IN] = lambda: self._is_signed_in(headers)

    def _is_signed_in(self, headers: Headers) -> bool:
        try:
            self._check_signed_in(headers)
        except HttpError:
            return False
        return True

    def _check_signed_in(self, headers: Headers) -> None:
        token = bearer(headers)
        if token is not None:
            if not self._sign_in.is_token(token):
                raise HttpError("not_signed_in", "this token is not, or no longer, the one in the home")
            return
        cookie, proof = self._proofs.of(headers)
        if cookie and not proof:
            raise HttpError(
                "not_signed_in", "a cookie counts only beside the page's proof, the header X-Holdfast"
            )
        if not self._sign_in.is_signed_in(cookie, proof):
            raise HttpError("not_signed_in", "sign in first: `holdfast link` prints a link")
