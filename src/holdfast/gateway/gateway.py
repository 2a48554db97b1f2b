"""The gateway: builds every stage from the parts that it is given.

It uses no threads, no operating system, no clock and no chance of its own, so that the simulator can build
the very same object from its own parts.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from holdfast.agents import Chooser
from holdfast.clock import Clock, Ids, Rng
from holdfast.config.settings import GatewaySettings
from holdfast.errors import Report, Unusable
from holdfast.inbox import CommandContext, Commands, Receiver, Watcher, keep_files
from holdfast.model import ChatAddress, PersonId, Stopped, TurnId, place_at, served_by
from holdfast.outbox import ClosedCards, Sender
from holdfast.platforms import Platform
from holdfast.policy.consent.approver import OwnChats, is_own_chat, owner_chats
from holdfast.policy.delivery.parts import usual
from holdfast.policy.intake.access import Access, Allowed, still_allowed
from holdfast.policy.intake.admission import Drain
from holdfast.policy.recovery.strikes import SafeMode
from holdfast.policy.settings import SECOND, TurnSettings, WorkerSettings
from holdfast.recovery import Care, ContinuityReport, Outside, Reconciler
from holdfast.store import ArrivalSettings, ClaimSettings, Store, masked_store
from holdfast.telemetry import Secrets, masked, no_secrets
from holdfast.tools import NoMoreTools, ProcessPort, ToolSource
from holdfast.turns import (
    Attachments,
    ConsentPorts,
    LongResults,
    NoAttachments,
    Nowhere,
    Pool,
    PoolSettings,
    Runner,
    Showing,
)

from .lifecycle import Leaving, RunState, Stages, start, stop
from .owner_alerts import OwnerAlerts, PlatformStatus
from .restart_requests import RestartRequests
from .stage_tasks import StageTasks, Work, to_log

NO_PORTS = ConsentPorts()
"""The default: a card does not say how contained the program of its call would run."""
_BEYOND_GRACE = 1.0
"""Seconds that a cut waits beyond the grace of the tools."""


def _no_listener(state: RunState) -> None:
    """Ignore the new state: the default."""


def _one_of_each(platforms: tuple[Platform, ...]) -> tuple[Platform, ...]:
    """Refuse two platforms of one name: they would read the same events and send each other's deliveries."""
    names = [platform.name for platform in platforms]
    for one in platforms:
        if names.count(one.name) > 1:
            raise Unusable(f"{one.name}/{one.account}: a gateway serves only one account of each platform")
    return platforms


