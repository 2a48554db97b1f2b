"""Tools in a turn: their time, what they put out, long results, and what they want of the gateway."""

import asyncio
import json
from pathlib import Path

import pytest

from holdfast.errors import DiskFull, StoreUnavailable
from holdfast.gateway.files.blobs import BlobFiles
from holdfast.gateway.files.tool_outputs import OutputFiles
from holdfast.model import (
    Attachment,
    CallId,
    CallState,
    EffectClass,
    Replied,
    Returned,
    StopKind,
    StopReason,
    ToolCall,
    TurnState,
)
from holdfast.policy.settings import SECOND, ToolSettings, TurnSettings
from holdfast.tools import CutShort, Tool, ToolContext, tool
from holdfast.tools.builtin import builtin_tools
from holdfast.turns import Nowhere
from tests.support.ledger import Ledger, key
from tests.support.stage import Deed, Stage, says, soon, wants

QUICK = TurnSettings(tools=ToolSettings(timeout=7 * SECOND, shown=1_000))


def asks_for(name: str, **arguments: object) -> Replied:
    return Replied("", StopReason.CALLS, (ToolCall(CallId("x"), name, json.dumps(arguments)),))


def ours(ledger: Ledger, *names: str) -> tuple[Tool, ...]:
    return builtin_tools(names, ToolSettings(), ledger.clock)


async def out_of_time(ledger: Ledger, deed: Deed, settings: TurnSettings = QUICK) -> tuple[CallState, str]:
    """Run a tool that does not end, until its time is up."""
    await ledger.say()
    async with Stage(ledger, wants(deed.name), says(), tools=[deed], settings=settings) as stage:
        await soon(deed.running.wait())
        await stage.clock.nap(7.0)
        ledger.clock.advance(7 * SECOND)
        await stage.leave_after_answer("the answer")
        ((state, text),) = await stage.results()
    return state, text


async def test_an_effect_that_is_not_done_in_time_is_unknown(ledger: Ledger) -> None:
    deed = Deed()
    state, text = await out_of_time(ledger, deed)
    assert (state, deed.cancelled) == (CallState.UNKNOWN, True)
    assert "may or may not have happened" in text
    assert "no sign of life for 7 seconds" in text


async def test_what_changes_nothing_has_failed_when_it_is_not_done_in_time(ledger: Ledger) -> None:
    state, text = await out_of_time(ledger, Deed(effect=EffectClass.READ))
    assert (state, text) == (
        CallState.FAILED,
        "failed: the call to deed was given up: it gave no sign of life for 7 seconds.",
    )


async def test_what_can_be_asked_is_asked_when_its_time_is_up(ledger: Ledger) -> None:
    deed = Deed(effect=EffectClass.RECONCILABLE, found="it happened")
    assert await out_of_time(ledger, deed) == (CallState.DONE, "it happened")


async def test_what_it_still_returns_is_its_result(ledger: Ledger) -> None:
    async def last_words() -> str:
        return "half of it"

    assert await out_of_time(ledger, Deed(when_cancelled=last_words)) == (CallState.DONE, "half of it")


async def test_a_tool_that_does_not_let_itself_be_ended_is_left_behind(ledger: Ledger) -> None:
    class Stubborn(Deed):
        async def run(self, context: ToolContext, arguments: str) -> str:
            self.running.set()
            while not self.release.is_set():
                try:
                    await self.release.wait()
                except asyncio.CancelledError:
                    continue
            return "late"

    deed = Stubborn()
    await ledger.say()
    async with Stage(ledger, wants("deed"), says(), tools=[deed], settings=QUICK) as stage:
        await soon(deed.running.wait())
        await stage.clock.nap(7.0)
        ledger.clock.advance(7 * SECOND)
        await stage.clock.nap(5.0)
        ledger.clock.advance(5 * SECOND)
        await stage.leave_after_answer("the answer")
        assert [state for state, _ in await stage.results()] == [CallState.UNKNOWN]
        deed.release.set()


async def test_a_tool_may_name_its_own_time(ledger: Ledger) -> None:
    deed = Deed()
    deed.timeout = 7.0  # type: ignore[attr-defined] # what a tool may have
    state, text = await out_of_time(ledger, deed, TurnSettings())
    assert state is CallState.UNKNOWN
    assert "not done after 7 seconds" in text


async def test_the_time_a_tool_names_itself_is_over_whatever_it_puts_out(ledger: Ledger) -> None:
    class Talks(Deed):
        timeout = 7.0

    deed = Talks()
    await ledger.say()
    async with Stage(ledger, wants("deed"), says(), tools=[deed]) as stage:
        await soon(deed.running.wait())
        await stage.clock.nap(7.0)
        ledger.clock.advance(4 * SECOND)
        deed.runs[0].output("still here")
        ledger.clock.advance(3 * SECOND)
        await stage.leave_after_answer("the answer")
        assert [state for state, _ in await stage.results()] == [CallState.UNKNOWN]


