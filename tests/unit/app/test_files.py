from pathlib import Path

from holdfast.app.files import discarding, free_room

DIGEST = "ab" * 32


def test_attachments_are_removed_by_digest_and_again_changes_nothing(tmp_path: Path) -> None:
    kept, gone = tmp_path / "blobs" / "cd" / ("cd" * 32), tmp_path / "blobs" / "ab" / DIGEST
    for path in (kept, gone):
        path.parent.mkdir(parents=True)
        path.write_bytes(b"x")
    discard = discarding(tmp_path)
    for _ in range(2):
        discard((DIGEST,))
        assert (kept.exists(), gone.exists()) == (True, False)


def test_words_that_are_no_digest_name_no_file(tmp_path: Path) -> None:
    secret = tmp_path / "token"
    secret.write_text("x")
    discarding(tmp_path)(("../../token", "..", "", "/etc/hosts"))
    assert secret.exists()


def test_there_is_room(tmp_path: Path) -> None:
    assert free_room(tmp_path)() > 0
