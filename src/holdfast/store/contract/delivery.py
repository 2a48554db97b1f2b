"""Verbs of delivery and of background processes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from holdfast.model import (
    ChatAddress,
    Delivery,
    DeliveryId,
    Owed,
    Process,
    ProcessState,
    SendResult,
    SessionId,
    TurnId,
)
from holdfast.policy.delivery.retry import FailingPart

from .values import Spawned

FIRST = DeliveryId(0)
"""Before every part there is."""


class Deliveries(Protocol):
    """What is owed to chats. A committed row is a fact: no fence takes it back."""

    async def owe(self, owed: Owed) -> bool:
        """Owe a chat something the gateway itself has to say; False when it was told already."""
        ...

    async def claim_deliveries(
        self, platforms: tuple[str, ...], limit: int = 32, tried: str | None = None
    ) -> tuple[Delivery, ...]:
        """Take the next part of up to `limit` chats of connected platforms, as `sending`, in order per chat.

        `tried` marks this moment; it is kept with a part until that certainly did not arrive.

        A chat with a part in flight, of unknown outcome or throttled gives none; other chats do. A part that
        stepped aside holds up no other, unless it is in flight; it is taken when no part in line is due. A
        time more than a day ahead is damage (a clock that ran ahead wrote it): such a part is due.
        """
        ...

    async def next_send_at(self, platforms: tuple[str, ...]) -> int | None:
        """When the next part of these platforms is due (throttle, backoff); None when none is in line."""
        ...

    async def record_delivery(self, id: DeliveryId, result: SendResult, owe: tuple[Owed, ...] = ()) -> None:
        """Record what the platform said about a part in `sending` that this process sent."""
        ...

    async def settle_delivery(
        self,
        id: DeliveryId,
        result: SendResult,
        repeated: bool = False,
        owe: tuple[Owed, ...] = (),
        marked: bool = False,
    ) -> None:
        """Settle a part of unknown outcome: arrived, not arrived, or to be sent again, marked `repeated`.

        With `marked` this repeat counts among those that a part may have.
        """
        ...

    async def failing(self, platform: str, limit: int = 1_000) -> tuple[FailingPart, ...]:
        """The unsettled parts of a platform whose sends have failed, oldest first.

        "failing" is the topic that changes when there is another one.
        """
        ...

    async def hurry_delivery(self, id: DeliveryId, at_once: bool = True, overtaken: bool = False) -> None:
        """Let a failing part be due now if it waits (`at_once`), or note that another send has succeeded.

        A throttle of its chat holds all the same.
        """
        ...

    async def step_aside(self, id: DeliveryId, owe: tuple[Owed, ...] = ()) -> None:
        """Take a failing part out of its chat's line: the next one may go, and this one is still tried."""
        ...

    async def expire_delivery(self, id: DeliveryId, reason: str) -> None:
        """Give up a part that is too old; it stays visible with the reason."""
        ...

    async def in_doubt(self, limit: int = 100, platform: str | None = None) -> tuple[Delivery, ...]:
        """Parts whose outcome is unknown, oldest first; with a platform given, those it may be asked about.

        What a restore has put in doubt is the operator's to settle, and not among the latter.
        """
        ...

    async def unsettled(
        self, after: DeliveryId = FIRST, limit: int = 100, unknown_only: bool = False
    ) -> tuple[Delivery, ...]:
        """What chats are still owed, or only what has an unknown outcome, in order of ids, after one."""
        ...

    async def doubt_orphans(self) -> int:
        """Parts a dead process was sending become unknown; returns how many."""
        ...

    async def deliveries(self, chat: ChatAddress, after: int = 0, limit: int = 100) -> tuple[Delivery, ...]:
        """A chat's outbox after a number, in order: what a reader with that cursor has not seen."""
        ...

    async def last_number(self, chat: ChatAddress) -> int:
        """The number of the newest thing a chat is owed; 0 when there is none."""
        ...


class Processes(Protocol):
    """Background processes. Fenced by incarnation and consumption, not by generation."""

    async def processes(self, session: SessionId | None = None) -> tuple[Process, ...]:
        """Running processes, or all of one session."""
        ...

    async def known_processes(self, ids: Sequence[str]) -> tuple[Process, ...]:
        """Those of these processes that the ledger knows, whatever became of them."""
        ...

    async def adopt_process(self, spawned: Spawned, turn: TurnId) -> bool:
        """Take in a process that this turn started and could not write down; True if it was unknown.

        False, too, when nobody knows the turn. The turn itself may still write it down: that adds nothing.
        """
        ...

    async def end_process(self, id: str, state: ProcessState, exit_code: int | None, words: str = "") -> bool:
        """Record how a process ended; with `notify` and nobody having seen it, one wake-up row is written.

        It says how it ended, and `words`. False when its end was known already. A session that has ended is
        not woken.
        """
        ...

    async def match_process(
        self, id: str, number: int, text: str, cap: int, upto: int = 0, since: int | None = None
    ) -> bool:
        """Wake the session for a watch match, if it is current and no turn runs; True if it does.

        A match of an older generation than the session's, of a running turn, of one that has ended since the
        output was last looked at (`since`), of an ended incarnation or beyond the cap wakes nothing; but for
        the last two it counts as missed, until somebody looks at the process. The same match number wakes
        once, and with it is kept how far the output was looked through (`upto`).
        """
        ...

    async def consume_process(self, id: str) -> bool:
        """Somebody has seen its end: no wake-up for it any more. True for the one who was first."""
        ...
