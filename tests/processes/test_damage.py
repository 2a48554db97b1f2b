"""One damaged row in the ledger of a real gateway: the other chats are resumed and answered."""

import pytest

from tests.support.backends import SqliteBackend
from tests.support.outside import House

DAMAGE = {
    "a part": ("outbox", "failing_since = 'a word' WHERE settled_at IS NULL"),
    "the state of a part": ("outbox", "state = 'odd' WHERE settled_at IS NULL"),
    "a message": ("inbox", "message_id = x'ff' WHERE chat LIKE '%one'"),
    "a process run": ("instances", "started_at = 'a word'"),
    "a conversation": ("conversations", "fault = x'ff' WHERE chat LIKE '%one'"),
}


@pytest.mark.guards("R1.5", "R16")
@pytest.mark.parametrize(("table", "damage"), DAMAGE.values(), ids=DAMAGE)
def test_a_damaged_row_keeps_no_other_chat_from_being_resumed_and_answered(
    house: House, table: str, damage: str
) -> None:
    house.hold("read a", "before record_delivery")
    gateway = house.up()
    house.say("one", "do #b")
    house.reached("before record_delivery")
    house.say("home", "do read #a")
    house.reached("read a")
    gateway.kill()
    house.hold()
    SqliteBackend(house.home).spoil(table, f"UPDATE {table} SET {damage}")
    gateway = house.up()
    house.heard("home", "answer to a")
    house.say("home", "do #c")
    house.heard("home", "answer to c")
    house.say("one", "do #d")
    house.heard("one", "answer to d")
    gateway.stop()


@pytest.mark.guards("R1.4", "R1.5")
def test_a_turn_in_no_state_there_is_ends_and_its_chat_goes_on(house: House) -> None:
    house.hold("read a")
    gateway = house.up()
    house.say("one", "do read #a")
    house.reached("read a")
    gateway.kill()
    house.hold()
    SqliteBackend(house.home).spoil("turns", "UPDATE turns SET state = 'odd'")
    gateway = house.up()
    house.heard("one", "its record is damaged")
    house.say("one", "do #b")
    house.heard("one", "answer to a,b")
    gateway.stop()
    assert house.is_sound()
