from holdfast.policy.ages import age, within


def test_an_age_is_never_negative() -> None:
    assert age(10, 4) == 6
    assert age(4, 10) == 0


def test_the_edge_of_a_window_is_within_it() -> None:
    assert within(5, 15, 10)
    assert not within(5, 16, 10)
    assert within(5, 16, 10, uncounted=1)


def test_what_has_no_readable_time_is_fresh_only_without_a_window() -> None:
    assert not within(5, 0, None)
    assert within(0, 0, None)


def test_a_time_ahead_of_the_clock_is_fresh() -> None:
    assert within(5, 0, 1_000)
