"""The Bot API's refusals, in its own words."""

from __future__ import annotations

from collections.abc import Mapping


class ApiError(Exception):
    """An answer with `ok: false`."""

    def __init__(self, code: int, words: str, parameters: Mapping[str, int] | None = None) -> None:
        super().__init__(words)
        self.code = code
        self.words = words
        self.parameters = dict(parameters or {})


def bad_request(words: str, parameters: Mapping[str, int] | None = None) -> ApiError:
    return ApiError(400, f"Bad Request: {words}", parameters)


def forbidden(words: str) -> ApiError:
    return ApiError(403, f"Forbidden: {words}")


def conflict(words: str) -> ApiError:
    return ApiError(409, f"Conflict: {words}")


def too_many(seconds: int) -> ApiError:
    return ApiError(429, f"Too Many Requests: retry after {seconds}", {"retry_after": seconds})


def upgraded(to: int) -> ApiError:
    return bad_request("group chat was upgraded to a supergroup chat", {"migrate_to_chat_id": to})


def unauthorized() -> ApiError:
    return ApiError(401, "Unauthorized")


def not_found() -> ApiError:
    return ApiError(404, "Not Found")
