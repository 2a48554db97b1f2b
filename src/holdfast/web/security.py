"""The checks before every request: its host, its origin and its sign-in; and the headers of every answer.

Browsers send cookies with requests that other pages cause, and send them to every port of this host. So every
request must name this gateway in Host and Origin, and a cookie counts only together with the page's proof.
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
"""The key in a request's scope for a function that says whether its sender is still signed in."""
_HTTP = 80
_GUARDED = ("/api/", "/metrics", "/openapi.json")
"""Paths that need a sign-in. The others are health, the sign-in itself, and files without secrets."""

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; connect-src 'self'; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
_HEADERS = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    # Other sites get no Referer. The gateway needs it itself: without it, a form's Origin would be null.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


@dataclass(frozen=True, slots=True)
class HostNames:
    """The host names that browsers may use for this gateway."""

    hosts: frozenset[str]

    @staticmethod
    def of(host: str, port: int, more: frozenset[str]) -> HostNames:
        """The gateway's address, this machine's own names, and the configured names.

        A configured name may belong to a proxy, with or without a port. The other names may lack the port
        only if it is the one of HTTP.
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
    """Finds the two secrets of a sign-in in a request."""

    cookie: str
    """The cookie's name. It contains the port, so that gateways on one machine keep separate cookies."""

    def of(self, headers: Headers) -> tuple[str, str]:
        """The cookie and the page's proof; an empty text for one that is missing."""
        # Cookies of other ports of this machine come along, and may be malformed.
        cookies = cookie_parser(headers.get("cookie", ""))
        return cookies.get(self.cookie, ""), headers.get(PROOF, "")


def bearer(headers: Headers) -> str | None:
    """The token that a program sends; None without one."""
    scheme, _, token = headers.get("authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else None


def check_framing(headers: Headers) -> None:
    """Refuse a request that states its length in two ways: a proxy could read it differently."""
    if "content-length" in headers and "transfer-encoding" in headers:
        words = "a request has Content-Length or Transfer-Encoding, not both"
        raise HttpError("bad_request", words, {"Connection": "close"})


class SecurityChecks:
    """Wraps an application and answers every request that it refuses."""

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
            raise HttpError("forbidden", "the gateway does not serve this host name; add it to web.hosts")
        origin = headers.get("origin")
        if origin is not None and not self._names.is_origin(origin):
            raise HttpError("forbidden", "the gateway refuses requests from other sites")
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
                raise HttpError(
                    "not_signed_in", "this is not the token in the home; it may have been replaced"
                )
            return
        cookie, proof = self._proofs.of(headers)
        if cookie and not proof:
            raise HttpError(
                "not_signed_in", "a cookie counts only with the page's proof in the header X-Holdfast"
            )
        if not self._sign_in.is_signed_in(cookie, proof):
            raise HttpError("not_signed_in", "sign in first: `holdfast link` prints a link")
