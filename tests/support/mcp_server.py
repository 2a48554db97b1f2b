"""An MCP server with nothing behind it but the standard library, so that a test may have it fail in any way.

    mcp_server.py FOLDER

Speaks the protocol over stdin and stdout. What it does is written down in the folder, each line forced to
the disk; where a test holds it (`held`, `station.sock`, as for a gateway) it waits, or dies.
"""

import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

FOLDER = Path(sys.argv[-1])
EFFECTS = "effects"
READS = "reads"
PIDS = "mcp-pids"
CANCELLED = "mcp-cancelled"
TOOLS = "mcp-tools"
"""The names of the tools it offers, if a test wants others; read anew at every `list`."""
FAULTS = "mcp-faults"
"""What goes wrong: `dead`, `deaf`, `garbage`, `endless` from the start; `stays`, when nobody writes to it."""
Object = dict[str, Any]

_writing = threading.Lock()
_waiting: dict[object, threading.Event] = {}


def write_down(file: str, **what: object) -> None:
    where = os.open(FOLDER / file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.write(where, json.dumps(what).encode() + b"\n")
    os.fsync(where)
    os.close(where)


def read(file: str) -> str:
    path = FOLDER / file
    return path.read_text() if path.exists() else ""


def pass_by(place: str) -> None:
    if place in read("held").splitlines():
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as station:
            station.connect(str(FOLDER / "station.sock"))
            station.sendall(f"{place}\n".encode())
            station.recv(16)


def put(message: Object) -> None:
    with _writing:
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        sys.stdout.flush()


def text(words: str, **more: object) -> Object:
    return {"content": [{"type": "text", "text": words}], **more}


# What its tools do.


def _read(given: Object, call: Object) -> Object:
    write_down(READS, tag=given.get("tag"))
    pass_by(f"mcp read {given.get('tag')}")
    return text(f"read {given.get('tag')}")


def _effect(given: Object, call: Object) -> Object:
    pass_by(f"mcp before {given.get('tag')}")
    write_down(EFFECTS, tag=given.get("tag"), key=call["params"].get("_meta", {}))
    pass_by(f"mcp after {given.get('tag')}")
    return text(f"did {given.get('tag')}")


def _hang(given: Object, call: Object) -> Object:
    write_down(READS, tag=given.get("tag"))
    _waiting.setdefault(call["id"], threading.Event()).wait()
    raise SystemExit


def _progress(given: Object, call: Object) -> Object:
    token = call["params"]["_meta"]["progressToken"]
    for done in range(3):
        put({"method": "notifications/progress", "params": {"progressToken": token, "progress": done}})
        pass_by(f"mcp progress {done}")
    return text("at last")


def _fail(given: Object, call: Object) -> Object:
    return text(f"no {given.get('tag')} today", isError=True)


def _long(given: Object, call: Object) -> Object:
    return text("x" * int(given["length"]))


def _environment(given: Object, call: Object) -> Object:
    sys.stderr.write(f"my environment: {dict(os.environ)}\n")
    sys.stderr.flush()
    return text(json.dumps(dict(os.environ)))


def _child(given: Object, call: Object) -> Object:
    """A process of its own that outlives a kill of this one, unless somebody sees to it."""
    child = subprocess.Popen([sys.executable, "-S", "-c", "import threading; threading.Event().wait()"])
    write_down(PIDS, pid=child.pid)
    return text(str(child.pid))


def _change(given: Object, call: Object) -> Object:
    (FOLDER / TOOLS).write_text(str(given["tools"]))
    put({"method": "notifications/tools/list_changed"})
    return text("others now")


def _chatter(given: Object, call: Object) -> Object:
    for _ in range(int(given["lines"])):
        sys.stderr.write("y" * 999 + "\n")
    sys.stderr.flush()
    return text("said much")


def _shell(given: Object, call: Object) -> Object:
    """Whatever it is told to run, with its own rights."""
    ran = subprocess.run(["/bin/bash", "-c", given["command"]], capture_output=True, text=True, check=False)
    return text(ran.stdout + ran.stderr)


READ_ONLY = {"readOnlyHint": True}
KNOWN: dict[str, tuple[Callable[[Object, Object], Object], Object]] = {
    "read": (_read, READ_ONLY),
    "again": (_effect, {"idempotentHint": True}),
    "effect": (_effect, {}),
    "hang": (_hang, {}),
    "hang_reading": (_hang, READ_ONLY),
    "progress": (_progress, {}),
    "fail": (_fail, {}),
    "long": (_long, READ_ONLY),
    "environment": (_environment, READ_ONLY),
    "child": (_child, {}),
    "change": (_change, {}),
    "chatter": (_chatter, {}),
    "shell": (_shell, {}),
}


def listed(cursor: str | None) -> Object:
    """The tools, a hundred at a time."""
    names = read(TOOLS).split() or list(KNOWN)
    start = int(cursor or 0)
    tools = [
        {
            "name": name,
            "description": f"what {name} does",
            "inputSchema": {"type": "object", "properties": {"tag": {"type": "string"}}},
            "annotations": KNOWN.get(name, (_read, READ_ONLY))[1],
        }
        for name in names[start : start + 100]
    ]
    more = {"nextCursor": str(start + 100)} if start + 100 < len(names) else {}
    return {"tools": tools, **more}


def answer(message: Object) -> None:
    run = KNOWN.get(message["params"]["name"], (_read, READ_ONLY))[0]
    put({"id": message["id"], "result": run(message["params"].get("arguments") or {}, message)})


def greeting(asked: Object) -> Object:
    return {
        "protocolVersion": "2025-06-18",
        "capabilities": {"tools": {"listChanged": True}},
        "serverInfo": {"name": "scripted", "version": "1"},
    }


def hear(message: Object) -> None:
    match message.get("method"):
        case "initialize":
            put({"id": message["id"], "result": greeting(message)})
        case "tools/list":
            put({"id": message["id"], "result": listed((message.get("params") or {}).get("cursor"))})
        case "tools/call":
            threading.Thread(target=answer, args=(message,), daemon=True).start()
        case "notifications/cancelled":
            write_down(CANCELLED, id=message["params"]["requestId"])
        case _ if "id" in message:
            put({"id": message["id"], "error": {"code": -32601, "message": "no such method"}})


def main() -> None:
    write_down(PIDS, pid=os.getpid())
    faults = read(FAULTS).split()
    if "dead" in faults:
        sys.exit("I cannot live like this")
    while "endless" in faults:
        sys.stdout.write("{" * 65_536)
    for line in sys.stdin:
        if "garbage" in faults:
            sys.stdout.write('this is no message\n{"nor": "is this"}\n' * 40)
            sys.stdout.flush()
        elif "deaf" not in faults:
            hear(json.loads(line))
    if "stays" in faults:
        threading.Event().wait()


if __name__ == "__main__":
    main()
