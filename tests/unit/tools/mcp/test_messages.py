"""Which messages of an MCP program reach the gateway, and what stands for those that are too long."""

import json

import pytest

from holdfast.tools.containment.helper.mcp_messages import ENDLESS, LONGEST_MESSAGE, TOO_LONG, Messages

LONG = json.dumps("x" * LONGEST_MESSAGE)


class Written:
    """What the helper logs, and what the gateway reads from its stdout."""

    def __init__(self, output: pytest.CaptureFixture[str]) -> None:
        self._output = output
        self.log: list[bytes] = []
        self.messages = Messages(self.log.append)

    def lines(self) -> list[str]:
        return self._output.readouterr().out.splitlines()


@pytest.fixture
def written(capfd: pytest.CaptureFixture[str]) -> Written:
    return Written(capfd)


@pytest.mark.guards("R22.8")
@pytest.mark.parametrize(
    "line",
    [
        f'{{"jsonrpc":"2.0","id":7,"result":{LONG}}}',
        f'{{"id": 7, "jsonrpc": "2.0", "result": {LONG}}}',
        f'{{"result":{LONG},"jsonrpc":"2.0","id":7}}',
        f'{{"jsonrpc": "2.0", "error": {LONG}, "id": 7}}',
        f' {{"result":{LONG},"id":7,"jsonrpc":"2.0"}} \r',
    ],
    ids=["id first", "id before the version", "id last", "an error", "the version last"],
)
def test_in_the_place_of_an_answer_that_is_too_long_its_call_gets_an_error(
    written: Written, line: str
) -> None:
    whole = f"{line}\n".encode()
    assert all(written.messages.take(whole[at : at + 50_000]) for at in range(0, len(whole), 50_000))
    assert written.messages.take(b'{"next": 1}\n'), "and the program goes on"
    first, second = written.lines()
    answer = json.loads(first)
    assert (answer["id"], answer["error"]["code"]) == (7, TOO_LONG)
    assert second == '{"next": 1}'
    assert written.log == [f"a message of {len(line)} bytes was left out".encode()]


def test_an_id_that_stands_in_the_content_answers_no_other_call(written: Written) -> None:
    hidden = f'{{"jsonrpc":"2.0","id":7,"result":{{"a":{LONG},"id":8}}}}\n'
    assert written.messages.take(hidden.encode())
    assert [json.loads(line)["id"] for line in written.lines()] == [7]


def test_a_question_of_the_server_that_is_too_long_is_left_out(written: Written) -> None:
    for start in ('"method"', '"id":7,"method"'):
        assert written.messages.take(f'{{"jsonrpc":"2.0",{start}:"a","params":[{LONG}],"id":9}}\n'.encode())
    assert len(written.log) == 2
    assert written.lines() == []


def test_a_line_of_which_nobody_knows_whose_it_is_or_that_never_ends_is_the_end(written: Written) -> None:
    assert not written.messages.take(f'{{"odd":{LONG}}}\n'.encode())
    endless = Messages(written.log.append)
    parts = [endless.take(b"{" * LONGEST_MESSAGE) for _ in range(ENDLESS // LONGEST_MESSAGE + 1)]
    assert parts == [True] * (len(parts) - 1) + [False]


def test_what_is_no_message_is_logged_and_a_long_line_of_it_only_by_its_ends(written: Written) -> None:
    assert written.messages.take(b"words\n\n" + b"w" * LONGEST_MESSAGE + b"ords\n")
    assert written.log[0] == b"words"
    assert len(written.log[1]) < 1_000
