"""How workers are shared between resumed turns and new messages."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.policy.settings import WorkerSettings
from holdfast.policy.turn.workers import Load, Room, all_hang, reserve, room

DEFAULT = WorkerSettings()
WORKERS = st.integers(1, 64).map(WorkerSettings)


@pytest.mark.guards("R4.2")
def test_by_default_there_are_32_and_young_resumes_hold_half() -> None:
    assert room(Load(0, 0, 0), DEFAULT) == Room(32, 16)
    assert room(Load(0, 16, 0), DEFAULT) == Room(16, 0)
    assert room(Load(10, 6, 0), DEFAULT) == Room(16, 10)


@pytest.mark.guards("R4.2")
def test_a_quarter_is_never_given_to_resumes() -> None:
    assert reserve(DEFAULT) == 8
    assert room(Load(0, 0, 24), DEFAULT) == Room(8, 0)
    assert room(Load(0, 8, 15), DEFAULT) == Room(9, 1)


@pytest.mark.guards("R4.2")
@pytest.mark.parametrize("workers", range(1, 9))
def test_one_resume_that_hangs_keeps_no_other_waiting(workers: int) -> None:
    """However few workers there are."""
    assert room(Load(0, 0, 1), WorkerSettings(workers)).resumes >= 1


@pytest.mark.guards("R4.2")
def test_a_single_worker_does_one_thing_at_a_time_until_a_resume_is_old() -> None:
    one = WorkerSettings(1)
    assert room(Load(0, 0, 0), one) == Room(1, 1)
    assert room(Load(0, 1, 0), one) == Room(0, 0)
    assert room(Load(1, 0, 0), one) == Room(0, 0)
    assert room(Load(0, 0, 1), one) == Room(1, 1), "the old one runs beside the worker"
    assert room(Load(0, 0, 4), one) == Room(0, 0), "there are no more than four"


@pytest.mark.guards("R4.2")
@given(WORKERS, st.data())
def test_however_resumes_hang_a_new_message_finds_a_worker(
    settings: WorkerSettings, data: st.DataObject
) -> None:
    """Resumes alone never fill a pool of two and more; and nothing is claimed beyond the workers."""
    young = old = 0
    for _ in range(settings.workers + 8):
        found = room(Load(0, young, old), settings)
        assert settings.workers == 1 or found.turns >= 1
        assert found.resumes <= found.turns
        assert young + old <= max(settings.workers, 4)
        if found.resumes and data.draw(st.booleans()):
            young += data.draw(st.integers(1, found.resumes))
        elif young:
            young, old = young - 1, old + 1


@pytest.mark.guards("R4.2")
def test_all_hang_when_every_worker_outside_the_reserve_does() -> None:
    assert all_hang(Load(0, 0, 24), 24, DEFAULT)
    assert all_hang(Load(8, 0, 24), 24, DEFAULT), "the reserve may well be at work"
    assert not all_hang(Load(0, 0, 24), 23, DEFAULT)
    assert not all_hang(Load(0, 0, 23), 23, DEFAULT), "a resume still finds one"
    assert not all_hang(Load(0, 0, 0), 0, DEFAULT)
    assert all_hang(Load(1, 0, 0), 1, WorkerSettings(1))
    assert not all_hang(Load(0, 0, 1), 1, WorkerSettings(2))
    assert all_hang(Load(0, 0, 3), 3, WorkerSettings(2))


@pytest.mark.guards("R4.2")
def test_where_more_runs_than_there_are_workers_there_is_no_room() -> None:
    assert room(Load(6, 0, 0), WorkerSettings(5)) == Room(0, 0)
