"""Files that a scripted agent sends to people."""

from __future__ import annotations

from holdfast.model import EffectClass
from holdfast.records import dataclass
from holdfast.testing.scripts import GIVES
from holdfast.tools import SendFile, ToolContext

from .life import ProcessLife


@dataclass(frozen=True, slots=True)
class Giving:
    """Sends the person a file, a new one with every call."""

    life: ProcessLife
    name: str = GIVES
    effect: EffectClass = EffectClass.IDEMPOTENT

    async def run(self, context: ToolContext, arguments: str) -> SendFile:
        self.life.check()
        return SendFile("report.txt", f"the report of {context.key}".encode(), "text/plain", "Here it is.")
