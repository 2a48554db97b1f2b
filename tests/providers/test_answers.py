"""Both providers' own libraries against a server that speaks their protocols and has bad days."""

import json
from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest

from holdfast.agents import (
    CallId,
    ContextOverflow,
    Message,
    Metered,
    ModelError,
    Prompt,
    Role,
    StopReason,
    ToolCall,
)
from holdfast.agents.anthropic import anthropic_model
from holdfast.agents.openai import openai_model
from holdfast.agents.provider_model import ProviderModel
from holdfast.agents.remote_model import Prices, RemoteModel
from holdfast.model import Attachment, CallState, Replied, Usage
from holdfast.testing.fakes.models import FaultKind, ModelFault, ModelServer, ServeOptions
from holdfast.tools import ToolSpec
from tests.support.loops import on_a_loop

KEY = "sk-test-0123456789abcdef"
COMMAND = {"type": "object", "properties": {"command": {"type": "string"}}}
TOOLS = (ToolSpec("terminal", "Runs a command.", COMMAND),)

Ask = Callable[[ModelServer, ProviderModel], Awaitable[None]]
both = pytest.mark.parametrize("provider", ["openai", "anthropic"])


async def no_files(digest: str) -> bytes:
    raise KeyError(digest)


def with_model(
    provider: str,
    work: Ask,
    serving: ServeOptions | None = None,
    model: str = "scripted",
    timeout: float = 20.0,
) -> None:
    """Do this with a model of that provider, served here."""

    async def serve() -> None:
        async with ModelServer(serving or ServeOptions(key=KEY)) as server:
            url = server.openai_url if provider == "openai" else server.url
            prices = Prices(input=3_000_000, output=15_000_000, cached=300_000)
            served = RemoteModel("agents.main", model, url, KEY, timeout=timeout, prices=prices)
            asked = (openai_model if provider == "openai" else anthropic_model)(served, no_files)
            try:
                await work(server, asked)
            finally:
                await asked.close()

    on_a_loop(serve)()


def said(text: str, *more: Message) -> Prompt:
    return Prompt((Message(Role.USER, text), *more), TOOLS, "You are helpful.")


def failed(provider: str, kind: FaultKind, seconds: float = 1.0, timeout: float = 20.0) -> ModelError:
    found: list[ModelError] = []

    async def ask(server: ModelServer, model: ProviderModel) -> None:
        server.faults.append(ModelFault(kind, seconds))
        with pytest.raises(ModelError) as caught:
            await model.reply(said("hello"))
        assert len(server.requests) == 1, "the library asked again by itself"
        found.append(caught.value)

    with_model(provider, ask, timeout=timeout)
    assert KEY not in str(found[0])
    return found[0]


def answered(provider: str, kind: FaultKind, text: str = "hello") -> Replied:
    found: list[Replied] = []

    async def ask(server: ModelServer, model: ProviderModel) -> None:
        server.faults.append(ModelFault(kind))
        found.append((await model.reply(said(text))).reply)

    with_model(provider, ask)
    return found[0]


@both
def test_an_answer_is_heard_as_it_grows_and_its_cost_is_counted(provider: str) -> None:
    async def ask(server: ModelServer, model: ProviderModel) -> None:
        heard: list[str] = []
        answer = await model.reply(said("hello there, how are you?"), heard.append)
        assert answer.reply == Replied("You said: hello there, how are you?", StopReason.COMPLETE)
        assert heard[-1] == answer.reply.text
        assert len(set(heard)) > 2
        assert all(later.startswith(earlier) for earlier, later in zip(heard, heard[1:], strict=False))
        used = answer.usage
        assert used is not None
        cached = used.tokens_in // 2
        assert used.tokens_in > 20
        cost = (used.tokens_in - cached) * 3 + cached * 0.3 + used.tokens_out * 15
        assert used == Usage("scripted", used.tokens_in, used.tokens_out, round(cost))

    with_model(provider, ask)


@both
def test_calls_made_together_are_put_together_from_their_pieces(provider: str) -> None:
    command = json.dumps({"command": "echo a long command that comes in many pieces"})

    async def ask(server: ModelServer, model: ProviderModel) -> None:
        reply = (await model.reply(said(f'terminal {command}\nand todo {{"items": ["one"]}}'))).reply
        assert reply.finish is StopReason.CALLS
        assert [(call.name, json.loads(call.arguments)) for call in reply.calls] == [
            ("terminal", json.loads(command)),
            ("todo", {"items": ["one"]}),
        ]
        assert len({call.id for call in reply.calls}) == 2

    with_model(provider, ask)


