"""Ids sort by the time they were made, within a process also when its clock is set back."""

from hypothesis import given
from hypothesis import strategies as st

from holdfast.clock import Ids, SystemIds, encode_id
from holdfast.testing import ManualClock, SeededIds

moves = st.lists(st.integers(min_value=-100_000, max_value=100_000), max_size=30)


def made(ids: Ids, clock: ManualClock, jumps: list[int]) -> list[str]:
    found = [ids.new()]
    for jump in jumps:
        clock.jump(jump)
        found += [ids.new(), ids.new()]
    return found


@given(moves)
def test_later_ids_sort_after_earlier_ones_however_the_clock_jumps(jumps: list[int]) -> None:
    for make in (SystemIds, SeededIds):
        clock = ManualClock()
        found = made(make(clock), clock, jumps)
        assert found == sorted(set(found))


@given(st.integers(min_value=1, max_value=10**9))
def test_ids_of_two_processes_sort_by_their_time(later: int) -> None:
    clock = ManualClock()
    first = SystemIds(clock).new()
    clock.advance(later)
    assert first < SystemIds(clock).new()


@given(moves, st.text(max_size=5))
def test_the_same_seed_and_times_give_the_same_ids(jumps: list[int], seed: str) -> None:
    one, two = ManualClock(), ManualClock()
    assert made(SeededIds(one, seed), one, jumps) == made(SeededIds(two, seed), two, jumps)


def test_two_seeds_give_different_ids() -> None:
    clock = ManualClock()
    assert SeededIds(clock, "a").new() != SeededIds(clock, "b").new()


@given(st.lists(st.integers(min_value=0, max_value=2**128 - 1), min_size=2, max_size=20))
def test_a_written_id_sorts_like_its_number(numbers: list[int]) -> None:
    assert [encode_id(number) for number in sorted(numbers)] == sorted(map(encode_id, numbers))
    assert {len(encode_id(number)) for number in numbers} == {26}
