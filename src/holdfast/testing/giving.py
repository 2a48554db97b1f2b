"""Files that a scripted agent gives to people, and what must be true of them."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.model import CallState, EffectClass
from holdfast.records import dataclass
from holdfast.tools import SendFile, ToolContext

from .history import History
from .life import Life
from .scripts import GIVES

FILE = "file:"
"""What the keys of files begin with."""


@dataclass(frozen=True, slots=True)
class Giving:
    """Gives the person a file, a new one with every call."""

    life: Life
    name: str = GIVES
    effect: EffectClass = EffectClass.IDEMPOTENT

    async def run(self, context: ToolContext, arguments: str) -> SendFile:
        self.life.check()
        return SendFile("report.txt", f"the report of {context.key}".encode(), "text/plain", "Here it is.")


def files_are_given(history: History) -> Iterator[str]:
    """A call that says it gave a file owes it, and whoever sees that message has the file."""
    owed = {line.dedupe for line in history.ledger.outbox}
    for call in history.ledger.calls:
        if call.name == GIVES and call.state == CallState.DONE and f"{FILE}{call.turn}:{call.id}" not in owed:
            yield f"call {call.turn}:{call.id} says that it gave a file, and none is owed"
    for shown in history.shown:
        came = [digest for digest in shown.files if digest]
        if shown.key.startswith(FILE) and shown.key.endswith("/1") and len(came) != 1:
            yield f"{shown.key} came with {len(came)} files to {shown.platform}/{shown.chat}"
