from pathlib import Path

from holdfast.gateway.files.disk_space import free_room


def test_there_is_room(tmp_path: Path) -> None:
    assert free_room(tmp_path)() > 0
