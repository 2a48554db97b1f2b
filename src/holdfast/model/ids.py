"""Types for the ids of the ledger, so that one kind cannot be used as another."""

from __future__ import annotations

from typing import NewType

InstanceId = NewType("InstanceId", str)
SessionId = NewType("SessionId", str)
TurnId = NewType("TurnId", str)
QuestionId = NewType("QuestionId", str)
DeliveryId = NewType("DeliveryId", int)
ProcessId = NewType("ProcessId", str)

Position = NewType("Position", int)
"""The place of a row in the inbox: its order of arrival, and its id."""

CallId = NewType("CallId", str)
"""Names one tool call within its turn."""

Key = NewType("Key", str)
"""The key of a conversation: who talks to which bot, and where."""

ChatAddress = NewType("ChatAddress", str)
"""Where replies go: platform, account, chat and thread."""

PersonId = NewType("PersonId", str)
"""A sender's immutable id, as `platform:id`; never a display name."""
