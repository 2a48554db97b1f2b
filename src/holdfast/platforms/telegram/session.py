"""The Bot API over HTTP. No other module uses `aiogram`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from functools import cache
from http import HTTPStatus
from pathlib import Path
from typing import Any, Protocol

from aiogram import Bot
from aiogram.client.session.aiohttp import AiohttpSession
from aiogram.client.telegram import TelegramAPIServer
from aiogram.exceptions import (
    AiogramError,
    ClientDecodeError,
    TelegramAPIError,
    TelegramBadRequest,
    TelegramConflictError,
    TelegramEntityTooLarge,
    TelegramForbiddenError,
    TelegramMigrateToChat,
    TelegramNetworkError,
    TelegramNotFound,
    TelegramRetryAfter,
    TelegramServerError,
    TelegramUnauthorizedError,
)
from aiogram.methods import TelegramMethod
from aiogram.types import FSInputFile
from aiohttp import ClientConnectorError, ClientError, ClientResponseError, ClientTimeout

from .client import CallFault, CallRefused, FloodWait, Unanswered, Unreached

_CHUNK = 1 << 16
_CODES: Mapping[type[TelegramAPIError], int] = {
    TelegramBadRequest: 400,
    TelegramUnauthorizedError: 401,
    TelegramForbiddenError: 403,
    TelegramNotFound: 404,
    TelegramConflictError: 409,
    TelegramEntityTooLarge: 413,
}


class Http(Protocol):
    """Makes an HTTP session for a server's addresses."""

    def __call__(self, *, api: TelegramAPIServer) -> AiohttpSession: ...


class BotSession:
    """One bot at one Bot API server."""

    def __init__(self, token: str, base_url: str, http: Http = AiohttpSession) -> None:
        server = TelegramAPIServer.from_base(base_url.rstrip("/"))
        self._session = http(api=server)
        self._bot = Bot(token, session=self._session)

    async def call(self, method: str, parameters: Mapping[str, object], within: int) -> Any:
        """Call a method; returns the answer unparsed."""
        request = _method(method)(**parameters)
        try:
            return await self._bot(request, request_timeout=within)
        except AiogramError as error:
            # Without `from error`: its text may hold secrets, which must not reach the log.
            raise _fault(error) from None
        except (OSError, ClientError) as error:
            raise Unanswered(type(error).__name__) from None

    def upload(self, path: Path, name: str) -> object:
        """A local file as a parameter."""
        return FSInputFile(path, name)

    async def download(self, path: str, begin: int, within: int) -> AsyncIterator[tuple[int, bytes]]:
        """The bytes of a file from `begin` on, or from its first byte, in pieces with their places."""
        url = self._session.api.file_url(self._bot.token, path)
        headers = {"Range": f"bytes={begin}-"} if begin else {}
        try:
            # Not `stream_content`: it does not say whether the server used the range.
            session = await self._session.create_session()
            asked = session.get(url, headers=headers, timeout=ClientTimeout(within), raise_for_status=True)
            async with asked as answer:
                at = begin if answer.status == HTTPStatus.PARTIAL_CONTENT else 0
                async for chunk in answer.content.iter_chunked(_CHUNK):
                    yield at, chunk
                    at += len(chunk)
        except ClientResponseError as error:
            raise CallRefused(error.status, f"the file was refused ({error.status})") from None
        except (OSError, ClientError, TimeoutError) as error:
            raise Unanswered(type(error).__name__) from None

    async def close(self) -> None:
        await self._session.close()


@cache
def _method(name: str) -> type[TelegramMethod[Any]]:
    """A method by its name, with any parameters and any result."""
    given = {"__module__": __name__, "__returning__": Any, "__api_method__": name}
    return type(name, (TelegramMethod,), given)


def _fault(error: AiogramError) -> CallFault:
    match error:
        case TelegramRetryAfter():
            return FloodWait(error.retry_after)
        case TelegramMigrateToChat():
            return CallRefused(400, "the group has become a supergroup", error.migrate_to_chat_id)
        case TelegramServerError() | ClientDecodeError():
            return Unanswered(f"an answer without a result ({type(error).__name__})")
        case TelegramAPIError() if type(error) in _CODES:
            return CallRefused(_CODES[type(error)], error.message)
        case TelegramNetworkError() if isinstance(error.__cause__, ClientConnectorError):
            return Unreached("no connection")
    cause = error.__cause__
    return Unanswered(type(error if cause is None else cause).__name__)
