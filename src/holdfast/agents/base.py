"""The contract of a model: one reply to one transcript. The tool loop is not its business."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from holdfast.model import Replied
from holdfast.policy.views import Message


class Model(Protocol):
    """Anything that can answer a conversation."""

    async def reply(self, messages: Sequence[Message]) -> Replied:
        """Give ONE reply to what it is shown. Called again after a crash; nothing may depend on memory."""
        ...
