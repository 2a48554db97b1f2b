"""The same attacks as an ordinary user, where the tests run as root: other means apply to each."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.unit.project.tree import ROOT

FILES = (
    "test_containment.py",
    "test_gateway.py",
    "test_git_places.py",
    "test_lifetime.py",
    "test_ordinary_work.py",
    "test_owners_folders.py",
    "test_path_lists.py",
    "test_process_memory.py",
)
NOBODY = 65_534


def readable_python() -> str | None:
    """A Python of this version that an ordinary user may run; root's own often lies in root's home."""
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    return shutil.which(f"python{version}", path="/usr/bin:/usr/local/bin")


@pytest.mark.guards("R22.1")
@pytest.mark.skipif(os.geteuid() != 0, reason="these tests run as an ordinary user already")
def test_all_of_it_holds_for_an_ordinary_user() -> None:
    python = readable_python()
    seen = subprocess.run(["ls", str(ROOT / "src")], user=NOBODY, capture_output=True, check=False)
    if python is None or seen.returncode != 0:
        pytest.skip("an ordinary user cannot read this project, or has no Python of this version")
    packages = next(path for path in sys.path if path.endswith("site-packages"))
    folder = Path(subprocess.check_output(["mktemp", "-d"], user=NOBODY, text=True).strip())
    try:
        ran = subprocess.run(
            [python, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", f"--basetemp={folder}/t"]
            + [f"tests/security/{name}" for name in FILES],
            cwd=ROOT,
            user=NOBODY,
            group=NOBODY,
            extra_groups=[],
            env={
                "PATH": os.defpath,
                "HOME": str(folder),
                "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}:{packages}",
                "PYTHONDONTWRITEBYTECODE": "1",
            },
            capture_output=True,
            text=True,
            check=False,
        )
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    assert ran.returncode == 0, ran.stdout[-3_000:] + ran.stderr[-1_000:]