@both
def test_a_conversation_with_calls_results_and_notes_goes_on(provider: str) -> None:
    calls = (ToolCall(CallId("c2-1"), "terminal", "{}"), ToolCall(CallId("c2-2"), "no such: tool", "{broken"))
    messages = (
        Message(Role.NOTE, "What was said before, summed up."),
        Message(Role.USER, 'terminal {"command": "ls"}\nand todo {"items": []}\nterminal {"command": "w"}'),
        Message(Role.ASSISTANT, "", calls),
        Message(Role.TOOL, "", call=CallId("c2-1"), state=CallState.DONE),
        Message(Role.TOOL, "failed", call=CallId("c2-2"), state=CallState.FAILED),
        Message(Role.NOTE, "The gateway was restarted."),
    )

    async def ask(server: ModelServer, model: ProviderModel) -> None:
        for tools in (TOOLS, ()):
            reply = (await model.reply(Prompt(messages, tools))).reply
            assert [call.arguments for call in reply.calls] == ['{"command": "w"}']

    with_model(provider, ask)


@both
def test_thoughts_come_back_to_their_maker_as_they_were_and_to_nobody_else(provider: str) -> None:
    async def ask(server: ModelServer, model: ProviderModel) -> None:
        text = 'terminal {"command": "ls"}\nterminal {"command": "pwd"}'
        first = (await model.reply(said(text))).reply
        assert first.opaque is not None
        assert "think" in first.opaque
        asked = Message(Role.ASSISTANT, first.text, first.calls, opaque=first.opaque)
        result = Message(Role.TOOL, "here", call=first.calls[0].id, state=CallState.DONE)
        second = (await model.reply(said(text, asked, result))).reply
        assert second.calls[0].arguments == '{"command": "pwd"}'
        # Another model does not get them; that this one then refuses shows that they were left out.
        other = replace(said(text, asked, result), model="other-thinking-model")
        with pytest.raises(ModelError, match="thinking"):
            await model.reply(other)
        assert "I think" not in json.dumps(server.requests[-1])

    with_model(provider, ask, model="thinking-model")


@both
def test_pictures_are_shown_and_other_files_are_named(provider: str) -> None:
    files = (
        Attachment("d1", "cat.png", "image/png", 3),
        Attachment("d2", "gone.png", "image/png", 3),
        Attachment("d3", "notes.pdf", "application/pdf", 9_000),
    )

    async def read(digest: str) -> bytes:
        return {"d1": b"PNG"}[digest]

    async def ask(server: ModelServer, _: ProviderModel) -> None:
        for images in (True, False):
            url = server.openai_url if provider == "openai" else server.url
            served = RemoteModel("agents.main", "scripted", url, KEY, images=images)
            model = (openai_model if provider == "openai" else anthropic_model)(served, read)
            await model.reply(Prompt((Message(Role.USER, "look", attachments=files),)))
            await model.close()
            shown = json.dumps(server.requests[-1])
            assert ("UE5H" in shown) is images
            assert ("cat.png" in shown) is not images
            assert "gone.png" in shown
            assert "notes.pdf, application/pdf, 9000 bytes" in shown

    with_model(provider, ask)


@both
def test_being_asked_to_wait_is_passing_and_says_how_long(provider: str) -> None:
    error = failed(provider, FaultKind.LIMITED, seconds=7.5)
    assert (error.transient, error.retry_after) == (True, 7.5)


@both
@pytest.mark.parametrize("kind", [FaultKind.BROKEN, FaultKind.OVERLOADED, FaultKind.CUT_EARLY])
def test_a_servers_own_fault_is_passing(provider: str, kind: FaultKind) -> None:
    assert failed(provider, kind).transient


@both
def test_an_account_without_credit_is_not(provider: str) -> None:
    error = failed(provider, FaultKind.NO_CREDIT)
    assert not error.transient
    assert "agents.main.key_env" in str(error)


@both
@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (FaultKind.BAD_KEY, "agents.main.key_env"),
        (FaultKind.FORBIDDEN, "agents.main.key_env"),
        (FaultKind.NOT_FOUND, "agents.main.model and agents.main.base_url"),
        (FaultKind.BAD_REQUEST, "Something about this request is wrong"),
    ],
)
def test_what_only_a_person_can_mend_is_final_and_says_where(
    provider: str, kind: FaultKind, words: str
) -> None:
    error = failed(provider, kind)
    assert not error.transient
    assert words in str(error)


