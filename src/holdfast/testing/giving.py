"""Files that a scripted agent gives to people, and what must be true of them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from holdfast.model import Attachment, CallState, EffectClass
from holdfast.records import dataclass
from holdfast.tools import SendFile, ToolContext
from holdfast.turns import Nowhere

from .history import History
from .life import Life
from .scripts import GIVES

FILE = "file:"
"""What the keys of files begin with."""


class Shelf(Nowhere):
    """Keeps the files of a world: what they hold follows from their calls, so nothing has to lie there."""

    async def keep_file(self, name: str, media_type: str, content: bytes) -> Attachment:
        return Attachment(hashlib.sha256(content).hexdigest(), name, media_type, len(content))


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
        if shown.key.startswith(FILE) and shown.key.endswith("/1") and len(shown.files) != 1:
            yield f"{shown.key} came with {len(shown.files)} files to {shown.platform}/{shown.chat}"
