"""Which connection gives way, and which is overdue."""

import pytest

from holdfast.policy.connections import Connection, ConnectionLimits, Phase, gives_way, is_overdue, limits_for

LIMITS = ConnectionLimits(total=4, per_peer=3)


def at(phase: Phase, heard: float = 0.0, peer: str = "here", since: float = 0.0) -> Connection:
    return Connection(peer, phase, since, heard)


def test_there_is_room_up_to_both_limits() -> None:
    assert gives_way([at(Phase.HEAD)] * 3, LIMITS) is None
    assert gives_way([at(Phase.HEAD, peer=peer) for peer in "abcd"], LIMITS) is None


def test_the_one_that_was_silent_longest_gives_way_and_none_that_is_answered() -> None:
    found = [at(Phase.ANSWER, 1), at(Phase.BODY, 5), at(Phase.HEAD, 3), at(Phase.HEAD, 9)]
    assert gives_way(found, LIMITS) == 2


def test_who_does_not_read_its_answer_gives_way() -> None:
    found = [at(Phase.ANSWER, 1), at(Phase.UNREAD, 3), at(Phase.UNREAD, 2), at(Phase.HEAD, 9)]
    assert gives_way(found, LIMITS) == 2


def test_a_newcomer_is_refused_when_all_others_are_answered() -> None:
    assert (
        gives_way([at(Phase.ANSWER, 1), at(Phase.ANSWER, 2), at(Phase.ANSWER), at(Phase.HEAD, 9)], LIMITS)
        == 3
    )


def test_a_crowd_from_one_address_pushes_out_only_its_own() -> None:
    found = [
        at(Phase.HEAD, 0, "other"),
        *(at(Phase.BODY, time, "flood") for time in (3, 2, 4)),
        at(Phase.HEAD, 9, "flood"),
    ]
    assert gives_way(found, LIMITS) == 2


def test_beyond_the_total_whoever_was_silent_longest_gives_way() -> None:
    found = [at(Phase.HEAD, 0, "other"), *(at(Phase.BODY, 3, peer) for peer in "abcd")]
    assert gives_way(found, LIMITS) == 0


@pytest.mark.parametrize(
    ("one", "overdue"),
    [
        (at(Phase.HEAD, heard=119, since=99), True),
        (at(Phase.HEAD, heard=100, since=101), False),
        (at(Phase.BODY, heard=99, since=99), True),
        (at(Phase.BODY, heard=119, since=99), False),
        (at(Phase.BODY, heard=119, since=-181), True),
        (at(Phase.ANSWER, heard=0, since=0), False),
        (at(Phase.UNREAD, heard=99, since=99), True),
        (at(Phase.UNREAD, heard=119, since=119), False),
    ],
)
def test_a_client_has_its_time_for_a_request_and_an_answer_has_any(one: Connection, overdue: bool) -> None:
    assert is_overdue(one, 120, LIMITS) is overdue


@pytest.mark.parametrize("files", [64, 256, 1_024, 1_048_576])
def test_the_limits_leave_files_for_everything_else(files: int) -> None:
    limits = limits_for(files)
    assert limits.per_peer + 4 >= 16 and limits.per_peer < limits.total <= min(512, files // 2)
