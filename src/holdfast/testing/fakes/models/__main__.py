"""Serves the scripted model until it is stopped: python -m holdfast.testing.fakes.models --port 8001."""

from __future__ import annotations

import argparse
import asyncio
import sys
from pathlib import Path

from . import ModelServer, Scripted, ServeOptions, read_script


def main() -> None:
    options = argparse.ArgumentParser(prog="python -m holdfast.testing.fakes.models", description=__doc__)
    options.add_argument("--port", type=int, default=8001, help="0 picks any free port")
    options.add_argument("--script", type=Path, help="rules in TOML; without them, lines of messages")
    options.add_argument("--key", help="the key that callers must send; without it they need none")
    options.add_argument("--context", type=int, default=1_000_000, help="tokens that one request may have")
    options.add_argument("--pace", type=float, default=0.02, help="seconds between two pieces of an answer")
    given = options.parse_args()
    brain = read_script(given.script) if given.script else Scripted()
    serving = ServeOptions(brain, given.key, None, given.context, given.pace)
    try:
        asyncio.run(_serve(ModelServer(serving, given.port)))
    except KeyboardInterrupt:
        sys.stderr.write("\n")


async def _serve(server: ModelServer) -> None:
    async with server:
        sys.stdout.write(f"openai: {server.openai_url}\nanthropic: {server.url}\n")
        sys.stdout.flush()
        await asyncio.Event().wait()


if __name__ == "__main__":
    main()
