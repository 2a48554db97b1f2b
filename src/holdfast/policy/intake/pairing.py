"""Pairing: how the gateway lets a new person in, by a code that an owner approves."""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum

from holdfast.model import ChatKind, PersonId, Place
from holdfast.policy.ages import age
from holdfast.policy.settings import MINUTE, PairingSettings
from holdfast.records import dataclass

from .access import Denial

CODE_LENGTH = 8
CODE_ALPHABET = "23456789ABCDEFGHJKMNPQRSTUVWXYZ"
"""Without characters that look or sound like another."""


class PairingRefusal(StrEnum):
    """Why the gateway refuses a pairing code."""

    UNKNOWN = "unknown_code"
    EXPIRED = "code_expired"
    USED = "code_used"
    TOO_MANY_TRIES = "too_many_tries"
    NOT_OWNER = "not_owner"


@dataclass(frozen=True, slots=True)
class Pairing:
    """A code given to a newcomer; it gives no access until an owner approves it."""

    code: str
    person: PersonId
    issued_at: int
    used_at: int | None = None


@dataclass(frozen=True, slots=True)
class Paired:
    """The code is valid: the gateway lets this person in, and the code is used up."""

    person: PersonId


@dataclass(frozen=True, slots=True)
class PairingRefused:
    """The code is not valid; an unknown code counts as a try."""

    reason: PairingRefusal


class Wants(StrEnum):
    """What the sender of a refused message needs."""

    PERSON = "person"
    CHAT = "chat"


def wants(kind: ChatKind, denial: Denial) -> Wants | None:
    """What an owner would have to allow, the person or the chat; None when the sender is not told.

    The gateway answers a stranger only in a direct chat. An allowed person learns that a group is not
    allowed; a stranger in a group learns nothing.
    """
    if denial in (Denial.PERSON, Denial.GRANT_ENDED):
        return Wants.PERSON if kind is ChatKind.DIRECT else None
    return Wants.CHAT if denial is Denial.CHAT else None


def may_issue(issued_before: int, open_codes: int, settings: PairingSettings) -> bool:
    """Whether a newcomer gets a code, after `issued_before` codes to them within `settings.within`.

    `open_codes` counts the valid codes of all newcomers: a crowd of strangers does not get a code each.
    """
    return issued_before < settings.codes and open_codes < settings.open


def code_words(code: str, issued_before: int, settings: PairingSettings) -> str:
    """The message with a code, to a newcomer who got `issued_before` codes already."""
    last = issued_before + 1 >= settings.codes
    more = " This is the last code you get for a while." if last and settings.codes > 1 else ""
    return (
        "I do not know you yet, so I kept nothing of what you wrote. Give this code to the person who runs "
        f"me: {shown_code(code)}\nThey let you in with `holdfast pair {shown_code(code)}`. The code works "
        f"once, for {settings.lasts // MINUTE} minutes. Then write again.{more}"
    )


def chat_words(place: Place) -> str:
    """The message to an allowed person in a group that is not allowed."""
    address = replace(place, thread=None).address
    return (
        "I may not talk in this chat yet, so I kept nothing of what you wrote. The person who runs me can "
        f"allow this chat: `holdfast people allow {address}`"
    )


PAIRED_WORDS = "You may talk to me now. I kept nothing of what you wrote before: write again what you want."


def approve(
    pairing: Pairing | None, by_owner: bool, tries: int, now: int, settings: PairingSettings
) -> Paired | PairingRefused:
    """Judge a code that a person entered, after `tries` wrong ones within `settings.within`.

    `pairing` is what the ledger has under that code. The number of tries is checked first, so that a
    guesser learns nothing about the code.
    """
    if not by_owner:
        return PairingRefused(PairingRefusal.NOT_OWNER)
    if tries >= settings.tries:
        return PairingRefused(PairingRefusal.TOO_MANY_TRIES)
    if pairing is None:
        return PairingRefused(PairingRefusal.UNKNOWN)
    if pairing.used_at is not None:
        return PairingRefused(PairingRefusal.USED)
    if age(now, pairing.issued_at) >= settings.lasts:
        return PairingRefused(PairingRefusal.EXPIRED)
    return Paired(pairing.person)


def shown_code(code: str) -> str:
    """A code as people read and type it, in two halves."""
    half = len(code) // 2
    return f"{code[:half]}-{code[half:]}"


def code_from(chance: int) -> str:
    """Turn a large random number into a code."""
    letters = []
    for _ in range(CODE_LENGTH):
        chance, index = divmod(chance, len(CODE_ALPHABET))
        letters.append(CODE_ALPHABET[index])
    return "".join(letters)


def read_code(text: str) -> str | None:
    """Read a code as people type it (lower case, with spaces or dashes); None if it is no code."""
    code = text.upper().replace("-", "").replace(" ", "").strip()
    fits = len(code) == CODE_LENGTH and all(letter in CODE_ALPHABET for letter in code)
    return code if fits else None
