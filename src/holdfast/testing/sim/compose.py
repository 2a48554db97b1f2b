"""The gateway of a simulated process: the same composition, made from the parts of the world."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

from holdfast.agents import Agent
from holdfast.clock import Clock, Ids, Rng
from holdfast.config.settings import GatewaySettings
from holdfast.gateway.files.blobs import BlobFiles
from holdfast.gateway.files.tool_outputs import OutputFiles
from holdfast.gateway.gateway import Gateway
from holdfast.gateway.stage_tasks import Work
from holdfast.platforms import Platform
from holdfast.policy.intake.access import Access
from holdfast.policy.intake.admission import Drain
from holdfast.records import dataclass
from holdfast.store import Store
from holdfast.telemetry import Secrets, no_secrets
from holdfast.tools import ProcessPort

Stopper = Callable[[Drain, bool], None]
"""Asks for an orderly stop; the second argument says whether at once."""


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts of a process: the ports it may use, and nothing else."""

    store: Store
    clock: Clock
    rng: Rng
    ids: Ids
    platforms: tuple[Platform, ...]
    agent: Agent
    access: Callable[[], Access]
    """Who may talk at this moment."""
    workspace: Path
    settings: GatewaySettings
    report: Callable[[str, BaseException], None]
    """Called with every fault of a stage."""
    stoppable: Callable[[Stopper], None]
    """Called once, with the function that asks for an orderly stop."""
    blobs: BlobFiles
    """The files of messages."""
    processes: ProcessPort | None = None
    """Where background processes run, if the process can run any."""
    beside: tuple[tuple[str, Work], ...] = ()
    """Further work for people outside."""
    secrets: Secrets = no_secrets
    """What it must remove from everything."""


Boot = Callable[[Parts], Coroutine[Any, Any, None]]
"""Runs a gateway made from these parts until it stops in order."""


async def boot_gateway(parts: Parts) -> None:
    """Run the real gateway."""
    gateway = Gateway(
        parts.store,
        parts.clock,
        parts.rng,
        parts.ids,
        parts.platforms,
        parts.agent,
        parts.settings,
        parts.access,
        parts.workspace,
        parts.report,
        sweep=parts.blobs.sweep,
        outputs=OutputFiles(parts.blobs, parts.secrets),
        processes=parts.processes,
        beside=parts.beside,
        secrets=parts.secrets,
    )
    parts.stoppable(gateway.request)
    await gateway.run()
