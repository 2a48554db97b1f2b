"""One drill: people write, the drill kills the gateway again and again, lets all work finish, and counts."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import field
from pathlib import Path

from holdfast.api.client import NotRunning, RequestDeclined, ask
from holdfast.clock import Clock, Rng, SystemClock, SystemIds, SystemRng
from holdfast.records import dataclass
from holdfast.store import LEDGER, ReadOnlyLedger

from .count import DrillCounts, count
from .fates import Fates, look_for
from .people import DrillPerson, Habits
from .processes import DEFAULTS, SETTINGS, DrillProcesses

_SHORTEST, _LONGEST = 0.02, 0.7
"""Seconds a gateway runs, once it answers, before it is killed."""
_IN_ITS_START = 0.2
"""Share of kills that fall into the start and the recovery in it."""
_START_TAKES = 0.5
_WORK_COMES = 3.0
"""Seconds a kill waits for a turn to run, where people make pauses."""
_PATIENCE = 15.0
"""Seconds without news after which a missing answer counts as lost."""
_LOOK_AGAIN = 0.05


@dataclass(frozen=True, slots=True)
class Plan:
    """What a drill does."""

    kills: int
    seed: int
    sabotage: str | None = None
    people: int = 4
    minutes: float | None = None
    """The kills are spread over this time; None: one directly after the other."""
    defaults: bool = False
    """With default settings: then work may be held or parked, as long as its chat is told."""


@dataclass(frozen=True, slots=True)
class Result:
    """The result of a drill."""

    plan: Plan
    counts: DrillCounts
    kills_in_start: int
    kills_in_work: int
    """Kills at which a turn ran, as the gateway said right before."""
    breaks: int
    """How often a person's connection broke and came back."""
    problems: tuple[str, ...]
    """What the ledger's own check found."""
    seconds: float
    paused: int = 0
    """Messages that waited after the last kill, in safe mode, and whose chats were told."""
    safe_mode: bool = False
    """Safe mode was on after the last kill."""
    fates: Fates = field(default_factory=Fates)
    """The messages that had no answer at the end."""

    @property
    def sound(self) -> bool:
        return self.counts.sound and not self.problems and not self.fates.wrong


Progress = Callable[[int, DrillCounts], None]


async def exercise(home: Path, plan: Plan, progress: Progress) -> Result:
    """Carry out the drill in an empty home; raises `DrillFailed` if that is not possible."""
    clock = SystemClock()
    processes = DrillProcesses(home, clock, plan.sabotage, DEFAULTS if plan.defaults else SETTINGS)
    rng = SystemRng(plan.seed)
    people = [
        DrillPerson(
            f"person{number}", home, clock, SystemIds(clock), SystemRng(plan.seed + number), _habits(plan)
        )
        for number in range(1, plan.people + 1)
    ]
    seen = [person.seen for person in people]
    began = clock.monotonic()
    paused, safe_mode, fates = 0, False, Fates()
    try:
        await processes.prepare()
        await processes.start()
        await processes.until_ready()
        for person in people:
            person.begin()
        in_start = in_work = 0
        for kill in range(plan.kills):
            if plan.minutes is not None:
                due = began + plan.minutes * 60 * (kill + rng.random()) / plan.kills
                await clock.sleep(max(0.0, due - clock.monotonic()))
            began_up, at_work = await _kill(processes, clock, rng, _WORK_COMES if plan.defaults else 0.0)
            in_start, in_work = in_start + began_up, in_work + at_work
            progress(kill + 1, count(seen, processes.effects()))
            await processes.start()
        await processes.until_ready()
        await _let_finish(home, people, clock)
        if plan.defaults:
            fates = await look_for(home, clock, seen)
            paused, safe_mode = len(fates.waiting), (await ask(home, "status"))["safe_mode"]["active"]
            wrong = fates.wrong
            # Held work resumes by itself now, and none of it may be missing.
            await ask(home, "safe_mode", on=False)
            await _let_finish(home, people, clock)
            fates = await look_for(home, clock, seen)
            fates.wrong = [*dict.fromkeys((*wrong, *fates.wrong))]
        await processes.stop()
    finally:
        for person in people:
            await person.leave()
        await processes.end()
    return Result(
        plan,
        count(seen, processes.effects(), fates.excused),
        in_start,
        in_work,
        sum(person.breaks for person in people),
        await _problems(home, clock),
        clock.monotonic() - began,
        paused,
        safe_mode,
        fates,
    )


def _habits(plan: Plan) -> Habits:
    """With default settings, people pause between messages, and write again if no answer comes."""
    return Habits(steps=(3, 12), patience=4.0, pause=8.0) if plan.defaults else Habits()


async def _kill(processes: DrillProcesses, clock: Clock, rng: Rng, patience: float) -> tuple[bool, bool]:
    """Kill at a random moment, or when a turn runs. Returns: was it in the start, and did a turn run."""
    in_start, at_work = rng.random() < _IN_ITS_START, False
    if in_start:
        await clock.sleep(rng.random() * _START_TAKES)
    else:
        await processes.until_ready()
        await clock.sleep(_SHORTEST + rng.random() * (_LONGEST - _SHORTEST))
        at_work = await processes.until_at_work(patience)
    await processes.kill()
    return in_start, at_work


async def _let_finish(home: Path, people: list[DrillPerson], clock: Clock) -> None:
    """Wait until every confirmed message is answered and nothing runs, or until no more news comes."""
    await asyncio.gather(*(person.enough() for person in people))
    rung, since = -1, clock.monotonic()
    while clock.monotonic() - since < _PATIENCE:
        now = sum(person.line.heard.rung for person in people)
        if now != rung:
            rung, since = now, clock.monotonic()
        if not any(person.seen.unanswered() for person in people) and await _is_quiet(home, people):
            return
        await clock.sleep(_LOOK_AGAIN)


async def _is_quiet(home: Path, people: list[DrillPerson]) -> bool:
    """Nothing runs, waits or is owed, and every person has seen every delivery."""
    try:
        status = await ask(home, "status")
        unseen = [
            await ask(home, "outbox", chat=person.seen.chat, after=person.line.seen, limit=1)
            for person in people
        ]
    except (NotRunning, RequestDeclined):
        return False
    under_way = status["open_turns"] or status["waiting"] or status["owed"] or status["unknown"]
    return not under_way and not any(one["deliveries"] for one in unseen)


async def _problems(home: Path, clock: Clock) -> tuple[str, ...]:
    ledger = ReadOnlyLedger(home / LEDGER, clock)
    try:
        return await ledger.verify()
    finally:
        await ledger.close()
