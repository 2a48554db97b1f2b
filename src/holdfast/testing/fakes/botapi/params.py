"""The parameters of a request, in every form that the Bot API accepts."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import field
from urllib.parse import parse_qsl

from starlette.requests import Request

from holdfast.records import dataclass

from .entities import Json
from .errors import bad_request

_BOUNDARY = re.compile(r'boundary="?([^";]+)"?')
_NAME = re.compile(rb'[; ]name="([^"]*)"')
_FILENAME = re.compile(rb'filename="([^"]*)"')


@dataclass(frozen=True, slots=True)
class Upload:
    """A file that came with the request."""

    name: str
    content: bytes


@dataclass(slots=True)
class Params:
    """Values as text, and files by the name of their field."""

    values: dict[str, str] = field(default_factory=dict)
    files: dict[str, Upload] = field(default_factory=dict)

    def text(self, name: str) -> str:
        value = self.values.get(name, "")
        try:
            value.encode()
        except UnicodeEncodeError:
            raise bad_request("strings must be encoded in UTF-8") from None
        return value

    def number(self, name: str, otherwise: int = 0) -> int:
        """A number; anything else counts as not given, as on Telegram."""
        value = self.values.get(name, "").strip()
        return int(value) if re.fullmatch(r"-?[0-9]{1,18}", value) else otherwise

    def optional(self, name: str) -> int | None:
        return self.number(name) if self.values.get(name) else None

    def flag(self, name: str) -> bool:
        return self.values.get(name, "").strip().lower() in ("true", "yes", "1")

    def json(self, name: str, words: str) -> object:
        """A value given as JSON; None if it is not given."""
        value = self.values.get(name, "")
        if not value:
            return None
        try:
            return json.loads(value)
        except ValueError:
            raise bad_request(words) from None

    def object(self, name: str, words: str) -> Json | None:
        found = self.json(name, words)
        if found is not None and not isinstance(found, dict):
            raise bad_request(words)
        return found


async def params_of(request: Request) -> Params:
    """Read the query and the body: a form, a form with files, or JSON."""
    params = Params(dict(request.query_params))
    body = await request.body()
    content_type = request.headers.get("content-type", "")
    if content_type.startswith("application/json"):
        params.values |= _from_json(body)
    elif content_type.startswith("multipart/form-data"):
        boundary = _BOUNDARY.search(content_type)
        if boundary is None:
            raise bad_request("can't find boundary of the multipart form")
        _read_parts(body, boundary[1].encode(), params)
    elif body:
        params.values |= dict(parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True))
    return params


def _from_json(body: bytes) -> dict[str, str]:
    try:
        given = json.loads(body or b"{}")
    except ValueError:
        raise bad_request("can't parse request: expected a JSON object") from None
    if not isinstance(given, Mapping):
        raise bad_request("can't parse request: expected a JSON object")
    return {
        str(name): value if isinstance(value, str) else json.dumps(value)
        for name, value in given.items()
        if value is not None
    }


def _read_parts(body: bytes, boundary: bytes, params: Params) -> None:
    for part in (b"\r\n" + body).split(b"\r\n--" + boundary)[1:]:
        head, _, content = part.partition(b"\r\n\r\n")
        name, filename = _NAME.search(head), _FILENAME.search(head)
        if name is None:
            continue
        if filename is None:
            params.values[name[1].decode()] = content.decode("utf-8", "replace")
        else:
            params.files[name[1].decode()] = Upload(filename[1].decode("utf-8", "replace"), content)
