"""Lines typed in a terminal, with editing and history, while other things are printed above."""

from __future__ import annotations

import asyncio
import contextlib
import readline
import sys
import termios
import threading
from collections.abc import AsyncIterator

from .screen import PROMPT


def typed_so_far() -> str:
    """The text on the input line."""
    return readline.get_line_buffer()


async def read_terminal() -> AsyncIterator[str]:
    """Each line as it is entered, until Ctrl-D. A thread waits for keys; nothing waits for the thread."""
    loop = asyncio.get_running_loop()
    lines: asyncio.Queue[str | None] = asyncio.Queue()

    def read() -> None:
        line: str | None = ""
        while line is not None:
            try:
                line = input(PROMPT)
            except (EOFError, OSError):
                line = None
            with contextlib.suppress(RuntimeError):
                # The loop may have ended while we waited for a key.
                loop.call_soon_threadsafe(lines.put_nowait, line)

    former = termios.tcgetattr(sys.stdin)
    threading.Thread(target=read, name="typing", daemon=True).start()
    try:
        while (line := await lines.get()) is not None:
            yield line
    finally:
        # The thread may be in the middle of a line and have the terminal in its own mode.
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, former)
