"""The turns of dead processes: found by index, written back in groups, each guarded by the facts it had."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from operator import attrgetter

from holdfast.errors import Refused
from holdfast.model import (
    Interruption,
    Key,
    QuestionKind,
    QuestionState,
    SessionId,
    StopKind,
    Stopped,
    StrikeRecord,
    TurnId,
)
from holdfast.policy.recovery.outcome import LEADS_TO, Outcome
from holdfast.policy.recovery.parks import MOST_PARKS
from holdfast.policy.recovery.strikes import after_standstill, cut_by
from holdfast.policy.settings import RecoverySettings
from holdfast.store.contract import InterruptedWork, JudgePage, Settled, StaleTurn, Verdict
from holdfast.store.verbs.codec import encode
from holdfast.store.verbs.delivery.outbox_insert import Debt, owe_debts
from holdfast.store.verbs.intake.goal_turns import end_goals, queue_goal_turns
from holdfast.store.verbs.intake.intake import STOOD_STILL, drop_wakeups_of
from holdfast.store.verbs.repair import mend_open_work
from holdfast.store.verbs.rows import on_interruption_or_none, reader, stop, tail, time_or_none
from holdfast.store.verbs.set_aside import set_conversation_aside
from holdfast.store.verbs.transcripts import entries_of_turn
from holdfast.store.verbs.turn.steps import add_questions, settle_open_work
from holdfast.store.verbs.tx import PartUndone, Read, Row, Tx

_question_state, _question_kind, _stopped = reader(QuestionState), reader(QuestionKind), reader(Stopped)


def interrupt_orphans(tx: Tx, limit: int = 500, running: tuple[TurnId, ...] | None = None) -> int:
    found = tx.all(
        "orphans",
        owner=tx.instance,
        running=None if running is None else encode(running),
        limit=limit,
    )
    if not found:
        return 0
    try:
        tx.apart(partial(_interrupt, tx, found))
        done = len(found)
    except PartUndone:
        mend_open_work(tx)
        done = sum(_interrupt_alone(tx, row) for row in found)
    tx.changed("recovery")
    return done


def _interrupt_alone(tx: Tx, row: Row) -> bool:
    """Interrupt one turn; if its row cannot be changed, only this turn is set aside."""
    try:
        tx.apart(partial(_interrupt, tx, [row]))
    except PartUndone as undone:
        for (key,) in tx.all("key_of_session", session=row[1]):
            set_conversation_aside(tx, Key(key), undone.fault)
        return False
    return True


def _interrupt(tx: Tx, found: list[Row]) -> None:
    causes: dict[Interruption, list[Row]] = defaultdict(list)
    for row in found:
        causes[cut_by(_stopped(row[5]))].append(row)
    for reason, cut in causes.items():
        died = reason is Interruption.RESTART_INTERRUPTED
        turns = encode([row[0] for row in cut])
        if died:
            _suspect(tx, turns)
        tx.run("interrupt_orphans", turns=turns, reason=reason, died=int(died), owner=tx.instance, now=tx.now)
        if died:
            _count_deaths(tx, cut)
        else:
            _count_cuts(tx, cut)
        tx.events([("interrupted", f"turn:{row[0]}", {"reason": reason}) for row in cut])


def _suspect(tx: Tx, turns: str) -> None:
    """Make suspects of the sessions that ran a tool while the loop stood still.

    This comes before the interruption, while the turns still have their owner.
    """
    for session, strikes in tx.all("ran_while_it_stood_still", turns=turns, what=STOOD_STILL):
        tx.run("set_strikes", session=session, strikes=after_standstill(strikes, RecoverySettings()))


def _count_deaths(tx: Tx, found: list[Row]) -> None:
    # Only the age of a run whose process died counts; a damaged time counts as 0.
    runs = [
        (session, _ran_for(claimed, beat))
        for _, session, owner, claimed, beat, *_ in found
        if owner != tx.instance
    ]
    tx.run("remember_fatal_runs", runs=encode(runs))


def _count_cuts(tx: Tx, found: list[Row]) -> None:
    """Count a cut as the process itself would have done, if it could have written to the ledger."""
    for _, session, *_, productive in found:
        tx.run("take_strike_back" if productive else "count_cut", session=session)


def _ran_for(claimed: int | None, beat: int | None) -> int:
    since, until = time_or_none(claimed), time_or_none(beat)
    return 0 if since is None or until is None else max(0, until - since)


def stale_turns(read: Read, after: TurnId | None = None, limit: int = 500) -> tuple[StaleTurn, ...]:
    return _stale(read.one("stale_turns", after=after or "", limit=limit, now=read.now))


def stale_turn(tx: Tx, turn: TurnId) -> StaleTurn:
    """A queued turn with the facts that recovery would see of it."""
    (stale,) = _stale(tx.one("stale_turn", turn=turn, now=tx.now))
    return stale


def _stale(found: Row | None) -> tuple[StaleTurn, ...]:
    """Rows as recovery's facts; a damaged time or word counts as absent, the rest of its row stays."""
    assert found is not None
    values, lines = found
    page = json.loads(values)
    for row, line in zip(page, lines.split("\n") if page else (), strict=True):
        row[_PROGRESS], row[_SILENT] = time_or_none(row[_PROGRESS]), time_or_none(row[_SILENT])
        row.append(_condition(line))
    # The constructor would cost twice as much, and a boot may read ten thousand of them.
    return tuple([tuple.__new__(StaleTurn, row) for row in page])


