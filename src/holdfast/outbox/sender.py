"""Send deliveries: claim before, record after. An outcome that is unknown in between is never guessed."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import replace
from typing import Any

from holdfast.clock import Bell, Clock, Rng, first_of, in_time, mark, since
from holdfast.errors import Refused, Report, StoreClosed, StoreFault, SyncFailed, unreported
from holdfast.model import (
    WORKING,
    ChatAddress,
    Delivery,
    DeliveryId,
    DeliveryState,
    Lost,
    Owed,
    OwedKind,
    Rejected,
    SendResult,
    Sent,
    TryAgain,
)
from holdfast.platforms import Platform, PlatformDown
from holdfast.policy.delivery.files import more_time, too_large
from holdfast.policy.delivery.retry import (
    MAY_BE_THERE,
    TOO_OLD,
    Next,
    Settling,
    after_asking,
    after_doubt,
    after_send,
    before_send,
    delay,
)
from holdfast.policy.settings import MINUTE, SECOND, RetrySettings
from holdfast.policy.turn.progress_notice import last_words
from holdfast.store import Store
from holdfast.telemetry import without_secrets

from .failures import Failures
from .undelivered import Write, close_questions, line_for

PATIENCE = RetrySettings(first=SECOND // 2, most=30 * SECOND)
"""How the sender retries a ledger it cannot write."""
DOWN = RetrySettings(most=MINUTE)
"""How the sender retries a platform that is down, until `poke` says that it is back."""
SEND_WITHIN = 120.0
"""Seconds after which a send counts as lost: a hung connection delays only its own chat, and not for ever."""
LOOK_AGAIN = 60.0
"""Seconds after which the sender looks at the ledger in any case: the wall clock may have jumped."""
AT_ONCE = 16
_DOUBTS = 1_000


def _always() -> bool:
    return True


async def _nothing(chat: ChatAddress) -> None:
    """Do nothing before a send: the default."""


def _time_for(delivery: Delivery) -> float:
    return SEND_WITHIN + more_time(delivery.files)


class Sender:
    """Serves one platform: one part in flight per chat, several chats at once.

    Its memory only says when to look; a fresh process finds everything in the ledger.
    """

    def __init__(
        self,
        store: Store,
        clock: Clock,
        rng: Rng,
        platform: Platform,
        settings: RetrySettings | None = None,
        ready: Callable[[], bool] = _always,
        at_once: int = AT_ONCE,
        report: Report = unreported,
        before: Callable[[ChatAddress], Awaitable[None]] = _nothing,
    ) -> None:
        """The sender awaits `before` ahead of each send to a chat: it shows what people must see first."""
        self._store = store
        self._clock = clock
        self._rng = rng
        self._platform = platform
        self._settings = settings or RetrySettings()
        self._ready = ready
        self._at_once = at_once
        self._report = report
        self._before = before
        self._bell = Bell()
        """Rings when a delivery may be due."""
        self._moved = Bell()
        """Rings when a step is done; `quiet` waits for it."""
        self._busy: dict[DeliveryId, asyncio.Task[None]] = {}
        self._unrecorded: dict[DeliveryId, tuple[Delivery, SendResult]] = {}
        """Results of sends that the ledger could not record yet. Their parts are not sent again meanwhile."""
        self._ask_at: dict[DeliveryId, int] = {}
        """When to ask the platform about a part again. This and `_down_until` are monotonic times."""
        self._asked: dict[DeliveryId, int] = {}
        self._undoubted: tuple[int, float] | None = None
        """When the ledger had nothing in doubt: the version of the topic, and the monotonic time."""
        self._down_until = 0
        self._downs = 0
        self._claiming = False
        self._failures = Failures(store, clock, platform.name, self._settings, self._insist)

    def poke(self) -> None:
        """The platform is connected (again): try every waiting part at once."""
        self._downs = self._down_until = 0
        self._ask_at.clear()
        self._undoubted = None
        self._failures.reconnected()
        self._bell.ring()

    @property
    def busy(self) -> bool:
        """Whether a part is being claimed, sent, asked about or recorded."""
        sending = any(not task.done() for task in self._busy.values())
        return self._claiming or sending or bool(self._unrecorded)

    async def work(self) -> None:
        """Send every delivery when it is due, for ever; a full disk or a dead connection only delays this."""
        for delivery, result in list(self._unrecorded.values()):
            self._begin(delivery, self._keep(delivery, result))
        faults = 0
        try:
            while True:
                seen, rung = self._store.version("outbox"), self._bell.rung
                try:
                    await self._look()
                    self._moved.ring()
                    wait = await self._time_to_next()
                    faults = 0
                except (SyncFailed, StoreClosed):
                    raise
                except Exception as fault:  # noqa: BLE001 - one fault must not stop all later sends
                    faults += 1
                    self._report(f"sending to {self._platform.name}", fault)
                    wait = delay(faults, PATIENCE, self._rng.random()) / SECOND
                    await first_of(self._clock.sleep(wait), self._bell.since(rung))
                    continue
                await first_of(
                    self._store.changed("outbox", seen), self._bell.since(rung), self._clock.sleep(wait)
                )
        finally:
            await self._cancel_tasks()

    async def send_due(self) -> int:
        """Look once: settle parts in doubt and send due parts; returns how many parts it began."""
        await self._look()
        begun = list(self._busy.values())
        if begun:
            await asyncio.wait(begun)
        self._collect()
        return len(begun)

    async def quiet(self) -> None:
        """Return when no part is in flight or in doubt and no send is scheduled."""
        while True:
            rung = self._moved.rung
            nothing = not await self._doubts() and await self._due_at() is None
            # A task that ended during the look may have changed the result; it has rung the bell then.
            if nothing and not self.busy and self._moved.rung == rung:
                return
            await self._moved.since(rung)

    async def _cancel_tasks(self) -> None:
        tasks = list(self._busy.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._busy.clear()

    async def _look(self) -> None:
        """Settle parts in doubt and begin due parts, as far as there is room."""
        self._collect()
        if not self._ready():
            return
        for delivery in await self._doubts():
            if self._room() and self._is_time_to_ask(delivery):
                await self._settle(delivery)
        await self._failures.judge(self._busy)
        if self._room() and self._tick() >= self._down_until:
            self._claiming = True
            try:
                taken = await self._store.claim_deliveries(
                    (self._platform.name,), self._room(), mark(self._clock)
                )
                for delivery in taken:
                    self._begin(delivery, self._deliver(delivery))
            finally:
                self._claiming = False

    def _collect(self) -> None:
        """Forget tasks that ended. A task that ended because the ledger is gone ends the sender as well."""
        for id_, task in list(self._busy.items()):
            if task.done():
                del self._busy[id_]
                task.result()

    def _room(self) -> int:
        return self._at_once - len(self._busy)

    def _begin(self, delivery: Delivery, work: Coroutine[Any, Any, SendResult | None]) -> None:
        self._busy[delivery.id] = asyncio.ensure_future(self._until_done(work))

    async def _until_done(self, work: Coroutine[Any, Any, SendResult | None]) -> None:
        """Run one task. A plain success needs no new look: the ledger itself reports what is due next."""
        look_again = True
        try:
            sent = isinstance(await work, Sent)
            look_again = not sent or not self._room()
        except (SyncFailed, StoreClosed):
            raise
        except Exception as fault:  # noqa: BLE001 - a fault of one part must not stop the others
            self._report(f"sending to {self._platform.name}", fault)
        finally:
            if look_again:
                self._bell.ring()
            self._moved.ring()

    async def _doubts(self) -> tuple[Delivery, ...]:
        """The parts in doubt here. An empty answer is trusted for a while, or until the ledger changes."""
        seen, now = self._store.version("doubts"), self._clock.monotonic()
        if self._undoubted is not None:
            version, at = self._undoubted
            if version == seen and now - at < LOOK_AGAIN:
                return ()
        found = await self._store.in_doubt(_DOUBTS, self._platform.name)
        self._undoubted = None if found else (seen, now)
        return found

    def _is_time_to_ask(self, delivery: Delivery) -> bool:
        return delivery.id not in self._busy and self._tick() >= self._ask_at.get(delivery.id, 0)

    async def _due_at(self) -> int | None:
        return await self._store.next_send_at((self._platform.name,))

    async def _time_to_next(self) -> float:
        """Seconds until the next look without a wake-up. Without room, a task that ends wakes the sender."""
        if not self._ready() or not self._room():
            return LOOK_AGAIN
        tick = self._tick()
        doubts = [delivery.id for delivery in await self._doubts() if delivery.id not in self._busy]
        waits = [self._ask_at.get(id_, tick) - tick for id_ in doubts]
        due, judged = await self._due_at(), await self._failures.next_at(self._busy)
        if due is not None:
            waits.append(max(due - self._clock.now(), self._down_until - tick))
        if judged is not None:
            waits.append(judged - self._clock.now())
        return min(max(min(waits, default=MINUTE), 50) / SECOND, LOOK_AGAIN)

    def _tick(self) -> int:
        """Monotonic milliseconds: the sender's own waits end also when the wall clock jumps."""
        return round(self._clock.monotonic() * SECOND)

    # One part, from its claim to its record.

    async def _deliver(self, delivery: Delivery) -> SendResult | None:
        over = before_send(delivery, self._clock.now(), self._settings)
        if over is not None:
            await self._expire(delivery, over.reason or "")
            return None
        why = too_large(delivery.files, self._platform.capabilities.files)
        if why is not None:
            return await self._keep(delivery, Rejected(why))
        await self._before(delivery.chat)
        return await self._keep(delivery, await self._send(await self._with_last_words(delivery)))

    async def _with_last_words(self, delivery: Delivery) -> Delivery:
        """A progress notice of a run that has ended is sent again only with its last words."""
        if not (delivery.dedupe.startswith(WORKING) and (delivery.attempts or delivery.repeated)):
            return delivery
        try:
            live = await self._store.live_notices()
        except StoreFault as fault:
            self._report(f"looking at delivery {delivery.id}", fault)
            return delivery
        over = [one for one in live if one.delivery.id == delivery.id and not one.running]
        return delivery._replace(text=last_words(over[0].state)) if over else delivery

    async def _send(self, delivery: Delivery) -> SendResult:
        """Try once. Without a clear answer of the platform, the part may have arrived.

        A repeat is marked, unless the platform still knows the part's key and so shows it only once. This is
        checked at the moment of sending: the key may have expired since the decision to repeat.
        """
        shown, within = delivery, _time_for(delivery)
        lasts = self._platform.capabilities.key_lasts(self._key_age(delivery))
        if delivery.repeated and lasts > 0:
            shown, within = delivery._replace(repeated=False), min(within, lasts / SECOND)
        try:
            result = await in_time(self._clock, within, self._try(shown))
        except asyncio.CancelledError:
            self._unrecorded[delivery.id] = (delivery, Lost("the send was cut off", ours=True))
            raise
        except PlatformDown as down:
            return self._down(down)
        except TimeoutError:
            return Lost("no answer in time")
        except Exception as error:  # noqa: BLE001 - after a fault of an adapter the outcome is unknown
            self._report(f"sending delivery {delivery.id}", error)
            # Keep only the name of the fault: its text may hold an address with a secret in it.
            return Lost(f"the adapter failed ({type(error).__name__})")
        self._downs = self._down_until = 0
        # The ledger keeps the platform's reason, and operators see it.
        return result if isinstance(result, Sent) else replace(result, reason=without_secrets(result.reason))

    async def _try(self, delivery: Delivery) -> SendResult:
        """Send the part; if the message that it replies to is gone, send it without the reply-to."""
        result = await self._platform.send(delivery)
        if isinstance(result, Rejected) and result.reply_gone:
            return await self._platform.send(delivery._replace(reply_to=None))
        return result

    def _down(self, down: PlatformDown) -> TryAgain:
        """The part certainly did not go out: count no attempt; all chats pause briefly, or until `poke`."""
        now, tick = self._clock.now(), self._tick()
        if tick >= self._down_until:
            self._downs += 1
            self._down_until = tick + delay(self._downs, DOWN, self._rng.random())
        asked = int((down.retry_after or 0) * SECOND)
        return TryAgain(now + min(asked, self._settings.age), "the platform is down", counts=False)

    async def _keep(self, delivery: Delivery, result: SendResult) -> SendResult:
        """Record the result, and retry until the ledger has it; the part is not sent meanwhile."""
        self._unrecorded[delivery.id] = (delivery, result)
        result, owe = self._judged(delivery, result)
        await self._insist(lambda: self._store.record_delivery(delivery.id, result, owe), delivery)
        self._unrecorded.pop(delivery.id, None)
        if isinstance(result, Rejected):
            await close_questions(self._store, delivery, self._insist, result.whole_chat)
        if isinstance(result, Sent):
            for id_ in await self._failures.overtaken():
                self._ask_at.pop(id_, None)
        return result

    async def _insist(self, write: Write, delivery: Delivery) -> None:
        faults = 0
        while True:
            try:
                return await write()
            except (SyncFailed, StoreClosed):
                raise
            except Refused as refusal:
                # An operator or another task has settled it: the ledger's result stays.
                self._report(f"recording delivery {delivery.id}", refusal)
                return None
            except StoreFault as fault:
                faults += 1
                self._report(f"recording delivery {delivery.id}", fault)
                await self._clock.sleep(delay(faults, PATIENCE, self._rng.random()) / SECOND)

    def _judged(self, delivery: Delivery, result: SendResult) -> tuple[SendResult, tuple[Owed, ...]]:
        """The result to record, and the line that replaces a part that failed for good."""
        now, settling = self._clock.now(), self._settling(delivery)
        then = after_send(result, delivery, settling, now, self._settings, self._rng.random())
        if isinstance(result, Lost):
            if then.at is not None:
                self._ask_at[delivery.id] = self._tick() + then.at - now
            return result, ()
        if then.state is not DeliveryState.FAILED:
            latest = now + self._settings.age
            if isinstance(result, TryAgain):
                result = replace(result, at=min(then.at or now, latest))
            return result, ()
        refused = Rejected(then.reason or "refused", then.whole_chat)
        if then.whole_chat:
            return refused, ()
        return refused, line_for(delivery, refused=then.replaced)

    def _settling(self, delivery: Delivery) -> Settling:
        return self._platform.capabilities.settling(self._key_age(delivery))

    def _key_age(self, delivery: Delivery) -> int | None:
        """For how long the platform may have known this part's key; None if that cannot be known."""
        return since(self._clock, delivery.tried)

    async def _expire(self, delivery: Delivery, reason: str) -> None:
        """Expire a part that is too old to be sent. The chat is told once per message, not once per part."""
        later = TryAgain(self._clock.now() + SECOND, reason, counts=False)
        notice = delivery.kind is OwedKind.NOTICE
        owe = () if notice else line_for(delivery, delivery.repeated, whole=True)
        await self._insist(lambda: self._store.record_delivery(delivery.id, later, owe), delivery)
        await self._insist(lambda: self._store.expire_delivery(delivery.id, reason), delivery)
        await close_questions(self._store, delivery, self._insist)

    # One part of unknown outcome.

    async def _settle(self, delivery: Delivery) -> None:
        """Settle a part of unknown outcome as the platform allows: ask, or send it again by key or marked."""
        settling = self._settling(delivery)
        if settling is Settling.ASK:
            self._begin(delivery, self._ask(delivery))
            return
        now = self._clock.now()
        await self._write(delivery, after_doubt(delivery, settling, now, self._settings, self._rng.random()))

    async def _write(self, delivery: Delivery, then: Next, found: Sent = Sent()) -> None:  # noqa: B008 - frozen
        """Record this decision on a part of unknown outcome; the ledger keeps that it may have arrived."""
        result: SendResult = found
        owe: tuple[Owed, ...] = ()
        if then.state is DeliveryState.PENDING:
            result = TryAgain(then.at or 0, then.reason or "")
        elif then.state is not DeliveryState.SENT:
            result = Rejected(then.reason or "")
            owe = line_for(delivery, may_have_arrived=MAY_BE_THERE in result.reason)
        await self._insist(
            lambda: self._store.settle_delivery(delivery.id, result, then.repeated, owe, then.marked),
            delivery,
        )

    async def _ask(self, delivery: Delivery) -> None:
        """Ask the platform whether the part arrived; without an answer ask again later, ever less often."""
        now, settings = self._clock.now(), self._settings
        try:
            found = await in_time(self._clock, SEND_WITHIN, self._platform.find(delivery))
        except Exception as error:  # noqa: BLE001 - asking changes nothing: the outcome stays unknown
            self._report(f"asking about delivery {delivery.id}", error)
            if before_send(delivery, now, settings) is not None:
                failed = Next(DeliveryState.FAILED, delivery.attempts, reason=f"{TOO_OLD}; {MAY_BE_THERE}")
                await self._write(delivery, failed)
                return
            asked = self._asked[delivery.id] = self._asked.get(delivery.id, 0) + 1
            self._ask_at[delivery.id] = self._tick() + delay(asked, settings, self._rng.random())
            return
        # A `Sent` also carries the platform's own id of the message, which a later edit needs.
        there = found if isinstance(found, Sent) else Sent()
        arrived = True if isinstance(found, Sent) else found
        await self._write(delivery, after_asking(arrived, delivery, now, settings, self._rng.random()), there)
        self._ask_at.pop(delivery.id, None)
        self._asked.pop(delivery.id, None)
