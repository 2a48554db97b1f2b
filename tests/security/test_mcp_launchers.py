"""MCP servers as people start them, by `uvx` and `npx`, run contained by each of the two means, offline."""

import json
import os
import shutil
import sys
import zipfile
from pathlib import Path

import pytest

from holdfast.policy.containment import Containment
from holdfast.tools.containment import ALL
from holdfast.tools.mcp import McpSettings
from tests.processes.test_mcp_servers import EVERYTHING, PATIENT, everything, running, work
from tests.support import mcp_server
from tests.support.loops import on_a_loop
from tests.support.parts import missing

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="code of agents is contained on Linux alone")
DIARY = "canary-44ab"


@pytest.fixture(autouse=True)
def path(monkeypatch: pytest.MonkeyPatch) -> None:
    """The programs of this environment are on the PATH, as they are in a terminal where it is active."""
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")


def new_wheel(folder: Path) -> None:
    """A package with a server in it, as an index would have it."""
    folder.mkdir(parents=True)
    with zipfile.ZipFile(folder / "small_mcp-1.0-py3-none-any.whl", "w") as made:
        made.write(mcp_server.__file__, "small_mcp.py")
        about = "small_mcp-1.0.dist-info"
        made.writestr(f"{about}/METADATA", "Metadata-Version: 2.1\nName: small-mcp\nVersion: 1.0\n")
        made.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\nRoot-Is-Purelib: true\n")
        made.writestr(f"{about}/entry_points.txt", "[console_scripts]\nsmall-mcp = small_mcp:main\n")
        made.writestr(f"{about}/RECORD", "small_mcp.py,,\n")


@pytest.mark.guards("R22.1")
@pytest.mark.parametrize("means", ALL)
@on_a_loop
async def test_a_server_that_uvx_installs_runs_contained(tmp_path: Path, means: Containment) -> None:
    if shutil.which("uvx") is None:
        missing("uvx, a package of the dev extra")
    new_wheel(work(tmp_path) / "wheels")
    secret = tmp_path / "diary.txt"
    secret.write_text(DIARY)
    options = ("--offline", "--no-index", "--find-links", "wheels", "--python", sys.executable)
    settings = McpSettings(command="uvx", args=(*options, "small-mcp", str(work(tmp_path))), wait=PATIENT)
    async with running(tmp_path, None, (means,), program=settings) as found:
        assert await found.call("program__read", '{"tag": "here"}') == "read here"
        said = await found.call("program__shell", json.dumps({"command": f"echo $HOME; cat {secret}"}))
        assert DIARY not in said
        home = Path(said.splitlines()[0])
        assert home.is_relative_to(tmp_path), "a private one"
        assert (home / ".cache" / "uv").is_dir(), "kept for its next start"


@pytest.mark.guards("R22.1")
@pytest.mark.parametrize("means", ALL)
@on_a_loop
async def test_a_server_that_npx_finds_runs_contained(tmp_path: Path, means: Containment) -> None:
    everything()
    if shutil.which("npx") is None:
        missing("npx; scripts/test installs it, with node")
    installed = EVERYTHING.parents[2]
    options = ("-y", "--offline", "--prefix", str(installed))
    settings = McpSettings(
        command="npx",
        args=(*options, "mcp-server-everything"),
        read=(installed,),
        wait=PATIENT,
    )
    async with running(tmp_path, None, (means,), program=settings) as found:
        assert "hello" in await found.call("program__echo", '{"message": "hello"}')
        seen = json.loads(await found.call("program__get-env"))
        assert Path(seen["HOME"]).is_relative_to(tmp_path), "a private one"
