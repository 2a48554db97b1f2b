"""All MCP servers of a gateway, which start beside everything else, and their tools."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path

from holdfast.clock import Clock, Rng
from holdfast.model import EffectClass
from holdfast.records import dataclass
from holdfast.telemetry import Secrets, no_secrets
from holdfast.tools.base import Tool, ToolContext, ToolFailed
from holdfast.tools.containment import Launcher, private_of_server

from .base import Connect, ProgramPlace
from .server import McpServer, ServerLook
from .settings import McpSettings, Means
from .tool_names import server_of

Connecting = Callable[[McpSettings, Means, ProgramPlace], Connect]


@dataclass(frozen=True, slots=True)
class Gone:
    """Replaces a tool that its server does not offer now; a call of it fails with the reason."""

    name: str
    words: str
    starts_program: bool
    effect: EffectClass = EffectClass.READ

    async def run(self, context: ToolContext, arguments: str) -> str:
        raise ToolFailed(self.words)


class Servers:
    """The servers of the configuration and all their tools, as a source for the tools of a turn."""

    def __init__(
        self,
        settings: Mapping[str, McpSettings],
        means: Mapping[str, Means],
        logs: Path,
        workspace: Path,
        launcher: Launcher,
        clock: Clock,
        rng: Rng,
        secrets: Secrets = no_secrets,
    ) -> None:
        self._secrets = secrets
        self._settings = settings
        self._means = means
        self._logs = logs
        self._workspace = workspace
        self._launcher = launcher
        self._servers = {name: McpServer(name, one, clock, rng) for name, one in settings.items()}

    async def work(self) -> None:
        """Keep all servers running until cancelled; none waits for another."""
        try:
            # Importing the SDK takes a second or two; the gateway works meanwhile.
            connecting = await asyncio.to_thread(_sdk)
            await asyncio.to_thread(self._make_folders)
        except Exception as fault:
            # The caller tries again; until then no call may wait for any server.
            for server in self._servers.values():
                server.cannot_begin(f"it could not be started ({type(fault).__name__})")
            raise
        async with asyncio.TaskGroup() as lives:
            for name, server in self._servers.items():
                connect = connecting(self._settings[name], self._means[name], self._place(name))
                lives.create_task(server.work(connect), name=name)

    def looks(self) -> tuple[ServerLook, ...]:
        """The current state of each server."""
        return tuple(server.look for server in self._servers.values())

    # The interface `ToolSource`.

    @property
    def settled(self) -> bool:
        return all(server.settled for server in self._servers.values())

    async def settle(self) -> None:
        await asyncio.gather(*(server.settle() for server in self._servers.values()))

    def tools(self) -> tuple[Tool, ...]:
        return tuple(tool for server in self._servers.values() for tool in server.tools.values())

    def find(self, name: str) -> Tool | None:
        server = self._servers.get(server_of(name))
        if server is None:
            return None
        tool = server.tools.get(name)
        return Gone(name, _why(name, server), server.is_program) if tool is None else tool

    def _place(self, name: str) -> ProgramPlace:
        private = private_of_server(self._workspace, name)
        log = self._logs / f"mcp-{name}.log"
        return ProgramPlace(log, self._workspace, private, self._launcher, self._secrets)

    def _make_folders(self) -> None:
        self._logs.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._workspace.mkdir(parents=True, exist_ok=True)


def _why(name: str, server: McpServer) -> str:
    look = server.look
    if not look.tools:
        down = look.words or f"it is {look.state}"
        return (
            f"The MCP server {server.name!r} has not listed its tools yet: {down}. Continue without it, or "
            "try again later."
        )
    there = ", ".join(server.tools)
    return f"The MCP server {server.name!r} does not offer {name!r} any more. It offers: {there}."


def _sdk() -> Connecting:
    from .connection import connecting  # noqa: PLC0415 - only a gateway with servers pays for the SDK

    return connecting
