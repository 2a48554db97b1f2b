"""R21 on the real ledger: what the owner is told of by itself, once each, with what to do."""

import pytest

from holdfast.config.settings import AlertSettings
from holdfast.gateway.owner_alerts import OwnerAlerts, PlatformStatus
from holdfast.model import ChatAddress, Lost, Sent
from holdfast.policy.settings import MINUTE
from tests.support.ledger import Ledger, address, owed
from tests.support.platforms import Reports

OWNER = address("owner")
MEGABYTE = 1_000_000


class Watch:
    """One process's look-out, and what it sees."""

    def __init__(self, ledger: Ledger, owner: ChatAddress | None = OWNER) -> None:
        self.ledger = ledger
        self.connected = True
        self.free = 10_000 * MEGABYTE
        self.hung = 0
        self.reports = Reports()
        self.alerts = OwnerAlerts(
            ledger.store,
            ledger.clock,
            owner,
            AlertSettings(),
            lambda: (PlatformStatus("fake", "bot", self.connected),),
            lambda: self.free,
            lambda silent: self.hung,
            self.reports,
        )

    async def look_for(self, minutes: int) -> None:
        """Look once a minute."""
        for _ in range(minutes):
            await self.alerts.look()
            self.ledger.clock.advance(MINUTE)
        await self.alerts.look()


async def told(ledger: Ledger) -> list[str]:
    return [part.text for part in await ledger.outbox("owner") if part.dedupe.startswith("owner:")]


@pytest.mark.guards("R21", "O15")
async def test_a_platform_that_stays_deaf_is_told_once_per_spell_whoever_lives_through_it(
    ledger: Ledger,
) -> None:
    await ledger.complete(chat="owner")
    watch = Watch(ledger)
    await watch.look_for(20)
    assert await told(ledger) == []
    watch.connected = False
    await watch.look_for(4)
    assert await told(ledger) == [], "it may come back"
    await watch.look_for(4)
    (line,) = await told(ledger)
    assert line.startswith("The gateway could not reach fake/bot for 5 min") and "bot's token" in line
    await ledger.crash()
    after = Watch(ledger)
    after.connected = False
    await after.look_for(20)
    assert len(await told(ledger)) == 1, "the same spell, another process"
    after.connected = True
    await after.look_for(1)
    after.connected = False
    await after.look_for(4)
    assert len(await told(ledger)) == 1
    await after.look_for(2)
    assert len(await told(ledger)) == 2, "another spell"


@pytest.mark.guards("R21")
async def test_a_short_break_at_each_start_is_no_spell(ledger: Ledger) -> None:
    await ledger.complete(chat="owner")
    for _ in range(4):
        watch = Watch(ledger)
        watch.connected = False
        await watch.look_for(3)
        await ledger.crash()
    assert await told(ledger) == []


@pytest.mark.guards("R21")
async def test_a_disk_that_fills_is_told_once_until_there_is_room_again(ledger: Ledger) -> None:
    await ledger.complete(chat="owner")
    watch = Watch(ledger)
    for free, lines in ((501, 0), (499, 1), (10, 1), (501, 1), (490, 1), (700, 1), (400, 2)):
        watch.free = free * MEGABYTE
        await watch.look_for(1)
        assert len(await told(ledger)) == lines, free
    await ledger.crash()
    after = Watch(ledger)
    after.free = 300 * MEGABYTE
    await after.look_for(2)
    first, second = await told(ledger)
    assert "499 MB are free" in first and "Free some space" in first
    assert "400 MB are free" in second


@pytest.mark.guards("R4.2", "R21")
async def test_workers_that_all_hang_are_told_once_until_one_moves(ledger: Ledger) -> None:
    await ledger.complete(chat="owner")
    watch = Watch(ledger)
    for hung, lines in ((0, 0), (24, 1), (25, 1), (0, 1), (24, 2)):
        watch.hung = hung
        await watch.look_for(1)
        assert len(await told(ledger)) == lines, hung
    assert "24 turns have made no progress for 2 minutes" in (await told(ledger))[0]
    assert "holdfast cancel" in (await told(ledger))[0]


@pytest.mark.guards("R21")
async def test_without_a_chat_of_the_owner_the_log_is_told(
    ledger: Ledger, caplog: pytest.LogCaptureFixture
) -> None:
    watch = Watch(ledger, owner=None)
    watch.hung = 24
    await watch.look_for(3)
    assert [one.message for one in caplog.records if "have made no progress" in one.message] != []
    assert len(caplog.records) == 1 and await told(ledger) == []


@pytest.mark.guards("R21")
async def test_a_restart_that_left_something_unsettled_is_told_once_after_a_while(ledger: Ledger) -> None:
    await ledger.complete(chat="owner")
    await ledger.begin()
    await ledger.store.owe(owed("r"))
    for part in await ledger.send():
        await ledger.store.record_delivery(part.id, Lost("no answer"))
    await ledger.crash()
    await ledger.store.interrupt_orphans()
    await ledger.settle("safe_mode")
    watch = Watch(ledger)
    await watch.alerts.look()
    assert await told(ledger) == [], "what settles by itself in a moment is nobody's business"
    await watch.look_for(3)
    (line,) = await told(ledger)
    assert "turns held: 1, sends of unknown outcome: 1" in line
    assert "holdfast continuity" in line and "outbox settle" in line
    await watch.look_for(3)
    assert len(await told(ledger)) == 1


@pytest.mark.guards("R21")
async def test_a_restart_that_left_nothing_and_a_first_start_are_not_told(ledger: Ledger) -> None:
    await ledger.complete(chat="owner")
    await ledger.store.owe(owed("r", chat="owner"))
    (part,) = await ledger.send()
    await ledger.store.record_delivery(part.id, Lost("no answer"))
    await Watch(ledger).look_for(3)
    await ledger.store.settle_delivery(part.id, Sent())
    await ledger.crash()
    await Watch(ledger).look_for(3)
    assert await told(ledger) == []


@pytest.mark.guards("R21")
async def test_an_owners_chat_nobody_wrote_from_breaks_nothing_and_is_told_once_somebody_does(
    ledger: Ledger,
) -> None:
    await ledger.begin()
    await ledger.crash()
    await ledger.store.interrupt_orphans()
    await ledger.settle("safe_mode")
    watch = Watch(ledger)
    watch.free = 0
    await watch.look_for(3)
    assert len(watch.reports.doing) == 2, "a full disk and something unsettled, each once"
    await ledger.complete(chat="owner")
    await watch.look_for(3)
    disk, restart = await told(ledger)
    assert "nearly full" in disk and "turns held: 1" in restart
