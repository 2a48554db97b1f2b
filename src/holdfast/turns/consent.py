"""The facts from outside that a turn needs when it asks a person for consent."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import field

from holdfast.model import ChatAddress, PersonId
from holdfast.policy.consent.card import Hide
from holdfast.records import dataclass


def unmasked(text: str) -> str:
    """Mask nothing: the default without known secrets."""
    return text


async def unsaid() -> str | None:
    """Say nothing about containment on a card: the default."""
    return None


def no_owner(person: PersonId) -> bool:
    """No person is an owner: the default."""
    return False


async def nowhere(chat: ChatAddress) -> ChatAddress | None:
    """There is no chat of an owner: the default."""
    return None


def never_alone(person: PersonId, chat: ChatAddress) -> bool:
    """Assume that other people read the chat: the default."""
    return False


@dataclass(frozen=True, slots=True)
class ConsentPorts:
    """The facts that consent depends on besides the call and the rules."""

    hide: Hide = field(default=unmasked)
    """Masks the exact values of secrets that the gateway knows."""
    contained: Callable[[], Awaitable[str | None]] = field(default=unsaid)
    """A sentence for the card of a call: how contained its program would run."""
    owner: Callable[[PersonId], bool] = field(default=no_owner)
    """Whether a person is an owner now."""
    owner_chat: Callable[[ChatAddress], Awaitable[ChatAddress | None]] = field(default=nowhere)
    """The chat where an owner can be asked about work in this one, now; None when no owner can be reached."""
    is_alone: Callable[[PersonId, ChatAddress], bool] = field(default=never_alone)
    """Whether only this person writes in the chat."""