async def test_a_sign_of_life_gives_a_tool_its_time_anew(ledger: Ledger) -> None:
    deed = Deed()
    await ledger.say()
    async with Stage(ledger, wants("deed"), says(), tools=[deed], settings=QUICK) as stage:
        await soon(deed.running.wait())
        await stage.clock.nap(7.0)
        ledger.clock.advance(4 * SECOND)
        deed.runs[0].output("still here")
        ledger.clock.advance(3 * SECOND)
        await stage.clock.nap(4.0)
        ledger.clock.advance(4 * SECOND)
        await stage.leave_after_answer("the answer")
        ((state, text),) = await stage.results()
    assert (state, deed.cancelled) == (CallState.UNKNOWN, True)
    assert "no sign of life for 7 seconds" in text


@pytest.mark.parametrize(
    ("effect", "state"), [(EffectClass.EFFECT, CallState.UNKNOWN), (EffectClass.READ, CallState.FAILED)]
)
async def test_a_tool_that_was_cut_short_is_settled_by_its_class(
    ledger: Ledger, effect: EffectClass, state: CallState
) -> None:
    @tool(effect, name="deed")
    async def short() -> str:
        raise CutShort("too much memory")

    await ledger.say()
    stage = Stage(ledger, wants("deed"), says(), tools=[short])
    await stage.run()
    ((found, text),) = await stage.results()
    assert found is state
    assert "too much memory" in text


async def test_what_a_running_tool_puts_out_is_progress_and_seen_until_it_ends(ledger: Ledger) -> None:
    deed = Deed()
    await ledger.say()
    async with Stage(ledger, wants("deed"), says(), tools=[deed]) as stage:
        await soon(deed.running.wait())
        (context,) = deed.runs
        context.output("compiling\n")
        context.output("linking")
        assert [text for text, _ in stage.previews[-2:]] == [
            "deed:\ncompiling\n",
            "deed:\ncompiling\nlinking",
        ]
        assert stage.store.log.count("progress") == 0, "not for every piece"
        ledger.clock.advance(31 * SECOND)
        before = (await stage.turn()).progress_at
        context.output(".")
        await stage.store.logged("progress", 1)
        assert (await stage.turn()).progress_at != before
        deed.release.set()
        await stage.leave_after_answer("the answer")
        context.output("after its end")
    shown = [text for text, _ in stage.previews]
    assert "deed:\ncompiling\nlinking." in shown
    assert not any("after its end" in text for text in shown)
    assert shown[-1] == ""


async def test_a_long_result_is_kept_whole_before_it_is_named_and_the_rest_can_be_read(
    ledger: Ledger, tmp_path: Path
) -> None:
    whole = "\n".join(f"line {number}" for number in range(1, 2_001))

    @tool(EffectClass.READ)
    async def talk() -> str:
        return whole

    await ledger.say()
    tools = (talk, *ours(ledger, "todo"))
    blobs = BlobFiles(tmp_path / "home", ledger.store)
    stage = Stage(ledger, wants("talk"), says(), tools=tools, settings=QUICK, outputs=OutputFiles(blobs))
    await stage.run()
    (entry,) = [one for one in await stage.entries() if isinstance(one.body, Returned)]
    assert isinstance(entry.body, Returned)
    (file,) = entry.body.files
    assert (await blobs.read(file.digest))[1].decode() == whole
    text = entry.body.text
    assert len(text) < 1_400
    assert text.startswith("line 1\nline 2\n")
    assert text.endswith("line 2000")
    assert f'read_output with output "{file.digest}"' in text
    await ledger.say("and the rest?")
    more = asks_for("read_output", output=file.digest, first_line=1_000, lines=2)
    lost = asks_for("read_output", output="00" * 32)
    again = Stage(ledger, more, lost, says(), tools=tools, settings=QUICK, outputs=OutputFiles(blobs))
    await again.run()
    assert (await again.results())[1:] == [
        (CallState.DONE, "line 1000\nline 1001\n[lines 1000 to 1001 of 2000]"),
        (CallState.FAILED, f"no output is kept under the name {'00' * 32!r}"),
    ]


class _Watched(Nowhere):
    """Where long results are kept; says what the ledger knew then, and may have no room."""

    def __init__(self, full: bool = False) -> None:
        self.full = full
        self.kept: list[str] = []
        self.hold: asyncio.Event | None = None
        self.reached = asyncio.Event()

    async def keep(self, name: str, text: str) -> Attachment:
        self.reached.set()
        if self.hold is not None:
            await self.hold.wait()
        if self.full:
            raise DiskFull("no room")
        self.kept.append(text)
        return Attachment("ab" * 32, name, "text/plain", len(text))


