"""Names for the identities of the ledger, so that one cannot be passed for another."""

from __future__ import annotations

from typing import NewType

InstanceId = NewType("InstanceId", str)
SessionId = NewType("SessionId", str)
TurnId = NewType("TurnId", str)
QuestionId = NewType("QuestionId", str)
DeliveryId = NewType("DeliveryId", int)
ProcessId = NewType("ProcessId", str)

Position = NewType("Position", int)
"""Place of a row in the inbox: arrival order, and the row's identity."""

CallId = NewType("CallId", str)
"""Names one tool call within its turn."""

Key = NewType("Key", str)
"""A conversation key: who talks to which bot, where."""

ChatAddress = NewType("ChatAddress", str)
"""Where replies go: platform, account, chat and thread."""

PersonId = NewType("PersonId", str)
"""A sender's immutable id, as `platform:id`; never a display name."""
