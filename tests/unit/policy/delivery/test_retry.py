"""R10: what becomes of a delivery after a send."""

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
from holdfast.policy.delivery.retry import (
    FailingPart,
    Next,
    RetryEvent,
    Settling,
    after_asking,
    after_doubt,
    after_send,
    before_send,
    delay,
    is_tried_at_once,
    late_line,
    left_line,
    missing_line,
    next_judged,
    repeat_at,
    steps_aside,
)
from holdfast.policy.settings import DAY, HOUR, MINUTE, SECOND, RetrySettings

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
WORN = SENDING._replace(attempts=1_000)
OLD = SENDING._replace(created_at=NOW - DAY - 1)


def sent(result: SendResult, delivery: Delivery = SENDING, settling: Settling = Settling.ASK) -> Next:
    return after_send(result, delivery, settling, NOW, SETTINGS, jitter=0.5)


# Waiting


def test_waiting_grows_and_is_capped() -> None:
    waits = [delay(attempt, SETTINGS, 0.0) for attempt in (1, 2, 3, 4, 12, 10_000)]
    assert waits == [500, 1000, 2000, 4000, 450 * SECOND, 450 * SECOND]


@given(st.integers(0, 10**9), st.floats(0, 1, exclude_max=True))
def test_jitter_spreads_over_the_upper_half(attempt: int, jitter: float) -> None:
    assert SETTINGS.first // 2 <= delay(attempt, SETTINGS, jitter) <= SETTINGS.most
    assert (
        delay(attempt, SETTINGS, 0.0) <= delay(attempt, SETTINGS, jitter) <= 2 * delay(attempt, SETTINGS, 0.0)
    )


def test_what_waited_too_long_is_not_sent_and_nothing_else_is_given_up() -> None:
    assert before_send(SENDING, NOW, SETTINGS) is None
    assert before_send(WORN._replace(created_at=NOW - DAY), NOW, SETTINGS) is None
    assert before_send(SENDING._replace(created_at=NOW + DAY), NOW, SETTINGS) is None
    assert before_send(OLD, NOW, SETTINGS) == Next(DeliveryState.EXPIRED, 0, reason="too_old")


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
    found = sent(TryAgain(NOW, "refused connection"), SENDING._replace(attempts=3))
    assert (found.attempts, found.at) == (4, NOW + delay(4, SETTINGS, 0.5))


def test_a_platform_that_is_down_costs_no_attempt_and_is_not_hammered() -> None:
    found = sent(TryAgain(NOW - MINUTE, "down", counts=False), WORN)
    assert found.state is DeliveryState.PENDING and found.attempts == WORN.attempts
    assert found.at is not None and found.at > NOW


def test_a_platform_that_is_down_waits_no_longer_for_a_part_that_failed_often() -> None:
    assert sent(TryAgain(NOW, "down", counts=False), WORN).at == NOW + delay(1, SETTINGS, 0.5)


@pytest.mark.guards("R10.3")
def test_a_failed_send_is_tried_again_however_often_until_it_is_too_old() -> None:
    found = sent(TryAgain(NOW, "refused"), WORN)
    assert (found.state, found.attempts) == (DeliveryState.PENDING, WORN.attempts + 1)
    assert found.at == NOW + delay(10_000, SETTINGS, 0.5)
    assert sent(TryAgain(NOW, "refused"), OLD) == Next(DeliveryState.FAILED, 1, reason="too_old: refused")
    assert sent(TryAgain(NOW, "down", counts=False), OLD).reason == "too_old: down"


# Unknown outcomes


def test_a_lost_send_is_asked_about_where_the_platform_can_be_asked() -> None:
    found = sent(Lost("timeout"))
    assert (found.state, found.attempts, found.repeated) == (DeliveryState.UNKNOWN, 1, False)
    assert sent(Lost("timeout"), WORN).state is DeliveryState.UNKNOWN


@pytest.mark.parametrize("settling", Settling)
def test_a_lost_send_is_recorded_as_unknown_and_settled_later(settling: Settling) -> None:
    for delivery in (SENDING, WORN, OLD):
        found = sent(Lost("timeout"), delivery, settling)
        assert (found.state, found.reason) == (DeliveryState.UNKNOWN, "timeout")
        assert (found.at is not None) == (settling is Settling.ASK)


def doubted(
    delivery: Delivery, settling: Settling = Settling.RESEND_MARKED, failing_since: int | None = NOW
) -> Next:
    unknown = delivery._replace(state=DeliveryState.UNKNOWN, failing_since=failing_since)
    return after_doubt(unknown, settling, NOW, SETTINGS, 0.5)


