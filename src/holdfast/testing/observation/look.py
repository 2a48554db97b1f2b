"""What has changed in a ledger since it was last looked at, past the store."""

from __future__ import annotations

from pathlib import Path

from holdfast.policy.settings import RecoverySettings
from holdfast.testing.invariants.ages import Ages, Now
from holdfast.testing.invariants.resume_line import InLine

from .commits import Answered, Claim, Left, PutAside, Woken, Write
from .ledger_view import LedgerView

SUSPECT = RecoverySettings().suspect_strikes
_SESSIONS = """
SELECT id, generation, coalesce((SELECT max(seq) FROM entries WHERE session = id), 0) FROM sessions
ORDER BY id"""
_APPENDED = """
SELECT e.session, e.seq, e.turn, t.generation FROM entries e JOIN turns t ON t.id = e.turn
WHERE e.session = :session AND e.seq > :seen AND e.kind NOT IN ('undone', 'summed') ORDER BY e.seq"""
_RUNNING = """
SELECT t.session, t.id, t.generation, s.generation, t.progress_at, s.strikes, t.progress_mark
FROM turns t JOIN sessions s ON s.id = t.session WHERE t.state = 'running'"""
_CUT_OFF = """
SELECT id, quarantined FROM turns WHERE ended_at IS NULL AND state <> 'running' AND interruptions > noted"""
_ANSWERABLE = """
SELECT id, progress_at, progress_mark FROM turns
WHERE ended_at IS NULL AND state <> 'running' AND (interruptions <= noted OR consented = interruptions
   OR EXISTS (SELECT 1 FROM questions q
              WHERE q.turn = turns.id AND q.state = 'answered' AND q.closed_at = turns.progress_at))"""
_IN_LINE = """
SELECT t.id, t.state = 'running', t.interruptions FROM turns t JOIN sessions s ON s.id = t.session
WHERE t.ended_at IS NULL AND (t.state = 'running'
   OR t.state = 'queued' AND t.interruptions > t.noted AND s.strikes < :suspect)"""
_UNHEARD = """
SELECT t.id, min(q.expires_at, coalesce(q.closed_at, q.expires_at)) + t.quarantined
FROM turns t JOIN questions q ON q.turn = t.id JOIN tool_calls c ON c.turn = q.turn AND c.id = q.call
WHERE t.state = 'running' AND q.kind = 'approval' AND q.state IN ('expired', 'undeliverable')
  AND c.state = 'planned' AND NOT (t.interruptions > 0 AND t.consented = t.interruptions)"""
_TOO_OLD = "SELECT 1 FROM turns WHERE id = :turn AND why = 'too_old'"
_ANSWERED = """
SELECT q.id, q.incarnation, s.incarnation, max(0, q.closed_at - q.expires_at)
FROM questions q JOIN sessions s ON s.id = q.session WHERE q.state = 'answered' ORDER BY q.id"""
_PUT_ASIDE = """
SELECT q.id, s.key FROM questions q JOIN sessions s ON s.id = q.session
WHERE q.state = 'set_aside' ORDER BY q.id"""
_WROTE = "SELECT sender FROM inbox WHERE key = :key AND position > :after ORDER BY position"
_WOKEN = """
SELECT i.event_id, t.session, t.id FROM inbox i JOIN turns t ON t.id = i.turn
WHERE i.kind = 'wakeup' AND i.state = 'taken' ORDER BY i.position"""


_BEHIND_PAUSED = """
SELECT i.position, i.sender, t.id FROM turns t JOIN sessions s ON s.id = t.session AND s.strikes < :suspect
JOIN inbox i ON i.key = s.key AND i.state = 'waiting' AND i.kind = 'message'
WHERE t.ended_at IS NULL AND t.state = 'interrupted' AND t.held = 'safe_mode' ORDER BY i.position"""


