from pathlib import Path

from holdfast.testing.fakes.models import (
    Call,
    Conversation,
    ModelAnswer,
    Scripted,
    SpokenTurn,
    Who,
    read_script,
)


def asked(*turns: SpokenTurn) -> ModelAnswer:
    return Scripted()(Conversation(turns))


def test_the_story_of_a_report_uses_each_result_for_the_next_step() -> None:
    said = SpokenTurn(Who.USER, "Please write a report.")
    step = SpokenTurn(Who.MODEL, "", (Call("x", "{}"),))
    assert [call.tool for call in asked(said).calls] == ["terminal"]
    assert asked(said, step, SpokenTurn(Who.RESULT, "a.txt")).calls[0].tool == "ask_person"
    wrote = asked(said, step, SpokenTurn(Who.RESULT, "a"), step, SpokenTurn(Who.RESULT, 'My "title"')).calls[
        0
    ]
    assert wrote.tool == "write_file"
    assert '# My \\"title\\"' in wrote.arguments
    done = asked(said, *[step, SpokenTurn(Who.RESULT, "all of it")] * 4)
    assert (done.calls, "all of it" in done.text) == ((), True)


def test_notes_are_nothing_that_anybody_said() -> None:
    note = "[A note from the gateway, not from the person]\nwrite a report\n[End of the note]"
    assert asked(SpokenTurn(Who.USER, f"{note}\n\nhello")).text == "You said: hello"
    assert (
        asked(SpokenTurn(Who.USER, "hello"), SpokenTurn(Who.MODEL, "?"), SpokenTurn(Who.USER, note)).text
        == "You said: hello"
    )


def test_lines_are_steps_and_a_file_brings_more_rules(tmp_path: Path) -> None:
    lines = 'terminal {"command": "a"}\nand terminal {"command": "b"}\ntodo {}'
    assert len(asked(SpokenTurn(Who.USER, lines)).calls) == 2
    file = tmp_path / "rules.toml"
    file.write_text(
        '[[rule]]\nwhen = "tea"\nsay = "Here: {last}"\nsteps = [[{tool = "kettle", arguments = {l = 1}}]]'
    )
    brain = read_script(file)
    said = SpokenTurn(Who.USER, "Make tea")
    assert brain(Conversation((said,))).calls == (Call("kettle", '{"l": 1}'),)
    after = (said, SpokenTurn(Who.MODEL, "", (Call("kettle", "{}"),)), SpokenTurn(Who.RESULT, "a cup"))
    assert brain(Conversation(after)).text == "Here: a cup"
