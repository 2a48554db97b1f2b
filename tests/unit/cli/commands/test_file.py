"""`holdfast file`: what came or went with messages, by the hash of its bytes, and nothing else."""

import hashlib
from pathlib import Path

import pytest

from holdfast.cli.program import run

DIGEST = hashlib.sha256(b"the report").hexdigest()


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    path = tmp_path / "blobs" / DIGEST[:2] / DIGEST
    path.parent.mkdir(parents=True)
    path.write_bytes(b"the report")
    path.with_name(f"{DIGEST}.1.2.new").write_bytes(b"half of")
    return path


def test_a_file_is_found_and_copied_and_nothing_is_replaced(
    tmp_path: Path, kept: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    home = ["--home", str(tmp_path)]
    assert run(["file", DIGEST[:12], *home]) == 0
    assert capsys.readouterr().out == f"{kept}\n"
    target = tmp_path / "report.pdf"
    assert [run(["file", DIGEST, str(target), *home]) for _ in range(2)] == [0, 1]
    assert target.read_bytes() == b"the report"
    assert "was not touched" in capsys.readouterr().err


@pytest.mark.parametrize("digest", ["0" * 12, DIGEST[:7], "../../etc", "*" * 9])
def test_nothing_else_is_found(tmp_path: Path, kept: Path, digest: str) -> None:
    assert run(["file", digest, "--home", str(tmp_path)]) == 1
