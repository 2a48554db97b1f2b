"""The reconciler looks for work of dead owners and writes back the decision. It runs nothing itself."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from typing import TypeVar

from holdfast.clock import Bell, Clock, both, first_of
from holdfast.errors import (
    DiskFull,
    Refused,
    Report,
    StoreClosed,
    StoreUnavailable,
    SyncFailed,
    unreported,
)
from holdfast.model import ChatAddress, Owed, OwedKind, TurnId
from holdfast.policy.delivery.parts import Longest, parts_for, usual
from holdfast.policy.delivery.retry import delay
from holdfast.policy.recovery.outcome import Decision, Outcome
from holdfast.policy.recovery.strikes import SafeMode, SafeModeFacts, safe_mode
from holdfast.policy.settings import (
    HOUR,
    SECOND,
    RecoverySettings,
    RetrySettings,
    SafeModeSettings,
)
from holdfast.records import dataclass
from holdfast.store import Continuity, ExpiredQuestion, Keep, Settled, StaleTurn, Store

from .continuity import ContinuityReport, continuity_report
from .facts import Outside, judge_stale
from .verdicts import CONTINUE_EXPIRES, Judging

T = TypeVar("T")

PAGE = 500
"""Turns that are read, judged and written in one commit; other commits come between two pages."""
PATIENCE = RetrySettings(first=SECOND // 2, most=30 * SECOND)
"""How the reconciler tries again when the ledger cannot be used."""
SAFE_MODE_OFF = "safe_mode_off"
"""The request that ends safe mode. Its row stays open as long as safe mode would be on without it."""
SAFE_MODE_ON = "safe_mode_on"
"""The request that puts safe mode on. Its row stays open until a person ends safe mode."""
ANY = frozenset(Outcome)
_BATCHES = 20
_INSTANCES = 200


@dataclass(frozen=True, slots=True)
class Care:
    """The reconciler's settings besides the rules of recovery."""

    safe_mode: SafeModeSettings = SafeModeSettings()
    keep: Keep = Keep()
    owner: ChatAddress | None = None
    """The chat where the owner is told of a park and of safe mode."""
    every: int = 5 * SECOND
    apart: int = SECOND // 5
    """The least time between two rounds, even with many wake-ups."""
    retain_every: int = HOUR
    longest: Longest = usual
    """How long one message to a chat may be: a longer answer is owed in parts."""


AS_USUAL = Care()
_NOT_LOOKED = SafeMode(active=True, why="the gateway has not read the ledger yet")


