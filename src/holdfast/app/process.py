"""One gateway in one process: the only place that knows signals, exit codes, threads and supervisors.

What listens for people (`Door`) is given to it: it stands above, and is run as python -m holdfast.web HOME.
"""

from __future__ import annotations

import asyncio
import faulthandler
import logging
import os
import signal
import socket
import sys
from collections.abc import Callable, Coroutine, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from holdfast import __version__
from holdfast.agents import Chooser
from holdfast.clock import Clock, Ids, SystemClock, SystemIds, SystemRng
from holdfast.errors import HoldfastError, HomeLocked, StoreClosed, SyncFailed, Unusable
from holdfast.model import Stopped
from holdfast.platforms import Platform
from holdfast.platforms.web import WebChat
from holdfast.policy.admission import Drain
from holdfast.policy.settings import SECOND
from holdfast.records import dataclass
from holdfast.store import Store, open_ledger
from holdfast.telemetry.log import Log
from holdfast.tools import Detached, Tool
from holdfast.tools.builtin import builtin_tools
from holdfast.tools.containment import Launcher
from holdfast.tools.mcp import Servers
from holdfast.turns import ConsentPorts

from .actions import Actions
from .agents import load_agents
from .attachments import WorkspaceFiles
from .blobs import BlobFiles
from .config import Surroundings, commands_see, load_settings, secret_files, surroundings
from .counting import Counts, counted
from .crew import to_log
from .door import Door, Inside, Listening, Open
from .exits import BAD_CONFIG, FAILED, RESTART, STOPPED
from .files import free_room
from .following import Following
from .gateway import Gateway
from .home import WORKSPACE, close_to_others
from .known_secrets import HomeSecrets, secrets_of
from .lifecycle import RunState, longest_stop
from .local import Unwilling
from .looks import Looks
from .notify import ALIVE, HOLD, READY, STOPPING, Channel, Notifier, may_stand_still, watcher
from .outputs import OutputFiles
from .outside import check_platforms, platforms_of
from .people import Doorkeeper
from .previews import Previews
from .servers import servers_of
from .settings import NamedAgent, Settings
from .shown import Json, shown
from .supervisor import keep_memory_private, supervisor_of
from .verbs import all_verbs
from .watchdog import Watchdog

_BEATS_PER_LIMIT = 8
_LOOK_AGAIN = 0.2

log = logging.getLogger(__name__)


def main(arguments: list[str], door: Door) -> int:
    """Run a gateway on this home until its end; the exit code says how that came."""
    # The home may be open to others; what people said is not.
    os.umask(0o077)
    keep_memory_private()
    # Whoever ends us because our loop stands still aborts us first: this says where every thread stood.
    faulthandler.enable()
    try:
        loaded = load_settings(Path(arguments[0]) if arguments else None)
        secrets = secrets_of(loaded.settings)
        written = Log(loaded.settings.home, secrets)
        written.begin()
        if close_to_others(loaded.settings.home):
            log.warning("the home was open to other users of this machine; it is closed to them now")
        try:
            return run_gateway(loaded.settings, surroundings(), door, secrets)
        finally:
            written.end()
    except HomeLocked as error:
        # Nothing is wrong with us: whoever starts us tries again until the other one is gone.
        sys.stderr.write(f"holdfast: {error}\n")
        return FAILED
    except Unusable as error:
        sys.stderr.write(f"holdfast: {error}\n")
        return BAD_CONFIG
    except HoldfastError as error:
        sys.stderr.write(f"holdfast: {error}\n")
        return FAILED


def run_gateway(settings: Settings, around: Surroundings, door: Door, secrets: HomeSecrets) -> int:
    """Run a gateway in this process; raises `Unusable` before anything is changed if it cannot start."""
    watchdog = Watchdog()
    # Not `asyncio.run`: it waits for every task and thread that is left, also for one that never ends. An
    # orderly stop has let go of them, and the loop is kept as it is until the process ends.
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    return loop.run_until_complete(_serve(settings, around, watchdog, door, secrets))


class Signals:
    """The first signal begins a drain; every further one ends the waiting."""

    def __init__(self) -> None:
        self._count = 0
        self._gateway: Gateway | None = None

    def listen(self) -> None:
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, self.heard)

    def attach(self, gateway: Gateway) -> None:
        """From now on this gateway is meant; what came before is passed on to it."""
        self._gateway = gateway
        if self._count:
            gateway.request(Drain.SHUTDOWN, at_once=self._count > 1)

    def heard(self) -> None:
        self._count += 1
        if self._gateway is not None:
            self._gateway.request(Drain.SHUTDOWN, at_once=self._count > 1)


@dataclass(frozen=True, slots=True)
class Keeper:
    """Whoever starts this process again when it ends, and is to be asked for its end."""

    around: Surroundings
    drain: Callable[[Drain], None]
    home: Path

    @property
    def name(self) -> str | None:
        supervisor = supervisor_of(self.home)
        if supervisor is not None:
            return f"holdfast supervisor, process {supervisor}"
        return "systemd" if self.around.under_systemd else None

    def carry_out(self, why: Drain) -> None:
        """Begin a drain; for a stop the supervisor is asked, since it would start us again."""
        supervisor = supervisor_of(self.home) if why is Drain.SHUTDOWN else None
        if supervisor is not None:
            os.kill(supervisor, signal.SIGTERM)
        # One that is not our parent waits for our end to begin with a child of its own, and asks only that.
        if supervisor != os.getppid():
            self.drain(why)

    def stop_all(self) -> str:
        """Ask for the end of this gateway for good; says who was asked."""
        if self.around.under_systemd and supervisor_of(self.home) is None:
            raise Unwilling("systemd keeps this gateway up and would start it again: use systemctl stop")
        asked = self.name or "the gateway itself"
        self.carry_out(Drain.SHUTDOWN)
        return asked


