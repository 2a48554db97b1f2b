import json
from collections.abc import Sequence

from holdfast.agents import (
    CallId,
    DemoModel,
    EchoModel,
    Message,
    Prompt,
    Role,
    StopReason,
    ToolCall,
    demo_agent,
)
from holdfast.agents.demo import demo_reply
from holdfast.clock import SystemClock
from holdfast.model import CallState, NoteKind
from holdfast.policy.recovery.notes import resume_text
from tests.support.loops import on_a_loop


def user(text: str) -> Message:
    return Message(Role.USER, text)


def worked(id: str, name: str, state: CallState, text: str = "") -> tuple[Message, Message]:
    call = CallId(id)
    return (
        Message(Role.ASSISTANT, "", (ToolCall(call, name, "{}"),)),
        Message(Role.TOOL, text, call=call, state=state),
    )


def test_it_says_what_it_did_from_the_transcript() -> None:
    messages = (
        user("Do 3 steps."),
        *worked("1", "count", CallState.DONE),
        *worked("2", "write_note", CallState.UNKNOWN),
        *worked("3", "count", CallState.DONE),
        *worked("4", "write_note", CallState.SKIPPED),
        user("What did you do?"),
    )
    assert demo_reply(messages).text == (
        "In this conversation I counted 2 times and may or may not have written a note."
    )


def test_it_does_not_claim_to_have_done_anything_at_first() -> None:
    assert "nothing yet" in demo_reply((user("what have you done so far?"),)).text


@on_a_loop
async def test_it_writes_word_by_word() -> None:
    seen: list[str] = []
    reply = await DemoModel(SystemClock()).reply(Prompt((user("Do 1 step."),)), seen.append)
    assert seen[0] == "Step "
    assert seen[-1] == reply.text
    assert len(seen) == len(reply.text.split())
    assert all(later.startswith(earlier) for earlier, later in zip(seen, seen[1:], strict=False))


def test_work_that_was_cut_off_is_finished_before_the_message_that_came_meanwhile() -> None:
    note = Message(Role.NOTE, resume_text(NoteKind.INTERRUPTED, message_follows=True, results_left=True))
    begun = (user("Do 3 steps."), *worked("1", "count", CallState.DONE))
    reply = demo_reply((*begun, note, user("Do 2 steps.")))
    assert (reply.text, reply.calls[0].name) == ("Step 2 of 3: writing a note.", "write_note")
    resumed: tuple[Message, ...] = (
        *begun,
        note,
        user("Do 2 steps."),
        *worked("2", "write_note", CallState.DONE),
    )
    resumed += worked("3", "count", CallState.DONE)
    assert demo_reply(resumed).text.endswith("Now the next one. Step 1 of 2: counting.")
    second = (*resumed, *worked("4", "count", CallState.DONE))
    reply = demo_reply(second)
    assert (reply.text, json.loads(reply.calls[0].arguments)) == (
        "Step 2 of 2: writing a note.",
        {"step": 2, "request": 2},
    )
    unknown = (*second, *worked("5", "write_note", CallState.UNKNOWN))
    assert demo_reply(unknown).calls[0].name == "read_notes"
    looked = (*unknown, *worked("6", "read_notes", CallState.DONE, "note of step 2\n"))
    assert demo_reply(looked).text == "Step 2 of 2: writing a note.", "that was the note of the first request"
    whole = (*second, *worked("5", "write_note", CallState.DONE))
    assert demo_reply(whole).text.startswith("All 2 requests are done, of 3 and 2 steps")
    assert demo_reply((*begun, note)).text.startswith("Step 2 of 3")
    assert demo_reply((*begun, user("Do 2 steps."))).text.startswith("Step 1 of 2"), "it was stopped"
    asked = demo_reply((*begun, note, user("What did you do?")))
    assert asked.text == "Step 2 of 3: writing a note.", "the account comes when the work is done"
    done = (*worked("2", "write_note", CallState.DONE), *worked("3", "count", CallState.DONE))
    asked = demo_reply((*begun, note, user("What did you do?"), *done))
    assert asked.text == "In this conversation I counted 2 times and wrote a note."


def test_its_model_asks_only_for_tools_it_has() -> None:
    names = [tool.name for tool in demo_agent(SystemClock()).tools]
    messages: list[Message] = [user("Do 4 steps.")]
    for number in range(20):
        reply = demo_reply(messages)
        if reply.finish is StopReason.COMPLETE:
            break
        assert reply.calls[0].name in names
        state = CallState.UNKNOWN if number == 1 else CallState.DONE
        messages += worked(str(number), reply.calls[0].name, state, "note of step 2\n")
    else:
        raise AssertionError("it never ended")


@on_a_loop
async def test_echo_says_back_what_was_said_since_its_last_answer() -> None:
    async def echo(messages: Sequence[Message]) -> str:
        return (await EchoModel().reply(Prompt(messages))).text

    assert await echo((user("a"),)) == "a"
    messages = (user("a"), Message(Role.ASSISTANT, "a"), Message(Role.NOTE, "n"), user("b"), user("c"))
    assert await echo(messages) == "b\nc"
