"""An MCP server whose messages are made to keep their reader busy; the standard library alone.

    hostile_mcp.py KIND [PORT]

KIND says how it lists its tools (`LISTINGS`). It speaks over stdin and stdout, or over HTTP at the port.
"""

import gzip
import json
import sys
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Object = dict[str, Any]
SIZE = 1_000_000
"""Bytes of a message that is just short enough to be read."""
HUGE = 8 * SIZE
PATTERN = {"type": "object", "properties": {"a": {"type": "string", "pattern": "^(a+)+$"}}}
BLOCK = '{"type": "text", "text": ""}'
MESSAGE = '{"role": "user", "content": {"type": "text", "text": ""}}'


def many(one: str, size: int) -> str:
    return ", ".join([one] * (size // (len(one) + 2)))


RESULTS: dict[str, Callable[[], str]] = {
    "pattern": lambda: json.dumps({"content": [], "structuredContent": {"a": "a" * 27 + "!"}}),
    "blocks": lambda: f'{{"content": [{many(BLOCK, HUGE)}]}}',
    "fewer": lambda: f'{{"content": [{many(BLOCK, SIZE // 2)}]}}',
    "empty": lambda: f'{{"content": [{many("{}", SIZE)}]}}',
    "icons": lambda: (
        '{"content": [{"type": "resource_link", "name": "a", "uri": "a:b", "icons": ['
        f"{many('{}', SIZE)}]}}]}}"
    ),
    "values": lambda: f'{{"content": [], "structuredContent": {{"a": [{many("0", SIZE)}]}}}}',
    "inputs": lambda: f'{{"resultType": "input_required", "inputRequests": {{"a": [{many("{}", SIZE)}]}}}}',
    "asks": lambda: '{"content": [{"type": "text", "text": "asked"}]}',
}
"""What its tools answer, as it is written."""
TOOLS = [{"name": name, "inputSchema": {"type": "object"}, "outputSchema": PATTERN} for name in RESULTS]
LISTINGS: dict[str, Callable[[], str]] = {
    "plain": lambda: json.dumps({"tools": TOOLS}),
    "huge": lambda: f'{{"tools": [{many(json.dumps(TOOLS[0]), HUGE)}]}}',
    "empty": lambda: f'{{"tools": [{many("{}", SIZE)}]}}',
    "icons": lambda: (
        f'{{"tools": [{{"name": "a", "inputSchema": {{"type": "object"}}, "icons": [{many("{}", SIZE)}]}}]}}'
    ),
    "schema": lambda: (
        f'{{"tools": [{{"name": "small", "inputSchema": {{"type": "object"}}}}, '
        f'{{"name": "a", "inputSchema": {{"type": "object", "enum": [{many("0", SIZE)}]}}}}]}}'
    ),
    "pages": lambda: (
        f'{{"nextCursor": "more", "tools": [{{"name": "a", "inputSchema": {{"type": "object"}}, '
        f'"description": "{"a" * 90_000}", "outputSchema": {{"enum": [{many("0", SIZE // 2)}]}}}}]}}'
    ),
}


def answers(message: Object, kind: str) -> Iterator[str]:
    """What it writes for one message."""
    method, number = message.get("method"), message.get("id")
    if number is None:
        return
    if method == "initialize":
        result = json.dumps(
            {
                "protocolVersion": message["params"]["protocolVersion"],
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "hostile", "version": "1"},
            }
        )
    elif method == "tools/list":
        result = LISTINGS[kind]()
    elif method == "tools/call":
        name = message["params"]["name"]
        if name == "asks":
            params = f'{{"maxTokens": 1, "messages": [{many(MESSAGE, SIZE - 200)}]}}'
            yield f'{{"jsonrpc": "2.0", "id": 1, "method": "sampling/createMessage", "params": {params}}}'
        result = RESULTS[name]()
    else:
        yield json.dumps({"jsonrpc": "2.0", "id": number, "error": {"code": -32601, "message": "no"}})
        return
    yield f'{{"jsonrpc": "2.0", "id": {json.dumps(number)}, "result": {result}}}'


class Handler(BaseHTTPRequestHandler):
    """Answers as its path says: `json`, `events`, or `gzip`, which is a compressed JSON."""

    def do_POST(self) -> None:
        message = json.loads(self.rfile.read(int(self.headers["content-length"])))
        lines = list(answers(message, sys.argv[1]))
        if not lines:
            self._send(202, "text/plain", b"")
        elif self.path == "/events":
            events = "".join(f"event: message\ndata: {line}\n\n" for line in lines)
            self._send(200, "text/event-stream", f": hello\n\n{events}".encode())
        else:
            self._send(200, "application/json", lines[-1].encode())

    def do_GET(self) -> None:
        self._send(405, "text/plain", b"")

    def _send(self, status: int, kind: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("content-type", kind)
        if self.path == "/gzip":
            body = gzip.compress(body, 1)
            self.send_header("content-encoding", "gzip")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        return None


def main() -> None:
    if len(sys.argv) > 2:
        ThreadingHTTPServer(("127.0.0.1", int(sys.argv[2])), Handler).serve_forever()
    for line in sys.stdin:
        for answer in answers(json.loads(line), sys.argv[1]):
            sys.stdout.write(f"{answer}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
