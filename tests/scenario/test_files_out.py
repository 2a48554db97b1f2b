"""Files for people on the real ledger: owed with the call, sent once or visibly marked, all forgotten."""

import asyncio
import hashlib
from pathlib import Path

import pytest

from holdfast.errors import DiskFull, NotFound
from holdfast.gateway.files.blobs import BlobFiles
from holdfast.gateway.files.tool_outputs import OutputFiles
from holdfast.model import (
    Attachment,
    CallState,
    Delivery,
    DeliveryState,
    Lost,
    Owed,
    Rejected,
    StopKind,
    TurnState,
)
from holdfast.outbox import Sender
from holdfast.platforms import Ack, Capabilities
from holdfast.policy.delivery.parts import CAPTION
from holdfast.policy.settings import Workspaces
from holdfast.store import Scope
from holdfast.tools.builtin.files import FileTools
from holdfast.tools.builtin.safe_paths import SafePaths
from holdfast.turns import LongResults, Nowhere
from tests.scenario.test_tools import asks_for
from tests.support.ledger import Ledger, address, answers, asks, key, owed, planned, result
from tests.support.platforms import FakePlatform, HalfRng
from tests.support.stage import Line, Stage, says, soon

DATA = b"the report"
DIGEST = hashlib.sha256(DATA).hexdigest()
REPORT = Attachment(DIGEST, "report.pdf", "application/pdf", len(DATA))
CARRIES = Capabilities(Ack.OFFSET, files=1_000)


class Desk:
    """Turns whose tools work in a shared folder, and where the files they send are kept."""

    def __init__(self, ledger: Ledger, home: Path) -> None:
        self.ledger = ledger
        self.home = home
        self.blobs = BlobFiles(home, ledger.store)
        self.folder = home / "workspace" / "agents" / "main"
        self.folder.mkdir(parents=True)
        (self.folder / "report.pdf").write_bytes(DATA)

    def stage(self, *lines: Line, outputs: LongResults | None = None) -> Stage:
        return Stage(
            self.ledger,
            *lines,
            tools=FileTools(SafePaths(Workspaces.AGENT)).tools(),
            outputs=outputs or OutputFiles(self.blobs),
            workspace=self.home / "workspace",
        )

    async def files(self) -> list[Delivery]:
        return [part for part in await self.ledger.outbox() if part.files]


@pytest.mark.guards("R10.1")
async def test_a_file_replies_to_the_message_it_was_asked_for_in(ledger: Ledger, tmp_path: Path) -> None:
    desk = Desk(ledger, tmp_path)
    await ledger.say(message_id="m7")
    wanted = asks_for("send_file", path="report.pdf", caption="word " * 400)
    await desk.stage(wanted, says("here it is")).run()
    parts = await ledger.outbox()
    assert len([part for part in parts if part.dedupe.startswith("file:")]) > 1
    assert {part.reply_to for part in parts} == {"m7"}


class Slow(Nowhere):
    """Keeps nothing until it is cut off; a stubborn one does so then, all the same."""

    def __init__(self, blobs: BlobFiles, stubborn: bool = False) -> None:
        self.kept = OutputFiles(blobs)
        self.stubborn = stubborn
        self.reached = asyncio.Event()

    async def keep_file(self, name: str, media_type: str, content: bytes) -> Attachment:
        self.reached.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            if not self.stubborn:
                raise
        return await self.kept.keep_file(name, media_type, content)


@pytest.fixture
def desk(ledger: Ledger, tmp_path: Path) -> Desk:
    return Desk(ledger, tmp_path / "home")


def sends(caption: str = "here it is") -> Line:
    return asks_for("send_file", path="report.pdf", caption=caption)


async def test_a_file_is_owed_as_it_was_before_the_answer(ledger: Ledger, desk: Desk) -> None:
    await ledger.say()
    stage = desk.stage(sends(), asks_for("write_file", path="report.pdf", content="changed"), says())
    await stage.run()
    (part,) = await desk.files()
    assert part.files == (REPORT,)
    assert await stage.told() == ["here it is", "the answer"]
    assert (await desk.blobs.read(DIGEST))[1] == DATA, "what became of it later changes nothing"
    assert (await stage.results())[0][0] is CallState.DONE


async def test_what_is_too_long_to_stand_with_a_file_follows_it(ledger: Ledger, desk: Desk) -> None:
    await ledger.say()
    stage = desk.stage(sends("word " * CAPTION), says())
    await stage.run()
    parts = [part for part in await ledger.outbox() if part.dedupe.startswith("file:")]
    assert [(bool(part.files), bool(part.text)) for part in parts] == [
        (True, False),
        (False, True),
        (False, True),
    ]
    assert sum(part.text.count("word") for part in parts) == CAPTION


async def test_a_call_that_is_run_again_after_a_crash_owes_one_file(ledger: Ledger, desk: Desk) -> None:
    await ledger.say()
    slow = Slow(desk.blobs)
    async with desk.stage(sends(), outputs=slow):
        await soon(slow.reached.wait())
    assert await desk.files() == []
    await ledger.crash()
    await ledger.recover()
    desk.blobs = BlobFiles(desk.home, ledger.store)
    (desk.folder / "report.pdf").write_bytes(DATA * 2)
    stage = desk.stage(says())
    await stage.run()
    (part,) = await desk.files()
    assert part.files[0].size == 2 * len(DATA)
    assert part.dedupe.startswith(f"file:{(await stage.turn()).id}:"), "the key of its call"
    assert not await ledger.store.owe(Owed(part.chat, part.dedupe, ("again",), files=(REPORT,)))


