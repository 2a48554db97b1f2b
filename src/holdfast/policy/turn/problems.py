"""What can be wrong with a transcript or its journal: people are shown it, no code raises it."""

from __future__ import annotations

from enum import StrEnum

from holdfast.records import dataclass


class ProblemKind(StrEnum):
    """One way in which the record contradicts itself."""

    DUPLICATE_SEQ = "duplicate_seq"
    OUT_OF_ORDER = "out_of_order"
    GAP = "gap"
    """Entries are missing, and no summary covers them."""
    DUPLICATE_CALL = "duplicate_call"
    CALL_WITHOUT_RESULT = "call_without_result"
    """The turn or the model went on although a call had no result."""
    RESULT_WITHOUT_CALL = "result_without_call"
    SECOND_RESULT = "second_result"
    UNSETTLED_RESULT = "unsettled_result"
    """A result says that its call is still planned or started."""
    BAD_RANGE = "bad_range"
    OVERLAPPING_SUMMARY = "overlapping_summary"
    DUPLICATE_NOTE = "duplicate_note"
    CALL_NOT_JOURNALED = "call_not_journaled"
    JOURNALED_CALL_NOT_SAID = "journaled_call_not_said"
    """The journal has a call that no model message asked for."""
    SETTLED_WITHOUT_RESULT = "settled_without_result"
    RESULT_NOT_JOURNALED = "result_not_journaled"
    """The transcript has a result, but the journal says that the call has none yet."""


HARMLESS = frozenset({ProblemKind.OVERLAPPING_SUMMARY, ProblemKind.DUPLICATE_NOTE})
"""These change only what a model is shown, so no turn has to end because of them."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One problem, its place, and words for people."""

    kind: ProblemKind
    seq: int
    """The entry where it was found; 0 when it is in the journal."""
    words: str
    open_turn: bool
    """It affects the next step of the last turn, so that turn cannot go on."""