async def test_it_is_kept_before_the_row_that_names_it(ledger: Ledger) -> None:
    @tool(EffectClass.EFFECT)
    async def talk() -> str:
        return "x" * 5_000

    outputs = _Watched()
    outputs.hold = asyncio.Event()
    await ledger.say()
    async with Stage(ledger, wants("talk"), says(), tools=[talk], settings=QUICK, outputs=outputs) as stage:
        await soon(outputs.reached.wait())
        assert await stage.results() == [], "nothing names it yet"
        outputs.hold.set()
        await stage.leave_after_answer("the answer")
    assert outputs.kept == ["x" * 5_000]


async def test_a_result_that_cannot_be_kept_is_still_a_result(ledger: Ledger) -> None:
    @tool(EffectClass.EFFECT)
    async def talk() -> str:
        return "x" * 5_000

    await ledger.say()
    stage = Stage(ledger, wants("talk"), says(), tools=[talk], settings=QUICK, outputs=_Watched(full=True))
    await stage.run()
    ((state, text),) = await stage.results()
    assert state is CallState.DONE
    assert "they are not kept" in text
    assert [doing for doing, _ in stage.reports] == ["keeping the output of talk"]


async def test_a_stop_while_it_is_kept_does_not_make_its_outcome_unknown(ledger: Ledger) -> None:
    @tool(EffectClass.EFFECT)
    async def talk() -> str:
        return "x" * 5_000

    outputs = _Watched()
    outputs.hold = asyncio.Event()
    await ledger.say()
    async with Stage(ledger, wants("talk"), tools=[talk], settings=QUICK, outputs=outputs) as stage:
        await soon(outputs.reached.wait())
        await ledger.store.stop(key(), StopKind.STOP, None)
        await stage.quiet()
        ((state, text),) = await stage.results()
    assert state is CallState.DONE
    assert "they are not kept" in text


async def test_the_model_can_look_back_over_sessions(ledger: Ledger) -> None:
    await ledger.complete("my cat is called Mimi")
    await ledger.store.stop(key(), StopKind.NEW, None)
    await ledger.say("what is my cat called?")
    stage = Stage(
        ledger,
        asks_for("history_search", words="cat CALLED"),
        asks_for("history_search", words="dog"),
        asks_for("history_search", words=" "),
        says(),
        tools=ours(ledger, "history"),
    )
    await stage.run()
    found, nothing, empty = await stage.results()
    assert found[0] is CallState.DONE
    assert found[1].endswith("UTC, in an earlier session, the person: my cat is called Mimi")
    assert nothing == (CallState.DONE, "Nothing in this conversation holds all of: dog.")
    assert empty == (CallState.FAILED, "say which words to look for")


async def test_a_restart_is_asked_for_once_however_often_its_call_runs(ledger: Ledger) -> None:
    await ledger.say("restart yourself")
    tools = ours(ledger, "restart")
    stage = Stage(ledger, asks_for("restart_gateway", reason="new config"), says(), tools=tools)
    await stage.run()
    (asked,) = await ledger.store.requests()
    turn = await stage.turn()
    assert (asked.what, asked.after_turn) == ("restart", turn.id)
    ((state, text),) = await stage.results()
    assert state is CallState.DONE
    assert "once your reply of this turn is delivered" in text


async def test_cut_off_after_it_asked_a_restart_is_not_asked_for_again(ledger: Ledger) -> None:
    """The process dies between the request and the commit of the call's result."""
    await ledger.say("restart yourself")
    tools = ours(ledger, "restart")
    async with Stage(ledger, asks_for("restart_gateway"), tools=tools) as stage:
        stage.store.after["request"] = asyncio.get_running_loop().create_future
        await soon(stage.store.reach("request").wait())
        while not await ledger.store.requests():
            await ledger.store.heartbeat()
    await ledger.recover()
    (asked,) = await ledger.store.requests()
    await ledger.store.settle_request(asked.id, "the process has begun anew since")
    again = Stage(ledger, says(), tools=tools)
    await again.run()
    assert await ledger.store.requests() == (), "nobody restarts it a second time"
    ((state, text),) = await again.results()
    assert state is CallState.DONE
    assert "was asked for already" in text


@pytest.mark.parametrize(
    ("name", "verb", "given"),
    [("history_search", "search", {"words": "a"}), ("restart_gateway", "request", {})],
)
@pytest.mark.parametrize("fault", [StoreUnavailable("busy"), ValueError("a bug of ours")])
async def test_a_fault_in_what_a_tool_wants_done_is_its_result_and_the_turn_goes_on(
    ledger: Ledger, name: str, verb: str, given: dict[str, object], fault: Exception
) -> None:
    await ledger.say()
    stage = Stage(ledger, asks_for(name, **given), says(), tools=ours(ledger, "history", "restart"))
    stage.store.faults[verb] = [fault]
    await stage.run()
    assert [state for state, _ in await stage.results()] == [CallState.FAILED]
    assert (await stage.turn()).state is TurnState.DONE
