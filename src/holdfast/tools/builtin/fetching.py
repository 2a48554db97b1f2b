"""Fetching a page of the web, and nothing of this machine or its network.

A name is resolved once, every address of it must be a public one, and the connection goes to just that
address: a name that means something else a moment later changes nothing. Where an answer leads to is
looked at in the same way.
"""

from __future__ import annotations

import asyncio
import codecs
import ipaddress
import socket
import zlib
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack, suppress
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, urljoin, urlsplit

from holdfast.clock import Clock, in_time
from holdfast.model import EffectClass
from holdfast.policy.settings import SECOND, FetchSettings
from holdfast.records import dataclass

from ..base import Tool, ToolContext, ToolFailed
from ..functions import FunctionTool
from .pages import page_text

if TYPE_CHECKING:
    import httpx

Resolve = Callable[[str, int], Awaitable[list[str]]]
"""The addresses a name has now."""

REDIRECTS = 5
_BEYOND = 5.0
_PORTS = {"http": 80, "https": 443}
_TEXTS = ("text/", "application/json", "application/xml", "application/javascript", "application/xhtml")
_NAT64 = ipaddress.ip_network("64:ff9b::/96")
_ASKING = {
    "User-Agent": "holdfast",
    "Accept": "text/html,text/*;q=0.9,*/*;q=0.5",
    "Accept-Encoding": "identity",
}

_Address = ipaddress.IPv4Address | ipaddress.IPv6Address


async def resolve(host: str, port: int) -> list[str]:
    """The addresses a name has now, as this machine finds them."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(one[4][0]) for one in found))


@dataclass(frozen=True, slots=True)
class Fetching:
    """The agent's way to the web."""

    clock: Clock
    settings: FetchSettings
    resolve: Resolve = resolve

    def tools(self) -> tuple[Tool, ...]:
        return (
            FunctionTool(self.fetch_url, None, EffectClass.READ, self.settings.timeout / SECOND + _BEYOND),
        )

    async def fetch_url(self, context: ToolContext, url: str) -> str:
        """Get a page or a text from the web, by GET; a page is given as its text.

        Args:
            url: The address, beginning with http:// or https://.
        """
        seconds = self.settings.timeout / SECOND
        try:
            return await in_time(self.clock, seconds, self._follow(context, url))
        except TimeoutError:
            raise ToolFailed(f"{url} did not answer within {seconds:g} seconds") from None

    async def _follow(self, context: ToolContext, url: str) -> str:
        import httpx  # noqa: PLC0415 - takes long to import, and many gateways fetch nothing

        at = url
        # No proxy, no password from the surroundings: the address that was looked at is the one we talk to.
        async with httpx.AsyncClient(trust_env=False, timeout=None) as client:
            for _ in range(REDIRECTS + 1):
                parts = _parts(at)
                try:
                    found = await self._get(client, context, parts, await self._address(parts))
                except (httpx.HTTPError, OSError) as error:
                    raise ToolFailed(
                        f"{at} cannot be reached: {str(error) or type(error).__name__}"
                    ) from None
                if isinstance(found, str):
                    return found
                at = urljoin(at, found.location)
        raise ToolFailed(f"{url} leads from one place to the next more than {REDIRECTS} times")

    async def _address(self, parts: SplitResult) -> str:
        """The one address to talk to."""
        host = parts.hostname or ""
        try:
            known = [str(ipaddress.ip_address(host))]
        except ValueError:
            known = await self._resolved(host, parts.port or _PORTS[parts.scheme])
        private = [one for one in known if not is_public(one)]
        if private and not self.settings.allow_private:
            raise ToolFailed(f"{host} is not on the public net ({private[0]}); that is not fetched from")
        return known[0]

    async def _resolved(self, host: str, port: int) -> list[str]:
        try:
            known = await self.resolve(host, port)
        except (OSError, UnicodeError):
            known = []
        if not known:
            raise ToolFailed(f"there is no {host} on the net")
        return known

    async def _get(
        self, client: httpx.AsyncClient, context: ToolContext, parts: SplitResult, address: str
    ) -> str | _Elsewhere:
        host = f"[{address}]" if ":" in address else address
        port = f":{parts.port}" if parts.port else ""
        pinned = parts._replace(netloc=f"{host}{port}", fragment="").geturl()
        headers = {**_ASKING, "Host": parts.netloc}
        async with AsyncExitStack() as ending:
            answer = await ending.enter_async_context(
                client.stream("GET", pinned, headers=headers, extensions={"sni_hostname": parts.hostname})
            )
            if answer.is_redirect:
                return _Elsewhere(answer.headers["location"])
            body, whole = await self._body(context, answer)
        return _told(answer, body, whole)

    async def _body(self, context: ToolContext, answer: httpx.Response) -> tuple[bytes, bool]:
        """What was sent, up to what may be, and whether that is all of it."""
        body, most = bytearray(), self.settings.most
        unpack = _unpacking(answer.headers.get("content-encoding", ""))
        async for piece in answer.aiter_raw():
            context.progress()
            body += unpack(piece, most + 1 - len(body))
            if len(body) > most:
                return bytes(body[:most]), False
        return bytes(body), True


@dataclass(frozen=True, slots=True)
class _Elsewhere:
    location: str


def _unpacking(encoding: str) -> Callable[[bytes, int], bytes]:
    """How pieces are unpacked, never to more than is wanted: a little may become a lot."""
    if encoding.strip().lower() in ("", "identity"):
        return lambda piece, most: piece[:most]
    if encoding.strip().lower() not in ("gzip", "x-gzip", "deflate"):
        raise ToolFailed(f"the answer is packed in a way that was not asked for ({encoding})")
    unpacking = zlib.decompressobj(wbits=47)

    def unpack(piece: bytes, most: int) -> bytes:
        try:
            return unpacking.decompress(piece, max(1, most))
        except zlib.error:
            raise ToolFailed("the answer is packed and damaged") from None

    return unpack


def _parts(url: str) -> SplitResult:
    with suppress(ValueError):
        parts = urlsplit(url.strip())
        if parts.scheme in _PORTS and parts.hostname and parts.username is None and parts.port != 0:
            return parts
    raise ToolFailed(f"{url!r} is no address like https://example.org/page, without a user or password")


def is_public(address: str) -> bool:
    """Whether an address is one of the public net; those that stand for another are what they stand for."""
    try:
        found: _Address = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return False
    if isinstance(found, ipaddress.IPv6Address):
        inside = found.ipv4_mapped or found.sixtofour or (found.teredo or (None, None))[1]
        if found in _NAT64:
            inside = ipaddress.IPv4Address(int(found) & 0xFFFFFFFF)
        found = inside or found
    return found.is_global and not found.is_multicast and not found.is_reserved


def _told(answer: httpx.Response, body: bytes, whole: bool) -> str:
    kind = answer.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind and not kind.startswith(_TEXTS) and not kind.endswith(("+json", "+xml")):
        raise ToolFailed(f"the answer is no text but {kind} ({answer.status_code})")
    text = body.decode(_charset(answer), "replace")
    if "html" in kind or (not kind and "<html" in text[:1_000].lower()):
        text = page_text(text)
    if answer.status_code >= 400:
        raise ToolFailed(f"the answer is {answer.status_code} {answer.reason_phrase}: {text[:2_000]}")
    end = "" if whole else "\n[the answer is longer; this is its beginning]"
    return f"{text}{end}"


def _charset(answer: httpx.Response) -> str:
    said = answer.charset_encoding or "utf-8"
    try:
        codecs.lookup(said)
    except LookupError:
        return "utf-8"
    return said