@both
def test_too_long_a_prompt_is_known_as_that(provider: str) -> None:
    assert isinstance(failed(provider, FaultKind.OVERFLOW), ContextOverflow)


@both
def test_a_server_that_says_nothing_is_given_up_as_passing(provider: str) -> None:
    error = failed(provider, FaultKind.HANG, timeout=0.3)
    assert error.transient
    assert "no sign of life for 0.3 s" in str(error)


@both
def test_a_slow_first_byte_is_waited_for(provider: str) -> None:
    async def ask(server: ModelServer, model: ProviderModel) -> None:
        server.faults.append(ModelFault(FaultKind.SLOW, 0.05))
        assert (await model.reply(said("hello"))).reply.finish is StopReason.COMPLETE

    with_model(provider, ask)


@both
def test_nobody_there_is_passing(provider: str) -> None:
    async def ask() -> None:
        served = RemoteModel("agents.main", "scripted", "http://127.0.0.1:9/v1", KEY)
        model = (openai_model if provider == "openai" else anthropic_model)(served, no_files)
        with pytest.raises(ModelError, match="could not be reached") as caught:
            await model.reply(said("hello"))
        assert caught.value.transient
        await model.close()

    on_a_loop(ask)()


@both
@pytest.mark.parametrize("kind", [FaultKind.CUT, FaultKind.UNMARKED, FaultKind.ERROR_INSIDE])
def test_what_came_of_a_stream_that_broke_off_is_kept_as_that(provider: str, kind: FaultKind) -> None:
    reply = answered(provider, kind, "a message that is long enough for several pieces")
    assert reply.finish is StopReason.CUT
    assert "You said: a message".startswith(reply.text[:10])
    assert reply.text


@both
@pytest.mark.parametrize("kind", [FaultKind.CUT, FaultKind.UNMARKED])
def test_calls_of_a_stream_that_broke_off_are_not_taken_for_whole(provider: str, kind: FaultKind) -> None:
    reply = answered(provider, kind, 'terminal {"command": "rm -r everything that is below this folder"}')
    assert reply.finish is StopReason.CUT


@both
def test_markers_mean_the_same_whoever_says_them(provider: str) -> None:
    assert answered(provider, FaultKind.LENGTH).finish is StopReason.LENGTH
    assert answered(provider, FaultKind.FILTERED).finish is StopReason.FILTERED
    assert answered(provider, FaultKind.EMPTY) == Replied("", StopReason.COMPLETE)


@both
def test_malformed_arguments_stay_as_they_are_and_the_conversation_stays_legal(provider: str) -> None:
    async def ask(server: ModelServer, model: ProviderModel) -> None:
        server.faults.append(ModelFault(FaultKind.MALFORMED))
        text = 'terminal {"command": "ls"}'
        reply = (await model.reply(said(text))).reply
        assert reply.calls[0].arguments == '{"command": "ls","'
        asked = Message(Role.ASSISTANT, reply.text, reply.calls, opaque=reply.opaque)
        result = Message(Role.TOOL, "not JSON", call=reply.calls[0].id, state=CallState.FAILED)
        answer: Metered = await model.reply(said(text, asked, result))
        assert answer.reply.text == "All steps are done."

    with_model(provider, ask)


@both
def test_the_key_shown_is_the_one_configured_and_a_wrong_one_is_in_no_words(provider: str) -> None:
    async def ask(server: ModelServer, model: ProviderModel) -> None:
        with pytest.raises(ModelError) as caught:
            await model.reply(said("hello"))
        assert KEY not in str(caught.value)
        assert "agents.main.key_env" in str(caught.value)

    with_model(provider, ask, ServeOptions(key="another"))


@both
@pytest.mark.parametrize(
    "arguments", ["[" * 200_000, '{"a": ' * 200_000, '{"command": "\ud83d"}'], ids=["list", "object", "half"]
)
def test_nothing_a_model_once_wrote_keeps_it_from_being_asked_again(provider: str, arguments: str) -> None:
    async def ask(server: ModelServer, model: ProviderModel) -> None:
        call = ToolCall(CallId("c1"), "terminal", arguments)
        more = (
            Message(Role.ASSISTANT, "half \ud83d", (call,)),
            Message(Role.TOOL, "also half \ud83d", call=call.id, state=CallState.DONE),
            Message(Role.USER, "and now? \udcff"),
        )
        answer = await model.reply(said("hello", *more))
        assert answer.reply.finish is StopReason.COMPLETE

    with_model(provider, ask)
