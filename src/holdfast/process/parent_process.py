"""The parent of this gateway: the process or service that starts it again, stops it, and watches its loop."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Callable
from pathlib import Path

from holdfast.api.arguments import Unwilling
from holdfast.api.frontend import ListeningSocket
from holdfast.clock import Clock
from holdfast.config.load import StartContext
from holdfast.config.settings import Settings
from holdfast.policy.intake.admission import Drain
from holdfast.policy.settings import SECOND
from holdfast.records import dataclass

from .sd_notify import ALIVE, HOLD, Notifier, SupervisorLink, may_stand_still, watcher
from .supervisor import supervisor_of

_BEATS_PER_LIMIT = 8


@dataclass(frozen=True, slots=True)
class ParentProcess:
    """The supervisor or systemd: it starts this process again, so a request to stop must go to it."""

    around: StartContext
    drain: Callable[[Drain], None]
    home: Path

    @property
    def name(self) -> str | None:
        supervisor = supervisor_of(self.home)
        if supervisor is not None:
            return f"holdfast supervisor, process {supervisor}"
        return "systemd" if self.around.under_systemd else None

    def carry_out(self, why: Drain) -> None:
        """Begin a drain. A stop goes to the supervisor, which would otherwise start the gateway again."""
        supervisor = supervisor_of(self.home) if why is Drain.SHUTDOWN else None
        if supervisor is not None:
            os.kill(supervisor, signal.SIGTERM)
        # A supervisor that is not our parent passes the signal on only to a child of its own, not to us.
        if supervisor != os.getppid():
            self.drain(why)

    def stop_all(self) -> str:
        """Stop this gateway for good. Returns the name of the process that was asked."""
        if self.around.under_systemd and supervisor_of(self.home) is None:
            raise Unwilling("systemd supervises this gateway and would start it again: use systemctl stop")
        asked = self.name or "the gateway itself"
        self.carry_out(Drain.SHUTDOWN)
        return asked


def watching(home: Path, around: StartContext) -> SupervisorLink:
    """A link to the process that ends this one if its loop hangs: the supervisor, or a watcher of its own."""
    return watcher(home) if around.channel is None else SupervisorLink(socket.socket(fileno=around.channel))


def listening(around: StartContext, watching: SupervisorLink, notifier: Notifier) -> ListeningSocket:
    def hold(listening: socket.socket) -> None:
        if around.channel is not None:
            watching.say(HOLD, files=[listening.fileno()])
        elif around.under_systemd:
            notifier.say(HOLD, "FDNAME=web", files=[listening.fileno()])

    held = None if around.listening is None else socket.socket(fileno=around.listening)
    return ListeningSocket(held, hold)


async def beat(
    clock: Clock,
    settings: Settings,
    watching: SupervisorLink,
    notifier: Notifier,
    around: StartContext,
) -> None:
    """Tell the watching process regularly that the loop still turns; it ends this one if it does not."""
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
