"""R10: what becomes of a delivery after a send."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.model import (
    DELIVERY,
    ChatAddress,
    Delivery,
    DeliveryId,
    DeliveryState,
    Lost,
    OwedKind,
    Rejected,
    SendResult,
    Sent,
    TryAgain,
    advance,
)
from holdfast.policy.retry import (
    Next,
    Settling,
    after_asking,
    after_send,
    before_send,
    delay,
    give_up,
    left_line,
    missing_line,
)
from holdfast.policy.settings import DAY, MINUTE, SECOND, RetrySettings

NOW = 1_800_000_000_000
SETTINGS = RetrySettings()
SENDING = Delivery(
    id=DeliveryId(77),
    chat=ChatAddress("web/bot/c"),
    order=1,
    kind=OwedKind.REPLY,
    part=1,
    parts=1,
    text="hi",
    options=(),
    reply_to=None,
    dedupe="k",
    state=DeliveryState.SENDING,
    attempts=0,
    repeated=False,
    created_at=NOW,
)
WORN = replace(SENDING, attempts=SETTINGS.attempts - 1)
OLD = replace(SENDING, created_at=NOW - DAY - 1)


def sent(result: SendResult, delivery: Delivery = SENDING, settling: Settling = Settling.ASK) -> Next:
    return after_send(result, delivery, settling, NOW, SETTINGS, jitter=0.5)


# Waiting


def test_waiting_grows_and_is_capped() -> None:
    waits = [delay(attempt, SETTINGS, 0.0) for attempt in (1, 2, 3, 4, 12, 10_000)]
    assert waits == [500, 1000, 2000, 4000, 150 * SECOND, 150 * SECOND]


@given(st.integers(0, 10**9), st.floats(0, 1, exclude_max=True))
def test_jitter_spreads_over_the_upper_half(attempt: int, jitter: float) -> None:
    assert SETTINGS.first // 2 <= delay(attempt, SETTINGS, jitter) <= SETTINGS.most
    assert (
        delay(attempt, SETTINGS, 0.0) <= delay(attempt, SETTINGS, jitter) <= 2 * delay(attempt, SETTINGS, 0.0)
    )


def test_giving_up_has_a_reason() -> None:
    assert give_up(11, NOW - DAY, NOW, SETTINGS) is None
    assert give_up(12, NOW, NOW, SETTINGS) == "too_many_attempts"
    assert give_up(0, NOW - DAY - 1, NOW, SETTINGS) == "too_old"
    assert give_up(0, NOW + DAY, NOW, SETTINGS) is None


def test_what_waited_too_long_is_not_sent() -> None:
    assert before_send(SENDING, NOW, SETTINGS) is None
    assert before_send(OLD, NOW, SETTINGS) == Next(DeliveryState.EXPIRED, 0, reason="too_old")
    worn = before_send(replace(SENDING, attempts=12), NOW, SETTINGS)
    assert worn == Next(DeliveryState.FAILED, 12, reason="too_many_attempts")


# Results


def test_a_taken_message_is_sent() -> None:
    assert sent(Sent("p1")) == Next(DeliveryState.SENT, 1, platform_id="p1")


def test_a_message_taken_late_is_still_sent() -> None:
    assert sent(Sent("p1"), OLD).state is DeliveryState.SENT


def test_a_refused_part_fails_once_and_is_replaced_by_a_line() -> None:
    found = sent(Rejected("too long"))
    assert found == Next(DeliveryState.FAILED, 1, reason="too long", replaced=True)
    assert "could not be shown" in missing_line(1, 1) and "Part 2 of 3" in missing_line(2, 3)


def test_a_chat_that_is_gone_fails_as_a_whole() -> None:
    found = sent(Rejected("blocked", whole_chat=True))
    assert found == Next(DeliveryState.FAILED, 1, reason="blocked", whole_chat=True)


def test_retry_after_is_honoured() -> None:
    found = sent(TryAgain(NOW + 10 * MINUTE, "throttled", counts=False))
    assert found == Next(DeliveryState.PENDING, 0, at=NOW + 10 * MINUTE, reason="throttled")


def test_backoff_applies_when_the_platform_names_an_earlier_time() -> None:
    found = sent(TryAgain(NOW, "refused connection"), replace(SENDING, attempts=3))
    assert (found.attempts, found.at) == (4, NOW + delay(4, SETTINGS, 0.5))


def test_a_platform_that_is_down_costs_no_attempt_and_is_not_hammered() -> None:
    found = sent(TryAgain(NOW - MINUTE, "down", counts=False), WORN)
    assert found.state is DeliveryState.PENDING and found.attempts == WORN.attempts
    assert found.at is not None and found.at > NOW


def test_the_last_attempt_fails_with_both_reasons() -> None:
    found = sent(TryAgain(NOW, "refused"), WORN)
    assert (found.state, found.attempts) == (DeliveryState.FAILED, 12)
    assert found.reason == "too_many_attempts: refused"
    assert sent(TryAgain(NOW, "down", counts=False), OLD).reason == "too_old: down"


# Unknown outcomes


def test_a_lost_send_is_asked_about_where_the_platform_can_be_asked() -> None:
    found = sent(Lost("timeout"))
    assert (found.state, found.attempts, found.repeated) == (DeliveryState.UNKNOWN, 1, False)
    assert sent(Lost("timeout"), WORN).state is DeliveryState.UNKNOWN


def test_a_lost_send_is_repeated_with_its_key_unmarked() -> None:
    found = sent(Lost("timeout"), settling=Settling.REPEAT_WITH_KEY)
    assert (found.state, found.repeated) == (DeliveryState.PENDING, False)


def test_a_lost_send_is_otherwise_sent_again_marked() -> None:
    found = sent(Lost("timeout"), settling=Settling.RESEND_MARKED)
    assert (found.state, found.repeated) == (DeliveryState.PENDING, True)


@pytest.mark.parametrize("settling", [Settling.REPEAT_WITH_KEY, Settling.RESEND_MARKED])
@pytest.mark.parametrize("delivery", [WORN, OLD])
def test_a_lost_send_that_is_given_up_says_it_may_have_arrived(
    settling: Settling, delivery: Delivery
) -> None:
    found = sent(Lost("timeout"), delivery, settling)
    assert found.state is DeliveryState.FAILED
    assert found.reason is not None and "may have arrived" in found.reason


def asked(arrived: bool | None, delivery: Delivery) -> Next:
    return after_asking(arrived, delivery, NOW, SETTINGS, 0.5, "p1" if arrived else None)


def test_asking_settles_an_unknown_send() -> None:
    unknown = replace(SENDING, state=DeliveryState.UNKNOWN, attempts=1)
    assert asked(True, unknown) == Next(DeliveryState.SENT, 1, platform_id="p1")
    absent, untold = asked(False, unknown), asked(None, unknown)
    assert (absent.state, absent.repeated) == (DeliveryState.PENDING, False)
    assert (untold.state, untold.repeated) == (DeliveryState.PENDING, True)


def test_asking_too_late_sends_nothing_again() -> None:
    old = replace(OLD, state=DeliveryState.UNKNOWN)
    assert asked(True, old).state is DeliveryState.SENT
    assert asked(False, old) == Next(DeliveryState.EXPIRED, 0, reason="too_old")
    assert asked(None, old).reason == "too_old; it may have arrived"


RESULTS = st.one_of(
    st.just(Sent()),
    st.builds(
        TryAgain,
        at=st.integers(NOW - DAY, NOW + DAY),
        reason=st.just("again"),
        counts=st.booleans(),
    ),
    st.just(Lost("lost")),
    st.builds(Rejected, reason=st.just("no"), whole_chat=st.booleans()),
)
DELIVERIES = st.builds(
    lambda attempts, repeated, since: replace(
        SENDING, attempts=attempts, repeated=repeated, created_at=NOW - since
    ),
    st.integers(0, 20),
    st.booleans(),
    st.integers(-DAY, 2 * DAY),
)


@given(RESULTS, DELIVERIES, st.sampled_from(Settling), st.floats(0, 1, exclude_max=True))
def test_every_result_is_an_arrow_and_no_mark_is_ever_lost(
    result: SendResult, delivery: Delivery, settling: Settling, jitter: float
) -> None:
    found = after_send(result, delivery, settling, NOW, SETTINGS, jitter)
    advance(DELIVERY, DeliveryState.SENDING, found.state)
    assert found.repeated >= delivery.repeated
    assert found.attempts >= delivery.attempts
    if found.state is DeliveryState.PENDING:
        assert found.at is not None and found.at > NOW
    if found.state not in (DeliveryState.SENT, DeliveryState.PENDING):
        assert found.reason


@given(DELIVERIES, st.none() | st.booleans())
def test_every_answer_of_a_platform_is_an_arrow_from_unknown(
    delivery: Delivery, arrived: bool | None
) -> None:
    found = after_asking(arrived, replace(delivery, state=DeliveryState.UNKNOWN), NOW, SETTINGS, 0.0)
    advance(DELIVERY, DeliveryState.UNKNOWN, found.state)
    assert found.repeated >= delivery.repeated


def test_the_line_for_a_part_given_up_says_which_and_whether_it_may_be_there() -> None:
    assert "Part 2 of 3" in left_line(2, 3, may_have_arrived=False)
    assert "may have been shown" not in left_line(2, 3, may_have_arrived=False)
    assert "may have been shown" in left_line(1, 1, may_have_arrived=True)
