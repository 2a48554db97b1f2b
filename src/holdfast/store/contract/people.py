"""Verbs of access: asking for it, granting it and revoking it."""

from __future__ import annotations

from typing import Protocol

from holdfast.model import Grant, GrantScope, PairingRequest, PersonId
from holdfast.policy.intake.pairing import Paired, PairingRefused
from holdfast.policy.settings import PairingSettings

AS_USUAL = PairingSettings()


class LookingAtPeople(Protocol):
    """What every reader may look at."""

    async def grants(self) -> tuple[Grant, ...]:
        """Every person and chat with a grant in the ledger; grants of the configuration are not included."""
        ...

    async def asking(self, limit: int = 100) -> tuple[PairingRequest, ...]:
        """Newcomers with a code that is still valid, newest first; each person once."""
        ...


class People(LookingAtPeople, Protocol):
    """Grants are rows: after any crash a grant still holds, and a revoked grant stays revoked.

    `accept` issues the codes, in the commit that refuses a newcomer's message.
    """

    async def pair(
        self,
        code: str,
        by: PersonId,
        by_owner: bool,
        scope: GrantScope = GrantScope.PERSON,
        settings: PairingSettings = AS_USUAL,
    ) -> Paired | PairingRefused:
        """Approve a code (`policy.intake.pairing.approve`) and grant access, in one commit.

        The same commit ends all codes of that person and owes them the news. A wrong code counts against the
        person who typed it.
        """
        ...

    async def grant(self, scope: GrantScope, subject: str, by: PersonId) -> bool:
        """Grant access to a person or a chat; False when they had it already."""
        ...

    async def revoke(self, subject: str, by: PersonId) -> bool:
        """Revoke every grant of a person or a chat; False when there was none."""
        ...