@pytest.mark.parametrize("stubborn", [True, False])
async def test_a_stop_leaves_no_call_that_says_otherwise_than_the_outbox(
    ledger: Ledger, desk: Desk, stubborn: bool
) -> None:
    await ledger.say()
    slow = Slow(desk.blobs, stubborn)
    async with desk.stage(sends(), outputs=slow) as stage:
        await soon(slow.reached.wait())
        await ledger.store.stop(key(), StopKind.STOP, None)
        await stage.quiet()
        ((state, text),) = await stage.results()
    assert state is (CallState.DONE if stubborn else CallState.FAILED), text
    assert len(await desk.files()) == stubborn


@pytest.mark.parametrize(
    ("fault", "words"), [(None, "no files can be sent here"), (DiskFull("no room"), "nothing was sent")]
)
async def test_a_file_that_cannot_be_kept_is_not_owed(
    ledger: Ledger, desk: Desk, fault: DiskFull | None, words: str
) -> None:
    class Full(Nowhere):
        async def keep_file(self, name: str, media_type: str, content: bytes) -> Attachment:
            raise fault or NotFound("place", name)

    await ledger.say()
    stage = desk.stage(sends(), says(), outputs=Full())
    await stage.run()
    ((state, text),) = await stage.results()
    assert (state, words in text, await desk.files()) == (CallState.FAILED, True, [])


async def owed_one(ledger: Ledger, text: str = "here") -> None:
    await ledger.complete()
    await ledger.store.keep_blob(DIGEST, len(DATA), REPORT.media_type)
    await ledger.store.owe(Owed(address("c1"), "file:1", (text,), files=(REPORT,)))


async def send_all(ledger: Ledger, platform: FakePlatform) -> tuple[Delivery, ...]:
    sender = Sender(ledger.store, ledger.clock, HalfRng(), platform)
    for _ in range(9):
        ledger.clock.advance(60_000)
        await sender.send_due()
    return await ledger.outbox()


async def test_a_platform_gets_the_file_with_its_words_and_a_repeat_is_marked(ledger: Ledger) -> None:
    await owed_one(ledger)
    platform = FakePlatform(CARRIES)
    platform.play += [Lost("no answer")]
    (part,) = await send_all(ledger, platform)
    assert part.state is DeliveryState.SENT
    assert [(one.files, one.repeated) for one in platform.sends] == [((REPORT,), False), ((REPORT,), True)]


@pytest.mark.parametrize(
    ("most", "play", "reason"),
    [
        (0, (), "no files can be sent there"),
        (9, (), "files there have at most 9 bytes"),
        (1_000, (Rejected("wrong type"),), "wrong type"),
    ],
)
async def test_a_file_that_does_not_go_out_is_told_with_its_words_and_how_to_get_it(
    ledger: Ledger, most: int, play: tuple[Rejected, ...], reason: str
) -> None:
    await owed_one(ledger)
    platform = FakePlatform(Capabilities(Ack.OFFSET, files=most))
    platform.play += play
    failed, line = await send_all(ledger, platform)
    assert (failed.state, failed.reason) == (DeliveryState.FAILED, reason)
    assert line.state is DeliveryState.SENT
    assert line.text == (
        "here\n\n[The file report.pdf (10 bytes) could not be sent here. The operator of this gateway can "
        f"fetch it: holdfast file {DIGEST[:12]}]"
    )
    assert platform.shown == [line.text], "one line, and never silence"


async def sent_by(ledger: Ledger, chat: str) -> None:
    """A turn of this chat sends the file."""
    await ledger.say("hello", chat)
    claimed = await ledger.claim()
    call = planned("c1")
    await ledger.append(claimed.fence, asks("c1"), plan=(call,), start=(call.id,))
    await ledger.store.keep_blob(DIGEST, len(DATA), REPORT.media_type)
    owe = Owed(address(chat), f"file:{chat}", ("secret",), files=(REPORT,))
    await ledger.append(claimed.fence, result("c1"), owe=(owe,))
    await ledger.store.finish(claimed.fence, TurnState.DONE, (answers(),), (owed(f"a-{chat}", chat=chat),))


@pytest.mark.guards("R20")
async def test_a_file_is_known_as_long_as_anything_owed_names_it(ledger: Ledger) -> None:
    await sent_by(ledger, "c1")
    await sent_by(ledger, "c2")
    platform = FakePlatform(Capabilities(Ack.OFFSET))
    await send_all(ledger, platform)
    for chat, left in (("c1", {DIGEST}), ("c2", set())):
        position = await ledger.command("/forget everything", chat)
        scope = Scope(key(chat), position)
        assert await ledger.store.quiet(scope)
        await ledger.store.erase(scope)
        assert await ledger.store.known_blobs((DIGEST,)) == left
        parts = [part for part in await ledger.outbox(chat) if "file:" in part.dedupe]
        assert len(parts) == 2, "the file, and the line in its place"
        assert all(part.text == "(erased)" and not part.files for part in parts)


@pytest.mark.guards("R20")
async def test_what_a_turn_sent_and_nobody_got_is_forgotten_too(ledger: Ledger) -> None:
    await sent_by(ledger, "c1")
    scope = Scope(key(), await ledger.command("/forget everything"))
    assert await ledger.store.quiet(scope)
    await ledger.store.erase(scope)
    assert await ledger.store.known_blobs((DIGEST,)) == set()
    assert {part.state for part in await ledger.outbox() if part.dedupe == "file:c1"} == {
        DeliveryState.EXPIRED
    }
