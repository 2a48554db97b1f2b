"""Pairing: how somebody nobody knows yet is let in, by a code that an owner approves."""

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
"""No character that is taken for another when read aloud."""


class PairingRefusal(StrEnum):
    """Why a pairing code does nothing."""

    UNKNOWN = "unknown_code"
    EXPIRED = "code_expired"
    USED = "code_used"
    TOO_MANY_TRIES = "too_many_tries"
    NOT_OWNER = "not_owner"


@dataclass(frozen=True, slots=True)
class Pairing:
    """A code given to a newcomer; worth nothing until an owner approves it."""

    code: str
    person: PersonId
    issued_at: int
    used_at: int | None = None


@dataclass(frozen=True, slots=True)
class Paired:
    """The code is good: this person is to be let in, and the code is used up."""

    person: PersonId


@dataclass(frozen=True, slots=True)
class PairingRefused:
    """The code is not good; a try is counted when it was unknown."""

    reason: PairingRefusal


class Wants(StrEnum):
    """What a refused message asks for by being written."""

    PERSON = "person"
    CHAT = "chat"


def wants(kind: ChatKind, denial: Denial) -> Wants | None:
    """What would let this sender in, if they may be told so: they themselves, or the chat they wrote in.

    A stranger is answered only where nobody else reads it. Somebody who is let in learns of a group that is
    not; a stranger in a group learns nothing.
    """
    if denial in (Denial.PERSON, Denial.GRANT_ENDED):
        return Wants.PERSON if kind is ChatKind.DIRECT else None
    return Wants.CHAT if denial is Denial.CHAT else None


def may_issue(issued_before: int, open_codes: int, settings: PairingSettings) -> bool:
    """Whether a newcomer gets a code: after `issued_before` to them within `settings.within`, with so many
    open to whomever. A crowd of strangers is not answered one by one."""
    return issued_before < settings.codes and open_codes < settings.open


def code_words(code: str, issued_before: int, settings: PairingSettings) -> str:
    """What a newcomer is told with a code, `issued_before` others."""
    last = issued_before + 1 >= settings.codes
    more = " This is the last code you get for a while." if last and settings.codes > 1 else ""
    return (
        "I do not know you yet, so I kept nothing of what you wrote. Give this code to the person who runs "
        f"me: {shown_code(code)}\nThey let you in with `holdfast pair {shown_code(code)}`. The code works "
        f"once, for {settings.lasts // MINUTE} minutes. Then write again.{more}"
    )


def chat_words(place: Place) -> str:
    """What somebody who is let in is told in a group that is not."""
    address = replace(place, thread=None).address
    return (
        "I may not talk in this chat yet, so I kept nothing of what you wrote. The person who runs me can "
        f"allow this chat: `holdfast people allow {address}`"
    )


PAIRED_WORDS = "You may talk to me now. I kept nothing of what you wrote before: write again what you want."


def approve(
    pairing: Pairing | None, by_owner: bool, tries: int, now: int, settings: PairingSettings
) -> Paired | PairingRefused:
    """Judge a code somebody entered, after `tries` wrong ones within `settings.within`.

    `pairing` is what the ledger has under that code. The count of tries comes before everything that
    would tell a guesser something about the code.
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
    """A code as it is read and typed, in two halves."""
    half = len(code) // 2
    return f"{code[:half]}-{code[half:]}"


def code_from(chance: int) -> str:
    """Spell a large random number as a code."""
    letters = []
    for _ in range(CODE_LENGTH):
        chance, index = divmod(chance, len(CODE_ALPHABET))
        letters.append(CODE_ALPHABET[index])
    return "".join(letters)


def read_code(text: str) -> str | None:
    """Read a code as people type it (lower case, with spaces or dashes), or None if it is none."""
    code = text.upper().replace("-", "").replace(" ", "").strip()
    fits = len(code) == CODE_LENGTH and all(letter in CODE_ALPHABET for letter in code)
    return code if fits else None
