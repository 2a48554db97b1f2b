"""Faults of a provider, each on demand and once."""

from __future__ import annotations

from enum import StrEnum

from holdfast.records import dataclass


class FaultKind(StrEnum):
    """The kind of fault."""

    LIMITED = "429"
    BROKEN = "500"
    OVERLOADED = "529"
    BAD_KEY = "401"
    FORBIDDEN = "403"
    NOT_FOUND = "404"
    BAD_REQUEST = "400"
    NO_CREDIT = "no-credit"
    OVERFLOW = "overflow"
    """The prompt is too long."""
    CUT = "cut"
    """The connection breaks in the middle of the answer."""
    CUT_EARLY = "cut-early"
    """The connection breaks before the first word."""
    UNMARKED = "unmarked"
    """The answer ends without a reason."""
    ERROR_INSIDE = "error-inside"
    """The stream reports an error in its middle."""
    MALFORMED = "malformed"
    """The arguments of calls are not JSON."""
    EMPTY = "empty"
    LENGTH = "length"
    FILTERED = "filter"
    HANG = "hang"
    """No byte comes until the client leaves."""
    SLOW = "slow"
    """The first byte comes late."""


@dataclass(frozen=True, slots=True)
class ModelFault:
    """One bad answer."""

    kind: FaultKind
    seconds: float = 1.0
    """For `slow`: until the first byte; for `429`: the value of `retry-after`."""


STATUSES = {
    FaultKind.LIMITED: (429, "rate_limit_error", "You have sent too many requests."),
    FaultKind.NO_CREDIT: (429, "insufficient_quota", "You exceeded your current quota."),
    FaultKind.BROKEN: (500, "api_error", "The server had an error."),
    FaultKind.OVERLOADED: (529, "overloaded_error", "Overloaded"),
    FaultKind.BAD_KEY: (401, "authentication_error", "Incorrect API key provided: {key}"),
    FaultKind.FORBIDDEN: (403, "permission_error", "This key may not use this model."),
    FaultKind.NOT_FOUND: (404, "not_found_error", "The model does not exist."),
    FaultKind.BAD_REQUEST: (400, "invalid_request_error", "Something about this request is wrong."),
}
"""Faults that are a status with an error in JSON."""
