"""The platforms of one simulated process: real adapters for ours, simulated ones for all others."""

from __future__ import annotations

from pathlib import Path

from holdfast.api.draft_cache import DraftCache
from holdfast.clock import Clock
from holdfast.errors import Report
from holdfast.gateway.files.blobs import BlobFiles
from holdfast.platforms import Platform
from holdfast.records import dataclass
from holdfast.store import Store
from holdfast.testing.sim.life import ProcessLife

from .bot_names import BOT
from .fake_platform import FakePlatform
from .kinds import KINDS
from .page import NAME as PAGE
from .page import PageServer, WatchedWebChat, page_server
from .servers import Around, PlatformServer


@dataclass(frozen=True, slots=True)
class ProcessPorts:
    """The platforms and ports of a process."""

    life: ProcessLife
    clock: Clock
    store: Store
    blobs: BlobFiles
    previews: DraftCache
    home: Path
    report: Report


def server_of(around: Around, name: str) -> PlatformServer:
    """The server of a platform, by its name in scenarios."""
    if name == PAGE:
        return page_server(around)
    if name == BOT:
        from .bot_server import BotServer  # noqa: PLC0415 - needs an extra that may not be installed

        return BotServer(around)
    return PlatformServer(around, name, KINDS[name])


def client_of(server: PlatformServer, inside: ProcessPorts) -> Platform:
    """The client of one process for this server."""
    if isinstance(server, PageServer):
        return WatchedWebChat(server, inside.life, inside.previews)
    if type(server) is PlatformServer:
        return FakePlatform(server, inside.life, inside.blobs.path_of)
    from .bot_wire import watched_bot  # noqa: PLC0415 - needs an extra that may not be installed

    return watched_bot(server, inside)
