"""The API described for programs (OpenAPI 3.1), written from the very table that its routes are made from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from holdfast import __version__
from holdfast.api.arguments import LONGEST_NAME, choices
from holdfast.api.to_json import Json

from .errors import STATUS
from .routes.route import ApiRoute
from .schemas import ERROR, SCHEMAS

_MOST = 2**63 - 1
_KINDS: Mapping[str, Json] = {
    "text": {"type": "string", "minLength": 1},
    "words": {"type": "string"},
    "number": {"type": "integer", "minimum": 0, "maximum": _MOST},
    "count": {"type": "integer", "minimum": 1, "maximum": _MOST},
    "name": {"type": "string", "minLength": 1, "maxLength": LONGEST_NAME},
    "chat": {"type": "string", "minLength": 1, "maxLength": LONGEST_NAME},
    "flag": {"type": "boolean"},
    "files": {
        "type": "array",
        "maxItems": 20,
        "items": {
            "oneOf": [
                {"type": "string"},
                {
                    "type": "object",
                    "properties": {"digest": {"type": "string"}, "name": {"type": "string"}},
                    "required": ["digest"],
                    "additionalProperties": False,
                },
            ]
        },
    },
}


class Description:
    """Gives the description; it is written once, when it is first asked for."""

    def __init__(self, ways: Iterable[ApiRoute]) -> None:
        self._ways = tuple(ways)
        self._written: Json = {}

    async def __call__(self, request: Request) -> Response:
        self._written = self._written or described(self._ways)
        return JSONResponse(self._written)


def described(ways: Iterable[ApiRoute]) -> Json:
    """The whole document."""
    paths: dict[str, Json] = {}
    for way in ways:
        paths.setdefault(way.path, {})[way.method.lower()] = _operation(way)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Holdfast", "version": __version__},
        "paths": paths,
        "components": {
            "schemas": {**SCHEMAS, "Error": ERROR},
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _operation(way: ApiRoute) -> Json:
    found: Json = {
        "summary": way.words,
        "security": [] if way.is_open else [{"token": []}],
        "parameters": [
            *(_parameter(name, kind, "path") for name, kind in way.in_path.items()),
            *(_parameter(name, kind, "query") for name, kind in way.in_query.items()),
        ],
        "responses": {str(way.status): _answer(way), **_faults(way)},
    }
    body = _body(way)
    return found if body is None else {**found, "requestBody": body}


def _parameter(name: str, kind: str, where: str) -> Json:
    return {"name": name, "in": where, "required": not kind.endswith("?"), "schema": _schema(kind)}


def _body(way: ApiRoute) -> Json | None:
    if way.takes is not None:
        return {"required": True, "content": {way.takes: {"schema": {"type": "string", "format": "binary"}}}}
    members = way.in_body
    if members is None:
        return None
    schema = {
        "type": "object",
        "properties": {name: _member(kind) for name, kind in members.items()},
        "required": [name for name, kind in members.items() if not kind.endswith("?")],
        "additionalProperties": False,
    }
    return {"required": bool(schema["required"]), "content": {"application/json": {"schema": schema}}}


def _schema(kind: str) -> Json:
    """Of a named kind, or of the words that may be given."""
    words = choices(kind)
    return {"enum": words} if words else _KINDS[kind.rstrip("?")]


def _member(kind: str) -> Json:
    known = _schema(kind)
    return {"anyOf": [known, {"type": "null"}]} if kind.endswith("?") else known


def _answer(way: ApiRoute) -> Json:
    if "/" in way.answer:
        return {"description": way.words, "content": {way.answer: {"schema": {"type": "string"}}}}
    schema = {"$ref": f"#/components/schemas/{way.answer}"}
    return {"description": way.words, "content": {"application/json": {"schema": schema}}}


def _faults(way: ApiRoute) -> Json:
    """Every fault has the same form; which of them a way can have is not told apart."""
    schema = {"$ref": "#/components/schemas/Error"}
    by_status: dict[int, list[str]] = {}
    for code, status in STATUS.items():
        by_status.setdefault(status, []).append(code)
    return {
        str(status): {"description": ", ".join(codes), "content": {"application/json": {"schema": schema}}}
        for status, codes in by_status.items()
    }
