"""The manual clock: it moves when told to, and who sleeps on it wakes in the order of their times."""

import asyncio

from holdfast.testing import ManualClock


def test_time_stands_still_until_it_is_moved() -> None:
    clock = ManualClock(5)
    assert (clock.now(), clock.monotonic()) == (5, 0.0)
    clock.advance(1_500)
    assert (clock.now(), clock.monotonic()) == (1_505, 1.5)


def test_a_jump_moves_the_wall_clock_and_no_time_passes() -> None:
    clock = ManualClock(5_000)
    clock.jump(-4_000)
    assert (clock.now(), clock.monotonic()) == (1_000, 0.0)


def test_sleepers_wake_at_their_time_and_in_its_order() -> None:
    async def scene() -> list[str]:
        clock, woken = ManualClock(), []

        async def sleeper(name: str, seconds: float) -> None:
            await clock.sleep(seconds)
            woken.append(name)

        tasks = [
            asyncio.ensure_future(sleeper(*one)) for one in (("late", 2.0), ("early", 1.0), ("never", 9.0))
        ]
        await asyncio.gather(*(asyncio.ensure_future(nothing()) for _ in tasks))
        clock.jump(60_000)
        clock.advance(500)
        await nothing()
        woken.append("half a second")
        clock.advance(2_000)
        await asyncio.gather(*tasks[:2])
        tasks[2].cancel()
        await asyncio.gather(tasks[2], return_exceptions=True)
        clock.advance(60_000)
        return woken

    async def nothing() -> None:
        return None

    assert asyncio.run(scene()) == ["half a second", "early", "late"]
