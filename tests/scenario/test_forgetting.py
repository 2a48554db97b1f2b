"""R20 on the real ledger: content goes, also from the files; the skeleton stays and stays sound."""

import asyncio
import sqlite3
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from holdfast.errors import DiskFull, NotFound, WrongState
from holdfast.inbox import CommandContext, Commands
from holdfast.model import (
    Attachment,
    DeliveryState,
    InboxState,
    Lost,
    OwedKind,
    Partial,
    Position,
    Replied,
    Sent,
    StopKind,
    StopReason,
    Summed,
    TurnState,
    partial_key,
)
from holdfast.policy.intake.access import Access
from holdfast.policy.turn.views import view
from holdfast.store import Scope, Store
from tests.support.ledger import ANN, BOB, Ledger, address, answers, asks, key, owed, planned, result
from tests.support.platforms import HalfRng, Reports, failing

SECRET = "rosebud"
OTHER = "xanadu"
FILE = Attachment("sha256:aa", f"{SECRET}.txt", "text/plain", 3)
SHARED = Attachment("sha256:bb", f"{SECRET}.png", "image/png", 3)
ACCESS = Access(owners=frozenset({BOB}), people=frozenset({ANN}))


class Room:
    """One process's commands, and the files it was to keep."""

    def __init__(self, ledger: Ledger, store: Store | None = None, **more: Any) -> None:
        self.ledger = ledger
        self.files: list[frozenset[str]] = []
        """Those the ledger still knew when files were swept."""
        self.access = ACCESS
        desk = CommandContext(
            store or ledger.store, ledger.clock, lambda: self.access, sweep=self._sweep, **more
        )
        self.reports = Reports()
        self.commands = Commands(desk, HalfRng(), self.reports)

    async def _sweep(self) -> None:
        self.files.append(await self.ledger.store.known_blobs((FILE.digest, SHARED.digest)))

    async def say(self, text: str, chat: str = "c1", **more: Any) -> Position:
        position = await self.ledger.command(text, chat) if not more else None
        if position is None:
            position = await self.ledger.say(text, chat, kind="command", **more)
        await self.commands.carry_out_all()
        return position

    async def answer_to(self, position: Position, chat: str = "c1") -> str:
        parts = [part for part in await self.ledger.outbox(chat) if part.dedupe == f"command:{position}"]
        assert len(parts) == 1, "one answer per command"
        return parts[0].text


async def talk(ledger: Ledger, chat: str = "c1", word: str = SECRET, *files: Attachment) -> None:
    """A conversation with everything in it: a tool, a question, its answer, a summary, long texts."""
    long = f"{word} " * 2_000
    for file in files:
        await ledger.store.keep_blob(file.digest, file.size, file.media_type)
    await ledger.say(f"tell me of {word}", chat, attachments=files, message_id=f"m-{chat}")
    claimed = await ledger.claim()
    fence = claimed.fence
    call = replace(planned("c1"), arguments=f'{{"what": "{word}"}}')
    ask = ledger.question(f"q-{claimed.turn.id}", "c1", text=f"which {word}?", options=(f"the {word}",))
    owes = owed(f"question:{claimed.turn.id}", f"which {word}?", chat=chat, kind=OwedKind.QUESTION)
    await ledger.append(fence, asks("c1"), plan=(call,), start=(call.id,), ask=(replace(ask, owed=owes),))
    await ledger.store.wait(fence)
    await ledger.say(f"the {word}", chat)
    claimed = await ledger.claim()
    await ledger.append(claimed.fence, result("c1", text=long))
    await ledger.store.finish(
        claimed.fence, TurnState.DONE, (answers(long),), (owed(f"answer:{claimed.turn.id}", long, chat=chat),)
    )
    session = await ledger.store.session(claimed.session.id)
    await ledger.store.mark(session.id, session.generation, Summed(1, 2, f"about {word}", 1), 3)


def found_in(home: Path, word: str) -> dict[str, int]:
    """How often a word stands in each file of the home."""
    files = [path for path in home.rglob("*") if path.is_file()]
    assert files
    return {path.name: count for path in files if (count := path.read_bytes().count(word.encode()))}


async def drain(ledger: Ledger) -> None:
    """Everything owed is sent."""
    while parts := await ledger.send():
        for part in parts:
            await ledger.store.record_delivery(part.id, Sent())


@pytest.mark.guards("R20")
async def test_without_the_word_nothing_is_erased(ledger: Ledger) -> None:
    await talk(ledger)
    room = Room(ledger)
    for text in ("/forget", "/forget me", "/forget session", "/forget everything please"):
        position = await room.say(text)
        assert "say: /forget everything" in await room.answer_to(position)
    assert SECRET in str(ledger.dump())


