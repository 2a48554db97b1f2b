"""The real Telegram adapter in a world: `aiogram` talks to the simulated Bot API without any socket."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Callable
from contextvars import Context, ContextVar
from functools import partial
from http import HTTPStatus
from types import TracebackType
from typing import Any

from aiogram import Bot
from aiogram.client.session.aiohttp import AiohttpSession
from aiogram.client.telegram import TelegramAPIServer
from aiogram.methods import TelegramMethod
from aiogram.types import InputFile
from aiohttp import ClientConnectorError, ClientResponseError, ServerDisconnectedError
from aiohttp.client_reqrep import ConnectionKey

from holdfast.gateway.build.platforms import DOWNLOADS, asked_in, kept_in
from holdfast.inbox import COMMANDS
from holdfast.model import Accepted, ChatAddress, Delivery, SendResult, place_at
from holdfast.platforms import Capabilities, Incoming, Working
from holdfast.platforms.telegram.adapter import Telegram
from holdfast.platforms.telegram.bot import telegram_bot
from holdfast.platforms.telegram.client import CallFault
from holdfast.records import dataclass
from holdfast.testing.fakes.botapi.calls import ApiAnswer, carry_out, content_at, refusal
from holdfast.testing.fakes.botapi.errors import ApiError
from holdfast.testing.fakes.botapi.params import Params, Upload
from holdfast.testing.sim.faults import SECRET_WORDS
from holdfast.testing.sim.life import ProcessLife

from .bot_names import TOKEN
from .bot_server import BotServer
from .clients import ProcessPorts
from .fake_platform import seen_of
from .servers import PlatformServer, chat_at

ADDRESS = "http://telegram.simulated"
_CALL = re.compile(rf"{ADDRESS}/bot([^/]+)/(\w+)")
_FILE = re.compile(rf"{ADDRESS}/file/bot([^/]+)/(.+)")
_SENDS = ("sendMessage", "sendDocument", "sendPhoto")
_ONE_WAY = (0.002, 0.05)
_FLOOD = (1, 15)
_SLOW = 2.0
_NOWHERE = ConnectionKey("telegram.simulated", 80, False, False, None, None, None)


@dataclass(frozen=True, slots=True)
class _About:
    """The subject of a request, for the record of its result."""

    delivery: Delivery | None = None
    seen: Callable[[], None] | None = None
    """Called when people see it."""
    current: int | None = None


_NOTHING = _About()
_ABOUT: ContextVar[_About] = ContextVar("_ABOUT", default=_NOTHING)


class WatchedTelegram:
    """The real adapter, with a record of everything that passes through it."""

    def __init__(self, server: BotServer, life: ProcessLife, bot: Telegram) -> None:
        self._server = server
        self._life = life
        self._bot = bot
        self.name, self.account, self.cursor = bot.name, bot.account, bot.cursor

    @property
    def capabilities(self) -> Capabilities:
        return self._bot.capabilities

    async def connect(self) -> None:
        self._life.check()
        await self._bot.connect()
        self._server.connect(self._life)

    async def receive(self, after: str | None) -> Incoming:
        self._life.check()
        return await self._bot.receive(after)

    async def confirm(self, incoming: Incoming, accepted: tuple[Accepted, ...]) -> None:
        self._life.check()
        await self._bot.confirm(incoming, accepted)

    async def send(self, delivery: Delivery) -> SendResult:
        self._life.check()
        self._server.around.trace(f"{self.name} is sent {delivery.key}")
        self._server.tried(delivery)
        current = self._server.current_run(delivery)
        _ABOUT.set(_About(delivery, current=current))
        return await self._bot.send(delivery)

    async def find(self, delivery: Delivery) -> None:
        await self._bot.find(delivery)

    async def show(self, chat: ChatAddress, working: Working) -> bool:
        self._life.check()
        by, server = working.by, self._server
        current = server.around.generation_of(by.turn)
        told = ("beside", chat_at(chat), seen_of(working), by.turn, by.generation, current, "")
        _ABOUT.set(_About(seen=lambda: server.see(*told)))
        return await self._bot.show(chat, working)

    async def edit(self, chat: ChatAddress, message_id: str, text: str, in_line: bool = False) -> bool:
        self._life.check()
        server, id_ = self._server, self._server.name_of(place_at(chat).chat, message_id)
        if server.is_question(id_):
            _ABOUT.set(_About(seen=lambda: server.close_question(id_, text)))
        else:
            turn, generation = server.spoken_of(id_)
            current = server.around.generation_of(turn)
            told = ("edit", chat_at(chat), text, turn, generation, current, id_)
            _ABOUT.set(_About(seen=lambda: server.see(*told)))
        return await self._bot.edit(chat, message_id, text, in_line)

    async def close(self) -> None:
        self._life.check()
        await self._bot.close()
        self._server.disconnect(self._life)


def watched_bot(server: PlatformServer, inside: ProcessPorts) -> WatchedTelegram:
    """The adapter of one process, composed as in the gateway."""
    assert isinstance(server, BotServer)

    def foreseen(stage: str, fault: BaseException) -> None:
        if not isinstance(fault, CallFault):
            inside.report(stage, fault)

    menu = [(name, entry.says) for name, entry in COMMANDS.items()]
    bot = telegram_bot(
        TOKEN,
        ADDRESS,
        inside.clock,
        kept_in(inside.blobs),
        asked_in(inside.store),
        menu,
        report=foreseen,
        stored=inside.blobs.path_of,
        downloads=inside.home / DOWNLOADS / inside.clock.uptime()[0],
        http=lambda *, api: Wire(server, inside.life, api),
    )
    return WatchedTelegram(server, inside.life, bot)


@dataclass(frozen=True, slots=True)
class _Form:
    """The content of a request."""

    values: dict[str, str]
    files: dict[str, InputFile]


class Wire(AiohttpSession):
    """Carries the requests of one process: faults delay them, lose them or stop them."""

    def __init__(self, server: BotServer, life: ProcessLife, api: TelegramAPIServer) -> None:
        super().__init__(api=api)
        self._server = server
        self._life = life

    async def create_session(self) -> Any:
        return self

    async def close(self) -> None:
        """Nothing is open."""

    def build_form_data(self, bot: Bot, method: TelegramMethod[Any]) -> Any:
        files: dict[str, InputFile] = {}
        values = {
            name: str(prepared)
            for name, value in method.model_dump(warnings=False).items()
            if (prepared := self.prepare_value(value, bot=bot, files=files))
        }
        return _Form(values, files)

    def post(self, url: str, data: _Form, timeout: float) -> _Exchange:
        found = _CALL.fullmatch(url)
        assert found is not None, url
        token, method = found[1], found[2]

        async def ask() -> ApiAnswer:
            uploads = {name: await _upload(file) for name, file in data.files.items()}
            return await self._ask(token, method, Params(dict(data.values), uploads), timeout)

        return _Exchange(ask)

    def get(self, url: str, headers: dict[str, str], timeout: object, raise_for_status: bool) -> _Exchange:
        found = _FILE.fullmatch(url)
        assert found is not None, url
        token, path = found[1], found[2]
        return _Exchange(lambda: self._download(token, path, headers.get("Range", "")))

    async def _download(self, token: str, path: str, wanted: str) -> ApiAnswer:
        self._life.check()
        around = self._server.around
        self._must_be_up()
        if around.faults.hits("lost_request"):
            raise ServerDisconnectedError(SECRET_WORDS)
        await self._server.api.clock.sleep(around.faults.between(*_ONE_WAY))
        try:
            content = content_at(self._server.api, token, path)
        except ApiError as error:
            raise ClientResponseError(None, (), status=error.code) from None  # type: ignore[arg-type]  # only its code
        begin = int(wanted.removeprefix("bytes=").rstrip("-") or 0)
        if begin >= len(content) > 0:
            raise ClientResponseError(None, (), status=416)  # type: ignore[arg-type]  # only its code
        cut = begin + (len(content) - begin) // 2 if around.faults.hits("lost_response") else len(content)
        code = HTTPStatus.PARTIAL_CONTENT if begin else HTTPStatus.OK
        return ApiAnswer(code, {"bytes": content[begin:cut], "cut": cut < len(content)})

    async def _ask(self, token: str, method: str, params: Params, within: float) -> ApiAnswer:
        """One request: sent, carried out even if the process dies, and answered, unless a fault loses it."""
        self._life.check()
        around, about = self._server.around, _ABOUT.get()
        fault = self._fault(method)
        if fault == "down":
            self._server.go_down(around.faults.between(1.0, 20.0))
        self._must_be_up()
        answer: asyncio.Future[ApiAnswer] = around.loop.create_future()
        if fault != "lost_request":
            request = partial(self._carry_out, token, method, params, about, fault, answer)
            arrives = around.faults.between(*_ONE_WAY) + (_SLOW if fault == "slow" else 0.0)
            around.loop.call_later(arrives, self._server.begin, request, context=Context())
        else:
            around.loop.call_later(_SLOW, _cut, answer, context=Context())
        around.loop.call_later(within, _late, answer, context=Context())
        self._server.open_wires.add(answer)
        try:
            found = await answer
        finally:
            self._server.open_wires.discard(answer)
        self._hear(about.delivery, found)
        return found

    def _hear(self, delivery: Delivery | None, found: ApiAnswer) -> None:
        """From here on this process knows how long the server asked it to wait in a chat.

        A process that was cut off before, by a death, a stop or a lost connection, does not know.
        """
        if delivery is not None and found.code == HTTPStatus.TOO_MANY_REQUESTS:
            parameters: Any = found.body["parameters"]
            until = self._server.around.wall.now() + parameters["retry_after"] * 1_000
            self._server.throttle(delivery, until, self._life)

    def _fault(self, method: str) -> str | None:
        faults = self._server.around.faults
        if method in _SENDS:
            return faults.first(
                "throttled", "blocked", "refused", "down", "lost_request", "lost_response", "slow"
            )
        if method == "getUpdates":
            return faults.first("down")
        return faults.first("throttled", "lost_request")

    def _must_be_up(self) -> None:
        if self._server.is_down:
            raise ClientConnectorError(_NOWHERE, OSError(f"no connection {SECRET_WORDS}"))

    async def _carry_out(
        self,
        token: str,
        method: str,
        params: Params,
        about: _About,
        fault: str | None,
        answer: asyncio.Future[ApiAnswer],
    ) -> None:
        """The server's part, which no death of a process stops."""
        api, around = self._server.api, self._server.around
        bad = self._server.bad_answer(about.delivery) if about.delivery is not None else None
        found = self._refused(about.delivery, fault)
        if bad is not None and not bad.arrives:
            found = refusal(ApiError(502, f"Bad Gateway {SECRET_WORDS}"))
        if found is None:
            before = len(api.shown)
            done = await carry_out(api, token, method, params)
            assert done is not None, "the fault must be drawn here"
            found = done
            self._note(about, before, method, found)
            if bad is not None:
                found = refusal(ApiError(502, f"Bad Gateway {SECRET_WORDS}"))
        if fault == "lost_response":
            around.loop.call_later(_SLOW, _cut, answer, context=Context())
        else:
            around.loop.call_later(
                around.faults.between(*_ONE_WAY), _settle, answer, found, context=Context()
            )

    def _refused(self, delivery: Delivery | None, fault: str | None) -> ApiAnswer | None:
        around = self._server.around
        if fault == "throttled":
            seconds = round(around.faults.between(*_FLOOD))
            words = f"Too Many Requests: retry after {seconds} {SECRET_WORDS}"
            return refusal(ApiError(429, words, {"retry_after": seconds}))
        if fault == "blocked":
            return refusal(ApiError(403, f"Forbidden: bot was blocked by the user {SECRET_WORDS}"))
        if fault == "refused" or (delivery is not None and self._server.refusal_of(delivery)):
            return refusal(ApiError(400, f"Bad Request: the platform does not take it {SECRET_WORDS}"))
        return None

    def _note(self, about: _About, before: int, method: str, found: ApiAnswer) -> None:
        if found.code != HTTPStatus.OK:
            return
        for put in self._server.api.shown[before:]:
            if about.delivery is not None and put.how == "message" and method in _SENDS:
                self._server.shown_for(about.delivery, put, about.current)
        if about.seen is not None:
            about.seen()