def test_a_send_that_the_end_of_the_gateway_cut_off_is_repeated_soon_and_not_counted() -> None:
    often = SENDING._replace(repeats=SETTINGS.repeats, attempts=3)
    found = doubted(often, failing_since=None)
    assert (found.state, found.repeated, found.marked) == (DeliveryState.PENDING, True, False)
    assert found.at == NOW + delay(3, SETTINGS, 0.5)


def test_a_doubt_is_repeated_with_the_key_however_often_or_marked_a_few_times() -> None:
    keyed = doubted(WORN._replace(repeats=100), Settling.REPEAT_WITH_KEY)
    assert (keyed.state, keyed.repeated, keyed.marked) == (DeliveryState.PENDING, True, False)
    marked = doubted(WORN)
    assert (marked.state, marked.repeated, marked.marked) == (DeliveryState.PENDING, True, True)
    spent = doubted(SENDING._replace(repeats=SETTINGS.repeats))
    assert (spent.state, spent.reason) == (DeliveryState.FAILED, "repeated 8 times; it may have arrived")


@pytest.mark.parametrize("settling", [Settling.REPEAT_WITH_KEY, Settling.RESEND_MARKED])
def test_a_doubt_that_is_too_old_is_given_up_and_says_it_may_have_arrived(settling: Settling) -> None:
    found = doubted(OLD, settling)
    assert (found.state, found.reason) == (DeliveryState.FAILED, "too_old; it may have arrived")


def repeats(settings: RetrySettings = SETTINGS, delivery: Delivery = SENDING) -> list[int]:
    """The times after its first send at which a part is repeated that is lost each time."""
    now, found = NOW, list[int]()
    while (at := repeat_at(delivery, now, settings, 0.5)) is not None:
        now = at
        found.append(now - NOW)
        delivery = delivery._replace(repeats=delivery.repeats + 1)
    return found


@pytest.mark.guards("R10.3")
def test_marked_repeats_are_few_and_spread_over_the_whole_age() -> None:
    found = repeats()
    assert len(found) == 8
    assert found[0] == 750, "one lost answer is settled at once"
    waits = [later - earlier for earlier, later in zip(found, found[1:], strict=False)]
    assert waits == sorted(waits)
    assert MINUTE <= waits[0] < 2 * MINUTE
    assert all(wait >= 2 * HOUR for wait in waits[-3:])
    assert DAY - 2 * MINUTE <= found[-1] < DAY, "the last outlives every outage that is shorter than the age"