@pytest.mark.guards("R20")
async def test_what_has_begun_is_finished_though_its_sender_is_allowed_no_more(ledger: Ledger) -> None:
    await talk(ledger)
    await ledger.say(f"more of {SECRET}")
    claimed = await ledger.claim()
    room = Room(ledger)
    position = await room.say("/forget everything")  # the work in hand is asked to stop
    room.access = replace(ACCESS, people=frozenset())
    await ledger.store.finish(claimed.fence, TurnState.CANCELLED)
    await room.commands.carry_out_all()
    await drain(ledger)
    await room.commands.carry_out_all()
    assert (await room.answer_to(position)).startswith("Erased.")
    assert SECRET not in str(ledger.dump())
    refused = await room.say("/forget everything")
    assert "Erased" not in await room.answer_to(refused)


@pytest.mark.guards("R20")
async def test_what_was_said_and_done_is_gone_from_rows_and_files(ledger: Ledger, tmp_path: Path) -> None:
    # Interleaved with others, so that pages split and cells move: copies in free space count, too.
    for n in range(30):
        await talk(ledger, f"x{n}", OTHER)
        if n % 5 == 0:
            await talk(ledger)
            await ledger.store.stop(key(), StopKind.NEW, None)
    await talk(ledger, "c1", SECRET, FILE)
    await room_left(ledger)
    await drain(ledger)
    sqlite3.connect(tmp_path / "ledger.db").execute("PRAGMA wal_checkpoint(PASSIVE)").connection.close()
    assert set(found_in(tmp_path, SECRET)) == {"ledger.db", "ledger.db-wal"}
    room = Room(ledger)
    position = await room.say("/forget everything")
    assert (await room.answer_to(position)).startswith("Erased.")
    assert SECRET not in str(ledger.dump())
    assert found_in(tmp_path, SECRET) == {}
    assert OTHER in str(ledger.dump()), "nobody else's"
    assert room.files == [frozenset()]
    assert await ledger.store.verify() == ()


@pytest.mark.guards("R20")
async def test_copies_that_pages_left_when_they_split_are_gone_as_well(
    ledger: Ledger, tmp_path: Path
) -> None:
    """A database that only zeroes what it deletes keeps copies of rows that moved to another page."""
    chats = [f"c{n}" for n in range(1, 20)]
    fences = {chat: (await ledger.begin(chat=chat)).fence for chat in chats}
    for size in (10, 150, 400, 1_300, 900, 60, 2_500, 700) * 4:
        for chat in chats:
            word = SECRET if chat == "c1" else OTHER
            text = f"{word}{'x' * size}{word}"
            await ledger.append(fences[chat], Replied(text, StopReason.CUT))
    for fence in fences.values():
        await ledger.finish(fence)
    await Room(ledger).say("/forget everything")
    assert found_in(tmp_path, SECRET) == {}
    assert found_in(tmp_path, OTHER)


async def room_left(ledger: Ledger) -> None:
    """Commands whose answers quote people, and messages that went nowhere."""
    await ledger.say(f"{SECRET} waits")
    await Room(ledger).say("/new")
    await talk(ledger)
    await Room(ledger).say("/retry")


@pytest.mark.guards("R20")
async def test_the_skeleton_stays_and_reads_as_erased(ledger: Ledger) -> None:
    await talk(ledger)
    await drain(ledger)
    before = ledger.dump()
    (line,) = await ledger.store.sessions()
    room = Room(ledger)
    await room.say("/forget everything")
    after = ledger.dump()
    for table in ("turns", "tool_calls", "questions"):
        assert len(after[table]) == len(before[table])
    entries = await ledger.store.transcript(line.id)
    assert len(entries) == len(before["entries"]) + 1, "one mark that takes them all out of the view"
    seen = view(entries)
    assert (seen.messages, seen.problems) == ((), ())
    parts = await ledger.outbox()
    assert {part.text for part in parts if not part.dedupe.startswith("command:")} == {"(erased)"}
    assert {part.state for part in parts} <= {DeliveryState.SENT, DeliveryState.PENDING}
    session = await ledger.store.session(line.id)
    assert (session.ended_why, session.ended_at is not None) == ("forgotten", True)


