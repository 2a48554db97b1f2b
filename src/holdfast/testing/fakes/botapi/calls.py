"""The Bot API's requests, carried out with the planned faults; nothing here knows HTTP."""

from __future__ import annotations

from inspect import isawaitable

from holdfast.records import dataclass

from .core import ApiRequest, BotApi
from .entities import Json
from .errors import ApiError, not_found, too_many
from .faults import Effect, Flood, LostAnswer, LostRequest, ServerError, Slow
from .methods import METHODS, SAYING
from .params import Params

_BROKEN = {
    500: "Internal Server Error",
    502: "Bad Gateway",
    503: "Service Unavailable",
    504: "Gateway Timeout",
}


@dataclass(frozen=True, slots=True)
class ApiAnswer:
    """The answer to a request."""

    code: int
    body: Json


def refusal(error: ApiError) -> ApiAnswer:
    body: Json = {"ok": False, "error_code": error.code, "description": error.words}
    return ApiAnswer(error.code, body | {"parameters": error.parameters} if error.parameters else body)


async def carry_out(api: BotApi, token: str, name: str, params: Params) -> ApiAnswer | None:
    """Carry out one request of the bot; None: the connection is gone before the answer."""
    sizes = {field: len(upload.content) for field, upload in params.files.items()}
    asked = api.begin(name, params.values, sizes)
    effect = api.faults.hits(name, params.optional("chat_id"))
    if isinstance(effect, LostRequest):
        api.end(asked, "lost request", 0)
        return None
    answer = await _answer(api, token, asked, params, effect)
    if isinstance(effect, Slow):
        await api.clock.sleep(effect.seconds)
    lost = isinstance(effect, LostAnswer)
    api.end(asked, "lost answer" if lost else "answered", asked.code, asked.words, asked.result)
    return None if lost else answer


async def _answer(
    api: BotApi, token: str, asked: ApiRequest, params: Params, effect: Effect | None
) -> ApiAnswer:
    try:
        api.check(token)
        asked.result = await _done(api, asked, params, effect)
    except ApiError as error:
        asked.code, asked.words = error.code, error.words
        return refusal(error)
    asked.code = 200
    return ApiAnswer(200, {"ok": True, "result": asked.result})


async def _done(api: BotApi, asked: ApiRequest, params: Params, effect: Effect | None) -> object:
    name = asked.method.lower()
    method = METHODS.get(name)
    if method is None:
        raise ApiError(404, "Not Found: method not found")
    if isinstance(effect, Flood):
        raise too_many(effect.seconds)
    if isinstance(effect, ServerError):
        raise ApiError(effect.code, _BROKEN.get(effect.code, "Internal Server Error"))
    if name in SAYING:
        wait = api.limits.wait(api.now, params.number("chat_id"))
        if wait:
            raise too_many(wait)
    with api.on_behalf_of(asked):
        result = method(api, params)
    return await result if isawaitable(result) else result


def content_at(api: BotApi, token: str, path: str) -> bytes:
    """The content of a file, by the path that `getFile` gave; raises `ApiError`."""
    api.check(token)
    file_id, until = api.links.get(path, ("", 0))
    if api.now >= until:
        raise not_found()
    return api.world.files[file_id].content
