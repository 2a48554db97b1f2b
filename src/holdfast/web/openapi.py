"""The API's description for programs (OpenAPI 3.1), made from the same table as its routes."""

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
    """Serves the description; it is made once, at the first request."""

    def __init__(self, routes: Iterable[ApiRoute]) -> None:
        self._routes = tuple(routes)
        self._written: Json = {}

    async def __call__(self, request: Request) -> Response:
        self._written = self._written or described(self._routes)
        return JSONResponse(self._written)


def described(routes: Iterable[ApiRoute]) -> Json:
    """The whole document."""
    paths: dict[str, Json] = {}
    for route in routes:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Holdfast", "version": __version__},
        "paths": paths,
        "components": {
            "schemas": {**SCHEMAS, "Error": ERROR},
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _operation(route: ApiRoute) -> Json:
    found: Json = {
        "summary": route.words,
        "security": [] if route.is_open else [{"token": []}],
        "parameters": [
            *(_parameter(name, kind, "path") for name, kind in route.in_path.items()),
            *(_parameter(name, kind, "query") for name, kind in route.in_query.items()),
        ],
        "responses": {str(route.status): _answer(route), **_faults(route)},
    }
    body = _body(route)
    return found if body is None else {**found, "requestBody": body}


def _parameter(name: str, kind: str, where: str) -> Json:
    return {"name": name, "in": where, "required": not kind.endswith("?"), "schema": _schema(kind)}


def _body(route: ApiRoute) -> Json | None:
    if route.takes is not None:
        return {
            "required": True,
            "content": {route.takes: {"schema": {"type": "string", "format": "binary"}}},
        }
    members = route.in_body
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
    """The schema of a named kind, or of the values that are allowed."""
    words = choices(kind)
    return {"enum": words} if words else _KINDS[kind.rstrip("?")]


def _member(kind: str) -> Json:
    known = _schema(kind)
    return {"anyOf": [known, {"type": "null"}]} if kind.endswith("?") else known


def _answer(route: ApiRoute) -> Json:
    if "/" in route.answer:
        return {"description": route.words, "content": {route.answer: {"schema": {"type": "string"}}}}
    schema = {"$ref": f"#/components/schemas/{route.answer}"}
    return {"description": route.words, "content": {"application/json": {"schema": schema}}}


def _faults(route: ApiRoute) -> Json:
    """Every fault, the same list for each route: they all have one form."""
    schema = {"$ref": "#/components/schemas/Error"}
    by_status: dict[int, list[str]] = {}
    for code, status in STATUS.items():
        by_status.setdefault(status, []).append(code)
    return {
        str(status): {"description": ", ".join(codes), "content": {"application/json": {"schema": schema}}}
        for status, codes in by_status.items()
    }
