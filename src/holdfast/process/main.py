"""One gateway in one process: the only place that knows signals, exit codes, threads and supervisors.

The page (`Door`) belongs to a higher layer, so the caller passes it in: python -m holdfast.web HOME.
"""

from __future__ import annotations

import asyncio
import faulthandler
import logging
import os
import sys
from collections.abc import Callable, Coroutine, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from holdfast import __version__
from holdfast.agents import Chooser
from holdfast.api.access import AccessCheck
from holdfast.api.chat_feed import ChatFeed
from holdfast.api.commands import GatewayCommands
from holdfast.api.draft_cache import DraftCache
from holdfast.api.frontend import Door, ListeningSocket, Open, RunningGateway
from holdfast.api.operations import all_verbs
from holdfast.api.queries import GatewayQueries
from holdfast.api.to_json import Json, shown
from holdfast.clock import Clock, Ids, SystemClock, SystemIds, SystemRng
from holdfast.config.home import WORKSPACE, close_to_others
from holdfast.config.load import StartContext, commands_see, load_settings, secret_files, surroundings
from holdfast.config.secret_values import HomeSecrets, secrets_of
from holdfast.config.settings import NamedAgent, Settings
from holdfast.errors import HoldfastError, HomeLocked, StoreClosed, SyncFailed, Unusable
from holdfast.gateway.build.agents import load_agents
from holdfast.gateway.build.mcp_servers import servers_of
from holdfast.gateway.build.platforms import check_platforms, platforms_of
from holdfast.gateway.files.blobs import BlobFiles
from holdfast.gateway.files.disk_space import free_room
from holdfast.gateway.files.tool_outputs import OutputFiles
from holdfast.gateway.files.workspace_files import WorkspaceFiles
from holdfast.gateway.gateway import Gateway
from holdfast.gateway.lifecycle import RunState, longest_stop
from holdfast.gateway.metrics import ProcessTotals, counted
from holdfast.gateway.stage_tasks import to_log
from holdfast.model import Stopped
from holdfast.platforms import Platform
from holdfast.platforms.web import WebChat
from holdfast.policy.settings import SECOND
from holdfast.store import Store, open_ledger
from holdfast.telemetry.log import Log
from holdfast.tools import BackgroundProcesses, Tool
from holdfast.tools.builtin import builtin_tools
from holdfast.tools.containment import Launcher
from holdfast.tools.mcp import Servers
from holdfast.turns import ConsentPorts

from .exit_codes import BAD_CONFIG, FAILED, RESTART, STOPPED
from .parent_process import ParentProcess, beat, listening, watching
from .sd_notify import READY, STOPPING, Notifier
from .signals import Signals
from .supervisor import keep_memory_private
from .watchdog import Watchdog

_LOOK_AGAIN = 0.2

log = logging.getLogger(__name__)


def main(arguments: list[str], door: Door) -> int:
    """Run a gateway on this home until its end. The exit code says how it ended."""
    # Other users may be able to open the home, but no file that this process writes in it.
    os.umask(0o077)
    keep_memory_private()
    # A watcher ends a process that hangs with SIGABRT first: Python then prints the stack of every thread.
    faulthandler.enable()
    try:
        loaded = load_settings(Path(arguments[0]) if arguments else None)
        secrets = secrets_of(loaded.settings)
        written = Log(loaded.settings.home, secrets)
        written.begin()
        if close_to_others(loaded.settings.home):
            log.warning("other users of this machine could open the home; it is closed to them now")
        try:
            return run_gateway(loaded.settings, surroundings(), door, secrets)
        finally:
            written.end()
    except HomeLocked as error:
        # The other gateway may end soon, so the supervisor should try again.
        sys.stderr.write(f"holdfast: {error}\n")
        return FAILED
    except Unusable as error:
        sys.stderr.write(f"holdfast: {error}\n")
        return BAD_CONFIG
    except HoldfastError as error:
        sys.stderr.write(f"holdfast: {error}\n")
        return FAILED


