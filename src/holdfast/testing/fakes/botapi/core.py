"""The Bot API without HTTP: one bot, its world, its requests, and what people saw because of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import field
from itertools import count

from holdfast.clock import Bell, Clock, SystemClock
from holdfast.records import dataclass

from .entities import Formatted, Json
from .errors import unauthorized
from .faults import ApiFaults, RateLimits, Rates
from .updates import Updates
from .webhook import Deliverer
from .world import BotWorld, Chat, ChatMessage, User

TOKEN = "1000:a-token-for-tests"
TYPING_LASTS = 5_000
DRAFT_LASTS = 30_000
QUERY_LASTS = 60_000
"""How long a press may be answered. Telegram gives no number; it is much less than a turn may take."""
LINK_LASTS = 60 * 60 * 1_000


@dataclass(slots=True)
class ApiRequest:
    """One request and its result. For `outcome` see `OUTCOMES`."""

    number: int
    at: int
    method: str
    params: dict[str, str]
    files: dict[str, int]
    outcome: str = "waits"
    code: int = 0
    words: str = ""
    result: object = None


OUTCOMES = {
    "waits": "it is not answered yet",
    "answered": "the answer was given to the connection",
    "lost request": "cut off before anything was done",
    "lost answer": "done, and cut off before the answer",
}


@dataclass(frozen=True, slots=True)
class ShownByBot:
    """Something that people could see from then on, and the request that caused it."""

    request: int
    at: int
    how: str
    """`message`, `edit`, `draft` or `gone`."""
    chat: int
    thread: int | None
    message: int
    text: str
    to: tuple[int, ...]
    """Who could see it."""


@dataclass(slots=True)
class ShownDraft:
    """Unfinished text that a person sees for a while."""

    number: int
    at: int
    content: Formatted


@dataclass(slots=True)
class ButtonQuery:
    """A pressed button without an answer yet."""

    id: str
    by: User
    at: int
    answered: str | None = None


@dataclass(slots=True)
class Beside:
    """What people see beside the messages of one chat or topic."""

    typing_at: int | None = None
    drafts: dict[int, ShownDraft] = field(default_factory=dict)


class BotApi:
    """One bot's Bot API. Change it through `People` and requests; look at `log` and `shown`."""

    def __init__(
        self,
        clock: Clock | None = None,
        token: str = TOKEN,
        name: str = "Holdfast",
        rates: Rates | None = None,
    ) -> None:
        self.clock: Clock = clock or SystemClock()
        self.token = token
        self.changed = Bell()
        self.world = BotWorld(User(int(token.partition(":")[0]), name, is_bot=True))
        self.updates = Updates(self.clock, self.changed)
        self.deliverer = Deliverer(self.updates, self.clock, self.changed)
        self.faults = ApiFaults()
        self.limits = RateLimits(rates)
        self.log: list[ApiRequest] = []
        self.shown: list[ShownByBot] = []
        self.queries: dict[str, ButtonQuery] = {}
        self.commands: dict[tuple[str, str], list[Json]] = {}
        self.links: dict[str, tuple[str, int]] = {}
        self._beside: dict[tuple[int, int | None], Beside] = {}
        self._queries = count(1)
        self._requests = count(1)
        self._served = 0

    @property
    def now(self) -> int:
        return self.clock.now()

    def revoke(self, token: str) -> None:
        """From now on only this token is valid."""
        self.token = token

    def check(self, token: str) -> None:
        if token != self.token:
            raise unauthorized()

    async def until(self, true: Callable[[], bool]) -> None:
        """Return once the condition holds; it is checked whenever anything happens."""
        while not true():
            await self.changed.since(self.changed.rung)

    def asked(self, method: str) -> list[ApiRequest]:
        """The requests with this method, in order."""
        return [one for one in self.log if one.method.lower() == method.lower()]

    def begin(self, method: str, params: dict[str, str], files: dict[str, int]) -> ApiRequest:
        """Write a request down, without the token."""
        asked = ApiRequest(next(self._requests), self.now, method, dict(params), files)
        self.log.append(asked)
        self.changed.ring()
        return asked

    def end(self, asked: ApiRequest, outcome: str, code: int, words: str = "", result: object = None) -> None:
        asked.outcome, asked.code, asked.words, asked.result = outcome, code, words, result
        self.changed.ring()

    @contextmanager
    def on_behalf_of(self, asked: ApiRequest) -> Iterator[None]:
        """Everything shown inside belongs to this request."""
        self._served = asked.number
        try:
            yield
        finally:
            self._served = 0

    def show(self, how: str, message: ChatMessage) -> None:
        """People see this from now on; a message ends the draft and the typing beside it."""
        if how == "message":
            self._beside.pop((message.chat.id, message.thread), None)
        self.note(how, message.chat, message.thread, message.id, message.content.text)

    def note(self, how: str, chat: Chat, thread: int | None, message: int, text: str) -> None:
        to = tuple(sorted(chat.people))
        self.shown.append(ShownByBot(self._served, self.now, how, chat.id, thread, message, text, to))
        self.changed.ring()

    def beside(self, chat: int, thread: int | None) -> Beside:
        """What is beside the messages there, without what has faded."""
        found = self._beside.setdefault((chat, thread), Beside())
        if found.typing_at is not None and self.now - found.typing_at >= TYPING_LASTS:
            found.typing_at = None
        found.drafts = {n: one for n, one in found.drafts.items() if self.now - one.at < DRAFT_LASTS}
        return found

    def press(self, by: User) -> ButtonQuery:
        query = ButtonQuery(f"{self.world.bot.id}{next(self._queries):06d}", by, self.now)
        self.queries[query.id] = query
        return query
