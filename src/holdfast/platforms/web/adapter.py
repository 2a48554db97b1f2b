"""The built-in chat. Its people read the outbox itself: the commit of a reply also delivers it."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from dataclasses import field

from holdfast.model import Accepted, ChatAddress, ChatKind, Delivery, Origin, Place, SendResult, Sent
from holdfast.platforms.base import Ack, Arrival, Capabilities, Idempotency, Incoming, Working
from holdfast.records import dataclass

NAME = "web"
ACCOUNT = "main"
PERMISSIONS = "permissions"
"""The chat where the page's owner gets approvals for other people's work."""
_AT_ONCE = 100
_LONGEST = 1_000_000
_TYPING = 60.0
_SHOW_EVERY = 0.1
_LARGEST_FILE = 20_000_000
_LARGEST_SENT = 50_000_000


def _unseen(chat: ChatAddress, working: Working) -> None:
    """Ignore the progress: no page is connected."""


class NotTaken(Exception):
    """The gateway did not keep a message: its sender may not write here."""


@dataclass(slots=True)
class _Post:
    arrival: Arrival
    answer: asyncio.Future[Accepted]


@dataclass(slots=True)
class WebChat:
    """Takes posted messages, and answers each post once it is committed, as a webhook would.

    It also takes a post whose caller has gone: the caller may have seen the message leave.
    """

    name: str = NAME
    account: str = ACCOUNT
    capabilities: Capabilities = Capabilities(
        Ack.ANSWER,
        Idempotency.STRONG,
        reconcile=True,
        threads=True,
        buttons=True,
        cards=True,
        longest=_LONGEST,
        typing=_TYPING,
        drafts=True,
        notices=True,
        show_every=_SHOW_EVERY,
        attachments=_LARGEST_FILE,
        files=_LARGEST_SENT,
        own_chat=PERMISSIONS,
    )
    cursor: str | None = None
    shown: Callable[[ChatAddress, Working], None] = _unseen
    """Passes progress on to the pages that show a chat."""
    _posts: list[_Post] = field(default_factory=list)
    _posted: asyncio.Event = field(default_factory=asyncio.Event)

    def origin(self, chat: str, sender: str, thread: str | None = None) -> Origin:
        """The origin of a message that this sender writes in this chat."""
        return Origin(Place(self.name, self.account, chat, thread), ChatKind.DIRECT, sender)

    async def post(self, arrival: Arrival) -> Accepted:
        """Post one message; returns once it is committed, and raises `NotTaken` if it never will be."""
        post = _Post(arrival, asyncio.get_running_loop().create_future())
        self._posts.append(post)
        self._posted.set()
        return await asyncio.shield(post.answer)

    def give_up(self, event_id: str) -> None:
        """The caller gave up: drop this message, unless its commit is under way."""
        self._posts = [post for post in self._posts if post.arrival.event_id != event_id]

    async def connect(self) -> None:
        return None

    async def receive(self, after: str | None) -> Incoming:
        """All posts that are not confirmed, in order; after a fault the same ones again."""
        while not self._posts:
            self._posted.clear()
            await self._posted.wait()
        brought: list[Arrival] = []
        seen = Counter[str]()
        for post in self._posts[:_AT_ONCE]:
            # Two posts of the same event are one message, and both get its answer.
            if not seen[post.arrival.event_id]:
                brought.append(post.arrival)
            seen[post.arrival.event_id] += 1
        return Incoming(tuple(brought))

    async def confirm(self, incoming: Incoming, accepted: tuple[Accepted, ...]) -> None:
        """Answer the posts of this batch; the ledger refused those without a row."""
        rows = {row.event_id: row for row in accepted}
        brought = {event.event_id for event in incoming.events}
        answered = [post for post in self._posts if post.arrival.event_id in brought]
        self._posts = [post for post in self._posts if post.arrival.event_id not in brought]
        for post in answered:
            row = rows.get(post.arrival.event_id)
            if post.answer.done():
                continue
            if row is None:
                # The caller may have gone. Reading the exception keeps asyncio from logging it.
                post.answer.add_done_callback(lambda answer: answer.exception())
                post.answer.set_exception(NotTaken("the sender may not write here"))
            else:
                post.answer.set_result(row)

    async def send(self, delivery: Delivery) -> SendResult:
        return Sent(delivery.key)

    async def find(self, delivery: Delivery) -> bool | None:
        return True

    async def show(self, chat: ChatAddress, working: Working) -> bool:
        self.shown(chat, working)
        return True

    async def edit(self, chat: ChatAddress, message_id: str, text: str, in_line: bool = False) -> bool:
        return False

    async def close(self) -> None:
        return None