_PROGRESS, _SILENT = map(StaleTurn._fields.index, ("progress_at", "silent_since"))


@lru_cache(maxsize=1_000)
def _condition(values: str) -> InterruptedWork:
    """The condition of a turn; the cache parses it once for all turns in the same condition."""
    # fmt: off
    (suspended, stopped, ends_in, question, noted, strikes, interruptions, interruption, owner, held, chosen,
     consented, deaths, cuts, turn_deaths, follows_park, parks) = json.loads(values)
    state, _, kind = (question or "").partition(" ")
    return InterruptedWork(
        suspended == 1, stop(stopped), tail(ends_in), _question_state(state), _question_kind(kind), noted,
        strikes, interruptions, interruption, owner, held, on_interruption_or_none(chosen), consented == 1,
        StrikeRecord(deaths, cuts, turn_deaths, follows_park == 1, parks),
    )
    # fmt: on


def settle_stale(tx: Tx, page: Sequence[StaleTurn], judge: JudgePage) -> Settled:
    try:
        return tx.apart(partial(_settle, tx, page, judge))
    except PartUndone as undone:
        if isinstance(undone.fault, Refused):
            raise undone.fault from undone
    # A row is damaged, or met a bug of the gateway: only this row is set aside, and all others go on.
    mend_open_work(tx)
    settled: dict[Outcome, tuple[TurnId, ...]] = defaultdict(tuple)
    for stale in page:
        try:
            for outcome, turns in tx.apart(partial(_settle, tx, (stale,), judge)).items():
                settled[outcome] += turns
        except PartUndone as undone:
            if isinstance(undone.fault, Refused):
                raise undone.fault from undone
            set_conversation_aside(tx, stale.key, undone.fault)
    return settled


def _settle(tx: Tx, page: Sequence[StaleTurn], judge: JudgePage) -> Settled:
    go_on, others = judge(page, tx.now, partial(entries_of_turn, tx))
    settled: dict[Outcome, tuple[TurnId, ...]] = defaultdict(tuple)
    if go_on and (in_line := _requeue(tx, go_on)):
        settled[Outcome.RESUME] = in_line
    if others:
        for verdict in _carry_out(tx, _unmoved(tx, others)):
            settled[verdict.decision.outcome] += (verdict.stale.turn,)
    return settled


_COUNTERS = (attrgetter("generation"), attrgetter("incarnation"), attrgetter("stands.consented"))


def _unmoved(tx: Tx, verdicts: Sequence[Verdict]) -> Sequence[Verdict]:
    """The verdicts whose turn has not changed since the decision; this transaction keeps it so.

    Counters only grow, and consent is never taken back: if the sums are the same, every single value is the
    same. The sums are compared first, because they nearly always match.
    """
    stale = [v.stale for v in verdicts]
    sums = [len(stale)] + [sum(map(counter, stale)) for counter in _COUNTERS]
    found = tx.one("as_decided_on", turns=_turns(verdicts))
    if found is not None and list(found) == sums:
        return verdicts
    guards = {s.turn: f"{s.generation}:{s.incarnation}:{s.stands.consented:d}" for s in stale}
    moved = {row[0] for row in tx.all("moved", guards=encode(guards))}
    return [v for v in verdicts if v.stale.turn not in moved]


def _carry_out(tx: Tx, verdicts: Sequence[Verdict]) -> list[Verdict]:
    """Write all verdicts with the same kind of outcome together; returns the verdicts that were written."""
    groups: dict[Group, list[Verdict]] = defaultdict(list)
    for verdict in verdicts:
        groups[_GROUPS[verdict.decision.outcome]].append(verdict)
    written = [verdict for write, group in groups.items() for verdict in write(tx, group)]
    owe_debts(tx, [Debt(owed, v.stale.session, v.stale.turn) for v in written for owed in v.owe])
    return written


def _requeue(tx: Tx, go_on: Sequence[StaleTurn]) -> tuple[TurnId, ...]:
    """Queue the turns that no process has claimed or ended meanwhile; their claim judges them once more."""
    guards = encode({stale.turn: stale.generation for stale in go_on})
    if tx.run("requeue_stale", guards=guards, now=tx.now) < len(go_on):
        queued = {row[0] for row in tx.all("queued_among", guards=guards)}
        go_on = [stale for stale in go_on if stale.turn in queued]
    tx.run("ready_requeued", keys=encode([stale.key for stale in go_on]), now=tx.now)
    # No event is written here: the claim that follows writes one.
    tx.changed("turns")
    return tuple([stale.turn for stale in go_on])


