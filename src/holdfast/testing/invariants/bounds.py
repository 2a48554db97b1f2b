"""Invariants about limits: deaths by one turn, ages, promises, access, secrets, size, waiting."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from holdfast.model import TurnState
from holdfast.policy.settings import RecoverySettings
from holdfast.testing.marks import KEY
from holdfast.testing.observation.history import History

from .promises import acknowledged_is_not_dropped
from .reasons import left_for_its_age, parked_for_a_reason

_RECOVERY = RecoverySettings()
FATAL = _RECOVERY.strikes
"""Deaths after which a turn is parked."""
FATAL_AFTER_QUARANTINE = _RECOVERY.interruptions
"""The same for a turn that lives long enough each time to count as harmless."""
SLACK = 60_000
"""Milliseconds between the check of an age and the action."""
ROWS_PER_MESSAGE = 60
ROWS_PER_BOOT = 40
TOLD = frozenset(
    {
        *("resume_produced_nothing", "too_many_strikes", "too_many_interruptions", "too_old"),
        *("chat_says_never", "approval_expired"),
    }
)
"""Reasons to leave work that people are told, by name: a table that lacks one of them is wrong."""


def i11_poison_is_parked(history: History) -> Iterator[str]:
    """A turn whose work kills the process does so three times at most, or eight if it takes its time.

    If nothing else kills processes, only a turn that does so is parked. (If two such turns run at once, one
    that is not a suspect yet may put the blame on a suspect.)
    """
    deaths = Counter(death.turn for death in history.deaths if death.turn is not None)
    patient = {asked.turn for asked in history.asked if _takes_its_time(asked.request)}
    yield from _one_suspect_at_a_time(history)
    yield from parked_for_a_reason(history)
    for turn, count in deaths.items():
        if count > (FATAL_AFTER_QUARANTINE if turn in patient else FATAL):
            yield f"turn {turn} killed the process {count} times"
    # A death while no turn ran is no strike; a stop that cuts a run without progress is one.
    if len(deaths) < 2 and all(death.turn is not None or not death.running for death in history.deaths):
        cut = history.ledger.cut
        for line in history.ledger.turns:
            if line.state == TurnState.PARKED and line.id not in deaths and line.id not in cut:
                yield f"turn {line.id} is parked, but it killed no process"


def _one_suspect_at_a_time(history: History) -> Iterator[str]:
    """Suspects run one at a time; a turn that never ran as the only suspect is not parked for its strikes."""
    alone = set[str]()
    for turns in history.quarantined:
        alone |= turns
        if len(turns) > 1:
            yield f"{len(turns)} suspects ran at once: {', '.join(sorted(turns))}"
    for turn in history.ledger.turns:
        if turn.why == "too_many_strikes" and turn.id not in alone:
            yield f"turn {turn.id} is parked, but it never ran as the only suspect"


def _takes_its_time(request: str) -> bool:
    word, *rest = request.partition("#")[0].split() or [""]
    return word == "crash" and bool(rest) and float(rest[0]) * 1_000 >= _RECOVERY.survive_at_least


def i12_too_old_is_left(history: History) -> Iterator[str]:
    """The gateway does not run or send what is older than its window, and it says so."""
    windows = history.windows
    for claim in history.claims:
        if windows.resume and claim.age > windows.resume + SLACK:
            yield f"turn {claim.turn} was resumed {claim.age} ms after its last progress"
        if windows.resume and claim.expired_for > windows.resume + SLACK:
            yield f"turn {claim.turn} went on {claim.expired_for} ms after its approval expired"
    for row in history.ledger.inbox:
        if windows.backlog and row.state == "taken" and row.late > windows.backlog:
            yield f"inbox row {row.position} ({row.text}) was run, but it came {row.late} ms late"
    for shown in history.shown:
        if windows.delivery and (shown.owed or 0) > windows.delivery + SLACK:
            yield f"{shown.key} was sent {shown.owed} ms after it was owed"
    yield from left_for_its_age(history)
    told = {line.dedupe.rpartition(":")[0] for line in history.ledger.outbox}
    for turn in history.ledger.turns:
        if turn.why in TOLD and f"{turn.why}:{turn.id}" not in told:
            yield f"turn {turn.id} is {turn.state} ({turn.why}), and its person was not told"


def i13_told_is_kept(history: History) -> Iterator[str]:
    """What people are told is in the ledger at that instant, and stays there.

    An answer about a message ("queued") is about a message that exists.
    """
    kept = {f"{line.dedupe}/{line.part}" for line in history.ledger.outbox}
    rows = {str(row.position) for row in history.ledger.inbox}
    for shown in history.shown:
        if shown.owed is None:
            yield f"{shown.key} was shown before the ledger had it"
        elif shown.key not in kept:
            yield f"{shown.key} was shown, but the ledger has it no more"
        kind, _, about = shown.key.partition("/")[0].partition(":")
        if kind == "ack" and about not in rows:
            yield f"{shown.key} is about a message that does not exist"
    yield from acknowledged_is_not_dropped(history)


def i14_only_for_who_is_allowed(history: History) -> Iterator[str]:
    """No model call and no tool starts for a person who is not allowed at that instant."""
    for asked in history.asked:
        if asked.barred > 0:
            yield f"a model was called for a person barred for {asked.barred:.1f} s ({asked.request!r})"
    for ran in history.ran:
        if ran.what == "begun" and ran.barred > 0:
            yield f"{ran.tool} {ran.key} began for a person barred for {ran.barred:.1f} s"


def i15_secrets_stay_secret(history: History) -> Iterator[str]:
    """No person sees, and no file keeps, the secrets inside of faults and in the output of tools."""
    for where in dict.fromkeys(history.exposed):
        yield f"there is a secret in {where}"
    for seen in history.seen:
        if KEY in seen.text:
            yield f"people saw a secret beside the messages, of turn {seen.turn}"
    for shown in history.shown:
        if KEY in shown.text:
            yield f"{shown.key} was sent with a secret in it"
    for asked in history.asked:
        if any(KEY in message.text for message in asked.messages):
            yield f"a model was shown a secret, in turn {asked.turn}"


def i19_size_is_bounded(history: History) -> Iterator[str]:
    """The number of rows depends on what people do and on boots, not on how often something fails."""
    for size in history.sizes:
        most = ROWS_PER_MESSAGE * (size.messages + 1) + ROWS_PER_BOOT * size.boots
        if size.rows > most:
            yield f"{size.rows} rows for {size.messages} messages and {size.boots} boots"


def waits_are_kept(history: History) -> Iterator[str]:
    """R10.3: if a platform asks the gateway to wait, every later process waits as well."""
    for tried in history.tried:
        if tried.early:
            yield f"{tried.key} was sent to {tried.platform}/{tried.chat} {tried.early} ms too early"


def nobody_is_deaf(history: History) -> Iterator[str]:
    """Liveness: at rest, the gateway listens to every reachable platform."""
    for account in history.deaf:
        yield f"{account} is reachable, but no process listens to it"
