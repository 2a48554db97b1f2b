"""What became of sends, judged over time: no chat is muted, nobody is flooded, and last words are in time."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator

from holdfast.policy.turn.progress_notice import LAST_WORDS
from holdfast.testing.observation.history import History

from .bounds import SLACK, waits_are_kept
from .progress import one_notice

LATE = "(late"
"""What the mark of a part begins with that stepped aside."""
WITH_THE_ANSWER = 1.0
"""Seconds after an answer within which its notice has its last words."""


def r10_3_sends(history: History) -> Iterator[str]:
    """R10.3: waits are kept, what may have arrived is repeated a few times, a bad part mutes no chat."""
    yield from waits_are_kept(history)
    yield from _few_copies(history)
    yield from _given_up_by_age(history)
    yield from _goes_on(history)


def _few_copies(history: History) -> Iterator[str]:
    copies = Counter((shown.platform, shown.key) for shown in history.shown)
    for (platform, key), count in copies.items():
        if history.windows.repeats and count > history.windows.repeats + 1:
            yield f"{key} was shown {count} times on {platform}"


def _given_up_by_age(history: History) -> Iterator[str]:
    """What was neither refused nor erased is given up when it is too old, and not before."""
    age = history.windows.delivery
    for line in history.ledger.outbox:
        doubted = line.state == "failed" and "it may have arrived" in (line.reason or "")
        if doubted and line.text and not line.dedupe.startswith("working:") and line.age < age - 2 * SLACK:
            yield f"part {line.id} ({line.dedupe}) was given up ({line.reason}) after {line.age} ms"


def _goes_on(history: History) -> Iterator[str]:
    """Where nothing else went wrong, what a chat is owed comes soon after other things on its account.

    A part that comes late itself, and says so, is not meant.
    """
    if not _is_calm(history) or not history.windows.aside:
        return
    patience = (history.windows.aside + SLACK) / 1_000
    times = defaultdict(list)
    for shown in history.shown:
        times[shown.platform].append((shown.at, shown.chat))
    for shown in history.shown:
        waited = (shown.owed or 0) / 1_000
        if shown.text.startswith(LATE) or not patience < waited <= shown.at:
            continue
        for at, chat in times[shown.platform]:
            if chat != shown.chat and shown.at - waited < at < shown.at - patience:
                yield f"{shown.key} waited {waited:.0f} s, while {shown.platform}/{chat} was sent to"
                break


def r12_notices(history: History) -> Iterator[str]:
    """R12: one notice per session, ended in time."""
    yield from one_notice(history)
    yield from _ended_in_time(history)


def _ended_in_time(history: History) -> Iterator[str]:
    """Where nothing went wrong, a notice has its last words with the answer, not seconds after it."""
    if not _is_calm(history):
        return
    answered = {shown.key: shown.at for shown in history.shown if shown.key.startswith("answer:")}
    for seen in history.seen:
        at = answered.get(f"answer:{seen.turn}/1")
        is_last = seen.what == "edit" and seen.text in LAST_WORDS
        if is_last and at is not None and seen.at > at + WITH_THE_ANSWER:
            yield f"the notice of turn {seen.turn} ended {seen.at - at:.1f} s after its answer"


def _is_calm(history: History) -> bool:
    """Whether no fault was drawn and no process died, but for the one that is killed at rest in the end."""
    died = len(history.deaths) > 1 or any(death.running for death in history.deaths)
    return not died and not history.troubles
