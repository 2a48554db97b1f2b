"""What a turn has to know from outside when it asks a person for consent."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import field

from holdfast.model import CallRecord, ChatAddress, PersonId
from holdfast.policy.consent import Hide
from holdfast.records import dataclass


def unmasked(text: str) -> str:
    """Where no secret is known, nothing is masked."""
    return text


def unsaid(call: CallRecord) -> str | None:
    """Where it is not known how contained a call would be, a card says nothing of it."""
    return None


def no_owner(person: PersonId) -> bool:
    """Where no owner is known, nobody is one."""
    return False


async def nowhere(chat: ChatAddress) -> ChatAddress | None:
    """Where no owner is known, none can be asked."""
    return None


@dataclass(frozen=True, slots=True)
class ConsentPorts:
    """What consent depends on besides the call and the rules."""

    hide: Hide = field(default=unmasked)
    """Masks the exact values of secrets that the gateway knows."""
    contained: Callable[[CallRecord], str | None] = field(default=unsaid)
    """How contained a call would run, as a sentence for its card."""
    owner: Callable[[PersonId], bool] = field(default=no_owner)
    """Whether somebody is an owner, now."""
    owner_chat: Callable[[ChatAddress], Awaitable[ChatAddress | None]] = field(default=nowhere)
    """The chat where an owner can be asked about work in this one, now; None when no owner can be reached."""