class _Exchange:
    """A request and its answer, as the library awaits it."""

    def __init__(self, ask: Callable[[], Any]) -> None:
        self._ask = ask
        self.content = self

    async def __aenter__(self) -> _Exchange:
        self._answer: ApiAnswer = await self._ask()
        self.status = self._answer.code
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Nothing is open."""

    async def text(self) -> str:
        return json.dumps(self._answer.body)

    async def iter_chunked(self, size: int) -> AsyncIterator[bytes]:
        content: Any = self._answer.body["bytes"]
        for begin in range(0, len(content), size):
            yield content[begin : begin + size]
        if self._answer.body["cut"]:
            raise ServerDisconnectedError(SECRET_WORDS)


async def _upload(file: InputFile) -> Upload:
    chunks = [chunk async for chunk in file.read(None)]  # type: ignore[arg-type]  # one of this machine needs no bot
    return Upload(file.filename or "", b"".join(chunks))


def _settle(answer: asyncio.Future[ApiAnswer], found: ApiAnswer) -> None:
    if not answer.done():
        answer.set_result(found)


def _cut(answer: asyncio.Future[ApiAnswer]) -> None:
    if not answer.done():
        answer.set_exception(ServerDisconnectedError(SECRET_WORDS))


def _late(answer: asyncio.Future[ApiAnswer]) -> None:
    if not answer.done():
        answer.set_exception(TimeoutError())
