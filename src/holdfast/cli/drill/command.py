"""`holdfast drill`: prove on this machine that a crash loses nothing."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from holdfast.api.to_json import Json
from holdfast.cli.options import AsJson, run
from holdfast.cli.render.output import print_json, print_table, stderr, stdout
from holdfast.cli.render.terminal_text import Cell, styled
from holdfast.clock import SystemRng
from holdfast.errors import BadConfig
from holdfast.process.exit_codes import FAILED

if TYPE_CHECKING:
    from .count import DrillCounts
    from .exercise import Result


class SabotageName(StrEnum):
    """The bugs that can be planted."""

    ACK_BEFORE_COMMIT = "ack-before-commit"
    LOSE_REPLIES = "lose-replies"
    LOSE_WAITING = "lose-waiting"
    FORGET_EVENTS = "forget-events"
    RESEND_UNMARKED = "resend-unmarked"
    PHANTOM_TURN = "phantom-turn"
    RERUN_EFFECTS = "rerun-effects"
    DROP_HELD = "drop-held"


def drill(
    kills: Annotated[int, typer.Option(min=1, max=100_000, help="How often to kill the gateway.")] = 20,
    sabotage: Annotated[
        SabotageName | None, typer.Option(help="Plant a known bug first: the drill must notice it.")
    ] = None,
    seed: Annotated[
        int | None, typer.Option(help="The same seed kills after the same delays.", show_default="random")
    ] = None,
    people: Annotated[int, typer.Option(min=1, max=100, help="How many people write.")] = 4,
    minutes: Annotated[
        float | None,
        typer.Option(
            min=0.01, max=1_000, help="Spread the kills over so many minutes.", show_default="at once"
        ),
    ] = None,
    defaults: Annotated[
        bool,
        typer.Option(
            "--defaults",
            help="Use default settings: safe mode and parks are on, and must not drop anything.",
        ),
    ] = False,
    home: Annotated[
        Path | None,
        typer.Option(help="An empty folder to work in, kept afterwards.", show_default="a temporary one"),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Kill a real gateway N times under load, and count what people lost, got twice or never asked for.

    The drill runs `holdfast up` in a home of its own, never yours. Several simulated people write to an agent
    whose steps have effects, and SIGKILL comes at random moments. The counts come from outside the gateway:
    from the people's own logs, and from a separate process that records every effect. Exit code 1 if
    anything is wrong.
    """
    # The other commands are quicker without the drill's agents and processes.
    from .exercise import Plan, exercise  # noqa: PLC0415 - this saves start-up time

    chosen = int(SystemRng().random() * 1_000_000) if seed is None else seed
    plan = Plan(kills, chosen, sabotage.value if sabotage else None, people, minutes, defaults)
    console = stderr()
    with _workplace(home) as place, console.status("starting") as status:

        def progress(kill: int, counts: DrillCounts) -> None:
            status.update(f"{kill} of {kills} kills, {counts.messages} messages, {counts.answers} answers")

        result = run(exercise(place, plan, progress))
    if as_json:
        print_json(as_facts(result))
    else:
        _print(stdout(), result)
    if not result.sound:
        raise typer.Exit(FAILED)


@contextmanager
def _workplace(home: Path | None) -> Iterator[Path]:
    if home is None:
        with tempfile.TemporaryDirectory(prefix="holdfast-drill-") as folder:
            yield Path(folder)
        return
    home.mkdir(parents=True, exist_ok=True)
    if any(home.iterdir()):
        raise BadConfig("--home", str(home), "an empty folder: a drill never touches an existing ledger")
    yield home.absolute()


def as_facts(result: Result) -> Json:
    """The result for programs."""
    counts = result.counts
    return {
        "kills": result.plan.kills,
        "kills_in_start": result.kills_in_start,
        "kills_in_work": result.kills_in_work,
        "messages": counts.messages,
        "answers": counts.answers,
        "effects": counts.effects,
        "lost": counts.lost,
        "duplicated": counts.duplicated,
        "phantom": counts.phantom,
        "effects_doubled": counts.effects_doubled,
        "reconnects": result.breaks,
        "safe_mode": result.safe_mode,
        "paused": result.paused,
        "waiting": len(result.fates.waiting),
        "parked": len(result.fates.parked),
        "dropped": len(result.fates.wrong),
        "ledger_problems": list(result.problems),
        "sound": result.sound,
        "examples": [*counts.examples, *result.fates.wrong[:10]],
        "seconds": round(result.seconds, 2),
        "seed": result.plan.seed,
        "sabotage": result.plan.sabotage,
    }


def _print(console: Console, result: Result) -> None:
    counts = result.counts
    rows: list[tuple[Cell, ...]] = [
        (
            "kills",
            str(result.plan.kills),
            f"{result.kills_in_start} of them while it started, {result.kills_in_work} while turns ran",
        ),
        ("messages", str(counts.messages), "confirmed by the gateway"),
        ("answers", str(counts.answers), "seen by the people who asked"),
        ("effects", str(counts.effects), "recorded by the witness"),
        ("lost", _good(counts.lost), "messages never answered"),
        ("duplicated", _good(counts.duplicated), "answers or parts seen twice"),
        ("phantom", _good(counts.phantom), "answers or effects without a request"),
        ("effects doubled", _good(counts.effects_doubled), "the same step had its effect again"),
        (
            "ledger",
            styled(("sound", "green") if not result.problems else ("broken", "red")),
            "by its own check",
        ),
    ]
    if result.plan.defaults:
        rows[5:5] = _held(result)
    print_table(console, ("", "number", "what it is"), rows)
    for words in (*counts.examples, *result.fates.wrong[:10], *result.problems):
        console.print(styled(f"  {words}"))
    after = f"{result.seconds:.1f} s, {result.breaks} reconnects, seed {result.plan.seed}"
    console.print(styled((after, "dim")))
    if result.plan.sabotage is not None:
        noticed = ("noticed", "green") if not result.sound else ("NOT noticed; try more kills", "red")
        console.print(styled(f"The planted bug, {result.plan.sabotage}, was ", noticed, "."))


def _held(result: Result) -> list[tuple[Cell, ...]]:
    fates = result.fates
    mode = "in safe mode" if result.safe_mode else "without safe mode"
    return [
        ("paused", str(result.paused), f"waited after the last kill, {mode}, and their chats were told"),
        ("waiting", str(len(fates.waiting)), "wait after safe mode, for an answer or an owner"),
        ("parked", str(len(fates.parked)), "parked for the owner, and their chats were told"),
        ("dropped", _good(len(fates.wrong)), "messages dropped, or waiting while their chats were not told"),
    ]


def _good(number: int) -> Cell:
    return styled((str(number), "green" if number == 0 else "red"))
