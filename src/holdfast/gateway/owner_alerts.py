"""What the owner is told of without asking: each once, in words that say what to do.

Safe mode and a park are told by recovery, in the commits that make them true. Here is what only shows while
time passes: a platform that stays deaf, a disk that fills, damage in the ledger, workers that all hang, a
restart that left something unsettled. Without a chat of the owner the log is told of the workers; of the rest
it knows anyway.
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
"""How much of the least room there has to be before a disk counts as mended."""


@dataclass(frozen=True, slots=True)
class PlatformStatus:
    """One platform, as people who look at a gateway see it."""

    name: str
    account: str
    connected: bool
    trouble: str | None = None
    """What it said when it could last not be read, as long as that is so."""


class OwnerAlerts:
    """Looks every few seconds. What was told stands in the ledger: another process does not tell it again."""

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
        self._born = clock.monotonic()
        self._lost: dict[str, float] = {}
        """Since when a platform could not be reached, by the clock that never jumps."""
        self._spells: dict[str, str] = {}
        """When each trouble began that the owner was told of; empty when it is over."""
        self._told: set[str] = set()
        self._untold: set[str] = set()
        """What was tried, and found no chat."""
        self._looked_back = False
        self._hung = False
        """All workers hang, and that was told."""

    async def work(self) -> None:
        """Look for ever."""
        while True:
            await self.look()
            await self._clock.sleep(_EVERY)

    async def look(self) -> None:
        """One look at everything."""
        await self._workers()
        if self._owner is None:
            return
        for one in self._connections():
            await self._platform(one)
        await self._disk()
        await self._damage()
        if not self._looked_back and self._age(self._born) >= self._settings.unsettled:
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
                f"{name} could not be reached for {max(1, quiet // MINUTE)} min. I hear nothing from it and "
                "go on trying; what is owed there waits, and nothing is lost. If it stays so, look at the "
                "network and at the bot's token; the gateway's log says what the platform answers."
            )
            words += f" The last was: {one.trouble}" if one.trouble else ""
            await self._trouble(f"deaf:{name}", words)

    async def _disk(self) -> None:
        if self._free is None:
            return
        free, least = self._free(), self._settings.disk * _MEGABYTE
        if free < least:
            words = (
                f"The disk is nearly full: {free // _MEGABYTE} MB are left where the ledger is. Make room: "
                "once nothing can be written any more, no message is taken until there is."
            )
            await self._trouble("disk", words)
        elif free > least * _WELL_ABOVE:
            await self._over("disk")

    async def _damage(self) -> None:
        """What of the ledger was set aside; the log was told of it in that moment."""
        for one in reversed(await self._store.set_aside(limit=_DAMAGE_LOOKED_AT, account=LEDGER_ACCOUNT)):
            words = (
                f"A part of the ledger is damaged or could not be worked on: {one.reason}. Everything else "
                "goes on. `holdfast set-aside` shows it, and `holdfast verify` looks the whole ledger over."
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
            f"{hung} turns have not moved for {span(self._settings.hung)}, and they hold every worker that "
            "resumed work may use, so other interrupted work waits. `holdfast sessions --state running` "
            "lists them, and `holdfast cancel` ends one; each fails by itself when progress.abort is over."
        )
        log.warning("%s", words)
        # What hangs ends with this process: no other one lives through it.
        await self._tell(f"owner:hung:{self._store.instance}:{self._clock.now()}", words)

    async def _look_back(self) -> bool:
        """A while after the start: what is still unsettled then does not settle by itself in a moment.

        True when there is nothing more to tell of it.
        """
        left = await self._store.continuity()
        held = sum(state is TurnState.INTERRUPTED for _, state, _ in left.open_turns)
        if left.previous_ended == "none" or not (held or left.unknown):
            return True
        found = [f"turns held: {held}"] if held else []
        found += [f"sends of unknown outcome: {left.unknown}"] if left.unknown else []
        words = (
            f"The gateway has started again, and something is not settled: {', '.join(found)}. `holdfast "
            "continuity` tells why. `holdfast resume` or `cancel` settle the work, `holdfast outbox "
            "--unknown` and `outbox settle` the sends."
        )
        return await self._tell(f"owner:restart:{self._store.instance}", words)

    async def _trouble(self, name: str, words: str) -> None:
        """Tell of a trouble once from its beginning to its end, whichever processes live through it."""
        if not await self._spell(name):
            await self._write(name, str(self._clock.now()))
        await self._tell(f"owner:{name}:{self._spells[name]}", words)

    async def _over(self, name: str) -> None:
        if await self._spell(name):
            await self._write(name, "")

    async def _spell(self, name: str) -> str:
        if name not in self._spells:
            self._spells[name] = await self._store.cursor(ACCOUNT, _place(name)) or ""
        return self._spells[name]

    async def _write(self, name: str, value: str) -> None:
        await self._store.accept(Batch(ACCOUNT, cursor=Cursor(_place(name), value)))
        self._spells[name] = value

    async def _tell(self, dedupe: str, words: str) -> bool:
        if dedupe in self._told:
            return True
        if self._owner is None:
            return False
        try:
            await self._store.owe(Owed(self._owner, dedupe, (words,), OwedKind.NOTICE))
        except Refused as refusal:
            # Nobody ever wrote from the owner's chat: there is nowhere to tell it, until somebody does.
            if dedupe not in self._untold:
                self._report("telling the owner", refusal)
            self._untold.add(dedupe)
            return False
        self._told.add(dedupe)
        return True

    def _age(self, since: float) -> int:
        return round((self._clock.monotonic() - since) * SECOND)


def _place(name: str) -> str:
    return f"alert:{name}"
