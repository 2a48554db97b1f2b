"""Rules about background processes: each starts once, the gateway knows it, and tells its end once."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator

from holdfast.policy.turn.views import Role
from holdfast.testing.observation.history import CallLine, EntryLine, History, ProcessLine

_OVER = ("ended", "killed", "lost")


def r11_processes(history: History) -> Iterator[str]:
    """R11: one start per call, never unknown; an end wakes its conversation once, or a call showed it."""
    yield from _started(history)
    yield from _ended(history)
    yield from _woken(history)


def woken_by_the_gateway(history: History) -> Iterator[str]:
    """R11.2: the model gets a wake-up as a note, never as a person's words."""
    said = {row.text for row in history.ledger.inbox if row.kind == "message"}
    wakes = {row.text: row.event_id for row in history.ledger.inbox if row.kind == "wakeup" and row.text}
    for asked in history.asked:
        for message in asked.messages:
            if message.role is Role.USER and message.text in wakes and message.text not in said:
                yield f"turn {asked.turn} was shown {wakes[message.text]} as a person's words"


def happened(history: History, event_id: str) -> bool:
    """Whether the cause of this wake-up happened: the end of a process, its output, a goal."""
    kind, _, rest = event_id.partition(":")
    process, _, what = rest.partition(":")
    seen = Counter(one.what for one in history.worked if one.process == process)
    if kind == "process" and what == "ended":
        return any(seen[over] for over in _OVER)
    if kind == "process":
        return seen["put_out"] >= 1
    if kind == "goal":
        ledger = history.ledger
        return process in {goal.session for goal in ledger.goals} | {turn.id for turn in ledger.turns}
    return True


def _started(history: History) -> Iterator[str]:
    known = {process.id for process in history.ledger.processes}
    begun = [one for one in history.worked if one.what == "began"]
    for (turn, command), count in Counter((one.turn, one.command) for one in begun).items():
        if count > 1:
            yield f"{command!r} of turn {turn} was started {count} times"
    for one in begun:
        if one.process not in known:
            yield f"process {one.process} ({one.command}) was started, and the ledger does not know it"
        if one.over:
            yield f"process {one.process} ({one.command}) was started after the end of turn {one.turn}"
        calls = [call for call in history.ledger.calls if _starts(call, one.turn, one.command)]
        if calls and all(call.state in ("planned", "skipped") for call in calls):
            yield f"process {one.process} ({one.command}) was started by a call that is {calls[0].state}"


def _starts(call: CallLine, turn: str, command: str) -> bool:
    return call.turn == turn and call.name == "process_start" and _given(call).get("command") == command


def _ended(history: History) -> Iterator[str]:
    ledger = history.ledger
    over = {one.process: one.what for one in history.worked if one.what in _OVER}
    rows = {row.event_id for row in ledger.inbox}
    for process in ledger.processes:
        if (process.state == "running") == (process.id in over):
            really = over.get(process.id, "it runs")
            yield f"process {process.id} is {process.state}, but in the world: {really}"
        if process.remembered:
            yield f"process {process.id} is {process.state}, but its conversation is forgotten"
        if process.state == "running" or process.left:
            continue
        is_told = f"process:{process.id}:ended" in rows
        if process.notify and not process.consumed and not is_told:
            yield f"the end of process {process.id} woke no session, and no call showed it"
        if process.consumed and process.state != "killed" and not _shown(history, process):
            yield f"the end of process {process.id} counts as seen, but no call showed it"


def _woken(history: History) -> Iterator[str]:
    ledger = history.ledger
    processes = {process.id: process for process in ledger.processes}
    said = {(line.session, _text(line)): line.seq for line in ledger.entries if line.kind == "said"}
    last = dict[str, int]()
    for woken in history.woken:
        if woken.seen:
            yield f"{woken.event_id} came into turn {woken.turn}, but a call had shown its end"
        process = processes.get(woken.event_id.split(":")[1])
        if process is not None and process.session != woken.session:
            yield f"{woken.event_id} woke {woken.session}, but it belongs to {process.session}"
    for row in ledger.inbox:
        process = processes.get(row.event_id.split(":")[1]) if row.event_id.startswith("process:") else None
        if process is None:
            continue
        what, _, number = row.event_id.split(":", 2)[2].partition(":")
        if number and int(number) > history.wakeups:
            yield f"{row.event_id} is one wake-up more than allowed"
        at = said.get((process.session, row.text), 0) if row.state == "taken" and row.text else 0
        if at and any(line.seq < at for line in _shown(history, process)):
            yield f"{row.event_id} came into turn {row.turn} after its end was shown there"
        if at and what == "match" and at > last.get(process.id, at):
            yield f"{row.event_id} came into turn {row.turn} after the note of its end"
        if at and what == "ended":
            last[process.id] = at


def _shown(history: History, process: ProcessLine) -> list[EntryLine]:
    """The results that showed the end of a process, or ended it."""
    calls = {(call.turn, call.id): call for call in history.ledger.calls}
    found = []
    for line in history.ledger.entries:
        call = calls.get((line.turn, line.call or "")) if line.kind == "returned" and line.body else None
        if call is None or call.state != "done" or _given(call).get("process") != process.id:
            continue
        looked = call.name == "process_look" and _given(call).get("how") != "list"
        if call.name == "process_kill" or (looked and "): running" not in _text(line).partition("\n")[0]):
            found.append(line)
    return found


def _given(call: CallLine) -> dict[str, object]:
    # An erased call has no arguments any more.
    given = json.loads(call.arguments or "{}")
    return given if isinstance(given, dict) else {}


def _text(line: EntryLine) -> str:
    return str(json.loads(line.body)["text"]) if line.body else ""
