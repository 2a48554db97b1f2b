"""Files that go to people over Telegram: as they are, with their words, and the truth about each try."""

from pathlib import Path
from typing import Any

import pytest

from holdfast.model import Attachment, Delivery, Lost, Rejected, Sent
from holdfast.platforms.telegram.client import CallRefused
from holdfast.platforms.telegram.wire import caption_for
from holdfast.policy.delivery.parts import POSSIBLY_REPEATED
from holdfast.testing.fakes.botapi import LostAnswer
from tests.support.loops import on_a_loop
from tests.unit.platforms.telegram.bots import Stage, stage
from tests.unit.platforms.telegram.test_sending import ada_wrote, owed

PNG = b"\x89PNG and the rest"
REPORT = b"the report"


def with_file(
    folder: Path, chat: int, content: bytes, name: str, kind: str, text: str = "look", **more: Any
) -> Delivery:
    folder.joinpath("digest").write_bytes(content)
    return owed(chat, text, files=(Attachment("digest", name, kind, len(content)),), **more)


def given(here: Stage) -> list[tuple[str, bytes]]:
    """How each file came, and what it holds."""
    found = here.api.world.files.values()
    return [(stored.path.partition("/")[0], stored.content) for stored in found]


@pytest.mark.parametrize(
    ("content", "name", "kind", "media"),
    [
        (REPORT, 'the "report" ä.pdf', "application/pdf", "document"),
        (PNG, "chart.png", "image/png", "photo"),
        (b"GIF89a", "moves.gif", "image/gif", "document"),
        (b"no picture at all", "chart.png", "image/png", "document"),
    ],
)
@on_a_loop
async def test_a_file_comes_with_its_words_as_what_it_is(
    tmp_path: Path, content: bytes, name: str, kind: str, media: str
) -> None:
    async with stage(folder=tmp_path) as here:
        ada = await ada_wrote(here)
        result = await here.bot.send(with_file(tmp_path, ada.id, content, name, kind, "**look**"))
        *_, seen = ada.sees()
        assert (seen.text, seen.looks("bold"), seen.media) == ("look", ["look"], (media,))
        assert result == Sent(str(seen.id))
        assert given(here)[-1] == (f"{media}s", content)


@on_a_loop
async def test_a_repeat_says_so_also_where_nothing_else_is_said(tmp_path: Path) -> None:
    async with stage(folder=tmp_path) as here:
        ada = await ada_wrote(here)
        for text in ("", "look"):
            repeat = with_file(tmp_path, ada.id, REPORT, "a.txt", "text/plain", text, repeated=True)
            assert isinstance(await here.bot.send(repeat), Sent)
        assert ada.hears() == [POSSIBLY_REPEATED.strip(), f"{POSSIBLY_REPEATED}look"]
    assert caption_for("") == {}


@pytest.mark.parametrize(("name", "kind"), [("a.txt", "text/plain"), ("chart.png", "image/png")])
@on_a_loop
async def test_looks_that_telegram_does_not_take_below_a_file_are_left_out_and_the_words_stay(
    tmp_path: Path, name: str, kind: str
) -> None:
    async with stage(folder=tmp_path) as here:
        ada = await ada_wrote(here)
        real = here.bot._client.call

        async def picky(method: str, parameters: Any = None, within: int = 60) -> Any:
            if "parse_mode" in (parameters or {}):
                raise CallRefused(400, "Bad Request: can't parse entities: unexpected end tag")
            return await real(method, parameters, within)

        here.bot._client.call = picky  # type: ignore[method-assign]  # a server with another taste
        file = with_file(tmp_path, ada.id, PNG, name, kind, "**look**")
        assert isinstance(await here.bot.send(file), Sent)
        *_, seen = ada.sees()
        assert (seen.text, len(seen.media)) == ("**look**", 1)


@on_a_loop
async def test_of_an_answer_that_was_lost_nobody_knows_and_a_refusal_is_one(tmp_path: Path) -> None:
    async with stage(folder=tmp_path) as here:
        ada = await ada_wrote(here)
        document = with_file(tmp_path, ada.id, REPORT, "a.txt", "text/plain")
        here.api.faults.add(LostAnswer(), "sendDocument")
        assert isinstance(await here.bot.send(document), Lost)
        (tmp_path / "digest").write_bytes(b"")
        assert await here.bot.send(document) == Rejected("Bad Request: file must be non-empty")
        (tmp_path / "digest").unlink()
        gone = await here.passing(here.bot.send(document))
        assert isinstance(gone, Rejected) and "not kept any more" in gone.reason
        assert len(here.api.asked("sendDocument")) == 2
