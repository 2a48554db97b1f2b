"""The last line of a background process, as a page shows it: short, and without secrets."""

from pathlib import Path

import pytest

from holdfast.api.queries import last_words
from holdfast.model import ProcessId
from holdfast.tools.background import FOLDER
from tests.support.loops import on_a_loop

SECRET = "sk-proj-4f9a1c77b2e04d5f8a6f0123"


@pytest.mark.guards("R14")
@pytest.mark.parametrize("shown", range(3, 30, 4))
@on_a_loop
async def test_of_a_secret_at_the_place_where_the_line_is_shortened_no_half_is_left(
    tmp_path: Path, shown: int
) -> None:
    folder = tmp_path / FOLDER / "p1"
    folder.mkdir(parents=True)
    (folder / "output.0").write_text(f"first\n{'x' * (199 - shown)} {SECRET} and more\n")
    words = await last_words(tmp_path, ProcessId("p1"))
    assert words.startswith("xxx") and SECRET[:8] not in words
