"""The state tables: every arrow is allowed, every other pair is refused, finals lead nowhere."""

from itertools import product

import pytest

from holdfast.errors import ForbiddenTransition
from holdfast.model import (
    CALL,
    DELIVERY,
    GOAL,
    INBOX,
    MACHINES,
    OPEN_TURN_STATES,
    PROCESS,
    QUESTION,
    TURN,
    StateTable,
    advance,
    diagram,
)

# The tables once more, written down a second time on purpose: a changed arrow must be noticed.
ARROWS = {
    TURN.name: {
        "queued": "running cancelled expired interrupted",
        "running": "done failed cancelled waiting interrupted queued",
        "waiting": "queued cancelled expired",
        "interrupted": "queued waiting done cancelled expired parked",
    },
    CALL.name: {"planned": "started skipped", "started": "done failed unknown"},
    DELIVERY.name: {
        "pending": "sending failed expired",
        "sending": "sent pending unknown failed",
        "unknown": "sent pending failed expired",
    },
    INBOX.name: {
        "waiting": "taken answered executed refused offered withdrawn dropped",
        "offered": "waiting dropped",
    },
    QUESTION.name: {"open": "answered expired set_aside undeliverable cancelled"},
    PROCESS.name: {"running": "exited killed lost"},
    GOAL.name: {"active": "done blocked stopped spent"},
}

PAIRS: list[tuple[StateTable, str, str]] = [
    (machine, source, target) for machine in MACHINES for source, target in product(machine.arrows, repeat=2)
]
NAMES = [f"{machine.name}: {source} to {target}" for machine, source, target in PAIRS]


@pytest.mark.parametrize(("machine", "source", "target"), PAIRS, ids=NAMES)
def test_a_state_changes_along_the_arrows_and_no_other_way(
    machine: StateTable, source: str, target: str
) -> None:
    if target in ARROWS[machine.name].get(source, "").split():
        assert advance(machine, source, target) == target
    else:
        with pytest.raises(ForbiddenTransition) as caught:
            advance(machine, source, target)
        assert (caught.value.machine, caught.value.source, caught.value.target) == (
            machine.name,
            source,
            target,
        )


@pytest.mark.parametrize("machine", MACHINES, ids=lambda machine: machine.name)
def test_a_word_that_is_no_state_ends_in_one_way_and_is_led_to_by_nothing(machine: StateTable) -> None:
    assert machine.unreadable in machine.finals
    assert advance(machine, "gibberish", machine.unreadable) == machine.unreadable
    for state in machine.arrows:
        for source, target in ((state, "gibberish"), ("gibberish", state)):
            if target != machine.unreadable:
                with pytest.raises(ForbiddenTransition):
                    advance(machine, source, target)


@pytest.mark.parametrize("machine", MACHINES, ids=lambda machine: machine.name)
def test_every_state_can_come_to_an_end(machine: StateTable) -> None:
    reached = set(machine.finals)
    while more := {s for s, targets in machine.arrows.items() if reached & set(targets)} - reached:
        reached |= more
    assert reached == set(machine.arrows)


@pytest.mark.parametrize("machine", MACHINES, ids=lambda machine: machine.name)
def test_every_arrow_leads_to_a_state_of_the_table(machine: StateTable) -> None:
    assert {target for _, target in machine.pairs} <= set(machine.arrows)


def test_a_turn_is_open_until_it_is_final() -> None:
    assert set(OPEN_TURN_STATES) == {"queued", "running", "waiting", "interrupted"}
    assert TURN.finals == {"done", "failed", "cancelled", "expired", "parked"}


def test_a_diagram_has_every_arrow_and_every_end() -> None:
    lines = diagram(CALL).splitlines()
    assert lines[0] == "stateDiagram-v2"
    assert "    planned --> started" in lines
    assert "    done --> [*]" in lines
    assert len(lines) == 1 + len(CALL.pairs) + len(CALL.finals)
