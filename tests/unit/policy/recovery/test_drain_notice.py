"""What a chat with a running turn is told before a drain."""

import pytest

from holdfast.model import OnInterruption
from holdfast.policy.intake.admission import Drain
from holdfast.policy.recovery.drain_notice import farewells
from holdfast.policy.settings import MINUTE, SECOND


@pytest.mark.guards("R3.1")
@pytest.mark.parametrize("why", Drain)
def test_every_chat_is_told_how_long_the_drain_waits(why: Drain) -> None:
    for words in farewells(why, 45 * SECOND).values():
        assert "waits up to 45 seconds" in words
        assert words.index("45 seconds") < words.index("by then"), "`then` refers to the time just named"
    assert "2 minutes" in farewells(why, 2 * MINUTE)[OnInterruption.ASK]


@pytest.mark.guards("R3.1")
def test_a_drain_that_does_not_wait_says_so() -> None:
    for words in farewells(Drain.SHUTDOWN, 0).values():
        assert "does not wait" in words and "by then" not in words


@pytest.mark.guards("R3.1")
def test_the_words_of_a_restart_that_resumes_are_kept() -> None:
    words = farewells(Drain.RESTART, MINUTE)
    assert "restarting" in words[OnInterruption.RESUME]
    assert "try to resume" in words[OnInterruption.RESUME]
    assert "try to resume" not in words[OnInterruption.ASK] + words[OnInterruption.NEVER]