class Reconciler:
    """A round is harmless at any time and any number of times, because every write is guarded."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        settings: RecoverySettings,
        outside: Callable[[], Outside],
        running: Callable[[], tuple[TurnId, ...] | None] | None = None,
        care: Care = AS_USUAL,
        report: Report = unreported,
    ) -> None:
        """`running` returns the turns that this process works on, or None while it claims one."""
        self.store = store
        self.clock = clock
        self.settings = settings
        self.outcomes: Counter[Outcome] = Counter()
        """The outcomes written back since this process started."""
        self.continuity: ContinuityReport | None = None
        """The report of this boot, after its first round."""
        self._outside = outside
        self._running = running
        self._care = care
        self._report = report
        self._safe_mode = _NOT_LOOKED
        self._found: Continuity | None = None
        self._decided: dict[TurnId, Decision] | None = {}
        """The decisions of the first round, until the report is made."""
        self._expired: dict[TurnId, ExpiredQuestion] = {}
        """Turns whose question expired in the first round, until the report is made."""
        self._faults: dict[str, str] = {}
        """The steps that failed at their last try, each with its error."""
        self._told_of: int | None = None
        self._retained_at: float | None = None
        self._bell = Bell()

    @property
    def safe_mode(self) -> SafeMode:
        """Safe mode as of the last look; before the first look it counts as on."""
        return self._safe_mode

    def poke(self) -> None:
        """Something that recovery waits for has happened, for example a platform is connected."""
        self._bell.ring()

    def judge(self, stale: StaleTurn, now: int) -> Decision:
        """Decide about interrupted work now; the claim asks this once more."""
        return judge_stale(stale, now, self._all_outside(), self.settings)

    async def work(self) -> None:
        """Run rounds for ever: at boot, on every wake-up and every few seconds; an error only delays them."""
        faults = 0
        while True:
            seen, rung = self.store.version("recovery"), self._bell.rung
            asked = self.store.version("requests")
            try:
                await self.boot()
                await self.upkeep()
                faults = 0
            except (SyncFailed, StoreClosed):
                raise
            except Exception as error:  # noqa: BLE001 - recovery must go on after an error
                faults += 1
                self._report("recovering", error)
                await self.clock.sleep(delay(faults, PATIENCE, 0.5) / SECOND)
                continue
            await first_of(
                self.store.changed("recovery", seen),
                self.store.changed("requests", asked),
                self._bell.since(rung),
                self.clock.sleep(self._care.every / SECOND),
            )
            await self.clock.sleep(self._care.apart / SECOND)

    async def boot(self) -> ContinuityReport:
        """Run one round; the first one also makes and stores the continuity report of this boot."""
        if self._found is None or self._faults:
            # Damage may have made a step fail, so it is mended before the next try.
            await self.store.mend()
        if self._found is None:
            self._found = await self.store.continuity()
        await self.round()
        if self.continuity is None:
            if self._faults:
                # The report is made only once, so the steps that failed are tried again before it.
                await self.store.mend()
                await self.round()
            report = continuity_report(self._found, self._decided or {}, self._expired, self.clock.now())
            await self.store.keep_continuity(report.kept())
            self.continuity, self._decided, self._expired = report, None, {}
        return self.continuity

    async def round(self) -> Counter[Outcome]:
        """Look at all interrupted work once, first at what dead owners left; returns the outcomes.

        A step that fails because of a row is reported, and the next steps still run.
        """
        more = await self._step("looking for interrupted work", self._interrupt_orphans)
        await self._step("looking for interrupted sends", self.store.doubt_orphans)
        outcomes = await self._settle_all()
        if more:
            # The first page is settled already, so those turns do not wait until all others are found.
            while await self._step("looking for interrupted work", self._interrupt_orphans):
                pass
            outcomes += await self._settle_all()
        self.outcomes += outcomes
        await self._step("telling of safe mode", self._tell_of_safe_mode)
        return outcomes

    async def _step(self, doing: str, work: Callable[[], Awaitable[T]]) -> T | None:
        """Run one step of a round; its own error ends only the step, an unusable ledger the whole round."""
        try:
            done = await work()
        except (DiskFull, StoreUnavailable, SyncFailed, StoreClosed):
            raise
        except Exception as fault:  # noqa: BLE001 - a step that always fails must not stop the others
            if self._faults.get(doing) != str(fault):
                self._report(doing, fault)
            self._faults[doing] = str(fault)
            return None
        self._faults.pop(doing, None)
        return done

    async def _expire_questions(self) -> tuple[ExpiredQuestion, ...]:
        """Expire a page of questions; those of the first round go into the report of this boot."""
        expired = await self.store.expire_questions(PAGE, self.settings, self._care.longest)
        if self._decided is not None:
            self._expired |= {one.turn: one for one in expired}
        return expired

    async def _interrupt_orphans(self) -> bool:
        """Mark a page of turns of dead owners as interrupted; returns whether there may be more."""
        return await self.store.interrupt_orphans(PAGE, self._running_now()) == PAGE

    async def _settle_all(self) -> Counter[Outcome]:
        outcomes: Counter[Outcome] = Counter()
        await self._step("looking at safe mode", self._look_at_safe_mode)
        if self._all_outside().safe_mode:
            # A park excuses the exit that it explains, and may end safe mode: so no chat is told before that.
            park = partial(self.settle_interrupted, frozenset({Outcome.PARK}))
            outcomes += await self._step("parking", park) or Counter()
            if outcomes[Outcome.PARK]:
                await self._step("looking at safe mode", self._look_at_safe_mode)
        await self._step("looking at questions", self._look_at_questions)
        return outcomes + (await self._step("deciding", self.settle_interrupted) or Counter())

    async def _look_at_questions(self) -> None:
        """Keep recovery's questions open in safe mode, then withdraw those about suspects; expire others."""
        if self._all_outside().safe_mode:
            now = self.clock.now()
            await self.store.keep_asking(now + CONTINUE_EXPIRES // 2, now + CONTINUE_EXPIRES)
        else:
            await self.store.withdraw_questions()
        while len(await self._expire_questions()) == PAGE:
            pass

    async def upkeep(self) -> None:
        """Delete old finished rows from time to time, a bounded part at once."""
        now = self.clock.monotonic()
        since = self._retained_at
        if since is not None:
            if (now - since) * SECOND < self._care.retain_every:
                return
            # This mends damage that came while the gateway ran, and that no step has met.
            await self.store.mend()
        for _ in range(_BATCHES):
            if not await self.store.retain(self._care.keep):
                self._retained_at = now
                return

    def _running_now(self) -> tuple[TurnId, ...] | None:
        return self._running() if self._running is not None else None

    def _all_outside(self) -> Outside:
        running = self._running_now()
        given = self._outside()
        return replace(
            given,
            safe_mode=given.safe_mode or self._safe_mode.active,
            me=self.store.instance,
            uptime=self.clock.uptime(),
            running=None if running is None else frozenset(running),
        )

    async def settle_interrupted(self, only: frozenset[Outcome] = ANY) -> Counter[Outcome]:
        """Decide about all interrupted work, page by page; other commits come between two pages."""
        if self._safe_mode is _NOT_LOOKED:
            await self._look_at_safe_mode()
        outcomes: Counter[Outcome] = Counter()
        judge = await self._judging(self._care.owner, only)
        page = await self.store.stale_turns(None, PAGE)
        while page:
            # The next page is read while this one is written.
            settled, page = await both(
                self._settle(page, judge, only), self.store.stale_turns(page[-1].turn, PAGE)
            )
            outcomes.update({outcome: len(turns) for outcome, turns in settled.items()})
        return outcomes

    async def _judging(self, owner: ChatAddress | None, only: frozenset[Outcome] = ANY) -> Judging:
        outside = replace(self._all_outside(), lane_taken=await self.store.lane_taken())
        decided = {} if self._decided is None else self._decided
        return Judging(outside, self.settings, self._care.longest, owner, decided, only)

    async def _settle(self, page: tuple[StaleTurn, ...], judge: Judging, only: frozenset[Outcome]) -> Settled:
        """Settle a page; if the ledger refuses it, turn by turn, so that a bad row delays no other."""
        try:
            return await self.store.settle_stale(page, judge)
        except Refused as refusal:
            self._report("writing a page of decisions", refusal)
        settled: dict[Outcome, tuple[TurnId, ...]] = defaultdict(tuple)
        for stale in page:
            for outcome, turns in (await self._settle_alone(stale, only)).items():
                settled[outcome] += turns
        return settled

    async def _settle_alone(self, stale: StaleTurn, only: frozenset[Outcome]) -> Settled:
        # The owner's chat may be unknown to the ledger: then only the turn's own chat is told.
        for owner in (self._care.owner, None):
            try:
                return await self.store.settle_stale((stale,), await self._judging(owner, only))
            except Refused as refusal:
                self._report(f"deciding about turn {stale.turn}", refusal)
        return {}

    async def _look_at_safe_mode(self) -> None:
        """Work out safe mode, which is not stored: it follows from how instances ended and from requests."""
        asked = [each for each in await self.store.requests() if each.what in (SAFE_MODE_ON, SAFE_MODE_OFF)]
        # The order of requests counts, not their times: a clock may be set back. Only the last one is valid.
        last = asked[-1].what if asked else None
        for each in asked:
            if each.what != last:
                await self._carried_out(each.id, "a later request replaced this one")
        offs = [each for each in asked if each.what == last == SAFE_MODE_OFF]
        me = self.store.instance
        facts = SafeModeFacts(
            await self.store.instances(_INSTANCES),
            me,
            self._outside().alive - {me},
            max((each.asked_at for each in offs), default=None),
            min((each.asked_at for each in asked if last == SAFE_MODE_ON == each.what), default=None),
        )
        now, settings = self.clock.now(), self._care.safe_mode
        self._safe_mode = safe_mode(facts, now, settings)
        without = safe_mode(replace(facts, ended_by_command_at=None), now, settings)
        if not without.active:
            for each in offs:
                await self._carried_out(each.id, "safe mode is off")

    async def _carried_out(self, request: int, outcome: str) -> None:
        try:
            await self.store.settle_request(request, outcome)
        except Refused as refusal:
            self._report(f"settling request {request}", refusal)

    async def _tell_of_safe_mode(self) -> None:
        mode, owner = self._safe_mode, self._care.owner
        if not mode.active or owner is None or mode.since == self._told_of:
            return
        words = (
            f"Safe mode is on: {mode.why}. Messages are answered, but work that was cut off is paused until "
            f"its person writes, {_until(mode)}or you say `holdfast safe-mode off`. Each chat with paused "
            "work was told. `holdfast continuity` says what happened."
        )
        try:
            parts = parts_for(words, self._care.longest(owner))
            await self.store.owe(Owed(owner, f"owner:safe_mode:{mode.since}", parts, OwedKind.NOTICE))
        except Refused as refusal:
            self._report("telling the owner of safe mode", refusal)
        self._told_of = mode.since


def _until(mode: SafeMode) -> str:
    return "" if mode.ends_at is None else "the gateway has run cleanly for a while, "