@pytest.mark.guards("R20", "R1.4")
async def test_a_running_turn_is_stopped_first_and_messages_written_after_it_are_answered(
    ledger: Ledger,
) -> None:
    claimed = await ledger.begin(f"a {SECRET}")
    await ledger.say(f"{SECRET} waits")
    room = Room(ledger)
    position = await room.say("/forget everything")
    later = await ledger.say("hello again")
    assert (await ledger.turn(claimed.session.id)).stop is StopKind.FORGET
    assert (await ledger.store.row(position)).state is InboxState.WAITING
    await room.commands.carry_out_all()
    assert SECRET in str(ledger.dump()), "not before its owner has let go"
    assert await ledger.try_claim() is None
    await ledger.finish(claimed.fence, TurnState.CANCELLED)
    await room.commands.carry_out_all()
    assert SECRET not in str(ledger.dump())
    assert (await ledger.store.row(position)).state is InboxState.EXECUTED
    fresh = await ledger.claim()
    assert (fresh.cause.position, fresh.cause.text) == (later, "hello again")
    assert fresh.session.id != claimed.session.id
    await ledger.finish(fresh.fence)


@pytest.mark.guards("R20")
async def test_what_was_owed_is_not_sent_any_more_and_what_is_in_the_air_lands_first(ledger: Ledger) -> None:
    await talk(ledger)
    (part,) = await ledger.send()
    room = Room(ledger)
    position = await room.say("/forget everything")
    assert (await ledger.store.row(position)).state is InboxState.WAITING
    assert SECRET in str(ledger.dump())
    with pytest.raises(WrongState):
        await ledger.store.erase(Scope(key(), position))
    await ledger.store.record_delivery(part.id, Lost("nobody knows"))
    await room.commands.carry_out_all()
    assert SECRET not in str(ledger.dump())
    states = {one.state for one in await ledger.outbox() if not one.dedupe.startswith("command:")}
    assert states == {DeliveryState.EXPIRED}
    (sent,) = await ledger.send()
    assert sent.text.startswith("Erased.")


@pytest.mark.guards("R20")
@pytest.mark.parametrize("dies_before", ["quiet", "erase", "scrub", "settle_row"])
async def test_killed_at_any_step_it_is_done_again_and_told_once(
    ledger: Ledger, tmp_path: Path, dies_before: str
) -> None:
    await talk(ledger, "c1", SECRET, FILE)
    gone: Exception = DiskFull("the process is gone")
    store = failing(ledger.store, **{dies_before: [gone]})
    position = await ledger.command("/forget everything")
    room = Room(ledger, store)
    with pytest.raises(DiskFull):
        await room.commands.carry_out_all()
    assert (await ledger.store.row(position)).state is InboxState.WAITING
    await ledger.crash()
    again = Room(ledger)
    await again.commands.carry_out_all()
    assert (await again.answer_to(position)).startswith("Erased.")
    assert found_in(tmp_path, SECRET) == {}
    assert again.files == [frozenset()], "also when the rows went before the crash"