def _hold(tx: Tx, group: list[Verdict]) -> list[Verdict]:
    fresh = [v for v in group if v.stale.stands.held != v.decision.row.name]
    if fresh:
        held = encode([(v.stale.turn, v.decision.row.name) for v in fresh])
        tx.run("hold_stale", held=held, now=tx.now)
        _log(tx, fresh, "held")
    return fresh


def _wait(tx: Tx, group: list[Verdict]) -> list[Verdict]:
    waiting = {row[0] for row in tx.all("wait_stale", turns=_turns(group))}
    written = [v for v in group if v.stale.turn in waiting]
    _log(tx, written, "waiting")
    return written


def _ask(tx: Tx, group: list[Verdict]) -> list[Verdict]:
    tx.run("ask_stale", turns=_turns(group), now=tx.now)
    asked = [(v.stale.session, v.stale.turn, v.ask) for v in group if v.ask is not None]
    assert len(asked) == len(group), "a verdict that asks carries its question"
    add_questions(tx, asked)
    _log(tx, group, "waiting")
    return group


def _end(tx: Tx, group: list[Verdict]) -> list[Verdict]:
    turns = _turns(group)
    endings = [(v.stale, LEADS_TO[v.decision.row.outcome], v.decision.row.name) for v in group]
    tx.run("end_stale", endings=encode([(s.turn, state, why) for s, state, why in endings]), now=tx.now)
    overdue = tx.all("expire_overdue_of", turns=turns, now=tx.now)
    tx.events([("expired", f"question:{id}", {}) for (id,) in overdue])
    cut = settle_open_work(tx, {v.stale.turn: v.stale.session for v in group})
    group = [_with_partial(v, cut.get(v.stale.turn)) for v in group] if cut else group
    if tx.run("cancel_questions_of", turns=turns, now=tx.now) or overdue:
        tx.changed("questions")
    _suspend(tx, [v for v in group if v.decision.row.outcome is Outcome.PARK])
    sessions = encode([(s.session, state) for s, state, _ in endings])
    tx.run("after_stale_end", sessions=sessions, now=tx.now)
    _end_sessions(tx, [v.stale.session for v in group if _ends_session(v.stale.stands.stop)])
    done = {v.stale.session: v.stale.turn for v in group if v.decision.row.outcome is Outcome.DONE}
    queue_goal_turns(tx, done)
    tx.run("ready_freed", keys=_keys(group), now=tx.now)
    _log(tx, group)
    tx.changed("turns")
    return group


def _with_partial(verdict: Verdict, text: str | None) -> Verdict:
    """Owe the partial reply that the person saw before the words about the outcome."""
    return verdict if text is None else verdict._replace(owe=(*verdict.keep(text), *verdict.owe))


def _ends_session(stop: StopKind | None) -> bool:
    return stop is not None and stop.ends_session


def _end_sessions(tx: Tx, sessions: list[SessionId]) -> None:
    """End the sessions of turns that were asked to stop by `/new` and that no process ran any more."""
    if sessions:
        tx.run("end_sessions", sessions=encode(sessions), why="new", now=tx.now)
        drop_wakeups_of(tx, sessions)
        end_goals(tx, sessions)
        tx.events([("ended", f"session:{session}", {"why": "new"}) for session in sessions])


def _suspend(tx: Tx, parked: list[Verdict]) -> None:
    """Suspend the sessions of parked turns and mark the process runs that died of them."""
    if parked:
        sessions = encode([(v.stale.session, v.decision.row.name) for v in parked])
        tx.run("suspend_sessions", sessions=sessions, now=tx.now)
        drop_wakeups_of(tx, [v.stale.session for v in parked])
        tx.run("blame_instances", turns=_turns(parked))
        held = [v for v in parked if v.decision.holds_messages]
        tx.run("await_owner", keys=_keys(held), now=tx.now)
        tx.events([("held", f"conversation:{v.stale.key}", {"parks": MOST_PARKS}) for v in held])


Group = Callable[[Tx, list[Verdict]], list[Verdict]]

_GROUPS: dict[Outcome, Group] = {
    Outcome.HOLD: _hold,
    Outcome.WAIT: _wait,
    Outcome.ASK: _ask,
    Outcome.CANCEL: _end,
    Outcome.DONE: _end,
    Outcome.EXPIRE: _end,
    Outcome.PARK: _end,
    Outcome.PARK_WITH_SESSION: _end,
}
"""How each outcome is carried out; `_requeue` carries out the resume."""


def _turns(group: Sequence[Verdict]) -> str:
    return encode([v.stale.turn for v in group])


def _keys(group: list[Verdict]) -> str:
    return encode([v.stale.key for v in group])


def _log(tx: Tx, group: list[Verdict], what: str | None = None) -> None:
    """Log the row of the recovery table that decided and the facts it saw, for people to read."""
    if group:
        tx.events(
            [
                (what or LEADS_TO[row.outcome], f"turn:{stale.turn}", {"row": row.name, "facts": facts})
                for stale, (row, facts), *_ in group
            ]
        )


def lane_taken(read: Read, suspect_strikes: int = 2) -> bool:
    row = read.one("lane_taken", suspect_strikes=suspect_strikes)
    return bool(row and row[0])
