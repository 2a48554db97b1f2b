"""A real server on this machine that stands for the net, and the tool that fetches from it."""

import json
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from holdfast.clock import SystemClock
from holdfast.model import SessionId, TurnId
from holdfast.policy.settings import FetchSettings
from holdfast.tools import ToolContext
from holdfast.tools.builtin.fetch_url import FetchUrl
from holdfast.tools.limited_child import ChildLimits, LimitedChildren

Answer = Callable[[BaseHTTPRequestHandler], None]


class Net:
    """One real server; names lead to it, and its address counts as public unless a test says otherwise."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []
        self.answers: dict[str, Answer] = {}
        self.names: dict[str, list[list[str]]] = {}
        self.resolved: list[str] = []
        self.hold = threading.Event()
        net = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                net.asked.append((str(self.headers["Host"]), self.path))
                net.answers[self.path](self)

            def log_message(self, *_: Any) -> None:
                return None

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self._server.server_port
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    def close(self) -> None:
        self.hold.set()
        self._server.shutdown()
        self._server.server_close()

    def url(self, path: str, host: str = "site.example") -> str:
        return f"http://{host}:{self.port}{path}"

    async def resolve(self, host: str, port: int) -> list[str]:
        self.resolved.append(host)
        answers = self.names.get(host, [["127.0.0.1"]])
        return answers.pop(0) if len(answers) > 1 else answers[0]


def says(body: bytes, kind: str = "text/plain", code: int = 200, **headers: str) -> Answer:
    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(code)
        handler.send_header("Content-Type", kind)
        handler.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.end_headers()
        handler.wfile.write(body)

    return answer


def leads(to: str) -> Answer:
    return says(b"", code=302, Location=to)


async def fetch(
    net: Net,
    url: str,
    settings: FetchSettings = FetchSettings(),  # noqa: B008 - frozen
    limits: ChildLimits = ChildLimits(),  # noqa: B008 - frozen
) -> str:
    clock = SystemClock()
    children = LimitedChildren(clock, limits)
    (tool,) = FetchUrl(clock, settings, children, net.resolve, lambda address: False).tools()
    context = ToolContext(SessionId("s"), TurnId("t"), 1, Path("workspace"), "t:c")
    found = await tool.run(context, json.dumps({"url": url}))
    assert isinstance(found, str)
    return found
