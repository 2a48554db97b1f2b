import asyncio
import sqlite3
from pathlib import Path

import pytest

from bench.chatting import Paced, composed
from bench.running import FLOOR, environment
from bench.seeding import seed
from holdfast.store.sqlite.store import LEDGER


def test_a_composed_gateway_answers_every_chat(tmp_path: Path) -> None:
    seed(tmp_path, 5)
    model = Paced(0)

    async def work() -> None:
        async with composed(tmp_path, 3, model) as crowd:
            await crowd.run(6)

    asyncio.run(work())
    assert len(model.took) == 6
    db = sqlite3.connect(tmp_path / LEDGER)
    assert db.execute("SELECT count(*) FROM outbox WHERE session NOT LIKE '00s%'").fetchone() == (6,)
    db.close()


def test_a_compiled_program_is_measured_and_nothing_of_it_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    found = environment(tmp_path)
    assert "PYTHONDONTWRITEBYTECODE" not in found
    assert Path(found["PYTHONPYCACHEPREFIX"]).is_relative_to(tmp_path)


def test_the_floor_of_a_start_imports_a_database() -> None:
    assert "sqlite3" in FLOOR and "starlette" in FLOOR