def run_gateway(settings: Settings, around: StartContext, door: Door, secrets: HomeSecrets) -> int:
    """Run a gateway in this process; raises `Unusable` before anything is changed if it cannot start."""
    watchdog = Watchdog()
    # Not `asyncio.run`: it waits for every remaining task and thread, also for one that never ends. An
    # orderly stop has ended or given up all of them, and the loop stays open until the process ends.
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    return loop.run_until_complete(_serve(settings, around, watchdog, door, secrets))


async def _serve(
    settings: Settings, around: StartContext, watchdog: Watchdog, door: Door, secrets: HomeSecrets
) -> int:
    """Start, run, and stop in the reverse order. Returns the exit code."""
    signals = Signals()
    signals.listen()
    clock = SystemClock()
    ids = SystemIds(clock)
    notifier = Notifier(around.notify_socket)
    launcher = Launcher(
        settings.gateway.tools,
        commands_see(settings.gateway.tools),
        settings.home,
        secret_files=secret_files(settings),
    )
    agent = load_agents(settings, clock, _tools(settings, clock, launcher))
    others = check_platforms(settings)
    # Only now: the import of an agent may take long, and the loop hangs meanwhile.
    link = watching(settings.home, around)
    limit = (longest_stop(settings.gateway.drain, settings.gateway.grace) + settings.watchdog.slack) / SECOND

    def on_state(state: RunState) -> None:
        log.info("the gateway is %s", state)
        if state is RunState.DRAINING:
            notifier.say(STOPPING)
            watchdog.expect_end(limit)

    async with AsyncExitStack() as ending:
        _meanwhile(ending, beat(clock, settings, link, notifier, around))
        store = await open_ledger(settings.home, clock, ids)
        ending.push_async_callback(store.close)
        port = listening(around, link, notifier)
        gateway, inside = await _composed(
            settings, around, store, clock, ids, agent, others, on_state, port, secrets, launcher
        )
        _meanwhile(ending, _report_boot(gateway))
        try:
            ending.push_async_callback((await _open(door, inside)).close)
            signals.attach(gateway)
            notifier.say(READY)
            return _code(await gateway.run())
        except (SyncFailed, StoreClosed) as fault:
            log.critical("%s", fault)
            return FAILED
        finally:
            watchdog.expect_end(limit)


def _tools(
    settings: Settings, clock: Clock, launcher: Launcher
) -> Callable[[str, Sequence[str]], tuple[Tool, ...]]:
    """Makes the built-in tools of an agent, by their names."""
    ours = settings.gateway.tools
    known = commands_see(ours)

    def tools(agent: str, names: Sequence[str]) -> tuple[Tool, ...]:
        table = settings.agents.get(agent, NamedAgent())
        return builtin_tools(
            names,
            ours,
            clock,
            agent=agent,
            launcher=launcher,
            read=table.read,
            write=table.write,
            known=known,
        )

    return tools


def _meanwhile(ending: AsyncExitStack, work: Coroutine[Any, Any, None]) -> None:
    """Run this beside everything else until the end."""
    ending.callback(asyncio.ensure_future(work).cancel)


