"""The built-in chat: people read the outbox itself, so a reply is delivered by the commit that owes it."""

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
"""The chat where the page's owner is asked about the work of other people."""
_AT_ONCE = 100
_LONGEST = 1_000_000
_TYPING = 60.0
_SHOW_EVERY = 0.1
_LARGEST_FILE = 20_000_000
_LARGEST_SENT = 50_000_000


def _unseen(chat: ChatAddress, working: Working) -> None:
    """Nobody watches."""


class NotTaken(Exception):
    """The gateway kept nothing of a post: its sender may not talk here."""


@dataclass(slots=True)
class _Post:
    arrival: Arrival
    answer: asyncio.Future[Accepted]


@dataclass(slots=True)
class WebChat:
    """Brings what is posted to it, and answers each post once it is committed, like a webhook would.

    A post whose caller has gone is brought all the same: they may have seen it leave.
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
    """Where what is shown of work in progress goes: to whoever watches a chat."""
    _posts: list[_Post] = field(default_factory=list)
    _posted: asyncio.Event = field(default_factory=asyncio.Event)

    def origin(self, chat: str, sender: str, thread: str | None = None) -> Origin:
        """Where somebody who writes in this chat writes from."""
        return Origin(Place(self.name, self.account, chat, thread), ChatKind.DIRECT, sender)

    async def post(self, arrival: Arrival) -> Accepted:
        """Hand over one message; returns once it is committed, and raises `NotTaken` if it never will be."""
        post = _Post(arrival, asyncio.get_running_loop().create_future())
        self._posts.append(post)
        self._posted.set()
        return await asyncio.shield(post.answer)

    def give_up(self, event_id: str) -> None:
        """Nobody waits for this message any more; unless it is just being kept, it will not be."""
        self._posts = [post for post in self._posts if post.arrival.event_id != event_id]

    async def connect(self) -> None:
        return None

    async def receive(self, after: str | None) -> Incoming:
        """Everything posted and not yet confirmed, in order: after a fault the same again."""
        while not self._posts:
            self._posted.clear()
            await self._posted.wait()
        brought: list[Arrival] = []
        seen = Counter[str]()
        for post in self._posts[:_AT_ONCE]:
            # The same event posted twice at once is one message, and both get its answer.
            if not seen[post.arrival.event_id]:
                brought.append(post.arrival)
            seen[post.arrival.event_id] += 1
        return Incoming(tuple(brought))

    async def confirm(self, incoming: Incoming, accepted: tuple[Accepted, ...]) -> None:
        """Answer the posts of this batch; those the ledger has no row for were refused."""
        rows = {row.event_id: row for row in accepted}
        brought = {event.event_id for event in incoming.events}
        answered = [post for post in self._posts if post.arrival.event_id in brought]
        self._posts = [post for post in self._posts if post.arrival.event_id not in brought]
        for post in answered:
            row = rows.get(post.arrival.event_id)
            if post.answer.done():
                continue
            if row is None:
                # Nobody may be waiting any more; a fault nobody fetches would be complained about.
                post.answer.add_done_callback(lambda answer: answer.exception())
                post.answer.set_exception(NotTaken("the sender may not talk here"))
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
