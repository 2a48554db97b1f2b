"""Reading a session or a turn: its entries, also damaged ones, and its journal."""

from __future__ import annotations

from holdfast.model import Entry, Journal, SessionId, TurnId

from . import rows
from .codec import is_damaged
from .set_aside import set_part_aside
from .tx import Read, Row, Tx

_NO_TEXT = "\ufffd"


def transcript(read: Read | Tx, session: SessionId, after: int = 0) -> tuple[Entry, ...]:
    return tuple(rows.entry(row) for row in _lines(read, session, after))


def entries_of_turn(read: Read | Tx, turn: TurnId) -> tuple[Entry, ...]:
    """The entries of one turn; the cost does not grow with the session."""
    lines = read.decoded("entries_of_turn", turn=turn)
    if lines is not None:
        return tuple(map(rows.entry, lines))
    session = read.one("session_of_turn", turn=turn)
    assert session is not None
    return tuple(entry for entry in transcript(read, session[0]) if entry.turn == turn)


def _lines(read: Read | Tx, session: SessionId, after: int) -> list[Row]:
    """Rows of entries. A text that cannot be decoded becomes a damaged entry; all others can be read."""
    lines = read.decoded("transcript", session=session, after=after)
    if lines is not None:
        return lines
    found = read.all("transcript_as_bytes", session=session, after=after)
    return [(*row[:-1], None if row[-1] is None else _decoded(row[-1])) for row in found]


def _decoded(body: bytes) -> str:
    try:
        return body.decode()
    except UnicodeDecodeError:
        return _NO_TEXT


def set_entries_aside(tx: Tx, session: SessionId) -> int:
    damaged = [row for row in _lines(tx, session, 0) if is_damaged(row[3], row[6])]
    for seq, turn, _, kind, _, _, body in damaged:
        which = f"entry {seq} of session {session} ({kind}, turn {turn})"
        reason = f"{which} cannot be read; it is shown as unreadable"
        set_part_aside(tx, f"entries/{session}/{seq}", reason, str(body))
    return len(damaged)


def journal(read: Read | Tx, turn: TurnId, generation: int) -> Journal:
    return Journal(
        turn,
        generation,
        tuple(rows.call(turn, row) for row in read.all("calls_of_turn", turn=turn)),
        tuple(rows.question(row) for row in read.all("questions_of_turn", turn=turn)),
    )
