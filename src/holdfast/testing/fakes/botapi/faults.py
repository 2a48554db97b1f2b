"""Faults on demand: floods, errors of the server, lost requests and answers, slowness."""

from __future__ import annotations

from collections import deque
from dataclasses import field

from holdfast.records import dataclass


@dataclass(frozen=True, slots=True)
class Flood:
    """429, with the seconds to wait."""

    seconds: int = 1


@dataclass(frozen=True, slots=True)
class ServerError:
    """An error of the server, which has done nothing."""

    code: int = 500


@dataclass(frozen=True, slots=True)
class LostRequest:
    """The connection breaks before the server does anything."""


@dataclass(frozen=True, slots=True)
class LostAnswer:
    """The server does the request, and the connection breaks before the answer."""


@dataclass(frozen=True, slots=True)
class Slow:
    """The server does the request at once and answers after this many seconds of its clock."""

    seconds: float


@dataclass(frozen=True, slots=True)
class CutAfter:
    """A download ends after this many bytes."""

    size: int


@dataclass(frozen=True, slots=True)
class NoRanges:
    """A download is answered from the beginning, whatever part the bot asked for."""


Effect = Flood | ServerError | LostRequest | LostAnswer | Slow | CutAfter | NoRanges


@dataclass(slots=True)
class _Rule:
    effect: Effect
    method: str | None
    chat: int | None
    times: int | None
    skip: int

    def fits(self, method: str, chat: int | None) -> bool:
        return self.method in (None, method) and self.chat in (None, chat) and self.times != 0


class ApiFaults:
    """The planned faults, in the order they were added, each as often as it says."""

    def __init__(self) -> None:
        self._rules: list[_Rule] = []

    def add(
        self,
        effect: Effect,
        method: str | None = None,
        chat: int | None = None,
        times: int | None = 1,
        skip: int = 0,
    ) -> None:
        """Let the next `times` matching requests (None: all) fail, after `skip` that do not.

        A download is the method `download`.
        """
        self._rules.append(_Rule(effect, method.lower() if method else None, chat, times, skip))

    def clear(self) -> None:
        self._rules.clear()

    def hits(self, method: str, chat: int | None) -> Effect | None:
        """The fault for this request, if any."""
        for rule in self._rules:
            if rule.fits(method.lower(), chat):
                if rule.skip:
                    rule.skip -= 1
                    continue
                rule.times = rule.times - 1 if rule.times is not None else None
                return rule.effect
        return None


@dataclass(frozen=True, slots=True)
class Rates:
    """How much a bot may send, as the documentation advises."""

    chat_each_second: int = 1
    group_each_minute: int = 20
    all_each_second: int = 30


@dataclass(slots=True)
class RateLimits:
    """Enforces rates, if there are any; a bot that asks too soon waits longer, as on Telegram."""

    rates: Rates | None = None
    _said: dict[int, deque[int]] = field(default_factory=dict)
    _all: deque[int] = field(default_factory=deque)

    def wait(self, now: int, chat: int) -> int:
        """Seconds until the bot may send this; 0 if it may now, and then it counts."""
        if self.rates is None:
            return 0
        said = self._said.setdefault(chat, deque(maxlen=1_000))
        checks = [
            (said, self.rates.chat_each_second, 1_000),
            (self._all, self.rates.all_each_second, 1_000),
        ]
        if chat < 0:
            checks.append((said, self.rates.group_each_minute, 60_000))
        waits = [_until(times, most, span, now) for times, most, span in checks]
        if any(waits):
            return max(1, -(-max(waits) // 1_000))
        said.append(now)
        self._all.append(now)
        return 0


def _until(times: deque[int], most: int, span: int, now: int) -> int:
    recent = [at for at in times if at > now - span]
    return recent[-most] + span - now if len(recent) >= most else 0
