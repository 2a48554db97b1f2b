"""`holdfast chat`: a terminal client. With input from a pipe it sends each line and waits for the answer."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated

import typer

from holdfast.api.client import NotRunning, RequestDeclined, ask
from holdfast.api.to_json import Json
from holdfast.cli.options import AsJson, Home, run
from holdfast.cli.render.output import complain, stdout
from holdfast.cli.render.terminal_text import styled
from holdfast.clock import Clock, SystemClock, SystemIds, first_of
from holdfast.config.load import find_home
from holdfast.process.exit_codes import FAILED

from .answers import Answers
from .client import FIRST_WAIT, Hear, Line
from .line_input import read_terminal, typed_so_far
from .screen import Screen, ScreenLine, delivery_line

GOODBYES = ("exit", "quit", "/exit", "/quit")
_PASSING = ("preview", "working", "standing")
"""Events that are only for display. Some may be missing, and the ledger keeps none of them."""


def chat(
    name: Annotated[
        str, typer.Option("--chat", help="The name of the chat. Each name is its own conversation.")
    ] = "terminal",
    wait: Annotated[
        float, typer.Option(help="Seconds to wait for a gateway that is not up yet.", min=0)
    ] = 0.0,
    home: Home = None,
    as_json: AsJson = False,
) -> None:
    """Talk to the agent in this terminal. The chat survives a restart or a crash of the gateway.

    Type a line. You see what the agent is writing, its committed steps, its replies and notices. /help lists
    the commands of a chat; Ctrl-D or `exit` ends the chat, not the work. With input from a pipe
    (`echo "Do 4 steps." | holdfast chat`) the command sends each line and waits for the answer before the
    next. The exit code is 1 if a line was not answered.
    """
    if "/" in name:
        raise typer.BadParameter("the name of a terminal chat has no slash", param_hint="--chat")
    where = find_home(home)
    with contextlib.suppress(KeyboardInterrupt):
        if sys.stdin.isatty() and not as_json:
            run(_in_terminal(where, name, wait))
        elif not run(_from_pipe(where, name, wait, as_json)):
            raise typer.Exit(FAILED)


async def _in_terminal(home: Path, name: str, wait: float) -> None:
    above, screen = Screen(stdout()), Screen(stdout(), typed_so_far)
    async with _line(home, name, wait, screen.event, above.line) as line:
        pid = (await ask(home, "status"))["pid"]
        above.line(styled((f"The gateway is process {pid}. Try `kill -9 {pid}`: the work goes on.", "dim")))
        above.line(styled(("Type a line; /help lists commands; Ctrl-D leaves.", "dim")))
        async for text in read_terminal():
            if text.strip() in GOODBYES:
                break
            if text.strip():
                await _say(line, text, screen)


async def _say(line: Line, text: str, screen: Screen) -> None:
    try:
        await line.say(text)
    except RequestDeclined as refusal:
        screen.line(styled(("not accepted:", "red"), f" {refusal}"))


async def _from_pipe(home: Path, name: str, wait: float, as_json: bool) -> bool:
    screen = Screen(stdout())

    def hear(event: Json) -> None:
        if not as_json:
            screen.event(event)
        elif not any(name in event for name in _PASSING):
            print(json.dumps(event), flush=True)

    answered = True
    async with _line(home, name, wait, hear) as line:
        answers = Answers(home, line)
        try:
            async for text in _piped_lines():
                try:
                    accepted = await line.say(text)
                except RequestDeclined as refusal:
                    complain(f"not accepted: {refusal}", as_json)
                    answered = False
                    continue
                answered = await answers.wait_for(accepted["position"]) and answered
        finally:
            await answers.close()
    return answered


def _no_context(line: ScreenLine) -> None:
    """Show nothing: a pipe gets only the answers to its own lines."""


@asynccontextmanager
async def _line(
    home: Path,
    name: str,
    wait: float,
    hear: Hear,
    context: Callable[[ScreenLine], None] = _no_context,
) -> AsyncIterator[Line]:
    """Open a chat and follow it while it is used. The first connection must work within `wait` seconds."""
    clock = SystemClock()
    line = Line(home, name, clock, SystemIds(clock), hear)
    for one in await _begin(line, wait, clock):
        context(delivery_line(one, before=("earlier: ", "dim")))
    following = asyncio.ensure_future(line.follow())
    try:
        await first_of(line.heard.since(0), _over(following))
        yield line
    finally:
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)


async def _over(following: asyncio.Future[None]) -> None:
    """Raise the refusal that ended the following. Nothing else ends it."""
    await asyncio.shield(following)


async def _begin(line: Line, wait: float, clock: Clock) -> tuple[Json, ...]:
    """Try the first connection until it works, for at most `wait` seconds."""
    until = clock.monotonic() + wait
    while True:
        try:
            return await line.skip()
        except NotRunning:
            if clock.monotonic() >= until:
                raise
        await clock.sleep(FIRST_WAIT)


async def _piped_lines() -> AsyncIterator[str]:
    """The lines of standard input, read in a thread that nothing waits for."""
    loop = asyncio.get_running_loop()
    lines: asyncio.Queue[str] = asyncio.Queue()

    def read() -> None:
        text = " "
        while text:
            text = sys.stdin.readline()
            with contextlib.suppress(RuntimeError):
                # The loop may have ended meanwhile.
                loop.call_soon_threadsafe(lines.put_nowait, text)

    threading.Thread(target=read, name="piped", daemon=True).start()
    while text := await lines.get():
        if text.strip():
            yield text.rstrip("\n")
