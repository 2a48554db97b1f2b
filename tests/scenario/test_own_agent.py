"""The agent of the documentation, answering on the real ledger."""

import sys
from pathlib import Path

import pytest

from holdfast.agents import load_agent
from holdfast.clock import SystemRng
from holdfast.turns import Pool, Runner
from tests.support.ledger import SETTINGS, Ledger, resume_all
from tests.unit.agents.test_load import example


async def test_the_example_in_the_documentation_answers(
    ledger: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "dice.py").write_text(example(), encoding="utf-8")
    monkeypatch.setattr(sys, "path", list(sys.path))
    agent = load_agent("dice:agent", ledger.clock, tmp_path)
    runner = Runner(ledger.store, ledger.clock, SystemRng(), agent, tmp_path)
    pool = Pool(ledger.store, ledger.clock, runner, lambda: SETTINGS, resume_all)
    await ledger.say("roll the dice")
    assert await pool.work_once()
    assert [part.text for part in await ledger.outbox()] == ["You rolled a 4."]
    del sys.modules["dice"]
