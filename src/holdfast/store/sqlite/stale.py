"""What dead owners left: found by index, written back in groups, guarded by what was decided on."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable

from holdfast.model import (
    Interruption,
    OnInterruption,
    QuestionState,
    SessionId,
    StopKind,
    Tail,
    TurnId,
    TurnState,
)
from holdfast.policy.recovery import LEADS_TO, Outcome
from holdfast.policy.recovery import Row as Rule
from holdfast.store.contract import StaleTurn, Verdict

from .commit import Row, Tx
from .endings import end_session
from .owing import owe_all
from .readers import Read
from .rows import time_or_none
from .steps import add_question, settle_open_calls

_TAILS = {tail.value: tail for tail in Tail}
_RUNNING, _INTERRUPTED = TurnState.RUNNING, TurnState.INTERRUPTED


def interrupt_orphans(tx: Tx, limit: int = 500) -> int:
    found = tx.all("orphans", owner=tx.instance, limit=limit)
    if not found:
        return 0
    turns = json.dumps([row[0] for row in found])
    tx.run("interrupt_orphans", turns=turns, reason=Interruption.RESTART_INTERRUPTED, now=tx.now)
    runs = [(session, max(0, (beat or 0) - claimed)) for _, session, _, claimed, beat in found]
    tx.run("remember_fatal_runs", runs=json.dumps(runs))
    detail = json.dumps({"reason": Interruption.RESTART_INTERRUPTED})
    _events(tx, "interrupted", ((row[0], detail) for row in found))
    tx.changed("recovery")
    return len(found)


def _events(tx: Tx, what: str, happened: Iterable[tuple[str, str]]) -> None:
    pairs = json.dumps([(f"turn:{turn}", detail) for turn, detail in happened])
    tx.run("add_events", at=tx.now, instance=tx.instance, what=what, pairs=pairs)


def stale_turns(read: Read, after: TurnId | None = None, limit: int = 500) -> tuple[StaleTurn, ...]:
    found = read.all("stale_turns", after=after or "", limit=limit, now=read.now)
    return tuple(stale_turn(row) for row in found)


def stale_turn(row: Row) -> StaleTurn:
    """One row as recovery's facts; a damaged time or tail counts as absent, the rest of the row holds."""
    values = list(row)
    values[6] = bool(row[6])
    values[7] = StopKind(row[7]) if row[7] else None
    values[9] = _TAILS.get(row[9], Tail.WORK)
    values[10] = QuestionState(row[10]) if row[10] else None
    values[16] = time_or_none(row[16])
    values[19] = OnInterruption(row[19]) if row[19] else None
    values[20] = bool(row[20])
    values[22] = TurnState(row[22])
    return StaleTurn._make(values)


def settle_stale(tx: Tx, verdicts: tuple[Verdict, ...]) -> tuple[TurnId, ...]:
    by_rule: dict[str, list[Verdict]] = defaultdict(list)
    for verdict in verdicts:
        by_rule[verdict.decision.row.name].append(verdict)
    written: list[TurnId] = []
    for group in by_rule.values():
        rule = group[0].decision.row
        guards = json.dumps([(v.stale.turn, v.stale.generation, v.stale.incarnation) for v in group])
        done = _CARRY_OUT[rule.outcome](tx, rule, guards, {v.stale.turn: v for v in group})
        written += done
    return tuple(written)


Group = dict[TurnId, Verdict]


def _resume(tx: Tx, rule: Rule, guards: str, group: Group) -> list[TurnId]:
    turns = [TurnId(row[0]) for row in tx.all("requeue_stale", guards=guards, now=tx.now)]
    tx.run("ready_requeued", keys=_keys(group, turns), now=tx.now)
    _log(tx, "requeued", group, turns)
    if turns:
        tx.changed("turns")
    return turns


def _hold(tx: Tx, rule: Rule, guards: str, group: Group) -> list[TurnId]:
    turns = [TurnId(row[0]) for row in tx.all("hold_stale", guards=guards, row=rule.name, now=tx.now)]
    _log(tx, "held", group, turns)
    return turns


def _wait(tx: Tx, rule: Rule, guards: str, group: Group) -> list[TurnId]:
    turns = [TurnId(row[0]) for row in tx.all("wait_stale", guards=guards, ask=False)]
    _log(tx, "waiting", group, turns)
    return turns


def _ask(tx: Tx, rule: Rule, guards: str, group: Group) -> list[TurnId]:
    written = tx.all("wait_stale", guards=guards, ask=True)
    for turn, session in written:
        ask = group[turn].ask
        assert ask is not None, "a verdict that asks carries its question"
        add_question(tx, SessionId(session), TurnId(turn), ask)
    turns = [TurnId(row[0]) for row in written]
    _log(tx, "waiting", group, turns)
    return turns


def _end(tx: Tx, rule: Rule, guards: str, group: Group) -> list[TurnId]:
    state = LEADS_TO[rule.outcome]
    written = tx.all("end_stale", guards=guards, state=state, why=rule.name, now=tx.now)
    turns = [TurnId(row[0]) for row in written]
    if not turns:
        return turns
    sessions = json.dumps([row[1] for row in written])
    listed = json.dumps(turns)
    by_turn = {row[0]: SessionId(row[1]) for row in written}
    for (turn,) in tx.all("turns_with_open_calls", turns=listed):
        settle_open_calls(tx, by_turn[turn], turn)
    tx.run("cancel_questions_of", turns=listed, now=tx.now)
    if rule.outcome is Outcome.PARK:
        tx.run("suspend_sessions", sessions=sessions, why=rule.name, now=tx.now)
        tx.run("blame_instances", turns=listed)
    tx.run("after_stale_end", sessions=sessions, done=state is TurnState.DONE, now=tx.now)
    for _, session, stop in written:
        if stop == StopKind.NEW:
            end_session(tx, SessionId(session), "new")
    for turn in turns:
        owe_all(tx, group[turn].owe, by_turn[turn], turn)
    tx.run("ready_freed", keys=_keys(group, turns), now=tx.now)
    _log(tx, state, group, turns)
    tx.changed("turns")
    return turns


_CARRY_OUT: dict[Outcome, Callable[[Tx, Rule, str, Group], list[TurnId]]] = {
    Outcome.RESUME: _resume,
    Outcome.HOLD: _hold,
    Outcome.WAIT: _wait,
    Outcome.ASK: _ask,
    Outcome.CANCEL: _end,
    Outcome.DONE: _end,
    Outcome.EXPIRE: _end,
    Outcome.PARK: _end,
    Outcome.PARK_WITH_SESSION: _end,
}


def _keys(group: Group, turns: list[TurnId]) -> str:
    return json.dumps([group[turn].stale.key for turn in turns])


def _log(tx: Tx, what: str, group: Group, turns: list[TurnId]) -> None:
    """Keep the row that decided and the facts it saw, for people to read."""
    if turns:
        _events(tx, what, ((turn, _detail(group[turn])) for turn in turns))


def _detail(verdict: Verdict) -> str:
    decision = verdict.decision
    return json.dumps({"row": decision.row.name, "facts": decision.facts})


def lane_taken(read: Read, suspect_strikes: int = 2) -> bool:
    row = read.one("lane_taken", suspect_strikes=suspect_strikes)
    return bool(row and row[0])