async def _composed(
    settings: Settings,
    around: StartContext,
    store: Store,
    clock: Clock,
    ids: Ids,
    agent: Chooser,
    others: tuple[Platform, ...],
    on_state: Callable[[RunState], None],
    listening: ListeningSocket,
    secrets: HomeSecrets,
    launcher: Launcher,
) -> tuple[Gateway, RunningGateway]:
    """The gateway on this ledger, and the page's view of it."""
    store, counts = counted(store, clock)
    people = AccessCheck(store, clock, settings.access, settings.gateway.pairing)
    await people.read()
    blobs = BlobFiles(settings.home, store)
    previews = DraftCache()
    web = WebChat(shown=previews.show)
    rng = SystemRng()
    servers = servers_of(settings, launcher, clock, rng, secrets)
    gateway = Gateway(
        store,
        clock,
        rng,
        ids,
        (web, *platforms_of(settings, clock, store, blobs), *others),
        agent,
        settings.gateway,
        people.access,
        settings.home / WORKSPACE,
        on_request=lambda why: parent.carry_out(why),
        on_state=on_state,
        sweep=blobs.sweep,
        free=free_room(settings.home),
        outputs=OutputFiles(blobs, secrets),
        processes=BackgroundProcesses(
            settings.home,
            clock,
            commands_see(settings.gateway.tools),
            launcher,
            settings.gateway.processes,
            secrets=secrets,
        ),
        more_tools=servers,
        attachments=WorkspaceFiles(
            settings.home / WORKSPACE, settings.gateway.tools.workspace, blobs, store, to_log
        ),
        beside=(("people", people.work), *((("mcp", servers.work),) if servers else ())),
        secrets=secrets,
        # The first probe runs real programs, so it does not run on the loop.
        consent=ConsentPorts(contained=lambda: asyncio.to_thread(launcher.card_words)),
    )
    parent = ParentProcess(around, gateway.request, settings.home)
    following = ChatFeed(store, clock, previews)
    inside = _inside(
        settings,
        gateway,
        web,
        parent,
        following,
        counts,
        blobs,
        servers,
        people,
        listening,
        secrets,
        launcher,
    )
    return gateway, inside


async def _open(door: Door, inside: RunningGateway) -> Open:
    """Open the page and the socket of the command line."""
    try:
        return await door(inside)
    except Unusable:
        # A person must change something first. That is not a crash, so it must not count as one.
        await inside.store.end_instance(Stopped.FAILED)
        raise


def _code(how: Stopped) -> int:
    return {Stopped.RESTART: RESTART, Stopped.STOPPED: STOPPED}.get(how, FAILED)


async def _report_boot(gateway: Gateway) -> None:
    """Log what the last run left and what became of it, once recovery has looked."""
    while (report := gateway.continuity) is None:
        await gateway.clock.sleep(_LOOK_AGAIN)
    turns = {fate.turn for fate in report.fates}
    for line in report.lines():
        # A line about one turn begins with its id, so the log can name the turn.
        named = line.removeprefix("- ").partition(",")[0]
        log.info("%s", line, extra={"turn": named} if named in turns else None)


def _inside(
    settings: Settings,
    gateway: Gateway,
    web: WebChat,
    parent: ParentProcess,
    following: ChatFeed,
    counts: ProcessTotals,
    blobs: BlobFiles,
    servers: Servers | None,
    people: AccessCheck,
    listening: ListeningSocket,
    secrets: HomeSecrets,
    launcher: Launcher,
) -> RunningGateway:
    store, clock = gateway.store, gateway.clock
    looks = GatewayQueries(
        store, clock, tuple(one.name for one in gateway.connections()), settings.home, secrets
    )
    actions = GatewayCommands(
        store,
        clock,
        gateway.ids,
        web,
        looks,
        parent.stop_all,
        gateway.arrival_settings,
        settings.web.patience / SECOND,
    )

    async def status() -> Json:
        left = await store.continuity()
        probe = await asyncio.to_thread(launcher.probe)
        return {
            "state": gateway.state.value,
            "home": str(settings.home),
            "pid": os.getpid(),
            "version": __version__,
            "instance": store.instance,
            "kept_up_by": parent.name,
            "agent": settings.agent.use,
            "demo": settings.demo,
            "platforms": shown(gateway.connections()),
            "mcp": shown(servers.looks() if servers else ()),
            "containment": {**shown(probe), "words": probe.containment.words, "required": launcher.required},
            "safe_mode": shown(gateway.safe_mode),
            "heartbeat": gateway.settings.heartbeat,
            "running": gateway.running,
            "open_turns": len(left.open_turns),
            "waiting": left.waiting,
            "owed": left.owed,
            "unknown": left.unknown,
        }

    return RunningGateway(
        settings,
        store,
        clock,
        all_verbs(actions, status, people),
        following,
        lambda: gateway.state,
        counts,
        lambda: gateway.continuity is not None,
        blobs,
        listening,
        secrets,
    )


def run_and_exit(arguments: list[str], door: Door) -> None:
    """Run, then end the process in any case: a thread that hangs cannot keep it alive."""
    code = main(arguments, door)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
