"""A disk that is full while the gateway runs and stops."""

import pytest

from holdfast.api.client import RequestDeclined
from tests.support.outside import Build


@pytest.mark.guards("R16", "R3.3")
def test_on_a_full_disk_a_post_is_refused_in_time_and_an_orderly_stop_is_known_as_one(build: Build) -> None:
    house = build('web.patience = "1s"\ndrain.wait = "1s"\ngrace = "0s"\n')
    house.hold("read a")
    gateway = house.up()
    house.say("home", "do read #a")
    house.reached("read a")
    house.fill_disk()
    with pytest.raises(RequestDeclined, match="send it again") as refused:
        house.say("other", "do #b", event_id="b")
    assert refused.value.code == "try_again"
    gateway.process.terminate()
    gateway.stopping()
    with pytest.raises(RequestDeclined, match="send it again"):
        house.say("other", "do #b", event_id="b")
    assert gateway.end() == 0
    house.fill_disk(False)
    house.hold()
    gateway = house.up()
    house.heard("home", "answer to a")
    assert house.turns("home")[0]["interruption"] == "shutdown_timeout", "no crash cut it off"
    assert "gateway shutdown" in next(text for role, text, _ in house.shown("a") if role == "note")
    assert house.say("other", "do #b", event_id="b")["fresh"], "nothing was kept of what was refused"
    house.heard("other", "answer to b")
    gateway.stop()
    runs = house.look("runs")["runs"]
    assert [run["stopped"] for run in runs] == ["stopped", "stopped"]
    assert house.is_sound()
