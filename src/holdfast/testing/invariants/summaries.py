"""Rules about summaries: they never replace what is open, and what they replace stays in the ledger."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator

from holdfast.testing.observation.history import EntryLine, History


def summed_up_what_is_over(history: History) -> Iterator[str]:
    """R9.6: a summary replaces complete turns that have ended, and every entry of them still exists."""
    sessions: dict[str, dict[int, EntryLine]] = defaultdict(dict)
    for line in history.ledger.entries:
        sessions[line.session][line.seq] = line
    for session, lines in sessions.items():
        for summary in lines.values():
            if summary.kind == "summed" and summary.body:
                body = json.loads(summary.body)
                yield from _judged(session, summary, lines, body["first"], body["last"])
        if any(line.kind == "summed" for line in lines.values()):
            yield from _still_told(history, session, lines)


def _judged(
    session: str, summary: EntryLine, lines: dict[int, EntryLine], first: int, last: int
) -> Iterator[str]:
    what = f"the summary at entry {summary.seq} of {session}"
    lost = [seq for seq in range(first, last + 1) if seq not in lines]
    covered = {line.turn for seq, line in lines.items() if first <= seq <= last and line.kind != "summed"}
    cut = {line.turn for seq, line in lines.items() if last < seq < summary.seq and line.kind != "summed"}
    if lost:
        yield f"{what} replaces entries {lost}, which do not exist"
    if summary.turn in covered:
        yield f"{what} replaces a part of its own turn, which is open"
    elif last >= summary.seq:
        yield f"{what} replaces later entries"
    elif covered & cut:
        yield f"{what} replaces a part of turn {', '.join(sorted(covered & cut))}"


def _still_told(history: History, session: str, lines: dict[int, EntryLine]) -> Iterator[str]:
    """A model sees what people said in earlier turns as it was, or a summary instead."""
    if any(line.kind == "undone" for line in lines.values()):
        return  # The model does not see what was undone, nor a summary of it.
    turns = {turn.id for turn in history.ledger.turns if turn.session == session}
    bodies = {seq: json.loads(line.body) for seq, line in lines.items() if line.body}
    said = {seq: bodies[seq]["text"] for seq, line in lines.items() if line.kind == "said" and seq in bodies}
    sums = [bodies[seq] for seq, line in lines.items() if line.kind == "summed" and seq in bodies]
    for asked in history.asked:
        shown = {message.text for message in asked.messages} if asked.turn in turns else None
        for seq, text in said.items():
            if shown is None or text in shown or lines[seq].turn >= asked.turn:
                continue
            if not any(one["first"] <= seq <= one["last"] and one["text"] in shown for one in sums):
                yield f"a model was asked in turn {asked.turn}, but saw nothing of {text!r}"
