"""One suite for every store: a test takes `ledger` and runs on each database there is."""

import asyncio
import inspect
from collections.abc import Coroutine, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.backends import BACKENDS
from tests.support.ledger import Ledger
from tests.support.loops import LONG


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """An `async def` test runs on the loop its ledger was opened on."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    names = inspect.signature(pyfuncitem.obj).parameters
    test = pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in names})
    loop = pyfuncitem.funcargs["loop"]
    assert isinstance(loop, asyncio.Runner)
    loop.run(_bounded(test))
    return True


async def _bounded(test: Coroutine[Any, Any, None]) -> None:
    """A test that waits for what never comes fails, instead of holding up all others."""
    async with asyncio.timeout(LONG):
        await test


@pytest.fixture
def loop() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as runner:
        yield runner


@pytest.fixture(params=BACKENDS)
def ledger(request: pytest.FixtureRequest, tmp_path: Path, loop: asyncio.Runner) -> Iterator[Ledger]:
    """A fresh ledger; whatever a test did to it, its invariants hold at the end."""
    made = Ledger(BACKENDS[request.param](tmp_path))
    loop.run(made.open())
    yield made
    found = () if made.damaged else loop.run(made.store.verify())
    loop.run(made.store.close())
    assert found == ()
