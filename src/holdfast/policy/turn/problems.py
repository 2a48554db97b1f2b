"""What can be wrong with a transcript or its journal: named and shown to people, never raised."""

from __future__ import annotations

from enum import StrEnum

from holdfast.records import dataclass


class ProblemKind(StrEnum):
    """One way in which what was recorded does not fit together."""

    DUPLICATE_SEQ = "duplicate_seq"
    OUT_OF_ORDER = "out_of_order"
    GAP = "gap"
    """Entries are missing, and no summary stands for them."""
    DUPLICATE_CALL = "duplicate_call"
    CALL_WITHOUT_RESULT = "call_without_result"
    """The turn, or the model, went on although a call had no result."""
    RESULT_WITHOUT_CALL = "result_without_call"
    SECOND_RESULT = "second_result"
    UNSETTLED_RESULT = "unsettled_result"
    """A result that says its call is still planned or started."""
    BAD_RANGE = "bad_range"
    OVERLAPPING_SUMMARY = "overlapping_summary"
    DUPLICATE_NOTE = "duplicate_note"
    CALL_NOT_JOURNALED = "call_not_journaled"
    JOURNALED_CALL_NOT_SAID = "journaled_call_not_said"
    """The journal has a call that no model message asked for."""
    SETTLED_WITHOUT_RESULT = "settled_without_result"
    RESULT_NOT_JOURNALED = "result_not_journaled"
    """The transcript has a result, the journal says the call has none yet."""


HARMLESS = frozenset({ProblemKind.OVERLAPPING_SUMMARY, ProblemKind.DUPLICATE_NOTE})
"""These change only what a model is shown, so no turn has to end because of them."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One named problem, where it stands, and words for people."""

    kind: ProblemKind
    seq: int
    """The entry it was found at; 0 when it is in the journal."""
    words: str
    open_turn: bool
    """It bears on what the last turn does next, so that turn cannot go on."""
