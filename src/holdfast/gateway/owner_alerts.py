"""Alerts to the owner: each is sent once, and says what to do.

Recovery reports safe mode and parks, in the commits that make them true. This module reports troubles that
show only over time: a platform out of reach, a disk that fills, damage in the ledger, workers that all hang,
a restart that left work unsettled. Without a chat of the owner, the log still reports the hanging workers;
the log has the other troubles in any case.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from holdfast.clock import Clock
from holdfast.config.settings import AlertSettings
from holdfast.errors import Refused, Report
from holdfast.model import Batch, ChatAddress, Cursor, Owed, OwedKind, TurnState
from holdfast.policy.settings import MINUTE, SECOND
from holdfast.policy.turn.progress_notice import span
from holdfast.records import dataclass
from holdfast.store import LEDGER_ACCOUNT, Store

log = logging.getLogger(__name__)

ACCOUNT = "holdfast"
_EVERY = 10.0
_MEGABYTE = 1_000_000
_DAMAGE_LOOKED_AT = 20
_WELL_ABOVE = 1.2
"""The trouble of a full disk is over at this many times the least free space."""


@dataclass(frozen=True, slots=True)
class PlatformStatus:
    """The state of one platform, as operators see it."""

    name: str
    account: str
    connected: bool
    trouble: str | None = None
    """Its last error, as long as the gateway cannot read it."""


class OwnerAlerts:
    """Looks every few seconds. The ledger keeps what was told, so another process does not tell it again."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        owner: ChatAddress | None,
        settings: AlertSettings,
        connections: Callable[[], tuple[PlatformStatus, ...]],
        free: Callable[[], int] | None,
        hangs: Callable[[int], int],
        report: Report,
    ) -> None:
        self._store = store
        self._clock = clock
        self._owner = owner
        self._settings = settings
        self._connections = connections
        self._free = free
        self._hangs = hangs
        self._report = report
        self._started = clock.monotonic()
        self._lost: dict[str, float] = {}
        """Since which monotonic time a platform could not be reached."""
        self._began: dict[str, str] = {}
        """When each reported trouble began; empty when it is over."""
        self._told: set[str] = set()
        self._no_chat: set[str] = set()
        """The alerts that could not be owed because the owner's chat is not known yet."""
        self._looked_back = False
        self._hung = False
        """Whether all workers hang and the owner was told."""

    async def work(self) -> None:
        while True:
            await self.look()
            await self._clock.sleep(_EVERY)

    async def look(self) -> None:
        """Look once for every trouble, and report the new ones."""
        await self._workers()
        if self._owner is None:
            return
        for one in self._connections():
            await self._platform(one)
        await self._disk()
        await self._damage()
        if not self._looked_back and self._age(self._started) >= self._settings.unsettled:
            self._looked_back = await self._look_back()

    async def _platform(self, one: PlatformStatus) -> None:
        name = f"{one.name}/{one.account}"
        if one.connected:
            self._lost.pop(name, None)
            await self._over(f"deaf:{name}")
            return
        quiet = self._age(self._lost.setdefault(name, self._clock.monotonic()))
        if quiet >= self._settings.deaf:
            words = (
                f"The gateway could not reach {name} for {max(1, quiet // MINUTE)} min. It keeps trying. "
                "Nothing is lost: replies for that platform wait. If this goes on, check the network and the "
                "bot's token; the gateway's log says what the platform answers."
            )
            words += f" The last error was: {one.trouble}" if one.trouble else ""
            await self._trouble(f"deaf:{name}", words)

    async def _disk(self) -> None:
        if self._free is None:
            return
        free, least = self._free(), self._settings.disk * _MEGABYTE
        if free < least:
            words = (
                f"The disk is nearly full: {free // _MEGABYTE} MB are free where the ledger is. Free some "
                "space: on a full disk the gateway accepts no messages until there is space again."
            )
            await self._trouble("disk", words)
        elif free > least * _WELL_ABOVE:
            await self._over("disk")

    async def _damage(self) -> None:
        """Report the parts of the ledger that were set aside; the log reported each at that moment."""
        for one in reversed(await self._store.set_aside(limit=_DAMAGE_LOOKED_AT, account=LEDGER_ACCOUNT)):
            words = (
                f"The gateway set aside a part of the ledger that it could not use: {one.reason}. Everything "
                "else goes on. `holdfast set-aside` shows that part; `holdfast verify` checks the ledger."
            )
            await self._tell(f"owner:damage:{one.event_id}:{one.at}", words)

    async def _workers(self) -> None:
        hung = self._hangs(self._settings.hung)
        if not hung:
            self._hung = False
        if not hung or self._hung:
            return
        self._hung = True
        words = (
            f"{hung} turns have made no progress for {span(self._settings.hung)}. They occupy every worker "
            "that resumed work may use, so other interrupted work waits. `holdfast sessions --state running` "
            "lists them, and `holdfast cancel` ends one. Each fails by itself after `progress.abort`."
        )
        log.warning("%s", words)
        # The hanging runs end with this process, so the alert belongs to this instance alone.
        await self._tell(f"owner:hung:{self._store.instance}:{self._clock.now()}", words)

    async def _look_back(self) -> bool:
        """Report, a while after the start, the work that did not settle by itself.

        True when nothing is left to report.
        """
        left = await self._store.continuity()
        held = sum(state is TurnState.INTERRUPTED for _, state, _ in left.open_turns)
        if left.previous_ended == "none" or not (held or left.unknown):
            return True
        found = [f"turns held: {held}"] if held else []
        found += [f"sends of unknown outcome: {left.unknown}"] if left.unknown else []
        words = (
            f"The gateway has restarted, and some work is not settled: {', '.join(found)}. `holdfast "
            "continuity` says why. Settle a turn with `holdfast resume` or `holdfast cancel`. List the sends "
            "with `holdfast outbox --unknown`, and settle each with `holdfast outbox settle`."
        )
        return await self._tell(f"owner:restart:{self._store.instance}", words)

    async def _trouble(self, name: str, words: str) -> None:
        """Report a trouble once from its beginning to its end, also across restarts."""
        if not await self._beginning(name):
            await self._write(name, str(self._clock.now()))
        await self._tell(f"owner:{name}:{self._began[name]}", words)

    async def _over(self, name: str) -> None:
        if await self._beginning(name):
            await self._write(name, "")

    async def _beginning(self, name: str) -> str:
        if name not in self._began:
            self._began[name] = await self._store.cursor(ACCOUNT, _place(name)) or ""
        return self._began[name]

    async def _write(self, name: str, value: str) -> None:
        await self._store.accept(Batch(ACCOUNT, cursor=Cursor(_place(name), value)))
        self._began[name] = value

    async def _tell(self, dedupe: str, words: str) -> bool:
        if dedupe in self._told:
            return True
        if self._owner is None:
            return False
        try:
            await self._store.owe(Owed(self._owner, dedupe, (words,), OwedKind.NOTICE))
        except Refused as refusal:
            # The ledger does not know the owner's chat until the owner has written from it.
            if dedupe not in self._no_chat:
                self._report("telling the owner", refusal)
            self._no_chat.add(dedupe)
            return False
        self._told.add(dedupe)
        return True

    def _age(self, since: float) -> int:
        return round((self._clock.monotonic() - since) * SECOND)


def _place(name: str) -> str:
    return f"alert:{name}"