class LedgerWatch(LedgerView):
    """A ledger that is looked at again and again: what has changed since the last time."""

    def __init__(self, path: Path, ages: Ages, now: Now) -> None:
        super().__init__(path)
        self._sessions: dict[str, tuple[int, int]] = {}
        """Generation and last entry of each session, as last seen."""
        self._running: frozenset[tuple[str, str, int]] = frozenset()
        """Session, turn and generation of what runs, as last seen."""
        self._cut_off: dict[str, int] = {}
        """Interrupted work and how long it stood in line, as last seen."""
        self._ages = ages
        self.left: tuple[Left, ...] = ()
        """Interrupted work that was left for its age by the last commit."""
        self.suspects: frozenset[str] = frozenset()
        """The turns that ran after the last commit in sessions that have to run alone."""
        self._answered: frozenset[str] = frozenset()
        self._put_aside: frozenset[str] = frozenset()
        self._position = 0
        """The last inbox row, as last seen."""
        self._woken: frozenset[str] = frozenset()
        self._consumed: frozenset[str] = frozenset()
        """Processes whose end somebody had seen, as last seen."""
        self.answered()
        self.put_aside()
        self.woken()
        self.claimed(now)
        self.appended()

    def woken(self) -> list[Woken]:
        """The wake-ups that turns have taken since the last call."""
        lines = [Woken(*line) for line in self._all(_WOKEN)]
        seen = [line._replace(seen=_process_of(line.event_id) in self._consumed) for line in lines]
        before, self._woken = self._woken, frozenset(line.event_id for line in lines)
        self._consumed = frozenset(id_ for (id_,) in self._all("SELECT id FROM processes WHERE consumed"))
        return [line for line in seen if line.event_id not in before]

    @property
    def running(self) -> frozenset[str]:
        """The turns that ran after the last commit that was looked at."""
        return frozenset(turn for _, turn, _ in self._running)

    def claimed(self, now: Now) -> list[Claim]:
        """What was set running since the last call. Before `appended`, which takes note of generations."""
        found = self._all(_RUNNING)
        # One of its strikes is that of the run itself.
        self.suspects = frozenset(line[1] for line in found if line[5] > SUSPECT)
        running = {line[:3]: line[3] for line in found}
        before, self._running = self._running, frozenset(running)
        cut_off, self._cut_off = self._cut_off, self._held_up(now)
        gone = cut_off.keys() - self._cut_off.keys() - self.running
        self.left = tuple(
            Left(turn, self._ages.age(turn, cut_off[turn], now))
            for turn in sorted(gone)
            if self._all(_TOO_OLD, turn=turn)
        )
        unheard = dict(self._all(_UNHEARD))
        claims = [
            Claim(
                *line,
                self._sessions.get(line[0], (0, 0))[0],
                running[line],
                self._ages.age(line[1], cut_off[line[1]], now) if line[1] in cut_off else 0,
                self._silent_for(line[1], unheard, now),
            )
            for line in sorted(self._running - before)
        ]
        for line in found:
            self._ages.see(line[1], line[4], line[6], now)
        return claims

    def _silent_for(self, turn: str, expiries: dict[str, int], now: Now) -> int:
        """How long ago an approval of this turn expired: not before its last progress, on either clock."""
        expired_at = expiries.get(turn)
        return 0 if expired_at is None else min(now.wall - expired_at, self._ages.age(turn, 0, now))

    def in_line(self) -> InLine:
        """What waits for a worker to go on, and what the workers do."""
        found = self._all(_IN_LINE, suspect=SUSPECT)
        running = {turn: interruptions for turn, runs, interruptions in found if runs}
        queued = frozenset(turn for turn, runs, _ in found if not runs)
        return InLine(queued, frozenset(running), sum(map(bool, running.values())))

    def _held_up(self, now: Now) -> dict[str, int]:
        """Interrupted work, and for how long each stood in line."""
        # Of work that does not run only a person's word is progress: an answer, or that it shall go on.
        for turn, progress_at, mark in self._all(_ANSWERABLE):
            self._ages.see(turn, progress_at, mark, now)
        return dict(self._all(_CUT_OFF))

    def answered(self) -> list[Answered]:
        """The questions that got an answer since the last call."""
        lines = [Answered(*line) for line in self._all(_ANSWERED)]
        before, self._answered = self._answered, frozenset(line.question for line in lines)
        return [line for line in lines if line.question not in before]

    def behind_paused(self) -> list[tuple[int, str, str]]:
        """Messages that wait behind work which safe mode holds: position, sender and turn."""
        return self._all(_BEHIND_PAUSED, suspect=SUSPECT)

    def put_aside(self) -> list[PutAside]:
        """The questions that something else has closed since the last call, and who wrote there since."""
        lines = self._all(_PUT_ASIDE)
        before, self._put_aside = self._put_aside, frozenset(id_ for id_, _ in lines)
        after, ((self._position,),) = (
            self._position,
            self._all("SELECT coalesce(max(position), 0) FROM inbox"),
        )
        return [
            PutAside(id_, tuple(sender for (sender,) in self._all(_WROTE, key=key, after=after)))
            for id_, key in lines
            if id_ not in before
        ]

    def appended(self) -> list[Write]:
        """What turns wrote since the last call, with the generation their sessions had then.

        An undo or a summary is written beside turns, not by one.
        """
        writes: list[Write] = []
        for session, generation, last in self._all(_SESSIONS):
            before, seen = self._sessions.get(session, (0, 0))
            if last > seen:
                lines = self._all(_APPENDED, session=session, seen=seen)
                writes += [Write._make((*line, before)) for line in lines]
            self._sessions[session] = (generation, last)
        return writes


def _process_of(event_id: str) -> str:
    kind, _, rest = event_id.partition(":")
    return rest.partition(":")[0] if kind == "process" else ""
