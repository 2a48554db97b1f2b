from pathlib import Path

from holdfast.app.files import free_room


def test_there_is_room(tmp_path: Path) -> None:
    assert free_room(tmp_path)() > 0