@given(st.integers(2, 100), st.integers(MINUTE, 2 * DAY), st.integers(0, DAY))
def test_the_last_repeat_comes_at_the_end_of_any_age_however_late_the_first_send_was(
    most: int, cap: int, waited: int
) -> None:
    settings = RetrySettings(repeats=most, age=cap)
    found = repeats(settings, SENDING._replace(created_at=NOW - min(waited, cap)))
    assert len(found) == most
    left = cap - min(waited, cap)
    assert found[-1] <= max(left, 750)
    assert found[-1] >= min(left, DAY) - max(2 * MINUTE, cap // 5)
    assert max(found[:1] + [b - a for a, b in zip(found, found[1:], strict=False)]) <= DAY


def test_words_about_work_in_progress_are_repeated_once() -> None:
    assert len(repeats(delivery=SENDING._replace(dedupe="working:t1:1"))) == 1


# Parts that fail while others do not

FAILING = SENDING._replace(
    state=DeliveryState.PENDING,
    repeated=True,
    repeats=2,
    failing_since=NOW - HOUR,
    claimed_at=NOW - HOUR,
    created_at=NOW - HOUR,
)
LAST_LEFT = FAILING._replace(repeats=SETTINGS.repeats)


def at_once(delivery: Delivery, event: RetryEvent, held: int | None = None) -> bool:
    return is_tried_at_once(FailingPart(delivery, held), event, NOW, SETTINGS)


@pytest.mark.guards("R10.3")
def test_the_first_other_send_that_succeeds_lets_a_failing_part_be_tried_at_once() -> None:
    assert at_once(FAILING, RetryEvent.OVERTAKEN)
    assert not at_once(FAILING._replace(overtaken_at=NOW - 1), RetryEvent.OVERTAKEN), "then it is the part"
    assert not at_once(LAST_LEFT, RetryEvent.OVERTAKEN), "the last repeat is for the end"


@pytest.mark.guards("R10.3")
def test_a_reconnection_tries_at_once_what_certainly_did_not_arrive() -> None:
    assert at_once(FAILING._replace(repeated=False), RetryEvent.RECONNECTED)
    assert not at_once(FAILING, RetryEvent.RECONNECTED)


def test_a_part_that_newer_messages_wait_for_is_tried_now_and_then() -> None:
    assert at_once(FAILING, RetryEvent.HOLDS, held=NOW - 1)
    assert not at_once(FAILING, RetryEvent.HOLDS), "nothing waits"
    assert not at_once(FAILING, RetryEvent.HOLDS, held=NOW - HOUR), "nothing new since it was last tried"
    recent = FAILING._replace(claimed_at=NOW - SETTINGS.aside + 1)
    assert not at_once(recent, RetryEvent.HOLDS, held=NOW - 1)
    assert not at_once(LAST_LEFT, RetryEvent.HOLDS, held=NOW - 1)


def aside(delivery: Delivery, held: int | None = None) -> bool:
    return steps_aside(FailingPart(delivery, held), NOW, SETTINGS)


@pytest.mark.guards("R10.3")
def test_a_part_steps_aside_when_others_succeed_and_it_fails_for_long() -> None:
    overtaken = FAILING._replace(overtaken_at=NOW - 2, claimed_at=NOW - 1)
    assert aside(overtaken)
    assert not aside(overtaken._replace(claimed_at=NOW - 3)), "it has not been tried since"
    assert aside(overtaken._replace(claimed_at=NOW - 3, state=DeliveryState.UNKNOWN)), "it is asked about"
    assert aside(LAST_LEFT._replace(overtaken_at=NOW - 2)), "it will not be tried for hours"
    assert aside(overtaken._replace(repeated=False, repeats=0)), "also one that certainly did not arrive"
    assert not aside(FAILING), "nothing succeeds: the account fails, not the part"
    assert not aside(overtaken._replace(failing_since=NOW - SETTINGS.aside + 1))
    assert not aside(overtaken._replace(aside_at=NOW - 1)), "once"
    assert not aside(SENDING._replace(overtaken_at=NOW - 1)), "it does not fail"


def test_a_part_that_has_only_its_last_repeat_left_keeps_no_other_message_waiting_for_it() -> None:
    assert aside(LAST_LEFT, held=NOW)
    assert not aside(LAST_LEFT)
    assert not aside(FAILING, held=NOW)


def test_a_failing_part_is_judged_again_when_time_may_have_changed_something() -> None:
    def judged(delivery: Delivery) -> int | None:
        return next_judged(FailingPart(delivery), NOW, SETTINGS)

    young = FAILING._replace(failing_since=NOW - 5, claimed_at=NOW - 3)
    assert judged(young) == NOW - 5 + SETTINGS.aside
    assert judged(young._replace(failing_since=NOW - HOUR)) == NOW - 3 + SETTINGS.aside
    assert judged(FAILING) is None
    assert judged(young._replace(aside_at=NOW)) is None


def asked(arrived: bool | None, delivery: Delivery) -> Next:
    return after_asking(arrived, delivery, NOW, SETTINGS, 0.5, "p1" if arrived else None)


def test_asking_settles_an_unknown_send() -> None:
    unknown = SENDING._replace(state=DeliveryState.UNKNOWN, attempts=1)
    assert asked(True, unknown) == Next(DeliveryState.SENT, 1, platform_id="p1")
    absent, untold = asked(False, unknown), asked(None, unknown)
    assert (absent.state, absent.repeated) == (DeliveryState.PENDING, False)
    assert (untold.state, untold.repeated) == (DeliveryState.PENDING, True)


def test_asking_too_late_sends_nothing_again() -> None:
    old = OLD._replace(state=DeliveryState.UNKNOWN)
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
    lambda attempts, repeated, since: SENDING._replace(
        attempts=attempts, repeated=repeated, created_at=NOW - since
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
    found = after_asking(arrived, delivery._replace(state=DeliveryState.UNKNOWN), NOW, SETTINGS, 0.0)
    advance(DELIVERY, DeliveryState.UNKNOWN, found.state)
    assert found.repeated >= delivery.repeated


def test_the_line_for_a_part_that_stepped_aside_says_that_it_will_come() -> None:
    assert "Part 2 of 3" in late_line(2, 3, may_have_arrived=False)
    assert "may have been shown" in late_line(1, 1, may_have_arrived=True)
    assert "I keep trying" in late_line(1, 1, may_have_arrived=False)


def test_the_line_for_a_part_given_up_says_which_and_whether_it_may_be_there() -> None:
    assert "Part 2 of 3" in left_line(2, 3, may_have_arrived=False)
    assert "may have been shown" not in left_line(2, 3, may_have_arrived=False)
    assert "may have been shown" in left_line(1, 1, may_have_arrived=True)


def test_a_part_that_certainly_did_not_arrive_has_no_repeats_to_save_up() -> None:
    """Also where no marked repeat is allowed at all."""
    none = RetrySettings(repeats=0)
    part = FailingPart(SENDING._replace(state=DeliveryState.PENDING, failing_since=NOW))
    assert is_tried_at_once(part, RetryEvent.RECONNECTED, NOW, none)
    repeated = part._replace(delivery=part.delivery._replace(repeated=True))
    assert not is_tried_at_once(repeated, RetryEvent.OVERTAKEN, NOW, none)
