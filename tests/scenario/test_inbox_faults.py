"""The inbox when something fails beside it: commands, edits, presses and watchers go on."""

import asyncio

import pytest

from holdfast.errors import DiskFull, WrongState
from holdfast.inbox import Receiver, Watcher
from holdfast.model import InboxState, ProcessId, ProcessState, QuestionState, TurnId
from holdfast.policy.intake.access import Access
from holdfast.policy.processes import Identity, ProcessStatus
from holdfast.policy.settings import DAY, MINUTE, ProcessSettings
from holdfast.store import Scope
from holdfast.testing import SimProcesses
from holdfast.tools import Launch, Output
from tests.scenario.test_inbox_commands import commands, state_of
from tests.scenario.test_processes import begin, on, waiting
from tests.support.ledger import ANN, Ledger, key
from tests.support.platforms import FakePlatform, HalfRng, Reports, arrival, failing, revision, watch
from tests.support.stage import soon

ACCESS = Access(owners=frozenset({ANN}))


# Commands.


async def test_a_command_waits_a_moment_for_a_full_disk_then_ever_longer_and_each_fault_is_reported(
    ledger: Ledger,
) -> None:
    slept, reports = watch(ledger.clock), Reports()
    position = await ledger.command("/stop")
    store = failing(ledger.store, commands=[DiskFull("full")] * 3)
    working = asyncio.ensure_future(commands(ledger, store, reports).work())
    for faults in range(3):
        while len(slept.asked) == faults:
            await soon(slept.since(slept.rung))
        assert reports.doing == ["carrying out commands"] * (faults + 1)
        ledger.clock.advance(round(slept.asked[faults] * 1_000))
    while await state_of(ledger, position) is InboxState.WAITING:
        await ledger.store.instances(1)
    assert await state_of(ledger, position) is InboxState.EXECUTED
    first, second, third = slept.asked
    assert first <= 0.5, "a /stop is not kept waiting by one fault"
    assert first < second < third
    working.cancel()
    await asyncio.wait([working])


async def test_a_command_that_lost_a_race_twice_is_still_carried_out(ledger: Ledger) -> None:
    await ledger.complete()
    position = await ledger.command("/undo")
    moved = WrongState("session", "so", "otherwise")
    carrying = commands(ledger, failing(ledger.store, mark=[moved, moved]))
    while await carrying.carry_out_all():
        pass
    assert await state_of(ledger, position) is InboxState.EXECUTED


# The receiver.


async def test_a_list_of_people_that_cannot_be_read_is_reported_by_who_reads_the_platform(
    ledger: Ledger,
) -> None:
    def broken() -> Access:
        raise OSError("access.toml cannot be read")

    platform, reports = FakePlatform(), Reports()
    platform.updates.append(arrival("hello"))
    await Receiver(ledger.store, platform, ledger.clock, HalfRng(), broken, report=reports).read_once()
    assert await ledger.store.waiting(key()) == ()
    assert reports.doing == ["reading who may talk"]


async def test_an_edit_of_a_message_changes_no_press_of_its_buttons(ledger: Ledger) -> None:
    """A platform names a press by the message that has the button."""
    claimed = await ledger.begin()
    await ledger.ask(claimed.fence, options=("yes", "no"))
    platform = FakePlatform()
    platform.updates += [
        arrival("no", message_id="m1", pressed="q1"),
        revision("m1", "which one, yes or no?"),
    ]
    await Receiver(ledger.store, platform, ledger.clock, HalfRng(), lambda: ACCESS).read_once()
    (asked,) = await ledger.store.questions((claimed.turn.id,))
    assert (asked.state, asked.answer) == (QuestionState.ANSWERED, "no")


# The watcher of background processes.


def watcher(ledger: Ledger, machine: SimProcesses, reports: Reports) -> Watcher:
    return Watcher(ledger.store, machine, ledger.clock, ProcessSettings(), reports)


async def test_what_nobody_will_start_any_more_is_removed_by_a_watcher_that_runs(ledger: Ledger) -> None:
    machine = SimProcesses()
    stage = on(ledger, machine)
    planned = ledger.clock.now() - DAY + MINUTE - 1
    machine.plan(Launch(ProcessId("p"), "make", stage.runner.workspace, TurnId("t"), planned))
    watching = asyncio.ensure_future(
        Watcher(ledger.store, machine, stage.clock, ProcessSettings()).work(),
    )
    await stage.clock.nap(60.0)
    assert "p" in machine.table
    ledger.clock.advance(MINUTE)
    await stage.clock.nap(60.0)
    assert "p" not in machine.table
    watching.cancel()
    await asyncio.wait([watching])


class Unreadable(SimProcesses):
    """Its output cannot be read."""

    async def output(self, id: ProcessId, start: int, most: int) -> Output:
        raise OSError("the disk is away")


async def test_the_output_of_a_process_is_read_only_if_lines_of_it_are_waited_for(ledger: Ledger) -> None:
    machine, reports = Unreadable(), Reports()
    await begin(ledger, machine)
    assert await watcher(ledger, machine, reports).look() == 1
    assert reports.doing == []


class Chatty(SimProcesses):
    """A process that puts out more than is read at a time, for as long as it is read."""

    reads = 0

    async def output(self, id: ProcessId, start: int, most: int) -> Output:
        self.reads += 1
        if self.reads < 9:
            self.put_out(id, "x" * (2 * most) + "\n")
        return await super().output(id, start, most)


@pytest.mark.guards("R11.3")
async def test_a_process_that_never_falls_silent_keeps_the_watcher_from_no_other(ledger: Ledger) -> None:
    machine = Chatty()
    id = await begin(ledger, machine, watch=["error"])
    ledger.clock.advance(1_000)
    watch = watcher(ledger, machine, Reports())
    await watch.look()
    assert machine.reads == 1, "the rest is for the next look"
    machine.put_out(id, "error: at last\n")
    while not await waiting(ledger):
        await watch.look()
    assert await waiting(ledger) == [f"process:{id}:match:1"]


class Counting(SimProcesses):
    """Counts what it is told to kill."""

    def __init__(self) -> None:
        super().__init__()
        self.kills: list[ProcessId] = []

    async def kill(self, id: ProcessId, identity: Identity) -> ProcessStatus:
        self.kills.append(id)
        return await super().kill(id, identity)


@pytest.mark.guards("R11.1", "R20")
async def test_a_process_that_ended_by_itself_is_not_killed_when_it_is_forgotten(ledger: Ledger) -> None:
    machine, reports = Counting(), Reports()
    id = await begin(ledger, machine)
    machine.end(id, 0)
    watch = watcher(ledger, machine, reports)
    await watch.look()
    scope = Scope(key(), await ledger.command("/forget everything"))
    assert await ledger.store.quiet(scope)
    await ledger.store.erase(scope)
    await watch.sweep()
    assert (machine.table, machine.kills, reports.doing) == ({}, [], [])
    (found,) = await ledger.store.known_processes((id,))
    assert (found.state, found.command) == (ProcessState.EXITED, "")
