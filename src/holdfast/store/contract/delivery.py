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
"""Sorts before every part."""


class Deliveries(Protocol):
    """What is owed to chats. A committed row is final: no fence takes it back."""

    async def owe(self, owed: Owed) -> bool:
        """Owe a chat a message of the gateway itself; False when the chat got it already."""
        ...

    async def claim_deliveries(
        self, platforms: tuple[str, ...], limit: int = 32, tried: str | None = None
    ) -> tuple[Delivery, ...]:
        """Take the next part of up to `limit` chats of these platforms, as `sending`, in order per chat.

        `tried` marks this moment. It stays with a part until the part certainly did not arrive.

        A chat gives no part while one of its parts is in flight or has an unknown outcome, or while the chat
        is throttled; other chats go on. A part that stepped aside delays no other part, unless it is in
        flight; it is taken when no part in line is due. A due time more than a day ahead is damage (a clock
        that was fast wrote it): the store treats such a part as due.
        """
        ...

    async def next_send_at(self, platforms: tuple[str, ...]) -> int | None:
        """When the next part of these platforms is due (throttle, backoff); None when no part is in line."""
        ...

    async def record_delivery(self, id: DeliveryId, result: SendResult, owe: tuple[Owed, ...] = ()) -> None:
        """Record what the platform said about a part that this process is `sending`."""
        ...

    async def settle_delivery(
        self,
        id: DeliveryId,
        result: SendResult,
        repeated: bool = False,
        owe: tuple[Owed, ...] = (),
        marked: bool = False,
    ) -> None:
        """Settle a part of unknown outcome: it arrived, it did not, or it is sent again, marked `repeated`.

        With `marked` this repeat counts towards the number of repeats that a part may have.
        """
        ...

    async def failing(self, platform: str, limit: int = 1_000) -> tuple[FailingPart, ...]:
        """The unsettled parts of a platform whose sends have failed, oldest first.

        The topic "failing" changes when another part begins to fail.
        """
        ...

    async def hurry_delivery(self, id: DeliveryId, at_once: bool = True, overtaken: bool = False) -> None:
        """Make a failing part that waits due now (`at_once`), or note that another send has succeeded.

        A throttle of its chat still applies.
        """
        ...

    async def step_aside(self, id: DeliveryId, owe: tuple[Owed, ...] = ()) -> None:
        """Take a failing part out of its chat's line: later parts may go, and this part is still tried."""
        ...

    async def expire_delivery(self, id: DeliveryId, reason: str) -> None:
        """Give up a part that is too old; it stays visible with the reason."""
        ...

    async def in_doubt(self, limit: int = 100, platform: str | None = None) -> tuple[Delivery, ...]:
        """Parts whose outcome is unknown, oldest first; with a platform given, those to ask it about.

        Parts that a restore has put in doubt are left out of the latter: the operator settles them.
        """
        ...

    async def unsettled(
        self, after: DeliveryId = FIRST, limit: int = 100, unknown_only: bool = False
    ) -> tuple[Delivery, ...]:
        """The unsettled parts of all chats, or only those of unknown outcome, by id, after an id."""
        ...

    async def doubt_orphans(self) -> int:
        """Mark the parts that a dead process was sending as unknown; returns how many."""
        ...

    async def deliveries(self, chat: ChatAddress, after: int = 0, limit: int = 100) -> tuple[Delivery, ...]:
        """A chat's outbox after a number, in order: the parts that a reader with that cursor has not seen."""
        ...

    async def last_number(self, chat: ChatAddress) -> int:
        """The number of the newest part that a chat is or was owed; 0 when there is none."""
        ...


class Processes(Protocol):
    """Background processes. Their fence is the incarnation and consumption, not the generation."""

    async def processes(self, session: SessionId | None = None) -> tuple[Process, ...]:
        """Running processes, or all of one session."""
        ...

    async def known_processes(self, ids: Sequence[str]) -> tuple[Process, ...]:
        """Those of these processes that the ledger knows, running or ended."""
        ...

    async def adopt_process(self, spawned: Spawned, turn: TurnId) -> bool:
        """Record a process that this turn started but did not record; True if the ledger did not know it.

        Also False when the ledger does not know the turn. If the turn itself records the process later, that
        changes nothing.
        """
        ...

    async def end_process(self, id: str, state: ProcessState, exit_code: int | None, words: str = "") -> bool:
        """Record how a process ended. With `notify`, and if no turn has seen the end, write one wake-up row.

        The wake-up says how the process ended, and `words`. False when the ledger knew its end already. A
        session that has ended is not woken.
        """
        ...

    async def match_process(
        self, id: str, number: int, text: str, cap: int, upto: int = 0, since: int | None = None
    ) -> bool:
        """Wake the session for a watch match, if the match is current and no turn runs; True if it does.

        A match does not wake the session when

        - it is of an older generation than the session's,
        - a turn runs, or a turn has ended since the watcher last looked at the output (`since`),
        - its incarnation has ended, or
        - the cap is reached.

        In the first two cases it counts as missed until a turn looks at the process. The same match number
        wakes once. The commit also keeps how far the watcher has read the output (`upto`).
        """
        ...

    async def consume_process(self, id: str) -> bool:
        """Note that a turn has seen the end: the process wakes its session no more. True the first time."""
        ...
