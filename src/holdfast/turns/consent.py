"""What a turn has to know from outside when it asks a person for consent."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field

from holdfast.model import CallRecord
from holdfast.policy.consent import Hide
from holdfast.records import dataclass


def unmasked(text: str) -> str:
    """Where no secret is known, nothing is masked."""
    return text


def unsaid(call: CallRecord) -> str | None:
    """Where it is not known how contained a call would be, a card says nothing of it."""
    return None


@dataclass(frozen=True, slots=True)
class ConsentPorts:
    """What a card for consent is made with besides its call."""

    hide: Hide = field(default=unmasked)
    """Masks the exact values of secrets that the gateway knows."""
    contained: Callable[[CallRecord], str | None] = field(default=unsaid)
    """How contained a call would run, as a sentence for its card."""
