"""Files of a workspace: what is asked for, nothing outside it, and a change that is cut off happens once."""

import json
import os
import resource
import sys
import threading
import tracemalloc
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from holdfast.model import EffectClass, SessionId, TurnId
from holdfast.policy.settings import Workspaces
from holdfast.tools import SendFile, Tool, ToolContext, ToolFailed
from holdfast.tools.builtin import files as module
from holdfast.tools.builtin.files import FileTools
from holdfast.tools.builtin.safe_paths import SafePaths, names_of, put_file
from tests.support.loops import on_a_loop


class Desk:
    """The tools on one workspace; every call has a key of its own unless it is told to be another's."""

    def __init__(self, home: Path, session: str = "s1", sharing: Workspaces = Workspaces.SESSION) -> None:
        self.workspace = home / "workspace"
        self.session = session
        self.tools: dict[str, Tool] = {tool.name: tool for tool in FileTools(SafePaths(sharing)).tools()}
        self.calls = 0
        self.root = SafePaths(sharing).files(self._context("t:0"))

    def _context(self, key: str) -> ToolContext:
        turn = TurnId(key.partition(":")[0])
        return ToolContext(SessionId(self.session), turn, 1, self.workspace, key)

    async def do(self, name: str, key: str | None = None, **arguments: Any) -> Any:
        self.calls += 1
        return await self.tools[name].run(self._context(key or f"t:{self.calls}"), json.dumps(arguments))


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def test_looking_is_repeated_and_changing_knows_itself_again(desk: Desk) -> None:
    assert {name: tool.effect for name, tool in desk.tools.items()} == {
        "read_file": EffectClass.READ,
        "list_files": EffectClass.READ,
        "search_files": EffectClass.READ,
        "write_file": EffectClass.IDEMPOTENT,
        "edit_file": EffectClass.IDEMPOTENT,
        "send_file": EffectClass.IDEMPOTENT,
    }


@on_a_loop
async def test_a_file_is_sent_as_it_is_by_its_name(desk: Desk) -> None:
    await desk.do("write_file", path="a/chart\n.png", content="picture")
    found = await desk.do("send_file", path="a/chart\n.png", caption="look")
    assert found == SendFile("chart.png", b"picture", "image/png", "look")
    await desk.do("write_file", path="empty", content="")
    with pytest.raises(ToolFailed, match="nothing to send"):
        await desk.do("send_file", path="empty")


@on_a_loop
async def test_what_is_too_large_or_outside_is_not_sent(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_SENT", 10)
    (desk.root / "large").write_bytes(bytes(11))
    (desk.root / "fits").write_bytes(bytes(10))
    (desk.root / "link").symlink_to("/etc/passwd")
    assert len((await desk.do("send_file", path="fits")).content) == 10
    for path, words in (("large", "larger than 10"), ("../x", "not in the workspace"), ("link", "link")):
        with pytest.raises(ToolFailed, match=words):
            await desk.do("send_file", path=path)


@on_a_loop
async def test_a_file_is_written_edited_listed_found_and_read(desk: Desk) -> None:
    assert await desk.do("write_file", path="a/b.txt", content="one\ntwo\n") == "created a/b.txt (8 bytes)"
    assert await desk.do("edit_file", path="a/b.txt", old="two", new="zwei\nTWO") == "edited a/b.txt"
    assert await desk.do("read_file", path="./a//b.txt") == "one\nzwei\nTWO\n"
    assert await desk.do("read_file", path="a/b.txt", first_line=2, lines=1) == "zwei\n\n[lines 2 to 2 of 3]"
    assert await desk.do("list_files") == "a/"
    assert await desk.do("list_files", below=True) == "a/\na/b.txt 13"
    assert await desk.do("search_files", text="two", ignore_case=True) == "a/b.txt:3: TWO"
    assert await desk.do("search_files", text="two", files="*.md") == "no file contains 'two'"
    assert await desk.do("write_file", path="a/b.txt", content="x") == "replaced a/b.txt (1 bytes)"
    assert (desk.root / "a" / "b.txt").read_text() == "x"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"old": "three", "new": "x"}, "does not contain that text"),
        ({"old": "", "new": "x"}, "does not contain that text"),
        ({"old": "o", "new": "x"}, "contains that text 2 times"),
    ],
)
@on_a_loop
async def test_an_edit_that_is_not_certain_is_not_made(
    desk: Desk, arguments: dict[str, str], words: str
) -> None:
    await desk.do("write_file", path="a", content="one\ntwo\n")
    with pytest.raises(ToolFailed, match=words):
        await desk.do("edit_file", path="a", **arguments)
    assert (desk.root / "a").read_text() == "one\ntwo\n"


