"""An MCP server over streamable HTTP, by the SDK's own means; run as a program: mcp_http.py FOLDER PORT."""

import os
import socket
import sys
from pathlib import Path

import uvicorn
from mcp.server.mcpserver import Context, MCPServer
from mcp_types import ToolAnnotations
from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

FOLDER = Path(sys.argv[1]) if len(sys.argv) > 1 else Path()
EFFECTS = "http-effects"
READY = "http-ready"
TOKEN = "a-token-that-nobody-sees"

server = MCPServer("over-http")


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def add(a: int, b: int) -> int:
    """Adds."""
    return a + b


@server.tool()
def end(tag: str) -> str:
    """Writes it down, and ends the whole server in the middle of the call."""
    with (FOLDER / EFFECTS).open("a") as file:
        file.write(f"{tag}\n")
    os._exit(9)


@server.tool()
async def learn(ctx: Context) -> str:
    """Has one more tool from now on, and says so."""

    def learnt() -> str:
        """What was learnt."""
        return "learnt"

    server.add_tool(learnt)
    await ctx.notify_tools_changed()
    return "I know more now"


class Guarded:
    """Lets in only who has the token."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and Request(scope).headers.get("authorization") != f"Bearer {TOKEN}":
            await send({"type": "http.response.start", "status": 401, "headers": []})
            await send({"type": "http.response.body", "body": b"who are you?"})
            return
        await self._app(scope, receive, send)


class Announcing(uvicorn.Server):
    """Says so when it listens."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        with open(FOLDER / READY, "w") as file:  # noqa: ASYNC230 - a pipe whose reader waits
            file.write("ready\n")


if __name__ == "__main__":
    app = Guarded(server.streamable_http_app())
    Announcing(uvicorn.Config(app, port=int(sys.argv[2]), log_level="error")).run()
