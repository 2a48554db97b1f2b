"""The settings by which the store admits an arriving message."""

from __future__ import annotations

from collections.abc import Callable

from holdfast.model import BusyMode, PersonId
from holdfast.policy.delivery.parts import Longest, usual
from holdfast.policy.intake.admission import Drain
from holdfast.policy.settings import PairingSettings, QueueSettings
from holdfast.records import dataclass


def _no_owner(person: PersonId) -> bool:
    return False


@dataclass(frozen=True, slots=True)
class ArrivalSettings:
    """These settings and the ledger decide how a message is admitted; nothing else does."""

    queue: QueueSettings = QueueSettings()
    busy: BusyMode = BusyMode.QUEUE
    """For chats that chose no mode."""
    draining: Drain | None = None
    safe_mode: bool = False
    """While it is on, no message drops interrupted work."""
    pairing: PairingSettings = PairingSettings()
    longest: Longest = usual
    """How much one message to a chat may hold: the limit of the partial reply that dropped work leaves."""
    owner: Callable[[PersonId], bool] = _no_owner
    """Says who is an owner, inside the transaction. Call `is_owner` instead: it catches its errors."""

    def is_owner(self, person: PersonId) -> bool:
        """Whether this person is an owner now; False when the check fails."""
        try:
            return self.owner(person)
        except Exception:  # noqa: BLE001 - boundary to the list of owners: an error makes no person an owner
            return False


AS_CONFIGURED = ArrivalSettings()
"""The defaults, with no drain in progress."""