@pytest.mark.guards("R22.8")
@on_a_loop
async def test_a_letter_replaced_everywhere_by_a_long_text_is_refused_before_it_is_made(desk: Desk) -> None:
    before = "a" * 10_000
    await desk.do("write_file", path="a", content=before)
    tracemalloc.start()
    try:
        with pytest.raises(ToolFailed, match="would be larger"):
            await desk.do("edit_file", path="a", old="a", new="b" * 10_000, everywhere=True)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < 30_000_000, "what was asked for would take 100 MB"
    assert (desk.root / "a").read_text() == before


OUT = [
    "/etc/passwd",
    "../../../secret",
    "a/../../../../secret",
    "..",
    "a/..",
    "/",
    "link",
    "link/passwd",
    "folder/link",
    "up/secret",
    "loop",
    "nul\0byte",
    "pipe",
    "socket/../../secret",
]


@pytest.mark.parametrize("path", OUT)
@pytest.mark.parametrize("name", ["read_file", "write_file", "edit_file", "list_files", "search_files"])
@on_a_loop
async def test_no_path_leads_out_of_the_workspace(desk: Desk, tmp_path: Path, name: str, path: str) -> None:
    secret = tmp_path / "secret"
    secret.write_text("top secret")
    (desk.root / "folder").mkdir()
    (desk.root / "link").symlink_to("/etc")
    (desk.root / "folder" / "link").symlink_to(secret)
    (desk.root / "up").symlink_to(tmp_path)
    (desk.root / "loop").symlink_to("loop")
    os.mkfifo(desk.root / "pipe")
    more = {
        "write_file": {"content": "x"},
        "edit_file": {"old": "top", "new": "x"},
        "search_files": {"text": "secret"},
    }
    with pytest.raises(ToolFailed):
        await desk.do(name, path=path, **more.get(name, {}))
    assert secret.read_text() == "top secret"


