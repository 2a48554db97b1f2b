"""Rules about reply targets: a reply goes to the message that began the work, in its chat and topic."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.testing.observation.history import History, InboxLine, OutboxLine, PlatformEvent, Shown

_OF_A_TURN = ("answer:", "file:", "approval:", "clarify:", "limit:")
"""Keys of messages that reply to the message that began their turn."""
_OF_A_ROW = ("ack:", "command:")
"""Keys of messages that reply to a message itself, named by its row."""
_LINE = "line:"
"""A line that replaces a message replies to the same target."""


def replies_go_where_they_belong(history: History) -> Iterator[str]:
    """R10.1: every part, file and line replies to the message that began it, or if that is gone, to none."""
    found = _Targets(history)
    for shown in history.shown:
        line = found.lines.get(shown.key)
        if line is not None:
            yield from found.complaints(shown, found.replaced(line))


class _Targets:
    """The target of every owed message, from what people sent."""

    def __init__(self, history: History) -> None:
        ledger = history.ledger
        self._gone = history.gone
        self._of_owner = {question.id for question in ledger.questions if question.of_owner}
        self._rows = {row.position: row for row in ledger.inbox}
        self._events = {(event.account, event.event_id): event for event in history.events}
        self._causes = {turn.id: turn.cause for turn in ledger.turns}
        self._by_dedupe = {line.dedupe: line for line in ledger.outbox}
        self.lines = {f"{line.dedupe}/{line.part}": line for line in ledger.outbox}

    def replaced(self, line: OutboxLine) -> OutboxLine:
        """What a line replaces; any other message as it is."""
        if not line.dedupe.startswith(_LINE):
            return line
        named = line.dedupe.removeprefix(_LINE)
        return self.lines.get(named) or self._by_dedupe.get(named) or line

    def complaints(self, shown: Shown, line: OutboxLine) -> Iterator[str]:
        row = self._began(line)
        if row is None or line.dedupe in self._of_owner:
            # An owner is asked in the owner's chat, and that message replies to nothing.
            return
        event = self._events.get((row.account, row.event_id))
        wanted = (event.message if event is not None else row.message) or None
        excused = wanted is None or (shown.platform, wanted) in self._gone or not _must_reply(line)
        if shown.reply_to != wanted and not (shown.reply_to is None and excused):
            yield f"{shown.key} replies to {shown.reply_to}, but {wanted} began it"
        if event is not None and _must_reply(line) and not _is_there(shown, event):
            there = f"{shown.platform}/{shown.chat}"
            yield f"{shown.key} was shown in {there}, but it began in {event.chat}"

    def _began(self, line: OutboxLine) -> InboxLine | None:
        """The inbox row that this is about."""
        kind, _, rest = line.dedupe.partition(":")
        if f"{kind}:" in _OF_A_ROW:
            return self._rows.get(int(rest.partition(":")[0]))
        return self._rows.get(self._causes.get(line.turn or "", 0))


def _must_reply(line: OutboxLine) -> bool:
    return line.dedupe.startswith((*_OF_A_TURN, *_OF_A_ROW))


def _is_there(shown: Shown, event: PlatformEvent) -> bool:
    return (shown.platform, shown.chat) == (event.account.partition("/")[0], event.chat)