class Gateway:
    """One instance on one ledger: `run` it once; `request` its end from anywhere on the same loop."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        rng: Rng,
        ids: Ids,
        platforms: tuple[Platform, ...],
        agent: Chooser,
        settings: GatewaySettings,
        access: Callable[[], Access | None],
        workspace: Path,
        report: Report = to_log,
        on_request: Callable[[Drain], None] | None = None,
        on_state: Callable[[RunState], None] = _no_listener,
        sweep: Callable[[], Awaitable[None]] = keep_files,
        free: Callable[[], int] | None = None,
        outputs: LongResults | None = None,
        processes: ProcessPort | None = None,
        more_tools: ToolSource | None = None,
        attachments: Attachments | None = None,
        beside: tuple[tuple[str, Work], ...] = (),
        secrets: Secrets = no_secrets,
        consent: ConsentPorts = NO_PORTS,
    ) -> None:
        self.store = store = masked_store(store, secrets)
        self._secrets = secrets
        self.clock = clock
        self.ids = ids
        self.settings = settings
        self.state = RunState.NEW
        self._rng = rng
        self._sweep = sweep
        self._processes = processes
        self._watcher = Watcher(store, processes, clock, settings.processes, report) if processes else None
        self._free = free
        self._beside = beside
        self._consent = consent
        self._more_tools = more_tools or NoMoreTools()
        self._attachments = attachments or NoAttachments()
        self._platforms = _one_of_each(platforms)
        self._access = access
        self._report = report
        self._on_request = on_request or self.request
        self._on_state = on_state
        self._wanted: Drain | None = None
        self._asked = asyncio.Event()
        self._hurry = asyncio.Event()
        self._showing = Showing(store, clock, platforms, settings.progress, self._connected, report)
        self._closing = ClosedCards(store, clock, platforms, self._connected, report)
        self._agents = agent
        self._pool = self._make_pool(agent, workspace, outputs or Nowhere())
        self._senders = tuple(self._make_sender(platform) for platform in platforms)
        self._receivers = tuple(map(self._make_receiver, platforms, self._senders))
        self._reconciler = self._make_reconciler()
        self._commands = Commands(self._make_command_context(), rng, report)

    async def run(self) -> Stopped:
        """Start all stages, work until a stop is requested, and stop in order; returns how it ended.

        Raises `SyncFailed` or `StoreClosed`, without an orderly stop, when the ledger can keep nothing more.
        """
        stage_tasks = StageTasks(self.clock, self._rng, self._report)
        try:
            start(stage_tasks, self._stages())
            self._enter(RunState.RUNNING)
            await self._until_asked(stage_tasks)
            assert self._wanted is not None
            return await stop(self._leaving(stage_tasks), self._wanted)
        finally:
            stage_tasks.cancel()

    def request(self, why: Drain, at_once: bool = False) -> None:
        """Ask for the end. The first request decides whether it is a restart; `at_once` ends the waiting."""
        if self._wanted is None:
            self._wanted = why
        self._asked.set()
        if at_once:
            self._hurry.set()

    @property
    def draining(self) -> Drain | None:
        """Why no turn starts any more, or None. People who write now are told."""
        return self._wanted if self.state in (RunState.DRAINING, RunState.STOPPING) else None

    @property
    def running(self) -> int:
        """The number of turns that run here now."""
        return len(self._pool.running())

    @property
    def safe_mode(self) -> SafeMode:
        """Whether the gateway is in safe mode, and why."""
        return self._reconciler.safe_mode

    @property
    def continuity(self) -> ContinuityReport | None:
        """What recovery found at this start and what it decided; None until it has looked."""
        return self._reconciler.continuity

    def connections(self) -> tuple[PlatformStatus, ...]:
        """Every platform, and whether the gateway can reach it."""
        known = self._secrets()
        return tuple(
            PlatformStatus(
                platform.name, platform.account, receiver.connected, masked(receiver.trouble, known)
            )
            for platform, receiver in zip(self._platforms, self._receivers, strict=True)
        )

    # The parts.

    def _make_pool(self, agent: Chooser, workspace: Path, outputs: LongResults) -> Pool:
        settings = self.settings
        turns = TurnSettings(
            grace=settings.grace,
            progress=settings.progress,
            limits=settings.limits,
            approvals=settings.approvals,
            questions=settings.questions,
            tools=settings.tools,
            processes=settings.processes,
        )
        runner = Runner(
            self.store,
            self.clock,
            self._rng,
            agent,
            workspace,
            turns,
            self._report,
            self._longest,
            self._showing.begin,
            outputs,
            self._processes,
            self._more_tools,
            self._attachments,
            self._secrets,
            replace(
                self._consent,
                hide=self._hide,
                owner=self._is_owner,
                owner_chat=self._owner_chat,
                is_alone=self._is_alone,
            ),
        )
        sharing = WorkerSettings(settings.workers, settings.resume_counts)
        pool = PoolSettings(sharing, settings.grace / SECOND + _BEYOND_GRACE)
        return Pool(
            self.store,
            self.clock,
            runner,
            self._claim_settings,
            lambda stale, now: self._reconciler.judge(stale, now),
            pool,
        )

    def _make_receiver(self, platform: Platform, sender: Sender) -> Receiver:
        return Receiver(
            self.store,
            platform,
            self.clock,
            self._rng,
            self._access,
            self.arrival_settings,
            self.settings.sharing,
            lambda: self._on_connection(sender),
            self._report,
        )

    def _make_sender(self, platform: Platform) -> Sender:
        return Sender(
            self.store,
            self.clock,
            self._rng,
            platform,
            self.settings.retry,
            lambda: platform.name in self._connected(),
            report=self._report,
            before=self._showing.before_send,
        )

    def _make_reconciler(self) -> Reconciler:
        settings = self.settings
        care = Care(
            settings.safe_mode,
            settings.keep,
            settings.owner_chat,
            settings.reconcile,
            longest=self._longest,
        )
        return Reconciler(
            self.store, self.clock, settings.recovery, self._outside, self._known_running, care, self._report
        )

    def _make_command_context(self) -> CommandContext:
        return CommandContext(
            self.store,
            self.clock,
            self._access,
            self.arrival_settings,
            lambda: self._reconciler.safe_mode,
            self._longest,
            self.clock.now(),
            self._sweep_all,
            self.settings.goals.budget,
            self._agents,
        )

    async def _sweep_all(self) -> None:
        """Remove every file of a forgotten session from the disk."""
        await self._attachments.sweep()
        await self._sweep()
        if self._watcher is not None:
            await self._watcher.sweep()

    def _stages(self) -> Stages:
        names = [f"{platform.name}/{platform.account}" for platform in self._platforms]
        drain = self.settings.drain
        requests = RestartRequests(self.store, self.clock, drain.reply, self._is_quiet, self._on_request)
        return Stages(
            tuple((name, one.work) for name, one in zip(names, self._receivers, strict=True)),
            self._reconciler.work,
            self._pool.work,
            self._commands.work,
            tuple((name, one.work) for name, one in zip(names, self._senders, strict=True)),
            (
                ("requests", requests.work),
                ("heartbeat", self._beat),
                ("notices", self._showing.work),
                *((("cards", self._closing.work),) if self._closing.is_needed else ()),
                *((("processes", self._watcher.work),) if self._watcher is not None else ()),
                ("alerts", self._alerts().work),
                *self._beside,
            ),
        )

    def _alerts(self) -> OwnerAlerts:
        """The stage that sends alerts to the owner."""
        return OwnerAlerts(
            self.store,
            self.clock,
            self.settings.owner_chat,
            self.settings.alerts,
            self.connections,
            self._free,
            self._pool.hangs,
            self._report,
        )

    def _leaving(self, stage_tasks: StageTasks) -> Leaving:
        return Leaving(
            self.store,
            self.clock,
            self._pool,
            stage_tasks,
            self._platforms,
            self._connected,
            self.settings.drain,
            self.settings.grace,
            self.settings.on_interruption,
            self._hurry,
            self._enter,
            self._report,
        )

    # Settings and facts for the stages.

    def arrival_settings(self) -> ArrivalSettings:
        """The settings that admit a message now."""
        settings = self.settings
        return ArrivalSettings(
            settings.queue,
            settings.busy,
            self.draining,
            self.safe_mode.active,
            settings.pairing,
            self._longest,
            self._is_owner,
        )

    def _claim_settings(self) -> ClaimSettings:
        settings = self.settings
        return ClaimSettings(settings.reset, settings.recovery, settings.busy, allowed=self._is_allowed)

    def _outside(self) -> Outside:
        return Outside(
            frozenset({self.store.instance}),
            frozenset(self._connected()),
            frozenset(served_by(one.name, one.account) for one in self._platforms),
            self._is_allowed,
            on_interruption=self.settings.on_interruption,
        )

    def _connected(self) -> tuple[str, ...]:
        return tuple(one.name for one in self.connections() if one.connected)

    def _longest(self, chat: ChatAddress) -> int:
        """How many characters one message to this chat may have."""
        place = place_at(chat)
        there = (place.platform, place.account)
        for platform in self._platforms:
            if (platform.name, platform.account) == there:
                return platform.capabilities.longest
        return usual(chat)

    def _is_allowed(self, person: PersonId) -> bool:
        return isinstance(still_allowed(person, self._who_may(), self.clock.now()), Allowed)

    def _hide(self, text: str) -> str:
        return self._secrets().without(text)

    def _is_owner(self, person: PersonId) -> bool:
        found = still_allowed(person, self._who_may(), self.clock.now())
        return isinstance(found, Allowed) and found.owner

    def _who_may(self) -> Access | None:
        try:
            return self._access()
        except Exception as error:  # noqa: BLE001 - a person who cannot be checked is not allowed
            self._report("reading who may talk", error)
            return None

    def _is_alone(self, person: PersonId, chat: ChatAddress) -> bool:
        return is_own_chat(person, chat, self._own_chats(tuple(one.name for one in self._platforms)))

    def _own_chats(self, platforms: tuple[str, ...]) -> tuple[OwnChats, ...]:
        return tuple(
            OwnChats(one.name, one.account, one.capabilities.own_chat)
            for one in self._platforms
            if one.capabilities.own_chat and one.name in platforms
        )

    async def _owner_chat(self, chat: ChatAddress) -> ChatAddress | None:
        """The chat where an owner can be asked about work in `chat`, on a platform that is connected now."""
        access, connected = self._who_may(), self._connected()
        configured = self.settings.owner_chat
        if configured is not None and place_at(configured).platform not in connected:
            configured = None
        found = owner_chats(chat, access.owners if access else (), self._own_chats(connected), configured)
        known = await self.store.known_chats(tuple(address for address, _ in found))
        return next((address for address, is_there in found if is_there or address in known), None)

    def _known_running(self) -> tuple[TurnId, ...] | None:
        """The turns that run here; None while a claim is under way, since the list may be incomplete then."""
        return None if self._pool.claiming else self._pool.running()

    def _is_quiet(self) -> bool:
        return not self._pool.running() and not self._pool.claiming

    def _on_connection(self, sender: Sender) -> None:
        """A platform connected or disconnected: let the stages look at its waiting work now."""
        self._reconciler.poke()
        sender.poke()
        self._showing.poke()
        self._closing.poke()

    # The gateway's own tasks.

    async def _until_asked(self, stage_tasks: StageTasks) -> None:
        asked = asyncio.ensure_future(self._asked.wait())
        waits: list[asyncio.Future[Any]] = [asked, stage_tasks.lost]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            asked.cancel()
        if stage_tasks.lost.done():
            raise stage_tasks.lost.result()

    async def _beat(self) -> None:
        while True:
            await self.store.heartbeat()
            await self.clock.sleep(self.settings.heartbeat / SECOND)

    def _enter(self, state: RunState) -> None:
        self.state = state
        self._on_state(state)
