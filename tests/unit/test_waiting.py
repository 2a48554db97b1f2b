import asyncio

import pytest

from holdfast.clock import Bell, both, first_of, in_time
from holdfast.testing import ManualClock
from tests.support.loops import on_a_loop


async def never() -> None:
    await asyncio.get_running_loop().create_future()


@on_a_loop
async def test_a_ring_between_the_look_and_the_wait_is_not_missed() -> None:
    bell = Bell()
    seen = bell.rung
    bell.ring()
    await bell.since(seen)


@on_a_loop
async def test_a_bell_wakes_everybody_who_waits() -> None:
    bell = Bell()
    waiting = [asyncio.ensure_future(bell.since(0)) for _ in range(3)]
    gave_up = asyncio.ensure_future(bell.since(0))
    await first_turn()
    gave_up.cancel()
    bell.ring()
    await asyncio.gather(*waiting)


async def first_turn() -> None:
    """Everything that was begun has begun to wait."""
    ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    asyncio.get_running_loop().call_soon(ready.set_result, None)
    await ready


@on_a_loop
async def test_of_two_side_by_side_neither_is_left_behind_when_one_fails() -> None:
    ended = []

    async def takes_longer(gives: int) -> int:
        await first_turn()
        ended.append(gives)
        return gives

    async def fails() -> int:
        raise OSError("gone")

    assert await both(takes_longer(1), takes_longer(2)) == (1, 2)
    for pair in ((fails(), takes_longer(3)), (takes_longer(3), fails())):
        with pytest.raises(OSError, match="gone"):
            await both(*pair)
    assert ended == [1, 2, 3, 3]


@on_a_loop
async def test_the_first_ends_the_wait_and_the_others_are_let_go() -> None:
    let_go = False

    async def other() -> None:
        nonlocal let_go
        try:
            await never()
        except asyncio.CancelledError:
            let_go = True
            raise

    await first_of(other(), first_turn())
    assert let_go


@on_a_loop
async def test_what_the_first_raises_is_raised() -> None:
    async def fails() -> None:
        raise OSError("gone")

    with pytest.raises(OSError, match="gone"):
        await first_of(never(), fails())


@on_a_loop
async def test_work_that_takes_too_long_is_cancelled() -> None:
    clock = ManualClock()
    waiting = asyncio.ensure_future(in_time(clock, 5, never()))
    await first_turn()
    await first_turn()
    clock.advance(5_000)
    with pytest.raises(TimeoutError):
        await waiting


@on_a_loop
async def test_work_in_time_gives_its_result_or_its_error() -> None:
    async def gives() -> int:
        return 7

    async def fails() -> int:
        raise OSError("gone")

    clock = ManualClock()
    assert await in_time(clock, 5, gives()) == 7
    with pytest.raises(OSError, match="gone"):
        await in_time(clock, 5, fails())


@on_a_loop
async def test_work_that_cancels_itself_does_not_look_like_a_wish_to_stop_us() -> None:
    async def cancels() -> None:
        raise asyncio.CancelledError

    with pytest.raises(RuntimeError):
        await in_time(ManualClock(), 5, cancels())
