"""A package that is another one than was tested is not installed."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.unit.project.tree import ROOT

PATIENCE = 300
"""Seconds; the package may have to be fetched."""


def installed(folder: Path, pin: str) -> subprocess.CompletedProcess[str]:
    """What the scripts do with each line of constraints.txt."""
    wanted = folder / "wanted.txt"
    wanted.write_text(pin)
    how = ("install", "--require-hashes", "--no-deps", "--target", str(folder / "here"), "-r", str(wanted))
    return subprocess.run(
        [sys.executable, "-m", "pip", *how], capture_output=True, text=True, timeout=PATIENCE
    )


def test_a_package_with_another_hash_is_refused(tmp_path: Path) -> None:
    pytest.importorskip("pip", reason="an environment made by uv has none")
    pins = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    (pin,) = [line for line in pins if line.startswith("editables==")]
    version = pin.partition(" ")[0]
    refused = installed(tmp_path, f"{version} --hash=sha256:{'0' * 64}")
    assert refused.returncode != 0 and "HASHES" in refused.stderr
    assert installed(tmp_path, version).returncode != 0, "nor is one without a hash"
    assert installed(tmp_path, pin).returncode == 0


def test_the_scripts_install_nothing_without_a_hash_but_ourselves() -> None:
    script = (ROOT / "scripts" / "_env.sh").read_text(encoding="utf-8")
    asked = [line.strip() for line in script.splitlines() if line.strip().startswith('"$@"')]
    assert asked == [
        '"$@" --require-hashes --no-deps -r "$wanted"',
        '"$@" --no-deps --no-build-isolation -e "$ROOT"',
    ]
