"""What a model reads of calls that were cut off, and of long results."""

import pytest

from holdfast.model import Body, CallId, CallState, Returned
from holdfast.policy.turn.synthetic_results import part_of, with_output
from tests.support.transcripts import said


def of(state: CallState, text: str = "unknown: it was cut off.") -> Returned:
    return Returned(CallId("a"), state, text)


@pytest.mark.guards("R24.3")
def test_a_call_of_unknown_outcome_keeps_the_output_that_people_saw() -> None:
    kept = with_output(of(CallState.UNKNOWN), "compiling\nlinking\n")
    assert isinstance(kept, Returned)
    assert (kept.call, kept.state) == (CallId("a"), CallState.UNKNOWN)
    assert kept.text == (
        "unknown: it was cut off.\nIts output, as far as it was recorded before the cut:\n"
        "compiling\nlinking\n"
    )
    assert with_output(kept, "compiling\nlinking\n") == kept, "once"
    assert with_output(of(CallState.UNKNOWN), " \n") == of(CallState.UNKNOWN), "there was none"


@pytest.mark.parametrize("body", [of(CallState.DONE, "done"), of(CallState.FAILED, "failed"), said("hello")])
def test_what_has_an_outcome_or_is_no_result_stays_as_it_is(body: Body) -> None:
    assert with_output(body, "compiling") == body


def test_lines_that_just_fit_are_not_called_broken_off() -> None:
    text = "one\ntwo\nthree"
    assert part_of(text, 1, 2, 7) == "one\ntwo\n[lines 1 to 2 of 3]"
    assert part_of(text, 1, 2, 6) == "one\ntw\n[broken off after 6 characters: from line 1 on, of 3]"
    assert part_of(text, 4, 2, 9) == "[there are only 3 lines]"
