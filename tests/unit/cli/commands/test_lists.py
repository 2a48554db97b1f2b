"""Sessions and input set aside, listed from a real ledger on which no gateway runs."""

import json
from pathlib import Path
from typing import Any

import pytest

from holdfast.cli.program import run
from holdfast.model import Batch, ProcessState, SetAside
from tests.support.backends import SqliteBackend
from tests.support.ledger import Ledger, address, spawned
from tests.support.loops import on_a_loop


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Three conversations whose turn is done, one at work with two processes of which one runs, and two
    things nobody could read."""

    @on_a_loop
    async def fill() -> None:
        ledger = Ledger(SqliteBackend(tmp_path))
        await ledger.open()
        for chat in ("apple", "pear", "plum"):
            await ledger.complete(chat=chat)
        quince = await ledger.begin(chat="quince")
        await ledger.append(quince.fence, spawn=(spawned("p1", 101), spawned("p2", 102)))
        await ledger.store.end_process("p2", ProcessState.EXITED, 3)
        odd = tuple(SetAside(f"e{number}", "no text in it", '{"odd": [1]}') for number in (1, 2))
        await ledger.store.accept(Batch("fake", unreadable=odd))
        await ledger.store.close()

    fill()
    return tmp_path


class Listed:
    """What a command lists."""

    def __init__(self, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self._home = home
        self._capsys = capsys

    def json(self, *arguments: str) -> Any:
        assert run([*arguments, "--home", str(self._home), "--json"]) == 0
        return json.loads(self._capsys.readouterr().out)

    def chats(self, *arguments: str) -> list[str]:
        found = self.json("sessions", *arguments)["sessions"]
        return [one["key"].rpartition("/")[2] for one in found]

    def words(self, *arguments: str) -> tuple[int, str, str]:
        code = run([*arguments, "--home", str(self._home)])
        said = self._capsys.readouterr()
        return code, said.out, said.err


@pytest.fixture
def listed(home: Path, capsys: pytest.CaptureFixture[str]) -> Listed:
    return Listed(home, capsys)


def test_sessions_are_listed_by_state_platform_and_part_of_their_name(listed: Listed) -> None:
    assert listed.chats() == ["quince", "plum", "pear", "apple"]
    assert listed.chats("--state", "running") == ["quince"]
    assert listed.chats("--state", "done", "-q", "P") == ["plum", "pear", "apple"]
    assert listed.chats("--search", "ea") == ["pear"]
    assert listed.chats("--platform", "fake") == listed.chats()


def test_a_platform_nobody_knows_is_refused_with_those_that_are_known(listed: Listed) -> None:
    code, _, err = listed.words("sessions", "--platform", "elsewhere")
    assert code == 1
    assert "'elsewhere' is not allowed; allowed: fake, web" in err


def test_a_state_that_does_not_exist_is_refused_with_those_that_do(listed: Listed) -> None:
    code, _, err = listed.words("sessions", "--state", "dancing")
    assert code == 1
    assert "'dancing' is not allowed; allowed: queued, running" in err
    assert "parked, held" in err


def test_pages_of_sessions_follow_one_another_until_there_are_no_more(listed: Listed) -> None:
    first = listed.json("sessions", "--limit", "3")
    assert len(first["sessions"]) == 3
    rest = listed.json("sessions", "--limit", "3", "--before", first["next"])
    assert [one["key"].rpartition("/")[2] for one in rest["sessions"]] == ["apple"]
    assert rest["next"] is None
    code, out, err = listed.words("sessions", "-n", "1")
    assert (code, len(out.splitlines())) == (0, 2)
    assert "--before " in err, "a pipe gets nothing but the list"
    assert listed.words("sessions")[2] == ""


def test_input_set_aside_is_listed_with_its_reason_and_as_it_came(listed: Listed) -> None:
    code, out, _ = listed.words("set-aside")
    assert code == 0
    assert out.count("no text in it") == 2
    newest = listed.json("set-aside", "--limit", "1")
    assert [one["event_id"] for one in newest["set_aside"]] == ["e2"]
    assert newest["set_aside"][0]["payload"] == '{"odd": [1]}'
    older = listed.json("set-aside", "--before", str(newest["next"]))
    assert ([one["event_id"] for one in older["set_aside"]], older["next"]) == (["e1"], None)


def test_status_names_what_waits_for_somebody_and_where_to_look(listed: Listed) -> None:
    _, out, _ = listed.words("status")
    assert "set aside\t2 events; `holdfast set-aside`" in out
    assert "parked" not in out, "what is not there is not mentioned"


def test_background_processes_are_listed_those_that_run_and_of_one_conversation_all(listed: Listed) -> None:
    def ids(*arguments: str) -> list[str]:
        return [one["id"] for one in listed.json("processes", *arguments)["processes"]]

    (session,) = [one["session"] for one in listed.json("processes")["processes"]]
    assert ids() == ["p1"]
    assert ids("--session", session) == ids("--chat", address("quince")) == ["p1", "p2"]
    assert ids("--chat", address("plum")) == ids("--chat", "nowhere") == []
    code, out, _ = listed.words("processes", "--session", session)
    assert code == 0
    assert "exited (3)" in out
    assert listed.words("processes", "--chat", "nowhere")[1] == "No background process is known here.\n"
