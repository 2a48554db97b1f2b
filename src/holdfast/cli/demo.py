"""`holdfast demo`: a long piece of work in the terminal that goes on where a kill cut it off."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterable
from pathlib import Path

from rich.console import Console
from rich.panel import Panel

from holdfast.app import Config, Demo, open_demo
from holdfast.model import CallState, Entry, Noted, OwedKind, Replied, Returned, Said, Turn
from holdfast.policy.settings import SECOND

_MARKS = {
    CallState.DONE: "[green]✓[/]",
    CallState.FAILED: "[red]✗[/]",
    CallState.UNKNOWN: "[yellow]?[/]",
    CallState.SKIPPED: "[dim]–[/]",
}


def run_demo(config: Config, text: str, console: Console) -> None:
    """Run one message to its answer, or go on with what a killed run left."""
    asyncio.run(_demo(config, text, console))


async def _demo(config: Config, text: str, console: Console) -> None:
    async with open_demo(config, lambda kind, line: _show(console, kind, line)) as demo:
        seen = len(await demo.transcript())
        await demo.reconciler.round()
        left = await demo.unfinished()
        _greet(console, config.home, left, seen)
        if left is None and not await _owed(demo):
            await demo.say(text)
        work = asyncio.ensure_future(demo.work())
        await _follow(demo, console, seen, work)
        await work
        problems = await demo.store.verify()
        console.print(f"[dim]Ledger: {', '.join(problems) or 'sound'}.[/]")


async def _owed(demo: Demo) -> bool:
    found = await demo.store.continuity()
    return bool(found.owed or found.unknown)


async def _follow(demo: Demo, console: Console, seen: int, work: asyncio.Future[None]) -> None:
    """Show what is committed as it is committed: the screen says nothing the ledger does not."""
    while True:
        version = demo.store.version("steps")
        entries = await demo.transcript()
        _tell(console, entries[seen:])
        seen = len(entries)
        if work.done():
            return
        change = asyncio.ensure_future(demo.store.changed("steps", version))
        work.add_done_callback(_cancels(change))
        await asyncio.wait({change})


def _cancels(waiting: asyncio.Future[int]) -> Callable[[asyncio.Future[None]], object]:
    return lambda _: waiting.cancel()


def _greet(console: Console, home: Path, left: Turn | None, seen: int) -> None:
    console.print(
        Panel(
            f"Kill me at any moment: [bold]kill -9 {os.getpid()}[/]\n"
            "Run the same command again, and the work goes on at the exact step.\n"
            "[dim]Killed three times in a row, it is parked: work that kills its gateway is stopped.[/]\n"
            f"[dim]Everything is kept in {home}[/]",
            title="Holdfast demo",
            expand=False,
        )
    )
    if left is None:
        return
    gap = ""
    if left.interrupted_at and left.progress_at:
        gap = f", {max(0, left.interrupted_at - left.progress_at) / SECOND:.0f} s after its last step"
    console.print(
        f"[yellow]The last run was cut off[/] ({left.interruption}{gap}). "
        f"{seen} entries are kept; going on from there."
    )


def _tell(console: Console, entries: Iterable[Entry]) -> None:
    for entry in entries:
        match entry.body:
            case Said(text):
                console.print(f"[bold cyan]you[/]    {text}", highlight=False)
            case Replied(text, calls=calls) if calls:
                console.print(f"[bold]agent[/]  {text}", highlight=False)
            case Returned(_, state, text):
                console.print(f"         {_MARKS[state]} {text.strip()}", highlight=False)
            case Noted(text=text):
                console.print(
                    f"[dim]         (the agent is told: {text.partition('.')[0]}.)[/]", highlight=False
                )


def _show(console: Console, kind: OwedKind, text: str) -> None:
    who = "agent" if kind is OwedKind.REPLY else "gateway"
    console.print(f"[bold green]{who}[/]  {text}", highlight=False)
