import asyncio

from bench.timing import interleave, median_round, percentile


def test_stretches_take_turns_and_change_who_goes_first() -> None:
    ran: list[str] = []

    def stretch(name: str, turns: int) -> asyncio.Future[None]:
        ran.append(f"{name}{turns}")
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        done.set_result(None)
        return done

    async def both() -> list[float]:
        return await interleave((lambda n: stretch("a", n), lambda n: stretch("b", n)), turns=10, chunk=5)

    spent = asyncio.run(both())
    assert ran == ["a5", "b5", "b5", "a5"]
    assert len(spent) == 2


def test_the_median_round_is_that_of_the_middle_ratio() -> None:
    rounds = [(2.0, 1.0), (9.0, 3.0), (1.0, 1.0)]
    assert median_round(rounds, 0, 1) == (2.0, 1.0)


def test_a_percentile_is_a_sample() -> None:
    assert percentile([3.0, 1.0, 2.0], 0.99) == 3.0
    assert percentile([float(n) for n in range(100)], 0.5) == 50.0
