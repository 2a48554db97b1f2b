"""Verbs of access: who asks to be let in, who was, and who is no more."""

from __future__ import annotations

from typing import Protocol

from holdfast.model import Grant, GrantScope, PairingRequest, PersonId
from holdfast.policy.intake.pairing import Paired, PairingRefused
from holdfast.policy.settings import PairingSettings

AS_USUAL = PairingSettings()


class LookingAtPeople(Protocol):
    """What everybody may look at."""

    async def grants(self) -> tuple[Grant, ...]:
        """Everybody and every chat let in here; those of the configuration are not among them."""
        ...

    async def asking(self, limit: int = 100) -> tuple[PairingRequest, ...]:
        """Newcomers with a code that is still good, the last first; each person once."""
        ...


class People(LookingAtPeople, Protocol):
    """Grants are rows: who is let in stays so after any crash, and who is taken out stays out.

    Codes are issued by `accept`, in the commit that refuses a newcomer's message.
    """

    async def pair(
        self,
        code: str,
        by: PersonId,
        by_owner: bool,
        scope: GrantScope = GrantScope.PERSON,
        settings: PairingSettings = AS_USUAL,
    ) -> Paired | PairingRefused:
        """Approve a code (`policy.intake.pairing.approve`): the grant, the end of all codes of that person
        and what they are told of it are one commit. A wrong code is counted against who gave it.
        """
        ...

    async def grant(self, scope: GrantScope, subject: str, by: PersonId) -> bool:
        """Let somebody, or a chat, in; False when they were before."""
        ...

    async def revoke(self, subject: str, by: PersonId) -> bool:
        """Take back all that was granted to somebody, or a chat; False when there was nothing."""
        ...
