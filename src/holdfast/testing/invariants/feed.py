"""What readers of a chat's feed saw, judged: all of it, once and in order, also when they were cut off."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from holdfast.model import TURN
from holdfast.testing.observation.history import FeedRead, History


def readers_miss_nothing(history: History) -> Iterator[str]:
    """R10.1: who comes again with their cursor has seen all there is, once and in order."""
    by_chat: dict[str, list[FeedRead]] = defaultdict(list)
    for read in history.read:
        by_chat[read.chat].append(read)
    for chat, reads in by_chat.items():
        owed = [line.number for line in history.ledger.outbox if line.chat == chat]
        seen = [read.number for read in reads if read.what == "delivery"]
        if seen != sorted(owed):
            yield f"a reader of {chat} has seen {_short(seen)}, and {_short(sorted(owed))} were owed there"
        yield from _steps(history, chat, reads)
    yield from _looks(history)


def _steps(history: History, chat: str, reads: list[FeedRead]) -> Iterator[str]:
    """Every entry of the conversation since the reader was first there, turn by turn.

    The marker that `/forget` leaves in a session is no step: a page that follows a later session may miss it.
    """
    first = next((read for read in reads if read.what == "cursor"), None)
    if first is None:
        return
    sessions = {turn.session for turn in history.ledger.turns if turn.key == chat}
    turns = {(line.session, line.seq): line.turn for line in history.ledger.entries}
    # A session that is taken up again goes on after later ones: what is new is told by its turn.
    last = turns.get((first.session, first.number), first.session)
    erased = {line.session for line in history.ledger.entries if line.body is None}
    markers = {
        (line.session, line.seq)
        for line in history.ledger.entries
        if line.kind == "undone" and line.session in erased
    }
    wanted: dict[str, list[int]] = defaultdict(list)
    for line in history.ledger.entries:
        known = line.seq <= first.number if line.session == first.session else line.turn < last
        if line.session in sessions and not known and (line.session, line.seq) not in markers:
            wanted[line.session].append(line.seq)
    seen: dict[str, list[int]] = defaultdict(list)
    came = [(read.session, read.number) for read in reads if read.what == "entry"]
    order = [step for step in came if step not in markers]
    for session, number in order:
        seen[session].append(number)
    began = [turns.get(one, "") for one in order]
    if began != sorted(began):
        yield f"a reader of {chat} has seen steps of a turn after those of a later one"
    for session in sorted({*wanted, *seen}):
        if seen[session] != wanted[session]:
            words = f"{_short(seen[session])} of session {session}, which has {_short(wanted[session])}"
            yield f"a reader of {chat} has seen the entries {words}"


def _looks(history: History) -> Iterator[str]:
    """At rest, what a page shows of a chat is how the chat stands."""
    for chat, found in history.last_looks.items():
        turns = [turn for turn in history.ledger.turns if turn.key == chat and turn.state not in TURN.finals]
        stands = {(turn.id, turn.state) for turn in turns}
        shows = {(found["turn"]["id"], found["turn"]["state"])} if found["turn"] else set()
        if shows != stands:
            yield f"a page of {chat} shows {sorted(shows)} at rest, and there is {sorted(stands)}"


def _short(numbers: list[int]) -> str:
    """A list with its runs shortened."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ", ".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs) or "none"
