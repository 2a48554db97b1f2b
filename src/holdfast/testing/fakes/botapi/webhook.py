"""Delivery of updates to a webhook: in order for each chat, repeated until it answers 2xx."""

from __future__ import annotations

import asyncio
import json
import urllib.error
import urllib.request
from dataclasses import field

from holdfast.clock import Bell, Clock, first_of
from holdfast.records import dataclass

from .entities import Json
from .updates import Update, Updates

SECRET = "X-Telegram-Bot-Api-Secret-Token"
_PATIENCE = 10.0
_LONGEST_PAUSE = 60_000


@dataclass(slots=True)
class Webhook:
    """The address for updates, and the results of its deliveries."""

    url: str = ""
    secret: str | None = None
    most: int = 40
    address: str | None = None
    last_error: tuple[int, str] | None = None
    tries: dict[int, int] = field(default_factory=dict)
    not_before: dict[int | None, int] = field(default_factory=dict)
    """By chat: when the next try is due."""

    def info(self, pending: int, allowed: frozenset[str] | None) -> Json:
        shown: Json = {"url": self.url, "has_custom_certificate": False, "pending_update_count": pending}
        if self.url:
            shown["max_connections"] = self.most
        if self.address:
            shown["ip_address"] = self.address
        if self.last_error is not None:
            shown["last_error_date"], shown["last_error_message"] = self.last_error
        if allowed is not None:
            shown["allowed_updates"] = sorted(allowed)
        return shown


@dataclass(frozen=True, slots=True)
class WebhookTry:
    """One delivery: its update, and the status of the answer (0: none)."""

    update: int
    code: int
    words: str


class Deliverer:
    """Brings waiting updates to the webhook, as long as there is one."""

    def __init__(self, updates: Updates, clock: Clock, changed: Bell) -> None:
        self._updates = updates
        self._clock = clock
        self._changed = changed
        self.webhook = Webhook()
        self.tried: list[WebhookTry] = []

    async def work(self) -> None:
        """Deliver for ever."""
        while True:
            rung = self._changed.rung
            update = self._due()
            if update is None:
                await first_of(self._changed.since(rung), self._clock.sleep(self._pause()))
            else:
                await self._deliver(update)

    def _due(self) -> Update | None:
        """The oldest update of a chat without a pause: order holds within a chat, not between chats."""
        held, now = self.webhook.not_before, self._clock.now()
        waiting = self._updates.pending() if self.webhook.url else []
        return next((one for one in waiting if held.get(one.chat, 0) <= now), None)

    def _pause(self) -> float:
        times = [at - self._clock.now() for at in self.webhook.not_before.values()]
        return max(0.001, min([at for at in times if at > 0], default=3_600_000) / 1_000)

    async def _deliver(self, update: Update) -> None:
        webhook = self.webhook
        answer = await asyncio.to_thread(_post, webhook.url, webhook.secret, update.payload())
        code, words, retry_after = answer
        self.tried.append(WebhookTry(update.id, code, words))
        if 200 <= code < 300:
            webhook.not_before.pop(update.chat, None)
            webhook.tries.pop(update.id, None)
            self._updates.drop(update.id)
            return
        tries = webhook.tries[update.id] = webhook.tries.get(update.id, 0) + 1
        pause = retry_after * 1_000 if retry_after else min(1_000 * 2 ** (tries - 1), _LONGEST_PAUSE)
        now = self._clock.now()
        webhook.not_before[update.chat] = now + pause
        wrong = f"Wrong response from the webhook: {code} {words}" if code else words
        webhook.last_error = (now // 1_000, wrong)
        self._changed.ring()


class _StayHere(urllib.request.HTTPRedirectHandler):
    """A redirect is a wrong answer like any other."""

    def redirect_request(self, *args: object, **kwargs: object) -> None:
        return None


def _post(url: str, secret: str | None, payload: Json) -> tuple[int, str, int]:
    """The status of the answer, its reason, and the seconds it asks to wait."""
    headers = {"Content-Type": "application/json"} | ({SECRET: secret} if secret else {})
    request = urllib.request.Request(url, json.dumps(payload).encode(), headers, method="POST")
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), _StayHere())
    try:
        with opener.open(request, timeout=_PATIENCE) as answer:
            return answer.status, answer.reason, 0
    except urllib.error.HTTPError as error:
        with error:
            asked = error.headers.get("Retry-After", "")
            return error.code, str(error.reason), int(asked) if asked.isdigit() else 0
    except OSError as error:
        reason = error.reason if isinstance(error, urllib.error.URLError) else error
        refused = isinstance(reason, ConnectionRefusedError)
        return 0, "Connection refused" if refused else "Connection failed", 0
