"""What operators see, in words: process runs, the pace of work, and the reasons of recovery's decisions."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence

from holdfast.model import Instance, StrikeRecord, TurnId, TurnState
from holdfast.policy.recovery.outcome import Decision, RecoveryFacts, Row, table
from holdfast.store import RULE_USED, Happening, KeptReport, Overview, TurnsPerMinute, Whereabouts

from .to_json import Json, report

MINUTE = 60_000
MINUTES = 60
LISTED_FATES = 20

_ROWS = {row.name: row for row in table()}
_OPEN = frozenset({TurnState.QUEUED, TurnState.RUNNING, TurnState.WAITING, TurnState.INTERRUPTED})


def counts(found: Overview) -> Json:
    """The numbers of open turns by state, and of everything that waits, is owed or needs a person."""
    by_state = dict.fromkeys(("queued", "running", "waiting", "interrupted"), 0)
    for one in found.open_turns:
        by_state[one.state.value] += one.count
    return {
        "turns": by_state,
        "held": sum(one.count for one in found.open_turns if one.held),
        "parked": found.parked,
        "on_hold": found.on_hold,
        "messages_waiting": found.waiting,
        "owed": found.owed,
        "unknown": found.unknown,
        "set_aside": found.set_aside,
    }


def pace(begun: Iterable[TurnsPerMinute], since: int) -> Json:
    """The turns begun in each minute, oldest first, with their states now."""
    done, unfinished, other = ([0] * MINUTES for _ in range(3))
    for one in begun:
        place = (one.minute - since) // MINUTE
        if 0 <= place < MINUTES:
            kind = done if one.state is TurnState.DONE else unfinished if one.state in _OPEN else other
            kind[place] += one.count
    return {"since": since, "minute": MINUTE, "done": done, "open": unfinished, "other": other}


def runs(instances: Sequence[Instance], reports: Iterable[KeptReport]) -> list[Json]:
    """Process runs, newest first: how each ended, what it left, and what the next run did about that.

    The newest run may still run, so it may have no end. Any other run without a recorded end crashed.
    """
    known = {one.instance: report(one) for one in reports}
    shown = []
    for place, run in enumerate(instances):
        own = known.get(run.id)
        after = known.get(instances[place - 1].id) if place else None
        before = instances[place + 1] if place + 1 < len(instances) else None
        shown.append(
            {
                "id": run.id,
                "pid": run.pid,
                "host": run.host,
                "version": run.version,
                "started_at": run.started_at,
                "seen_at": run.stopped_at or run.heartbeat_at,
                "ended": run.stopped.value if run.stopped else "crashed" if place else None,
                "led_to_park": run.led_to_park,
                "down_before": _since(before.stopped_at or before.heartbeat_at, run) if before else None,
                "recovered_after": max(0, own["at"] - run.started_at) if own else None,
                "left": _left(after) if after else None,
            }
        )
    return shown


def _since(seen: int, run: Instance) -> int:
    return max(0, run.started_at - seen)


def _left(after: Json) -> Json:
    """What a run left, as the next start found it, and what became of that."""
    counted = after.get("counts", [])
    return {
        "became": [{"outcome": outcome, "count": count} for outcome, count in counted],
        "owed": after.get("owed", 0),
        "unknown": after.get("unknown", 0),
        "waiting": after.get("waiting", 0),
    }


def fates(found: Json) -> list[Json]:
    """The first turns that a start found open, as its report lists them."""
    return [dict(fate) for fate in found.get("fates", [])[:LISTED_FATES]]


def last_report(found: Json, where: Mapping[TurnId, Whereabouts]) -> Json:
    """The report of the last start, with the session of every turn it lists."""
    listed = []
    for fate in fates(found):
        place = where.get(TurnId(fate["turn"]))
        listed.append(
            {
                **fate,
                "session": place.session if place else None,
                "key": place.key if place else None,
                "state": place.state.value if place and place.state else None,
            }
        )
    more = max(0, len(found.get("fates", [])) - len(listed))
    return {**found, "fates": listed, "more_fates": more}


def decisions(happenings: Sequence[Happening]) -> list[Json]:
    """What interrupted turns, and what recovery decided, newest first: the row, and the facts it saw.

    A turn that waits for a person and continues with the answer is neither.
    """
    found = [_decision(one) for one in happenings]
    return [one for one in found if one["row"] is not None or not _is_ordinary(one)]


def _is_ordinary(decision: Json) -> bool:
    """Whether it says only that the turn waits for a person, continues with the answer, or needed none."""
    claimed = decision["what"] == "claimed"
    ordinary = ("waiting", "queued", RULE_USED)
    return decision["what"] in ordinary or (claimed and "resumed" not in decision["detail"])


def _decision(happening: Happening) -> Json:
    detail = _loaded(happening.detail)
    row = _ROWS.get(str(detail.get("row")))
    facts = _facts(detail.get("facts"))
    return {
        "at": happening.at,
        "turn": happening.subject.partition(":")[2],
        "instance": happening.instance,
        "what": happening.what,
        "row": detail.get("row"),
        "found": row.found if row else None,
        "sentence": _sentence(row, facts),
        "facts": [] if facts is None else _in_words(facts, happening.at),
        "detail": {name: value for name, value in detail.items() if name not in ("row", "facts")},
    }


def _loaded(detail: str | None) -> Json:
    try:
        found = json.loads(detail or "{}")
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _facts(kept: object) -> RecoveryFacts | None:
    """The facts that a decision saw; None if a version with other facts recorded them."""
    if not isinstance(kept, list) or len(kept) != len(RecoveryFacts._fields):
        return None
    *rest, counted = kept
    if not isinstance(counted, list) or len(counted) != len(StrikeRecord._fields):
        return None
    return RecoveryFacts(*rest)._replace(record=StrikeRecord(*counted))


def _sentence(row: Row | None, facts: RecoveryFacts | None) -> str | None:
    if row is None:
        return None
    return row.sentence if facts is None else Decision(row, facts).sentence


def _in_words(facts: RecoveryFacts, at: int) -> list[str]:
    return [words for words in (*_of_the_work(facts, at), *_of_the_gateway(facts)) if words]


_TAILS = {
    "nothing": "nothing had been done yet",
    "answer": "the transcript ended in a final answer",
    "note": "the transcript ended in a recovery note",
    "question": "the transcript ended in a question to the person",
    "message": "the transcript ended in a message of the person",
    "work": "the transcript ended in unfinished work",
    "partial": "the transcript ended in an interrupted reply",
}


def _of_the_work(facts: RecoveryFacts, at: int) -> Iterable[str | None]:
    yield f"interrupted {_times(facts.interruptions)}, reason {facts.reason or 'not recorded'}"
    yield _TAILS.get(facts.tail, f"the transcript ended in: {facts.tail}")
    yield f"its question was {facts.question}" if facts.question else None
    if facts.progress_at is None:
        yield "no readable time of last progress"
    else:
        yield f"last progress {_seconds(at - facts.progress_at)} before"
    yield (
        f"{_seconds(facts.quarantined_for)} of waiting in the lane not counted"
        if facts.quarantined_for
        else None
    )
    yield "the last resume ended without a result" if facts.resume_ended_empty else None
    yield f"strikes of the session: {facts.strikes}{_came_from(facts.record)}"


def _of_the_gateway(facts: RecoveryFacts) -> Iterable[str | None]:
    yield "its session was parked" if facts.suspended else None
    yield f"a person had asked for: {facts.stop}" if facts.stop else None
    yield "its sender is allowed" if facts.sender_allowed else "its sender is not allowed"
    yield "its last owner was still alive" if facts.owner_alive else "its last owner was gone"
    yield None if facts.origin_known else "the gateway was not configured for the bot account of its chat"
    yield "its platform was connected" if facts.platform_connected else "its platform was not connected"
    yield "a message waited behind it" if facts.message_waiting else None
    yield f"the chat says `{facts.on_interruption}`"
    yield "the person had said continue" if facts.consented else None
    yield "safe mode was on" if facts.safe_mode else None
    yield "another suspect ran" if facts.lane_taken else None


def _came_from(record: StrikeRecord) -> str:
    """The causes of the strikes, as far as they were counted."""
    parts = (
        f"{record.deaths} by crashes" if record.deaths else "",
        f"{record.cuts} by restarts" if record.cuts else "",
        "it followed a park" if record.follows_park else "",
    )
    named = ", ".join(part for part in parts if part)
    return f" ({named})" if named else ""


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def _seconds(milliseconds: int) -> str:
    return f"{max(0, milliseconds) / 1_000:,.1f} s"
