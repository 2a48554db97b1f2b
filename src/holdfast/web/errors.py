"""Faults as HTTP answers: all have one form, and codes that programs can rely on."""

from __future__ import annotations

from starlette.responses import JSONResponse, Response

from holdfast.api.arguments import refusal

from .auth import TooManyTries

STATUS = {
    "bad_request": 400,
    "not_signed_in": 401,
    "forbidden": 403,
    "not_found": 404,
    "not_allowed": 405,
    "refused": 409,
    "too_large": 413,
    "too_many": 429,
    "failed": 500,
    "broken": 500,
    "try_again": 503,
}


class HttpError(Exception):
    """A request that is answered with this code and these words."""

    def __init__(self, code: str, words: str, headers: dict[str, str] | None = None) -> None:
        super().__init__(words)
        self.code = code
        self.headers = headers


def answer_to(fault: Exception) -> Response:
    """The answer that says what went wrong; an unexpected fault also goes to the log."""
    if isinstance(fault, HttpError):
        return _said(fault.code, str(fault), fault.headers)
    if isinstance(fault, TooManyTries):
        return _said("too_many", str(fault), {"Retry-After": str(fault.retry_after)})
    return _said(*refusal(fault))


def _said(code: str, words: str, headers: dict[str, str] | None = None) -> Response:
    return JSONResponse({"error": {"code": code, "words": words}}, STATUS[code], headers)
