"""The long run of real processes: `holdfast up`, killed with SIGKILL at named places and at random moments.

At a named place the process stands still and waits for us, so that the kill falls exactly there; the random
moments are those of `holdfast drill`. What is judged is what people and the world saw, not the ledger alone.
"""

import asyncio
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from threading import Event, Thread
from time import monotonic
from typing import Any

from holdfast.api.client import NotRunning, RequestDeclined
from holdfast.cli.drill.exercise import Plan, exercise
from tests.support.inside import EFFECTS, LETTERS_OUT
from tests.support.outside import House

WORKERS = 2
DRILL = 10
"""Kills of one drill: after so many it is let finish and counted."""
KILL_EVERY = 6.0
"""Seconds between two kills of a drill with default settings."""
BEFORE = ("before accept", "after accept", "before claim_ready", "after claim_ready")
IN_TURN = (
    "model a 0",
    "read a",
    "before its result",
    "model a 1",
    "before effect a",
    "after effect a",
    "model a 2",
    "before finish",
)
AFTER = (
    "after finish",
    "before claim_deliveries",
    "after claim_deliveries",
    "before sending",
    "after sending",
)
IN_START = ("before interrupt_orphans", "after interrupt_orphans")
IN_RECOVERY = ("before settle_stale", "after settle_stale")
"""Only work that was cut off is settled."""


@dataclass(frozen=True)
class Case:
    """Killed at one place of the work and, if it says so, again at one place of the start that follows."""

    work: str
    start: str | None

    def __str__(self) -> str:
        return f"killed {self.work}" + (f", then {self.start}" if self.start else "")


CASES = (
    *(Case(work, None) for work in (*BEFORE, *IN_TURN, *AFTER)),
    *(Case(work, start) for start in IN_START for work in (*BEFORE, *IN_TURN, *AFTER)),
    *(Case(work, start) for start in IN_RECOVERY for work in IN_TURN),
)


@dataclass(frozen=True)
class Seen:
    """What became of it, as seen from outside."""

    told: tuple[str, ...]
    """What the chat of the web was told."""
    letters: tuple[tuple[str, bool], ...]
    """What was sent by letter, and whether it was marked as a possible repeat."""
    effects: Counter[str]
    turns: int
    sound: bool


def judge(seen: Seen) -> Iterator[str]:
    """One message in the chat and one by letter, each answered once; nothing done twice, nothing else run."""
    answers = sum(text.endswith("answer to a") for text in seen.told)
    if answers != 1:
        yield f"the chat was answered {answers} times: {seen.told}"
    unmarked = sum(text.endswith("answer to b") and not marked for text, marked in seen.letters)
    if unmarked > 1:
        yield f"the letter was answered {unmarked} times unmarked"
    if not any(text.endswith("answer to b") for text, _ in seen.letters):
        yield "the letter was never answered"
    yield from (f"effect {tag} happened {times} times" for tag, times in seen.effects.items() if times > 1)
    if seen.turns != 1:
        yield f"the chat has {seen.turns} turns"
    if not seen.sound:
        yield "the ledger is not sound"


def run(seconds: float, seed: int) -> dict[str, Any]:
    """Named places for half of the time, each at least once in turn, and drills for the rest."""
    began = monotonic()
    named = _until(began + seconds / 2, _named, lambda number: CASES[(seed + number) % len(CASES)])
    drilled = _until(began + seconds, _drilled, lambda number: seed + number)
    by_place = Counter(place for one in named for place in one["places"])
    return {
        "sigkills": by_place.total() + sum(one["kills"] for one in drilled),
        "sigkills_at_named_places": dict(sorted(by_place.items())),
        "sigkills_at_random": sum(one["kills"] for one in drilled),
        "sigkill_messages": 2 * len(named) + sum(one["messages"] for one in drilled),
        "violations": [words for one in (*named, *drilled) for words in one["violations"]],
    }


def _until(
    end: float, do: Callable[[Any], dict[str, Any]], make: Callable[[int], Any]
) -> list[dict[str, Any]]:
    """Do one after the other on all hands until the time is over; at least one each."""
    numbers = count()

    def work(_hand: int) -> list[dict[str, Any]]:
        done = [do(make(next(numbers)))]
        while monotonic() < end:
            done.append(do(make(next(numbers))))
        return done

    with ThreadPoolExecutor(WORKERS) as pool:
        return [one for hand in pool.map(work, range(WORKERS)) for one in hand]


def _named(case: Case) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="holdfast-kill-") as folder:
        house = House(Path(folder))
        try:
            places, seen = kill_at(house, case)
            found = list(judge(seen))
        except (AssertionError, OSError, TimeoutError) as broken:
            places, found = [case.work], [f"it broke: {broken!r}"]
        finally:
            house.close()
    return {"places": places, "violations": [f"{case}: {words}" for words in found]}


def kill_at(house: House, case: Case) -> tuple[list[str], Seen]:
    """Kill there, let it start and finish; the places it was killed at, and what was seen."""
    house.write("post", "do effect #b")
    house.hold(case.work)
    gateway = house.starting()
    speaker = Thread(target=_say, args=(house,), daemon=True)
    if case.work == "before claim_ready":
        house.reached(case.work)
        _say(house)
    else:
        gateway.ready()
        speaker.start()
        house.reached(case.work)
    gateway.kill()
    places = [case.work]
    if case.start is not None:
        house.hold(case.start)
        gateway = house.starting()
        house.reached(case.start)
        gateway.kill()
        places.append(case.start)
    house.hold()
    gateway = house.up()
    _say(house)
    house.heard("home", "answer to a")
    _until_sent(house)
    gateway.stop()
    letters = [(one["text"], one["repeated"]) for one in house.seen(LETTERS_OUT)]
    effects = Counter(one["tag"] for one in house.seen(EFFECTS))
    return places, Seen(
        tuple(house.told("home")), tuple(letters), effects, len(house.turns("home")), house.is_sound()
    )


def _say(house: House) -> None:
    """As a page does it: again and again under the same id, until it is kept."""
    with suppress(NotRunning, RequestDeclined, OSError):
        house.say("home", "do read effect #a", event_id="a")


def _until_sent(house: House) -> None:
    """Until nothing runs, waits or is owed any more."""
    while any(house.ask("status")[name] for name in ("open_turns", "waiting", "owed", "unknown")):
        Event().wait(0.05)


def _plan(seed: int) -> Plan:
    """Every other drill runs with default settings, under which work may be held and parked, not dropped."""
    if seed % 2:
        return Plan(DRILL, seed, people=12, minutes=DRILL * KILL_EVERY / 60, defaults=True)
    return Plan(DRILL, seed)


def _drilled(seed: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="holdfast-kill-") as folder:
        result = asyncio.run(exercise(Path(folder), _plan(seed), lambda *_: None))
    wrong = [*result.counts.examples, *result.fates.wrong, *result.problems]
    return {
        "kills": result.plan.kills,
        "messages": result.counts.messages,
        "violations": [] if result.sound else [f"drill {seed}: {words}" for words in wrong or ("unsound",)],
    }
