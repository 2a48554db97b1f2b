"""What a turn has to know from outside when it asks a person for consent."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import field

from holdfast.model import ChatAddress, PersonId
from holdfast.policy.consent.card import Hide
from holdfast.records import dataclass


def unmasked(text: str) -> str:
    """Where no secret is known, nothing is masked."""
    return text


async def unsaid() -> str | None:
    """Where it is not known how contained programs are, a card says nothing of it."""
    return None


def no_owner(person: PersonId) -> bool:
    """Where no owner is known, nobody is one."""
    return False


async def nowhere(chat: ChatAddress) -> ChatAddress | None:
    """Where no owner is known, none can be asked."""
    return None


def never_alone(person: PersonId, chat: ChatAddress) -> bool:
    """Where it is not known who reads a chat, others may."""
    return False


@dataclass(frozen=True, slots=True)
class ConsentPorts:
    """What consent depends on besides the call and the rules."""

    hide: Hide = field(default=unmasked)
    """Masks the exact values of secrets that the gateway knows."""
    contained: Callable[[], Awaitable[str | None]] = field(default=unsaid)
    """How contained a program would run that a call starts, as a sentence for the call's card."""
    owner: Callable[[PersonId], bool] = field(default=no_owner)
    """Whether somebody is an owner, now."""
    owner_chat: Callable[[ChatAddress], Awaitable[ChatAddress | None]] = field(default=nowhere)
    """The chat where an owner can be asked about work in this one, now; None when no owner can be reached."""
    is_alone: Callable[[PersonId, ChatAddress], bool] = field(default=never_alone)
    """Whether nobody but this person writes in the chat."""
