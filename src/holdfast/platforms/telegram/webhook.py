"""Receives updates by a webhook. Each gets status 200 after its commit; Telegram repeats it until then."""

from __future__ import annotations

import asyncio
import hmac
import json
from urllib.parse import urlsplit

from aiohttp import web

from holdfast.clock import Bell, Clock, first_of
from holdfast.platforms.base import PlatformDown
from holdfast.platforms.webhook_secret import webhook_secret
from holdfast.records import dataclass

from .client import CallFault, Client, WebhookAddress
from .content import integer, text_in
from .results import down
from .wire import WANTED

HEADER = "X-Telegram-Bot-Api-Secret-Token"
LOOK = 60.0
"""After so many seconds without an update, the bot asks Telegram for the state of the webhook."""
ALBUM = 1.0
"""Seconds to wait for the rest of an album, whose items come one by one."""
PATIENCE = 50.0
"""Seconds a request waits for its commit; after that Telegram repeats it."""
AT_ONCE = 100
LARGEST = 4 * 1024 * 1024


@dataclass(slots=True)
class _Post:
    update: object
    kept: asyncio.Future[bool]


class WebhookListener:
    """Listens for updates. The next read returns unconfirmed updates again."""

    def __init__(self, client: Client, clock: Clock, where: WebhookAddress, token: str) -> None:
        self._client = client
        self._clock = clock
        self._where = where
        self._secret = webhook_secret(token)
        self._posts: list[_Post] = []
        self._batch: list[_Post] = []
        self._posted = Bell()
        self._runner: web.AppRunner | None = None

    async def begin(self) -> None:
        """Listen, then tell Telegram the address."""
        if self._runner is None:
            app = web.Application(client_max_size=LARGEST)
            app.router.add_post(urlsplit(self._where.url).path or "/", self._take)
            runner = web.AppRunner(app, access_log=None, handle_signals=False)
            await runner.setup()
            try:
                await web.TCPSite(runner, self._where.host, self._where.port, reuse_address=True).start()
            except OSError as error:
                await runner.cleanup()
                raise PlatformDown(
                    f"the gateway cannot listen at telegram.webhook_port {self._where.port}: {error.strerror}"
                ) from None
            self._runner = runner
        await self._client.call(
            "setWebhook",
            {
                "url": self._where.url,
                "secret_token": self._secret,
                "allowed_updates": list(WANTED),
                "drop_pending_updates": False,
            },
        )

    async def read(self, offset: int | None) -> list[object]:
        """The updates that are not confirmed yet; empty if none came for a while."""
        rung = self._posted.rung
        if not self._posts:
            await first_of(self._posted.since(rung), self._clock.sleep(LOOK))
        if not self._posts:
            await self._check_for_waiting()
            return []
        if any(_of_album(post.update) for post in self._posts):
            await self._clock.sleep(ALBUM)
        self._batch = sorted(self._posts[:AT_ONCE], key=_number)
        return [post.update for post in self._batch]

    def confirm(self) -> None:
        """The last batch is committed: answer its requests."""
        for post in self._batch:
            if not post.kept.done():
                post.kept.set_result(True)
        self._batch = []

    async def close(self) -> None:
        for post in self._posts:
            post.kept.cancel()
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    async def _take(self, request: web.Request) -> web.Response:
        given = request.headers.get(HEADER, "")
        if not hmac.compare_digest(given.encode("utf-8", "replace"), self._secret.encode()):
            return web.Response(status=403)
        post = _Post(_read(await request.text()), asyncio.get_running_loop().create_future())
        self._posts.append(post)
        self._posted.ring()
        try:
            await first_of(_done(post.kept), self._clock.sleep(PATIENCE))
        finally:
            self._posts.remove(post)
        kept = post.kept.done() and not post.kept.cancelled()
        return web.Response(status=200 if kept else 503)

    async def _check_for_waiting(self) -> None:
        """Raise `PlatformDown` if updates wait at Telegram but do not arrive."""
        try:
            info = await self._client.call("getWebhookInfo")
        except CallFault as fault:
            raise down(fault) from None
        if not isinstance(info, dict):
            return
        if text_in(info, "url") != self._where.url:
            raise PlatformDown("another program has changed or removed this bot's webhook")
        waiting = integer(info, "pending_update_count")
        if waiting and not self._posts:
            why = text_in(info, "last_error_message") or "Telegram gives no reason"
            raise PlatformDown(f"{waiting} updates wait at Telegram, but none arrives here: {why}")


async def _done(kept: asyncio.Future[bool]) -> None:
    await asyncio.wait([kept])


def _read(body: str) -> object:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return body


def _number(post: _Post) -> int:
    return (integer(post.update, "update_id") if isinstance(post.update, dict) else None) or 0


def _of_album(update: object) -> bool:
    message = update.get("message") if isinstance(update, dict) else None
    return isinstance(message, dict) and bool(text_in(message, "media_group_id"))
