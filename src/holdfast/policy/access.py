"""Who may talk to the agent: nobody, unless named by an id that cannot be changed.

Asked at arrival, at dispatch and at resume. In a direct chat the person must be allowed; in a group the chat
and the person both, whoever they are. What cannot be read or checked is denied.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
from enum import StrEnum

from holdfast.model import ChatAddress, ChatKind, Origin, PersonId, Place
from holdfast.records import dataclass

from .ages import age
from .settings import PairingSettings


class Denial(StrEnum):
    """Why somebody may not talk."""

    UNREADABLE = "access_unreadable"
    """The list of who is allowed could not be read; an error never lets anybody in."""
    NOBODY = "no_sender_id"
    """The platform names no sender (an anonymous admin, a channel)."""
    PERSON = "person_not_allowed"
    CHAT = "chat_not_allowed"
    GRANT_ENDED = "grant_ended"


@dataclass(frozen=True, slots=True)
class Access:
    """Everybody who is allowed; empty means nobody."""

    owners: frozenset[PersonId] = frozenset()
    people: frozenset[PersonId] = frozenset()
    chats: frozenset[ChatAddress] = frozenset()
    """Groups, by the address of the whole chat or of one of its threads."""
    grants: Mapping[PersonId, int | None] = field(default_factory=dict)
    """People let in by pairing, until a time or for good (None)."""


@dataclass(frozen=True, slots=True)
class Allowed:
    """They may talk."""

    owner: bool


@dataclass(frozen=True, slots=True)
class Denied:
    """They may not; nothing they wrote is kept or run."""

    reason: Denial


def may_talk(origin: Origin, access: Access | None, now: int) -> Allowed | Denied:
    """Say whether this sender may talk here; `access` is None when it could not be read."""
    if access is None:
        return Denied(Denial.UNREADABLE)
    if not origin.sender.strip():
        return Denied(Denial.NOBODY)
    denial = _person_denied(origin.person, access, now)
    if denial is not None:
        return Denied(denial)
    if origin.kind is not ChatKind.DIRECT and not _chat_allowed(origin.place, access):
        return Denied(Denial.CHAT)
    return Allowed(owner=origin.person in access.owners)


def still_allowed(person: PersonId, access: Access | None, now: int) -> Allowed | Denied:
    """Say whether somebody who was let in at arrival is allowed at dispatch or at resume.

    Where they wrote was checked when it arrived; people are let in and out, chats hardly ever.
    """
    if access is None:
        return Denied(Denial.UNREADABLE)
    denial = _person_denied(person, access, now)
    return Denied(denial) if denial is not None else Allowed(owner=person in access.owners)


def _person_denied(person: PersonId, access: Access, now: int) -> Denial | None:
    if person in access.owners or person in access.people:
        return None
    if person not in access.grants:
        return Denial.PERSON
    until = access.grants[person]
    return None if until is None or now < until else Denial.GRANT_ENDED


def _chat_allowed(place: Place, access: Access) -> bool:
    return place.address in access.chats or replace(place, thread=None).address in access.chats


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


def may_issue(issued_before: int, settings: PairingSettings) -> bool:
    """Whether a newcomer gets another code, after `issued_before` within `settings.within`."""
    return issued_before < settings.codes


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
