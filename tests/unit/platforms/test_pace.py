"""The limits of an account: sends wait their turn, and what is only for eyes never makes one wait."""

from holdfast.model import ChatAddress
from holdfast.platforms import Pace, Rate

HERE, THERE = ChatAddress("a/b/here"), ChatAddress("a/b/there")


class Now:
    at = 0.0

    def __call__(self) -> float:
        return self.at


def test_sends_go_at_once_while_there_is_room_and_then_one_after_the_other() -> None:
    now = Now()
    pace = Pace(now, Rate(2, per=4.0), Rate(100))
    assert [pace.to_send(HERE) for _ in range(4)] == [0, 0, 2, 4]
    assert pace.to_send(THERE) == 0
    now.at = 10.0
    assert pace.to_send(HERE) == 0


def test_what_is_shown_never_makes_a_send_wait() -> None:
    pace = Pace(Now(), Rate(3), Rate(100))
    assert [pace.may_show(HERE) for _ in range(4)] == [True, True, False, False]
    assert pace.to_send(HERE) == 0


def test_nothing_is_shown_while_sends_stand_in_line() -> None:
    now = Now()
    pace = Pace(now, Rate(2), Rate(100))
    assert [pace.to_send(HERE) for _ in range(3)] == [0, 0, 0.5]
    now.at = 0.6
    assert not pace.may_show(HERE)
    assert pace.may_show(THERE)
    now.at = 3.0
    assert pace.may_show(HERE)


def test_the_whole_account_has_a_limit_too() -> None:
    pace = Pace(Now(), Rate(9), Rate(2))
    assert pace.may_show(HERE)
    assert not pace.may_show(THERE)
    assert [pace.to_send(THERE), pace.to_send(HERE)] == [0, 0.5]


def test_what_the_platform_says_is_kept_to() -> None:
    now = Now()
    pace = Pace(now, Rate(5), Rate(100))
    pace.wait(HERE, 30)
    assert not pace.may_show(HERE)
    assert pace.to_send(HERE) == 30
    now.at = 32.0
    assert pace.may_show(HERE)


def test_a_place_that_is_too_far_away_is_not_taken_from_the_others() -> None:
    now = Now()
    pace = Pace(now, Rate(1, per=4.0), Rate(100))
    assert pace.to_send(HERE) == 0
    assert [pace.to_send(HERE, within=3.0) for _ in range(5)] == [4, 4, 4, 4, 4]
    now.at = 4.0
    assert pace.to_send(HERE, within=3.0) == 0


def test_a_place_that_is_too_far_away_in_a_chat_takes_nothing_of_the_account() -> None:
    pace = Pace(Now(), Rate(1, per=4.0), Rate(2))
    assert [pace.to_send(HERE), pace.to_send(HERE, within=3.0), pace.to_send(THERE)] == [0, 4, 0]
