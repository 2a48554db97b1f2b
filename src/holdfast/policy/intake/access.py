"""Who may talk to the agent: only people whom the configuration or a grant names by an immutable id.

The gateway checks at arrival, at dispatch and at resume. In a direct chat the person must be allowed; in a
group both the chat and the person, owners included. An error while checking denies access.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field, replace
from enum import StrEnum

from holdfast.model import ChatAddress, ChatKind, Grant, GrantScope, Origin, PersonId, Place
from holdfast.records import dataclass


class Denial(StrEnum):
    """Why a sender may not talk."""

    UNREADABLE = "access_unreadable"
    """The gateway could not read the list of allowed people; an error never lets a person in."""
    NOBODY = "no_sender_id"
    """The platform names no sender (an anonymous admin, a channel)."""
    PERSON = "person_not_allowed"
    CHAT = "chat_not_allowed"
    GRANT_ENDED = "grant_ended"


@dataclass(frozen=True, slots=True)
class Access:
    """Everyone who is allowed. Empty: no one is."""

    owners: frozenset[PersonId] = frozenset()
    people: frozenset[PersonId] = frozenset()
    chats: frozenset[ChatAddress] = frozenset()
    """Groups, by the address of the whole chat or of one of its threads."""
    grants: Mapping[PersonId, int | None] = field(default_factory=dict)
    """People let in by pairing, each until a time or without end (None)."""


@dataclass(frozen=True, slots=True)
class Allowed:
    """The sender may talk."""

    owner: bool


@dataclass(frozen=True, slots=True)
class Denied:
    """The sender may not talk: the gateway keeps and runs nothing of what they wrote."""

    reason: Denial


def may_talk(origin: Origin, access: Access | None, now: int) -> Allowed | Denied:
    """Decide whether this sender may talk here; `access` is None when it could not be read."""
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
    """Decide whether a person who was allowed at arrival is still allowed at dispatch or at resume.

    The chat was checked at arrival and is not checked again: access of people changes, of chats hardly ever.
    """
    if access is None:
        return Denied(Denial.UNREADABLE)
    denial = _person_denied(person, access, now)
    return Denied(denial) if denial is not None else Allowed(owner=person in access.owners)


def with_grants(access: Access, grants: Iterable[Grant]) -> Access:
    """The configured access, with everyone added to whom an owner gave a grant."""
    found: dict[GrantScope, set[str]] = {scope: set() for scope in GrantScope}
    for grant in grants:
        found[grant.scope].add(grant.subject)
    return Access(
        access.owners | {PersonId(one) for one in found[GrantScope.OWNER]},
        access.people,
        access.chats | {ChatAddress(one) for one in found[GrantScope.CHAT]},
        {**access.grants, **dict.fromkeys(map(PersonId, found[GrantScope.PERSON]))},
    )


def _person_denied(person: PersonId, access: Access, now: int) -> Denial | None:
    if person in access.owners or person in access.people:
        return None
    if person not in access.grants:
        return Denial.PERSON
    until = access.grants[person]
    return None if until is None or now < until else Denial.GRANT_ENDED


def _chat_allowed(place: Place, access: Access) -> bool:
    return place.address in access.chats or replace(place, thread=None).address in access.chats
