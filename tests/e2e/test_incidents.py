"""An incident from a real gateway that was killed in a tool: exported, and played again."""

from pathlib import Path

import pytest

from tests.support.commands import Spoken, as_json, command, up


@pytest.mark.guards("R15")
def test_a_killed_session_is_exported_without_its_words_and_replayed(tmp_path: Path) -> None:
    home, file = tmp_path / "home", tmp_path / "incident.json"
    talk = Spoken("chat", "--home", home, "--wait", "20")
    try:
        with up(home, "--no-supervise", pace="0.5") as gateway:
            talk.say("Do 4 steps.")
            talk.until("Step 2 of 4")
            gateway.process.kill()
            gateway.process.wait()
        with up(home, "--no-supervise"):
            talk.until("All 4 steps are done")
    finally:
        talk.drop()
    assert as_json("export", "1", file, "--home", home)["turns"] == 1
    assert "steps" not in file.read_text() and "terminal" not in file.read_text()
    again = command("export", "1", file, "--home", home)
    assert again.code == 78 and "was not touched" in again.err
    played = as_json("replay", file)
    assert played["violations"] == [] and played["deaths"] == 1
    assert played["turns"] == [{"turn": "turn-1", "then": "done", "now": "done"}]
    assert "No promise is broken" in command("replay", file).out


@pytest.mark.guards("R15")
def test_the_log_of_a_gateway_is_shown_while_none_runs(tmp_path: Path) -> None:
    assert command("logs", "--home", tmp_path).err.startswith("There is no log")
    with up(tmp_path, "--no-supervise"):
        pass
    shown = command("logs", "--home", tmp_path)
    assert shown.code == 0
    assert "the gateway is running" in shown.out and shown.out.splitlines()[-1].split("\t")[1] == "info"
    assert len(command("logs", "--home", tmp_path, "-n", "2", "--json").out.splitlines()) == 2
