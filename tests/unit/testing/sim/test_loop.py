import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import pytest

from holdfast.testing.sim.life import Killed, ProcessLife
from holdfast.testing.sim.loop import Escape, SimLoop
from holdfast.testing.sim.ports import SeededRng, SimClock, WallClock


def make(seed: int = 1) -> SimLoop:
    return SimLoop(SeededRng(seed))  # type: ignore[abstract]  # what it lacks would escape


def run(loop: SimLoop) -> None:
    with loop.running():
        while loop.step() or loop.advance():
            pass


def order_of(seed: int) -> str:
    loop, order = make(seed), list[str]()
    for name in "abcdef":
        loop.call_soon(order.append, name)
    run(loop)
    return "".join(order)


def test_the_same_seed_takes_the_same_order_and_another_takes_another() -> None:
    assert order_of(1) == order_of(1)
    assert len({order_of(seed) for seed in range(10)}) > 5


def test_time_passes_only_when_nothing_is_ready() -> None:
    loop, seen = make(), list[float]()
    loop.call_later(3600, lambda: seen.append(loop.time()))
    loop.call_soon(lambda: seen.append(loop.time()))
    run(loop)
    assert seen == [0.0, 3600.0]


def test_what_a_thread_would_do_is_a_step_of_the_loop() -> None:
    loop, did = make(), list[str]()

    async def work() -> None:
        did.append(await asyncio.to_thread(lambda: str(threading.get_ident())))
        with pytest.raises(ValueError, match="x"):
            await asyncio.to_thread(int, "x")

    with loop.running():
        task = loop.create_task(work())
    run(loop)
    assert task.exception() is None
    assert did == [str(threading.get_ident())]


def test_nothing_escapes_into_a_pool_of_threads() -> None:
    loop = make()
    with ThreadPoolExecutor(1) as pool, pytest.raises(Escape):
        loop.run_in_executor(pool, int)


def test_a_dead_process_does_nothing_more_not_even_in_its_finally_blocks() -> None:
    loop, did = make(), list[str]()
    life = ProcessLife(1)
    clock = SimClock(loop, WallClock(loop), life)

    async def work() -> None:
        try:
            await clock.sleep(10)
            did.append("woke")
        finally:
            did.append("finally")
            await clock.sleep(1)
            did.append("went on")

    with loop.running():
        loop.create_task(work(), context=life.context)
        loop.call_later(5, life.end)
    run(loop)
    life.bury()
    assert did == ["finally"]


def test_a_kill_in_the_middle_of_a_step_ends_all_of_the_process_and_nothing_else() -> None:
    loop, did = make(), list[str]()
    life = ProcessLife(1)

    async def fatal() -> None:
        with suppress(Exception):
            life.kill()

    async def other(name: str) -> None:
        for _ in range(3):
            await asyncio.wait([loop.create_future()], timeout=1)
            did.append(name)

    with loop.running():
        loop.call_later(1.5, lambda: loop.create_task(fatal(), context=life.context))
        loop.create_task(other("process"), context=life.context)
        loop.create_task(other("world"))
    run(loop)
    life.bury()
    assert did.count("process") == 1
    assert did.count("world") == 3
    assert loop.complaints == []


def test_the_dead_start_nothing() -> None:
    loop, life = make(), ProcessLife(1)
    life.end()

    async def never() -> None:
        raise AssertionError

    with loop.running(), pytest.raises(Killed):
        loop.create_task(never(), context=life.context)


def test_an_exception_nobody_asked_for_is_kept() -> None:
    loop = make()

    async def fails() -> None:
        raise ValueError("unheard")

    with loop.running():
        loop.create_task(fails())
    run(loop)
    assert [complaint for complaint in loop.complaints if "unheard" in complaint]


def test_sets_of_futures_have_the_same_order_in_every_run() -> None:
    def numbers() -> list[Any]:
        loop = make()
        return [future.number for future in {loop.create_future() for _ in range(20)}]  # type: ignore[attr-defined]  # ours

    assert numbers() == numbers()
