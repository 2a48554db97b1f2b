"""A process that the drill never kills. It records every effect on the disk before it confirms it.

python -m holdfast.cli.drill.witness SOCKET FILE    ends when its standard input does
"""

from __future__ import annotations

import asyncio
import os
import sys


async def witness(socket: str, path: str) -> None:
    """Serve until standard input ends."""
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    async def record(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        line = await reader.readline()
        if line.endswith(b"\n"):
            os.write(file, line)
            os.fsync(file)
            writer.write(b"ok\n")
        writer.close()

    server = await asyncio.start_unix_server(record, socket)
    async with server:
        print("ready", flush=True)
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(witness(sys.argv[1], sys.argv[2]))
