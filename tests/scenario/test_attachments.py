"""A file that a person sends is in the workspace when the model is asked, and in what the model is shown."""

import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from holdfast.agents import Message, Replied
from holdfast.gateway.files.blobs import BlobFiles
from holdfast.gateway.files.workspace_files import WorkspaceFiles
from holdfast.model import Attachment, CallId, SessionId, StopReason, ToolCall
from holdfast.policy.settings import Workspaces
from holdfast.store import Scope
from holdfast.tools.builtin.files import FileTools
from holdfast.tools.builtin.safe_paths import SafePaths
from tests.support.ledger import Ledger, key
from tests.support.stage import Stage, hangs, says, soon

TEXT = b"milk\nbread\nseven eggs\n"


class Sent:
    """Files that come with messages, and the workspaces they are put into."""

    def __init__(self, ledger: Ledger, home: Path, sharing: Workspaces = Workspaces.SESSION) -> None:
        self.ledger = ledger
        self.workspace = home / "workspace"
        self.blobs = BlobFiles(home, ledger.store)
        self.reports: list[str] = []
        self.files = WorkspaceFiles(
            self.workspace, sharing, self.blobs, ledger.store, lambda doing, fault: self.reports.append(doing)
        )

    async def say(self, text: str = "what is in it?", name: str = "list.txt", data: bytes = TEXT) -> None:
        kept = await self.blobs.keep(data, "text/plain")
        file = Attachment(str(kept["digest"]), name, "text/plain", len(data))
        await self.ledger.say(text, attachments=(file,))

    def stage(self, *lines: object, **more: object) -> Stage:
        return Stage(self.ledger, *lines, attachments=self.files, workspace=self.workspace, **more)  # type: ignore[arg-type] # as the stage has them

    def folder(self, session: SessionId) -> Path:
        return self.workspace / "sessions" / session / "attachments"


@pytest.fixture
def sent(ledger: Ledger, tmp_path: Path) -> Sent:
    return Sent(ledger, tmp_path)


@pytest.mark.guards("R24.1")
async def test_a_file_is_in_the_workspace_when_the_model_is_asked_and_its_text_is_shown(sent: Sent) -> None:
    found: list[bytes] = []

    async def looks(messages: Sequence[Message]) -> Replied:
        session = (await stage.turn()).session
        found.append((sent.folder(session) / "list.txt").read_bytes())
        return says()

    await sent.say()
    stage = sent.stage(looks)
    await stage.run()
    assert found == [TEXT]
    (message,) = stage.model.shown[0]
    assert message.text == "what is in it?"
    assert "in the workspace as attachments/list.txt" in message.files[0]
    assert "seven eggs" in message.files[0]


async def test_the_built_in_tools_read_it(sent: Sent) -> None:
    await sent.say()
    read, *_ = FileTools(SafePaths()).tools()
    call = ToolCall(CallId("1"), "read_file", '{"path": "attachments/list.txt"}')
    asks = Replied("", StopReason.CALLS, (call,))
    stage = sent.stage(asks, says(), tools=[read])
    await stage.run()
    ((_, text),) = await stage.results()
    assert text == TEXT.decode()


@pytest.mark.guards("R24.1")
async def test_killed_before_the_model_was_asked_it_is_there_when_it_is(sent: Sent, ledger: Ledger) -> None:
    await sent.say()
    async with sent.stage(hangs) as stage:
        await soon(stage.model.asked.wait())
    session = (await stage.turn()).session
    (sent.folder(session) / "list.txt").unlink()
    (sent.workspace.parent / "tool-state" / session / "attachments").rename(sent.workspace / "gone")
    await ledger.recover()
    again = Sent(ledger, sent.workspace.parent).stage(says())
    await again.run()
    assert (sent.folder(session) / "list.txt").read_bytes() == TEXT


async def test_what_the_agent_made_of_it_is_left_alone(sent: Sent, ledger: Ledger) -> None:
    await sent.say()
    first = sent.stage(says())
    await first.run()
    session = (await first.turn()).session
    (sent.folder(session) / "list.txt").write_bytes(b"changed")
    await sent.say("and again")
    second = sent.stage(says())
    await second.run()
    assert (sent.folder(session) / "list.txt").read_bytes() == b"changed"
    assert (sent.folder(session) / "list-2.txt").read_bytes() == TEXT
    shown = [words for message in second.model.shown[0] for words in message.files]
    assert ["attachments/list.txt." in shown[0], "attachments/list-2.txt." in shown[1]] == [True, True]


async def test_a_file_of_the_agents_own_by_that_name_is_kept_beside_it(sent: Sent) -> None:
    await sent.say(name="first.txt")
    stage = sent.stage(says())
    await stage.run()
    folder = sent.folder((await stage.turn()).session)
    (folder / "list.txt").write_bytes(b"my own")
    await sent.say()
    await sent.stage(says()).run()
    assert (folder / "list.txt").read_bytes() == TEXT
    assert (folder / "list.txt.before").read_bytes() == b"my own"


async def test_a_link_in_its_way_leads_nowhere(sent: Sent, tmp_path: Path) -> None:
    await sent.say(name="first.txt")
    stage = sent.stage(says())
    await stage.run()
    folder = sent.folder((await stage.turn()).session)
    outside = tmp_path / "outside"
    outside.mkdir()
    folder.rename(tmp_path / "moved")
    os.symlink(outside, folder)
    await sent.say()
    again = sent.stage(says())
    await again.run()
    assert list(outside.iterdir()) == []
    assert "could not be put into the workspace" in again.model.shown[0][-1].files[0]
    assert "seven eggs" in again.model.shown[0][-1].files[0]
    assert len(sent.reports) == 1


async def test_sessions_that_share_a_workspace_have_a_folder_each(ledger: Ledger, tmp_path: Path) -> None:
    sent = Sent(ledger, tmp_path, Workspaces.AGENT)
    await sent.say()
    stage = sent.stage(says())
    await stage.run()
    session = (await stage.turn()).session
    (found,) = sent.workspace.glob("agents/*/attachments/*/list.txt")
    assert found.parent.name == session
    assert f"attachments/{session}/list.txt" in stage.model.shown[0][0].files[0]


@pytest.mark.guards("R24.1", "R20")
@pytest.mark.parametrize("sharing", Workspaces)
async def test_what_is_forgotten_is_gone_from_the_workspace(
    ledger: Ledger, tmp_path: Path, sharing: Workspaces
) -> None:
    sent = Sent(ledger, tmp_path, sharing)
    await sent.say()
    stage = sent.stage(says())
    await stage.run()
    await sent.files.sweep()
    assert len(list(sent.workspace.rglob("list.txt"))) == 1
    scope = Scope(key(), await ledger.command("/forget everything"))
    assert await ledger.store.quiet(scope)
    await ledger.store.erase(scope)
    await sent.files.sweep()
    await sent.files.sweep()
    assert list(sent.workspace.rglob("list.txt")) == []
