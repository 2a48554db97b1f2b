"""Fetches pages of the web, and nothing of this machine or its network.

The gateway resolves a name once. Every address of the name must be public, and the connection goes to exactly
one of these addresses, so a later change of the name has no effect. Each redirect is checked in the same way.
"""

from __future__ import annotations

import asyncio
import codecs
import ipaddress
import socket
import zlib
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, urljoin, urlsplit

from holdfast.clock import Clock, in_time
from holdfast.model import EffectClass
from holdfast.policy.settings import SECOND, FetchSettings
from holdfast.records import dataclass
from holdfast.telemetry import KnownSecrets
from holdfast.tools.base import Tool, ToolContext, ToolFailed
from holdfast.tools.functions import FunctionTool
from holdfast.tools.limited_child import ChildFailed, LimitedChildren

from . import pages

if TYPE_CHECKING:
    import httpx

Resolve = Callable[[str, int], Awaitable[list[str]]]
"""The current addresses of a name."""

REDIRECTS = 5
_LOOKED_UP_AT_ONCE = 4
_BEYOND = 5.0
_PORTS = {"http": 80, "https": 443}
_TEXTS = ("text/", "application/json", "application/xml", "application/javascript", "application/xhtml")
_CHARSETS = frozenset(
    codecs.lookup(name).name
    for name in (
        *("ascii", "utf-8", "utf-16", "utf-16-le", "utf-16-be", "koi8-r", "koi8-u", "mac-roman", "cp866"),
        *(f"iso8859-{part}" for part in range(1, 17) if part != 12),
        *(f"cp{page}" for page in (874, 932, 936, 949, 950, *range(1250, 1259))),
        *("shift_jis", "euc_jp", "iso2022_jp", "euc_kr", "gb2312", "gbk", "gb18030", "big5", "big5hkscs"),
    )
)
"""Charsets of pages. Python knows more codecs by name: some give no text, and some take very long."""
_NAT64 = ipaddress.ip_network("64:ff9b::/96")
_GLOBAL = ipaddress.ip_network("2000::/3")
"""All IPv6 addresses of public hosts."""
_SPECIAL = tuple(
    ipaddress.ip_network(one)
    for one in (
        # The registries of special-purpose addresses (IANA), complete: even those that are reachable from
        # everywhere serve no pages.
        *("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12"),
        *("192.0.0.0/24", "192.0.2.0/24", "192.31.196.0/24", "192.52.193.0/24", "192.88.99.0/24"),
        *("192.168.0.0/16", "192.175.48.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24"),
        *("224.0.0.0/4", "240.0.0.0/4"),
        "168.63.129.16/32",  # A public number, but on a machine of Azure it is the host below.
        *("2001::/23", "2001:db8::/32", "2002::/16", "2620:4f:8000::/48", "3fff::/20"),
    )
)
_ASKING = {
    "User-Agent": "holdfast",
    "Accept": "text/html,text/*;q=0.9,*/*;q=0.5",
    "Accept-Encoding": "identity",
}

_Address = ipaddress.IPv4Address | ipaddress.IPv6Address


class Resolver:
    """Looks names up in its own threads, so that a name without an answer delays no other work."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(_LOOKED_UP_AT_ONCE, thread_name_prefix="names")

    async def __call__(self, host: str, port: int) -> list[str]:
        """The addresses of a name, as this machine finds them now."""
        look_up = partial(socket.getaddrinfo, host, port, type=socket.SOCK_STREAM)
        found = await asyncio.get_running_loop().run_in_executor(self._threads, look_up)
        return list(dict.fromkeys(str(one[4][0]) for one in found))


def is_own(address: str) -> bool:
    """Whether this machine itself has the address."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as unsent:
            unsent.connect((address, _PORTS["http"]))
            return str(unsent.getsockname()[0]) == address
    except OSError:
        return False