@pytest.mark.guards("R20")
async def test_while_somebody_reads_an_old_state_it_is_not_said_to_be_done(
    ledger: Ledger, tmp_path: Path
) -> None:
    await talk(ledger)
    reader = sqlite3.connect(tmp_path / "ledger.db", isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM entries").fetchone()
    room = Room(ledger)
    position = await room.say("/forget everything")
    assert (await ledger.store.row(position)).state is InboxState.WAITING
    reader.close()
    await room.commands.carry_out_all()
    assert (await room.answer_to(position)).startswith("Erased.")
    assert found_in(tmp_path, SECRET) == {}


@pytest.mark.guards("R20")
async def test_a_file_that_another_conversation_names_is_kept(ledger: Ledger) -> None:
    await talk(ledger, "c1", SECRET, FILE, SHARED)
    await ledger.say(OTHER, "c2", attachments=(SHARED,))
    room = Room(ledger)
    await room.say("/forget everything")
    assert room.files == [{SHARED.digest}]


@pytest.mark.guards("R20")
async def test_a_file_that_was_brought_again_is_kept_until_it_is_named_and_forgotten_again(
    ledger: Ledger,
) -> None:
    await talk(ledger, "c1", SECRET, FILE, SHARED)
    assert not await ledger.store.keep_blob(FILE.digest, FILE.size, FILE.media_type)
    found = await ledger.store.bring_blob(SHARED.digest)
    assert (found.digest, found.size) == (SHARED.digest, SHARED.size)
    await ledger.say("and nothing with it")
    room = Room(ledger)
    await room.say("/forget everything")
    assert room.files == [{FILE.digest, SHARED.digest}]
    await ledger.say(OTHER, "c1", attachments=(FILE, SHARED))
    await room.say("/forget everything")
    assert room.files[1] == frozenset()
    with pytest.raises(NotFound):
        await ledger.store.bring_blob(SHARED.digest)


@pytest.mark.guards("R20")
async def test_where_others_wrote_too_only_an_owner_may(ledger: Ledger) -> None:
    await talk(ledger)
    await ledger.say("me too", sender=BOB)
    room = Room(ledger)
    position = await room.say("/forget everything")
    assert "only an owner" in await room.answer_to(position)
    assert SECRET in str(ledger.dump())
    await room.say("/forget everything", sender=BOB)
    assert SECRET not in str(ledger.dump())


@pytest.mark.guards("R20")
async def test_one_session_is_erased_and_its_neighbours_are_kept(ledger: Ledger, tmp_path: Path) -> None:
    await talk(ledger)
    await ledger.say(f"{SECRET} waits")
    await Room(ledger).say("/new", sender=BOB)
    (old,) = await ledger.store.sessions()
    await talk(ledger, "c1", OTHER)
    running = await ledger.begin(f"more {OTHER}")
    room = Room(ledger)
    refused = await room.say(f"/forget session {old.id}")
    assert "only an owner" in await room.answer_to(refused), "by its id only an owner"
    position = await room.say(f"/forget session {old.id}", sender=BOB)
    assert "The operator erased a conversation" in await room.answer_to(position)
    assert found_in(tmp_path, SECRET) == {}
    live = await ledger.store.live_session(key())
    assert live is not None and live.id == running.session.id
    assert OTHER in str(ledger.dump()["entries"])
    await ledger.finish(running.fence)


@pytest.mark.guards("R20", "R24.3")
async def test_what_a_stopped_turn_had_written_answers_its_message_and_is_forgotten_with_its_session(
    ledger: Ledger, tmp_path: Path
) -> None:
    await ledger.say("the work", message_id="m1")
    claimed = await ledger.claim()
    await ledger.store.progress(claimed.fence, (Partial(f"it is {SECRET}", after=claimed.turn.last_seq),))
    await ledger.crash()
    await ledger.store.interrupt_orphans()
    room = Room(ledger)
    await room.say("/stop")
    (kept,) = [part for part in await ledger.outbox() if part.dedupe == partial_key(claimed.turn.id)]
    assert (kept.reply_to, kept.session, kept.turn) == ("m1", claimed.session.id, claimed.turn.id)
    await drain(ledger)
    await room.say(f"/forget session {claimed.session.id}", sender=BOB)
    assert found_in(tmp_path, SECRET) == {}


@pytest.mark.guards("R20")
async def test_what_was_erased_is_never_taken_up_again(ledger: Ledger) -> None:
    await talk(ledger)
    (line,) = await ledger.store.sessions()
    room = Room(ledger)
    await room.say("/forget everything")
    position = await room.say(f"/resume {line.id}")
    assert (await ledger.store.row(position)).state is InboxState.REFUSED
    async with ledger.refused(WrongState):
        await ledger.store.reopen(line.id, None)


@pytest.mark.guards("R20")
async def test_the_loop_looks_again_by_itself_until_it_is_done(ledger: Ledger) -> None:
    claimed = await ledger.begin()
    room = Room(ledger)
    position = await ledger.command("/forget everything")
    task = asyncio.ensure_future(room.commands.work())
    seen = ledger.store.version("stops")
    while (await ledger.turn(claimed.session.id)).stop is None:
        seen = await ledger.store.changed("stops", seen)
    await ledger.finish(claimed.fence, TurnState.CANCELLED)
    seen = ledger.store.version("outbox")
    while (await ledger.store.row(position)).state is InboxState.WAITING:
        ledger.clock.advance(1_000)
        await asyncio.wait([asyncio.ensure_future(ledger.store.changed("outbox", seen))], timeout=0.01)
    task.cancel()
    assert (await room.answer_to(position)).startswith("Erased.")
    assert address() == (await ledger.store.session(claimed.session.id)).chat


@pytest.mark.guards("R20")
async def test_what_cannot_be_done_for_long_is_reported_once_and_keeps_no_other_command_waiting(
    ledger: Ledger,
) -> None:
    await ledger.begin()
    room = Room(ledger)
    await ledger.command("/forget everything")
    for _ in range(20):
        await room.commands.carry_out_all()
    assert room.reports.doing == ["carrying out command 2"]
    other = await room.say("/help", "c2")
    assert "/forget" in await room.answer_to(other, "c2")


@pytest.mark.guards("R20")
async def test_messages_that_wait_behind_a_deleted_session_begin_the_next_one(ledger: Ledger) -> None:
    claimed = await ledger.begin(SECRET)
    waiting = await ledger.say("answer me")
    room = Room(ledger)
    position = await room.say(f"/forget session {claimed.session.id}", sender=BOB)
    await ledger.finish(claimed.fence, TurnState.CANCELLED)
    await room.commands.carry_out_all()
    assert (await ledger.store.row(position)).state is InboxState.EXECUTED
    assert SECRET not in str(ledger.dump())
    fresh = await ledger.claim()
    assert (fresh.cause.position, fresh.cause.text) == (waiting, "answer me")
    await ledger.finish(fresh.fence)
