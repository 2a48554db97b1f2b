"""What goes wrong, as answers: one form, and codes that programs can rely on."""

from __future__ import annotations

import logging

from starlette.responses import JSONResponse, Response

from holdfast.app.actions import TooLong, Unwilling
from holdfast.errors import BadRequest, HoldfastError, NotFound, Refused, StoreFault

from .signing import TooManyTries

log = logging.getLogger(__name__)

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


class Fault(Exception):
    """Something to be answered with this code and these words."""

    def __init__(self, code: str, words: str, headers: dict[str, str] | None = None) -> None:
        super().__init__(words)
        self.code = code
        self.headers = headers


_CODES: tuple[tuple[type[Exception], str], ...] = (
    (BadRequest, "bad_request"),
    (NotFound, "not_found"),
    (TooLong, "too_large"),
    (Unwilling, "refused"),
    (Refused, "refused"),
    (StoreFault, "try_again"),
    (HoldfastError, "failed"),
)


def answer_to(fault: Exception) -> Response:
    """The answer that says what went wrong; what nobody foresaw is in the log."""
    if isinstance(fault, Fault):
        return _said(fault.code, str(fault), fault.headers)
    if isinstance(fault, TooManyTries):
        return _said("too_many", str(fault), {"Retry-After": str(fault.retry_after)})
    for kind, code in _CODES:
        if isinstance(fault, kind):
            return _said(code, str(fault))
    log.error("a request broke: %r", fault, exc_info=fault)
    return _said("broken", "the gateway could not carry this out; its log says why")


def _said(code: str, words: str, headers: dict[str, str] | None = None) -> Response:
    return JSONResponse({"error": {"code": code, "words": words}}, STATUS[code], headers)
