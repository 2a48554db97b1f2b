"""The command line as people run it: real processes, killed with SIGKILL, started again."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.commands import (
    Spoken,
    as_json,
    command,
    gateway_pid,
    holdfast,
    kill_gateway,
    notes,
    up,
)

ANSWER = "All 4 steps are done"
ASK = "Do 4 steps."


@contextmanager
def chat(home: Path) -> Iterator[Spoken]:
    talk = Spoken("chat", "--home", home, "--wait", "20")
    try:
        yield talk
    finally:
        talk.drop()


def test_a_line_from_a_pipe_is_answered_printed_and_that_is_all(tmp_path: Path) -> None:
    with up(tmp_path, "--no-supervise"):
        first = holdfast("chat", "--home", tmp_path, said=f"{ASK}\n")
        second = holdfast("chat", "--home", tmp_path, said="Do 2 steps.\n")
    assert first.returncode == second.returncode == 0, first.stderr
    assert first.stdout.count(ANSWER) == 1
    assert "Step 1 of 4" in first.stdout
    assert ANSWER not in second.stdout
    assert "All 2 steps are done" in second.stdout
    assert sorted(notes(tmp_path)) == ["note of step 2", "note of step 2", "note of step 4"]


def test_work_killed_in_a_tool_goes_on_at_that_step_under_the_chat(tmp_path: Path) -> None:
    with up(tmp_path, pace="0.1") as parent, chat(tmp_path) as talk:
        talk.say(ASK)
        talk.until("Step 3 of 4")
        kill_gateway(tmp_path)
        parent.until("starting it again")
        talk.until(ANSWER)
        assert command("verify", "--home", tmp_path).code == 0
    assert sum("reconnected" in line for line in talk.shown) == 1
    for step in ("Step 1 of 4", "Step 2 of 4", "Step 3 of 4", "Step 4 of 4"):
        assert sum(step in line for line in talk.shown) == 1, talk.shown
    assert notes(tmp_path) == ["note of step 2", "note of step 4"]


def test_an_effect_cut_off_is_never_blindly_repeated(tmp_path: Path) -> None:
    with up(tmp_path, "--no-supervise", pace="0.5") as gateway, chat(tmp_path) as talk:
        talk.say(ASK)
        # The note is announced in the commit before its effect; with this pace the kill falls into the tool.
        talk.until("Step 2 of 4")
        gateway.process.kill()
        gateway.process.wait()
        with up(tmp_path, "--no-supervise"):
            talk.until(ANSWER)
    said = "\n".join(talk.shown)
    assert "unknown, so I look first" in said
    assert notes(tmp_path) == ["note of step 2", "note of step 4"]


def test_work_that_keeps_killing_the_gateway_is_parked_and_told_once(tmp_path: Path) -> None:
    with chat(tmp_path) as talk:
        for number in range(3):
            with up(tmp_path, "--no-supervise", pace="0.2") as gateway:
                if number == 0:
                    talk.say(ASK)
                talk.until("Step 1 of 4" if number == 0 else "the agent is told")
                gateway.process.kill()
                gateway.process.wait()
        with up(tmp_path, "--no-supervise"):
            talk.until("parked this conversation")
            fresh = holdfast("chat", "--home", tmp_path, said=f"{ASK}\n")
    assert fresh.stdout.count(ANSWER) == 1
    assert "parked this conversation" not in fresh.stdout
    trace = as_json("trace", "1", "--home", tmp_path)["traces"][0]
    assert len({event["instance"] for event in trace["happenings"]}) == 4
    assert trace["happenings"][-1]["at"] >= trace["happenings"][0]["at"]


def test_stop_ends_gateway_and_supervisor_and_status_says_how_it_ended(tmp_path: Path) -> None:
    with up(tmp_path) as parent:
        running = as_json("status", "--home", tmp_path)
        assert running["gateway"]["pid"] == gateway_pid(tmp_path)
        assert running["supervisor"] == parent.process.pid
        done = command("stop", "--home", tmp_path)
        assert done.code == 0, done.err
        assert parent.process.wait() == 0
    stopped = command("status", "--home", tmp_path)
    assert stopped.code == 1
    assert "not running" in stopped.out
    assert as_json("status", "--home", tmp_path)["last_run"]["ended"] == "stopped"
    again = command("stop", "--home", tmp_path)
    assert again.code == 0
    assert "nothing to stop" in again.out


@pytest.mark.guards("R3.6")
def test_restart_brings_up_another_process_and_the_chat_goes_on(tmp_path: Path) -> None:
    with up(tmp_path), chat(tmp_path) as talk:
        talk.say("Do 1 steps.")
        talk.until("All 1 steps are done")
        before = gateway_pid(tmp_path)
        plan = as_json("restart", "--plan", "--home", tmp_path)
        assert plan == {"running": []}
        done = as_json("restart", "--when-quiet", "--home", tmp_path)
        assert done["pid"] == before != done["new_pid"] == gateway_pid(tmp_path)
        talk.say("Do 2 steps.")
        talk.until("All 2 steps are done")
    assert sum("reconnected" in line for line in talk.shown) == 1


def test_a_restart_nobody_supervises_is_refused_and_done_for_who_is_sure(tmp_path: Path) -> None:
    with up(tmp_path, "--no-supervise") as gateway:
        refused = command("restart", "--home", tmp_path)
        assert refused.code == 1
        assert "leave it down" in refused.out
        assert as_json("status", "--home", tmp_path)["gateway"]["pid"] == gateway.process.pid
        done = command("restart", "--yes", "--home", tmp_path)
        assert "exit code 75" in done.out
        assert gateway.process.wait() == 75


def test_a_second_gateway_on_the_same_home_is_refused_and_changes_nothing(tmp_path: Path) -> None:
    with up(tmp_path):
        supervised = holdfast("up", "--home", tmp_path)
        alone = holdfast("up", "--home", tmp_path, "--no-supervise")
        assert supervised.returncode == alone.returncode == 1
        assert "nothing was changed" in supervised.stderr
        assert "another gateway" in alone.stderr
        assert command("status", "--home", tmp_path).code == 0


def test_a_home_or_setting_that_cannot_be_is_refused_in_words(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    done = holdfast("up", "--home", file)
    assert done.returncode == 78
    assert "allowed" in done.stderr
    (tmp_path / "holdfast.toml").write_text("workers = 0\n")
    done = holdfast("up", "--home", tmp_path)
    assert done.returncode == 78
    assert "workers = 0" in done.stderr


def test_ctrl_c_drains_and_a_turn_is_told_and_goes_on_at_the_next_start(tmp_path: Path) -> None:
    with chat(tmp_path) as talk:
        with up(tmp_path, pace="0.3", HOLDFAST_DRAIN_WAIT="0") as parent:
            talk.say(ASK)
            talk.until("Step 1 of 4")
            parent.process.send_signal(signal.SIGINT)
            assert parent.process.wait() == 0
        with up(tmp_path):
            talk.until(ANSWER)
    said = "\n".join(talk.shown)
    assert said.count("Step 1 of 4") == 1
    assert notes(tmp_path) == ["note of step 2", "note of step 4"]


def test_the_drill_kills_and_counts_nothing_wrong() -> None:
    found = as_json("drill", "--kills", "4", "--seed", "1")
    wrong = ("lost", "duplicated", "phantom", "effects_doubled")
    assert {name: found[name] for name in wrong} == dict.fromkeys(wrong, 0), found["examples"]
    assert found["kills"] == 4
    assert found["messages"] == found["answers"] > 0
    assert found["effects"] > 0
    assert found["sound"]


@pytest.mark.guards("R8.3")
def test_a_drill_with_default_settings_ends_with_every_message_answered_or_visibly_waiting() -> None:
    given = ("--kills", "7", "--minutes", "0.2", "--people", "3", "--seed", "1")
    found = as_json("drill", "--defaults", *given)
    assert (found["sound"], found["dropped"], found["lost"]) == (True, 0, 0), found
    assert found["messages"] == found["answers"] + found["waiting"] + found["parked"]
    assert 0 < found["kills_in_work"] <= found["kills"] - found["kills_in_start"]


def test_the_drill_reports_a_planted_bug() -> None:
    done = holdfast("drill", "--kills", "2", "--seed", "1", "--sabotage", "phantom-turn")
    assert done.returncode == 1, done.stderr
    assert "phantom-turn, was noticed" in done.stdout
