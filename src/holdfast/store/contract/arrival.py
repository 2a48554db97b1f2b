"""What an arriving message is admitted under."""

from __future__ import annotations

from collections.abc import Callable

from holdfast.model import BusyMode, PersonId
from holdfast.policy.delivery.parts import Longest, usual
from holdfast.policy.intake.admission import Drain
from holdfast.policy.settings import PairingSettings, QueueSettings
from holdfast.records import dataclass


def _nobody(person: PersonId) -> bool:
    return False


@dataclass(frozen=True, slots=True)
class ArrivalSettings:
    """What becomes of an arriving message follows from this and the ledger."""

    queue: QueueSettings = QueueSettings()
    busy: BusyMode = BusyMode.QUEUE
    """For chats that chose none."""
    draining: Drain | None = None
    safe_mode: bool = False
    """While it is on, no message drops interrupted work."""
    pairing: PairingSettings = PairingSettings()
    longest: Longest = usual
    """What one message to a chat may hold, for what a chat keeps of work that is dropped."""
    owner: Callable[[PersonId], bool] = _nobody
    """Who is an owner; called inside the transaction. Ask `is_owner`, which bears its faults."""

    def is_owner(self, person: PersonId) -> bool:
        """Whether this person is an owner now; who cannot be checked is none."""
        try:
            return self.owner(person)
        except Exception:  # noqa: BLE001 - the boundary to whoever knows: an error makes nobody an owner
            return False


AS_CONFIGURED = ArrivalSettings()
"""The defaults, with no drain under way."""
