"""Rules about sends over time: no chat is muted, no chat is flooded, and last words come in time."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator

from holdfast.policy.turn.progress_notice import LAST_WORDS
from holdfast.testing.observation.history import History

from .bounds import SLACK, waits_are_kept
from .progress import one_notice

LATE = "(late"
"""How the mark of a late part begins."""
WITH_THE_ANSWER = 1.0
"""Seconds after an answer within which its notice gets its last words."""


def r10_3_sends(history: History) -> Iterator[str]:
    """R10.3: the gateway keeps waits, repeats a doubtful part a few times, and no bad part mutes a chat."""
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
    """A part that was neither refused nor erased is given up when it is too old, and not before."""
    age = history.windows.delivery
    for line in history.ledger.outbox:
        doubted = line.state == "failed" and "it may have arrived" in (line.reason or "")
        if doubted and line.text and not line.dedupe.startswith("working:") and line.age < age - 2 * SLACK:
            yield f"part {line.id} ({line.dedupe}) was given up ({line.reason}) after {line.age} ms"


def _goes_on(history: History) -> Iterator[str]:
    """If nothing else went wrong, a chat gets what it is owed soon after other sends on its account.

    A part that is itself marked as late does not count.
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
                yield f"{shown.key} waited {waited:.0f} s, while {shown.platform}/{chat} got messages"
                break


def r12_notices(history: History) -> Iterator[str]:
    """R12: one notice per session, ended in time."""
    yield from one_notice(history)
    yield from _ended_in_time(history)


def _ended_in_time(history: History) -> Iterator[str]:
    """If nothing went wrong, a notice gets its last words with the answer, not seconds after it."""
    if not _is_calm(history):
        return
    answered = {shown.key: shown.at for shown in history.shown if shown.key.startswith("answer:")}
    for seen in history.seen:
        at = answered.get(f"answer:{seen.turn}/1")
        is_last = seen.what == "edit" and seen.text in LAST_WORDS
        if is_last and at is not None and seen.at > at + WITH_THE_ANSWER:
            yield f"the notice of turn {seen.turn} ended {seen.at - at:.1f} s after its answer"


def _is_calm(history: History) -> bool:
    """Whether there was no random fault and no death, except the kill at rest in the end."""
    died = len(history.deaths) > 1 or any(death.running for death in history.deaths)
    return not died and not history.troubles
