"""What tools of MCP servers are called: by names that every provider takes, each its own."""

import re

from hypothesis import given
from hypothesis import strategies as st

from holdfast.tools.mcp.tool_names import LONGEST, names_of, server_of


def test_a_plain_name_is_kept_behind_its_servers() -> None:
    assert names_of("time", ["get_current_time"]).theirs == {"time__get_current_time": "get_current_time"}
    assert server_of("time__get_current_time") == "time"


def test_what_providers_do_not_take_is_replaced() -> None:
    assert names_of("files", ["fs.read/all"]).theirs == {"files__fs_read_all": "fs.read/all"}


def test_two_that_would_be_alike_are_told_apart_and_named() -> None:
    found = names_of("files", ["fs.read", "fs_read", "fs/read"])
    assert set(found.theirs.values()) == {"fs.read", "fs_read", "fs/read"}
    assert found.theirs["files__fs_read"] == "fs_read", "whose name is its own keeps it"
    assert len(found.clashes) == 2
    assert all("'fs" in clash for clash in found.clashes)


def test_one_that_is_there_twice_is_had_once_and_named() -> None:
    found = names_of("files", ["read", "read"])
    assert found.theirs == {"files__read": "read"}
    assert found.clashes == ("'read' is listed 2 times",)


@given(st.lists(st.text(min_size=1, max_size=200), max_size=20))
def test_every_tool_has_a_name_of_its_own_that_is_safe_and_the_same_in_any_order(tools: list[str]) -> None:
    found = names_of("server", tools)
    assert set(found.theirs.values()) == set(tools)
    assert all(re.fullmatch(r"[A-Za-z0-9_-]+", name) and len(name) <= LONGEST for name in found.theirs)
    assert names_of("server", tools[::-1]).theirs == found.theirs