async def _serve(
    settings: Settings, around: Surroundings, watchdog: Watchdog, door: Door, secrets: HomeSecrets
) -> int:
    """Start, run, and stop in the reverse order; the exit code."""
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
    # Only now: an agent may take its time to be imported, and the loop stands meanwhile.
    watching = _watching(settings.home, around)
    limit = (longest_stop(settings.gateway.drain, settings.gateway.grace) + settings.watchdog.slack) / SECOND

    def on_state(state: RunState) -> None:
        log.info("the gateway is %s", state)
        if state is RunState.DRAINING:
            notifier.say(STOPPING)
            watchdog.expect_end(limit)

    async with AsyncExitStack() as ending:
        _meanwhile(ending, _beat(clock, settings, watching, notifier, around))
        store = await open_ledger(settings.home, clock, ids)
        ending.push_async_callback(store.close)
        listening = _listening(around, watching, notifier)
        gateway, inside = await _composed(
            settings, around, store, clock, ids, agent, others, on_state, listening, secrets, launcher
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
    """The built-in tools an agent is given, by their names."""
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
    """Have this done beside everything else, until the end."""
    ending.callback(asyncio.ensure_future(work).cancel)


async def _composed(
    settings: Settings,
    around: Surroundings,
    store: Store,
    clock: Clock,
    ids: Ids,
    agent: Chooser,
    others: tuple[Platform, ...],
    on_state: Callable[[RunState], None],
    listening: Listening,
    secrets: HomeSecrets,
    launcher: Launcher,
) -> tuple[Gateway, Inside]:
    """The gateway on this ledger, and what those who listen for people know of it."""
    store, counts = counted(store, clock)
    people = Doorkeeper(store, clock, settings.access, settings.gateway.pairing)
    await people.read()
    blobs = BlobFiles(settings.home, store)
    previews = Previews()
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
        on_request=lambda why: keeper.carry_out(why),
        on_state=on_state,
        sweep=blobs.sweep,
        free=free_room(settings.home),
        outputs=OutputFiles(blobs, secrets),
        processes=Detached(
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
        # The first look tries it out with real programs: not on the loop.
        consent=ConsentPorts(contained=lambda: asyncio.to_thread(launcher.card_words)),
    )
    keeper = Keeper(around, gateway.request, settings.home)
    following = Following(store, clock, previews)
    inside = _inside(
        settings,
        gateway,
        web,
        keeper,
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


async def _open(door: Door, inside: Inside) -> Open:
    """Listen for people and for the command line."""
    try:
        return await door(inside)
    except Unusable:
        # A person has to change something first; that is no crash, and none is to be counted.
        await inside.store.end_instance(Stopped.FAILED)
        raise


def _code(how: Stopped) -> int:
    return {Stopped.RESTART: RESTART, Stopped.STOPPED: STOPPED}.get(how, FAILED)


def _watching(home: Path, around: Surroundings) -> Channel:
    """Who ends us, from outside, when our loop stands still: our supervisor, or a watcher of our own."""
    return watcher(home) if around.channel is None else Channel(socket.socket(fileno=around.channel))


def _listening(around: Surroundings, watching: Channel, notifier: Notifier) -> Listening:
    def hold(listening: socket.socket) -> None:
        if around.channel is not None:
            watching.say(HOLD, files=[listening.fileno()])
        elif around.under_systemd:
            notifier.say(HOLD, "FDNAME=web", files=[listening.fileno()])

    held = None if around.listening is None else socket.socket(fileno=around.listening)
    return Listening(held, hold)


async def _beat(
    clock: Clock,
    settings: Settings,
    watching: Channel,
    notifier: Notifier,
    around: Surroundings,
) -> None:
    """Show that the loop turns, to whoever ends us when it does not."""
    limit = settings.watchdog.loop / SECOND
    every = limit / _BEATS_PER_LIMIT
    watching.say(may_stand_still(limit))
    if around.watchdog_seconds is not None:
        every = min(every, around.watchdog_seconds / 2)
    while True:
        watching.say(ALIVE)
        if around.watchdog_seconds is not None:
            notifier.say(ALIVE)
        await clock.sleep(every)


async def _report_boot(gateway: Gateway) -> None:
    """What the run before this one left and what became of it, in the log, once recovery has looked."""
    while (report := gateway.continuity) is None:
        await gateway.clock.sleep(_LOOK_AGAIN)
    turns = {fate.turn for fate in report.fates}
    for line in report.lines():
        # A line about one turn names it first; what it is about can be asked for by that.
        named = line.removeprefix("- ").partition(",")[0]
        log.info("%s", line, extra={"turn": named} if named in turns else None)


def _inside(
    settings: Settings,
    gateway: Gateway,
    web: WebChat,
    keeper: Keeper,
    following: Following,
    counts: Counts,
    blobs: BlobFiles,
    servers: Servers | None,
    people: Doorkeeper,
    listening: Listening,
    secrets: HomeSecrets,
    launcher: Launcher,
) -> Inside:
    store, clock = gateway.store, gateway.clock
    looks = Looks(store, clock, tuple(one.name for one in gateway.connections()), settings.home, secrets)
    actions = Actions(
        store,
        clock,
        gateway.ids,
        web,
        looks,
        keeper.stop_all,
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
            "kept_up_by": keeper.name,
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

    return Inside(
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
    """Run, then end the process for certain: a thread that hangs does not keep it."""
    code = main(arguments, door)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
