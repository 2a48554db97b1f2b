"""The rate limits of one account. Sends and shown progress share them, and sends come first."""

from __future__ import annotations

from collections.abc import Callable
from math import inf

from holdfast.model import ChatAddress
from holdfast.records import dataclass


@dataclass(frozen=True, slots=True)
class Rate:
    """At most `most` messages at once, and `most` more every `per` seconds."""

    most: int
    per: float = 1.0


class Pace:
    """The limits of one account, in each chat and in all chats together.

    A send takes a place in line and learns how long to wait. Progress is shown only if a send right after it
    would not have to wait; otherwise it is left out, never queued.
    """

    def __init__(self, monotonic: Callable[[], float], chat: Rate, account: Rate) -> None:
        self._monotonic = monotonic
        self._chat = chat
        self._account = _Bucket(account, monotonic())
        self._chats: dict[ChatAddress, _Bucket] = {}

    def to_send(self, chat: ChatAddress, within: float = inf) -> float:
        """Take a place for a send; returns the seconds to wait before it.

        If the place is further away than `within`, the send does not take it and asks again later. A place
        that is taken and not used would make all others wait longer, with every try.
        """
        now = self._monotonic()
        buckets = self._buckets(chat, now)
        wait = max(bucket.wait(now) for bucket in buckets)
        if wait <= within:
            for bucket in buckets:
                bucket.take(now)
        return wait

    def may_show(self, chat: ChatAddress) -> bool:
        """Whether progress may be shown right now; takes a place if so."""
        now = self._monotonic()
        buckets = self._buckets(chat, now)
        if any(bucket.left(now) < 2 for bucket in buckets):
            return False
        for bucket in buckets:
            bucket.take(now)
        return True

    def wait(self, chat: ChatAddress, seconds: float) -> None:
        """Send nothing to this chat for so many seconds: the platform asked for it."""
        now = self._monotonic()
        self._buckets(chat, now)[0].empty_until(now + seconds)

    def _buckets(self, chat: ChatAddress, now: float) -> tuple[_Bucket, _Bucket]:
        if len(self._chats) > _MOST_CHATS:
            # A full bucket is the same as a new one.
            self._chats = {name: one for name, one in self._chats.items() if not one.is_full(now)}
        return self._chats.setdefault(chat, _Bucket(self._chat, now)), self._account


class _Bucket:
    """The places left of a rate; below zero, so many sends wait in line."""

    def __init__(self, rate: Rate, now: float) -> None:
        self._rate = rate
        self._left = float(rate.most)
        self._at = now

    def left(self, now: float) -> float:
        """How many sends could go at once."""
        refilled = self._left + max(0.0, now - self._at) * self._speed
        self._left, self._at = min(float(self._rate.most), refilled), max(now, self._at)
        return self._left

    def wait(self, now: float) -> float:
        """The seconds until the next place."""
        missing = max(0.0, 1 - self.left(now))
        return max(0.0, self._at - now + missing / self._speed)

    def take(self, now: float) -> None:
        self._left = self.left(now) - 1

    def empty_until(self, at: float) -> None:
        self._left, self._at = min(self._left, 1.0), max(at, self._at)

    def is_full(self, now: float) -> bool:
        return self.left(now) >= self._rate.most

    @property
    def _speed(self) -> float:
        return self._rate.most / self._rate.per


_MOST_CHATS = 10_000
