"""Who may talk to the agent: nobody, unless named by an id that cannot be changed.

Asked at arrival, at dispatch and at resume. In a direct chat the person must be allowed; in a group the chat
and the person both, whoever they are. What cannot be read or checked is denied.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field, replace
from enum import StrEnum

from holdfast.model import ChatAddress, ChatKind, Grant, GrantScope, Origin, PersonId, Place
from holdfast.records import dataclass


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


def with_grants(access: Access, grants: Iterable[Grant]) -> Access:
    """The configured access, and whoever was let in besides."""
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
