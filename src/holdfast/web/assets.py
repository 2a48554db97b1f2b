"""The files of the page, kept in memory with their hash and their compressed form."""

from __future__ import annotations

import gzip
import hashlib
import re
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response

from holdfast.records import dataclass

from .errors import HttpError

FOLDER = Path(__file__).parent / "static"
_PAGES = {"/": "index.html", "/login": "login.html", "/operator": "operator.html"}
_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".ico": "image/x-icon",
    ".webmanifest": "application/manifest+json",
}
_NAME = re.compile(r"[a-z][a-z0-9.-]{0,60}")
_COMPRESS_FROM = 600
"""Below so many bytes, compression saves nothing."""


@dataclass(frozen=True, slots=True)
class Asset:
    """One file as it is sent."""

    stamp: int
    media_type: str
    plain: bytes
    packed: bytes
    etag: str


class Assets:
    """Serves the files of one folder. A path cannot name any other file."""

    def __init__(self, folder: Path = FOLDER) -> None:
        self._folder = folder
        self._files: dict[str, Asset] = {}

    async def __call__(self, request: Request) -> Response:
        path = request.url.path
        found = self._found(_PAGES.get(path, path.removeprefix("/")))
        if found is None:
            raise HttpError("not_found", "there is no such page")
        return self.answer(request, found)

    def page(self, request: Request, name: str, status: int) -> Response:
        """A page as the answer to another request, with this status."""
        found = self._found(name)
        assert found is not None
        return self.answer(request, found, status)

    def answer(self, request: Request, found: Asset, status: int = 200) -> Response:
        headers = {"ETag": found.etag, "Cache-Control": "no-cache", "Vary": "Accept-Encoding"}
        known = request.headers.get("if-none-match", "").replace("W/", "")
        if status == 200 and found.etag in [one.strip() for one in known.split(",")]:
            return Response(status_code=304, headers=headers)
        packed = "gzip" in request.headers.get("accept-encoding", "") and len(found.packed) < len(found.plain)
        if packed:
            headers["Content-Encoding"] = "gzip"
        body = found.packed if packed else found.plain
        return Response(body, status, headers, found.media_type)

    def _found(self, name: str) -> Asset | None:
        path = self._folder / name
        if not _NAME.fullmatch(name) or path.suffix not in _TYPES or not path.is_file():
            return None
        stamp = path.stat().st_mtime_ns
        known = self._files.get(name)
        if known is None or known.stamp != stamp:
            known = self._files[name] = _read(path, stamp)
        return known


def _read(path: Path, stamp: int) -> Asset:
    plain = path.read_bytes()
    packed = gzip.compress(plain, 9, mtime=0) if len(plain) >= _COMPRESS_FROM else plain
    return Asset(stamp, _TYPES[path.suffix], plain, packed, f'"{hashlib.sha256(plain).hexdigest()[:32]}"')
