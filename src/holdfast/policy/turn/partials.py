"""What the gateway keeps of a reply or a tool's output that was cut off, and how it marks it. Pure."""

from __future__ import annotations

from holdfast.model import ChatAddress, Owed, TurnId, partial_key
from holdfast.policy.delivery.parts import Longest, closed, parts_for

MOST_REPLY = 64_000
"""Characters of an unfinished reply that the gateway records while the model writes it."""
MOST_OUTPUT = 8_000
"""Characters of a running tool's output that the gateway records: the last ones."""

STOPPED_HERE = "[Stopped here.]"
CUT_OFF_HERE = "[Cut off here.]"
_LEFT_OUT = "[what came before is left out]\n"


def stopped_reply(text: str, mark: str = STOPPED_HERE) -> str:
    """An unfinished reply as the chat keeps it: marked as such."""
    return f"{closed(text.rstrip())}\n\n{mark}"


def kept_reply(
    chat: ChatAddress, turn: TurnId, text: str, longest: Longest, mark: str, reply_to: str | None = None
) -> tuple[Owed, ...]:
    """What a chat is owed of a reply that will not be finished: the part that it saw, marked."""
    if not text.strip():
        return ()
    parts = parts_for(stopped_reply(text, mark), longest(chat))
    return (Owed(chat, partial_key(turn), parts, reply_to=reply_to),)


def recorded_reply(text: str) -> str:
    """The part of an unfinished reply that the gateway records."""
    return text[:MOST_REPLY]


def recorded_output(text: str) -> str:
    """The part of a running tool's output that the gateway records: its end, from a line start if near."""
    if len(text) <= MOST_OUTPUT:
        return text
    end = text[len(_LEFT_OUT) - MOST_OUTPUT :]
    line = end.find("\n") + 1
    return _LEFT_OUT + (end[line:] if line <= MOST_OUTPUT // 4 else end)