@dataclass(frozen=True, slots=True)
class FetchUrl:
    """The tool that fetches pages."""

    clock: Clock
    settings: FetchSettings
    children: LimitedChildren
    """They turn pages into text."""
    resolve: Resolve
    is_own: Callable[[str], bool] = is_own

    def tools(self) -> tuple[Tool, ...]:
        return (
            FunctionTool(self.fetch_url, None, EffectClass.READ, self.settings.timeout / SECOND + _BEYOND),
        )

    async def fetch_url(self, context: ToolContext, url: str) -> str:
        """Get a page or a text from the web, by GET. A page is returned as its text.

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
        # No proxy and no password of the environment: the connection goes to the address that was checked.
        async with httpx.AsyncClient(trust_env=False, timeout=None) as client:
            for _ in range(REDIRECTS + 1):
                parts = _parts(at)
                try:
                    found = await self._get(client, context, parts, await self._address(parts))
                    if isinstance(found, str):
                        return found
                    at = urljoin(at, found.location)
                except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError, OSError, ValueError) as error:
                    raise ToolFailed(
                        f"{at} cannot be reached: {str(error) or type(error).__name__}"
                    ) from None
        raise ToolFailed(f"{url} redirects more than {REDIRECTS} times")

    async def _address(self, parts: SplitResult) -> str:
        """The one address to connect to."""
        host = parts.hostname or ""
        try:
            known = [str(ipaddress.ip_address(host))]
        except ValueError:
            known = await self._resolved(host, parts.port or _PORTS[parts.scheme])
        private = [one for one in known if not is_public(one) or self.is_own(one)]
        if private and not self.settings.allow_private:
            raise ToolFailed(f"{host} ({private[0]}) is not public, and only public addresses are fetched")
        return known[0]

    async def _resolved(self, host: str, port: int) -> list[str]:
        try:
            known = await self.resolve(host, port)
        except (OSError, UnicodeError):
            known = []
        if not known:
            raise ToolFailed(f"{host} was not found on the internet")
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
            if answer.has_redirect_location:
                return _Elsewhere(answer.headers["location"])
            body, whole = await self._body(context, answer)
        text = _text(answer, body)
        if _is_page(answer, text):
            text = await self._page(text)
        return _told(answer, text if whole else context.secrets.closed(text), whole, context.secrets)

    async def _page(self, html: str) -> str:
        """The text of a page. A child process reads it: some pages are made to block their reader."""
        try:
            read = await self.children.run(Path(pages.__file__), "page_bytes", html.encode())
        except ChildFailed as failure:
            raise ToolFailed(f"the page was received, but could not be read: {failure}") from None
        return read.decode()

    async def _body(self, context: ToolContext, answer: httpx.Response) -> tuple[bytes, bool]:
        """The answer, up to the limit, and whether that is all of it."""
        body, most = bytearray(), self.settings.most
        unpacker = _Unpacker(answer.headers.get("content-encoding", ""))
        async for piece in answer.aiter_raw():
            context.progress()
            body += unpacker.take(piece, most + 1 - len(body))
            if len(body) > most:
                return bytes(body[:most]), False
        return bytes(body), unpacker.is_whole


@dataclass(frozen=True, slots=True)
class _Elsewhere:
    location: str


class _Unpacker:
    """Unpacks an answer piece by piece, up to a limit: a small answer can unpack to gigabytes."""

    def __init__(self, encoding: str) -> None:
        packed = encoding.strip().lower()
        if packed not in ("", "identity", "gzip", "x-gzip", "deflate"):
            raise ToolFailed(f"the answer is compressed in an unknown way ({encoding[:100]})")
        self._unpacking = None if packed in ("", "identity") else zlib.decompressobj(wbits=47)

    @property
    def is_whole(self) -> bool:
        """Whether the compressed data is complete."""
        return self._unpacking is None or self._unpacking.eof

    def take(self, piece: bytes, most: int) -> bytes:
        if self._unpacking is None:
            return piece[:most]
        try:
            return self._unpacking.decompress(piece, max(1, most))
        except zlib.error:
            raise ToolFailed("the answer is compressed and damaged") from None


def _parts(url: str) -> SplitResult:
    with suppress(ValueError):
        parts = urlsplit(url.strip())
        if parts.scheme in _PORTS and parts.hostname and parts.username is None and parts.port != 0:
            return parts
    raise ToolFailed(f"{url!r} is not an address like https://example.org/page, without a user or password")


def is_public(address: str) -> bool:
    """Whether an address belongs to a public host; an IPv4 address inside IPv6 is checked itself."""
    try:
        found: _Address = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return False
    if isinstance(found, ipaddress.IPv6Address):
        inside = ipaddress.IPv4Address(int(found) & 0xFFFFFFFF) if found in _NAT64 else found.ipv4_mapped
        found = inside or found
    is_given = found in _GLOBAL if isinstance(found, ipaddress.IPv6Address) else True
    return is_given and not any(found in special for special in _SPECIAL)


def _text(answer: httpx.Response, body: bytes) -> str:
    kind = _kind(answer)
    if kind and not kind.startswith(_TEXTS) and not kind.endswith(("+json", "+xml")):
        raise ToolFailed(f"the answer is not text but {kind} ({answer.status_code})")
    return body.decode(_charset(answer), "replace")


def _kind(answer: httpx.Response) -> str:
    said: str = answer.headers.get("content-type", "")
    return said.partition(";")[0].strip().lower()


def _is_page(answer: httpx.Response, text: str) -> bool:
    kind = _kind(answer)
    return "html" in kind or (not kind and "<html" in text[:1_000].lower())


def _told(answer: httpx.Response, text: str, whole: bool, known: KnownSecrets) -> str:
    if answer.is_redirect:
        raise ToolFailed(f"the answer is {answer.status_code}, without the address to go to")
    if answer.status_code >= 300:
        words = known.cut(text, 2_000)
        raise ToolFailed(f"the answer is {answer.status_code} {answer.reason_phrase}: {words}")
    end = "" if whole else "\n[the answer is longer; this is its beginning]"
    return f"{text}{end}"


def _charset(answer: httpx.Response) -> str:
    """The charset that the answer names, if pages use it; else UTF-8."""
    try:
        said = codecs.lookup(answer.charset_encoding or "utf-8").name
    except (LookupError, ValueError):
        return "utf-8"
    return said if said in _CHARSETS else "utf-8"