@on_a_loop
async def test_a_search_and_a_list_do_not_follow_links(desk: Desk, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("top secret")
    (desk.root / "link").symlink_to(tmp_path)
    (desk.root / "file").symlink_to(tmp_path / "secret")
    assert await desk.do("search_files", text="secret") == "no file contains 'secret'"
    assert (
        await desk.do("list_files", below=True) == "file (a link, not followed)\nlink (a link, not followed)"
    )


@on_a_loop
async def test_a_folder_that_becomes_a_link_while_a_path_is_walked_leads_nowhere(
    desk: Desk, tmp_path: Path
) -> None:
    """Somebody exchanges the folder for a link, again and again, while files are read and written."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "file").write_text("top secret")
    inside, aside, link = desk.root / "folder", desk.root / "aside", desk.root / "link"
    inside.mkdir()
    (inside / "file").write_text("mine")
    link.symlink_to(outside)
    over = threading.Event()

    def exchange() -> None:
        steps = ((inside, aside), (link, inside), (inside, link), (aside, inside))
        while not over.is_set():
            for one, other in steps:
                # A write may have made the folder that is missing for a moment.
                with suppress(OSError):
                    one.rename(other)

    thread = threading.Thread(target=exchange)
    thread.start()
    seen: set[str] = set()
    try:
        for _ in range(200):
            try:
                seen.add(await desk.do("read_file", path="folder/file"))
                await desk.do("write_file", path="folder/file", content="mine")
            except ToolFailed:
                continue
    finally:
        over.set()
        thread.join()
    assert seen <= {"mine"}
    assert (outside / "file").read_text() == "top secret"
    assert sorted(os.listdir(outside)) == ["file"]


@on_a_loop
async def test_the_sessions_folder_itself_may_not_be_a_link(desk: Desk, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("top secret")
    desk.root.rmdir()
    desk.root.symlink_to(tmp_path)
    with pytest.raises(ToolFailed, match="links are not followed"):
        await desk.do("read_file", path="secret")


@on_a_loop
async def test_each_session_has_its_own_files_or_all_have_the_agents(tmp_path: Path) -> None:
    await Desk(tmp_path, "s1").do("write_file", path="a", content="1")
    with pytest.raises(ToolFailed, match="does not exist"):
        await Desk(tmp_path, "s2").do("read_file", path="a")
    await Desk(tmp_path, "s1", Workspaces.AGENT).do("write_file", path="a", content="all")
    assert await Desk(tmp_path, "s2", Workspaces.AGENT).do("read_file", path="a") == "all"


def test_a_path_of_the_workspace_may_be_given_whole() -> None:
    assert names_of("/w/s/a/b", Path("/w/s")) == ("a", "b")
    with pytest.raises(ToolFailed):
        names_of("/w/sa", Path("/w/s"))


@pytest.mark.parametrize("done", [True, False])
@on_a_loop
async def test_a_change_that_is_cut_off_is_made_once(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, done: bool
) -> None:
    """The process dies right before or right after the file is exchanged; the same call is run again."""
    await desk.do("write_file", path="a", content="a")
    real = put_file

    def dies(*args: Any) -> None:
        if done:
            real(*args)
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "put_file", dies)
    edit = {"path": "a", "old": "a", "new": "aa"}
    with pytest.raises(KeyboardInterrupt):
        await desk.do("edit_file", key="t:edit", **edit)
    monkeypatch.setattr(module, "put_file", real)
    await desk.do("edit_file", key="t:edit", **edit)
    assert (desk.root / "a").read_text() == "aa"
    await desk.do("edit_file", key="t:edit", **edit)
    assert (desk.root / "a").read_text() == "aa", "however often"


@on_a_loop
async def test_what_somebody_changed_meanwhile_is_not_written_over(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = put_file

    def dies(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "put_file", dies)
    with pytest.raises(KeyboardInterrupt):
        await desk.do("write_file", key="t:1", path="a", content="mine")
    monkeypatch.setattr(module, "put_file", real)
    (desk.root / "a").write_text("theirs")
    with pytest.raises(ToolFailed, match="was changed from elsewhere"):
        await desk.do("write_file", key="t:1", path="a", content="mine")
    assert (desk.root / "a").read_text() == "theirs"


@on_a_loop
async def test_a_write_keeps_what_may_be_done_with_a_file_and_leaves_nothing_beside_it(desk: Desk) -> None:
    await desk.do("write_file", path="run", content="#!/bin/sh\n")
    (desk.root / "run").chmod(0o755)
    await desk.do("edit_file", path="run", old="sh", new="bash")
    assert (desk.root / "run").stat().st_mode & 0o777 == 0o755
    assert os.listdir(desk.root) == ["run"]


@on_a_loop
async def test_what_is_no_text_or_too_much_is_refused_or_cut(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    (desk.root / "binary").write_bytes(b"\x7fELF\0\0")
    with pytest.raises(ToolFailed, match="is not text|is not a text file"):
        await desk.do("read_file", path="binary")
    monkeypatch.setattr(module, "MOST_CHANGED", 10)
    with pytest.raises(ToolFailed, match="larger than 10 bytes"):
        await desk.do("write_file", path="a", content="x" * 11)
    monkeypatch.setattr(module, "MOST_READ", 6)
    (desk.root / "long").write_text("abc\ndef\nghi\n")
    assert await desk.do("read_file", path="long") == "abc\nde\n[lines 1 to 2 of 3]"


@pytest.mark.skipif(sys.platform != "linux", reason="what is used is looked at in /proc")
@on_a_loop
async def test_a_file_without_an_end_of_line_fills_no_memory(desk: Desk) -> None:
    """A command can make a file of any size for nothing; reading it must not end the gateway."""
    with (desk.root / "endless").open("wb") as file:
        file.write(b"x" * 100_000)
        file.truncate(1 << 40)
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    before = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (_used() + 500_000_000, hard))
    try:
        text = await desk.do("read_file", path="endless")
        assert text.endswith("\n[lines 1 to 1 of more than 1]")
        assert await desk.do("search_files", text="xx") == "no file contains 'xx'"
        with pytest.raises(ToolFailed, match="larger than"):
            await desk.do("edit_file", path="endless", old="x", new="y")
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, before)


def _used() -> int:
    return int(Path("/proc/self/statm").read_text().split()[5]) * resource.getpagesize()
