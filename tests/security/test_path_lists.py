"""The configuration opens no path by which code of an agent would reach the gateway."""

import json
import sys
from pathlib import Path

import pytest

import holdfast
from holdfast.clock import SystemClock
from holdfast.config.load import load_settings
from holdfast.config.settings import Settings
from holdfast.errors import BadConfig
from holdfast.maintenance.doctor import look_over
from holdfast.policy.containment import Containment
from holdfast.policy.health import Grade, of_containment
from holdfast.tools.containment import ALL
from tests.support.contained import CANARY, Scene
from tests.support.loops import on_a_loop


def loaded(home: Path, table: str, key: str, path: Path | str) -> Settings:
    home.mkdir(exist_ok=True)
    first = '[agents.main]\nmodel = "m"\n' if table == "agents.main" else '[mcp.box]\ncommand = "box"\n'
    (home / "holdfast.toml").write_text(f"{first}{key} = {json.dumps([str(path)])}\n")
    return load_settings(home, {}).settings


@pytest.fixture(params=["agents.main", "mcp.box"])
def table(request: pytest.FixtureRequest) -> str:
    found: str = request.param
    return found


@pytest.mark.guards("R22.1", "R22.2")
@pytest.mark.parametrize("key", ["read", "write"])
@pytest.mark.parametrize("where", ["home", "home/logs", ".", "link"])
def test_the_gateways_home_is_opened_by_no_list_nor_by_a_link_to_it(
    tmp_path: Path, table: str, key: str, where: str
) -> None:
    (tmp_path / "home" / "logs").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "home")
    with pytest.raises(BadConfig, match=f"{table}.{key}.*gateway's home"):
        loaded(tmp_path / "home", table, key, tmp_path / where)


@pytest.mark.parametrize(
    "path", [Path(holdfast.__file__).parent, Path(sys.prefix), Path(sys.base_prefix), Path.home(), Path("/")]
)
def test_the_installation_a_home_and_the_machine_are_not_opened_for_writing(
    tmp_path: Path, table: str, path: Path
) -> None:
    with pytest.raises(BadConfig, match=f"{table}.write"):
        loaded(tmp_path / "home", table, "write", path)


def test_other_paths_are_taken_with_their_links_resolved(tmp_path: Path, table: str) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "data")
    settings = loaded(tmp_path / "home", table, "write", tmp_path / "link")
    owner = settings.agents["main"] if table == "agents.main" else settings.mcp["box"]
    assert owner.write == (tmp_path / "data",)


@pytest.mark.parametrize("path", ["relative", "/nowhere/at/all"])
def test_a_path_that_is_not_there_or_relative_is_refused(tmp_path: Path, table: str, path: str) -> None:
    with pytest.raises(BadConfig, match="a list of existing paths"):
        loaded(tmp_path / "home", table, "read", path)


def test_the_folder_an_mcp_program_runs_in_is_no_way_around(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "holdfast.toml").write_text('[mcp.box]\ncommand = "box"\ncwd = ".."\n')
    with pytest.raises(BadConfig, match="mcp.box.cwd"):
        load_settings(home, {})


@pytest.mark.guards("R22.1")
@pytest.mark.parametrize("key", ["read", "write"])
@pytest.mark.parametrize("named", ["keys", "keys/model", "link"])
@pytest.mark.parametrize("line", ['agents.main.key_file = "{file}"', 'telegram.token_file = "{file}"'])
def test_a_file_with_a_key_is_opened_by_no_list(tmp_path: Path, key: str, named: str, line: str) -> None:
    home, file = tmp_path / "home", tmp_path / "keys" / "model"
    for folder in (home, file.parent):
        folder.mkdir()
    file.write_text("a-key-of-a-test\n")
    (tmp_path / "link").symlink_to(file.parent)
    said = line.format(file=file)
    (home / "holdfast.toml").write_text(
        f'{said}\nagents.main.model = "m"\nagents.main.{key} = ["{tmp_path / named}"]\n'
    )
    with pytest.raises(BadConfig, match=f"agents.main.{key}.*the gateway has a key"):
        load_settings(home, {})


@pytest.mark.guards("R22.1")
@pytest.mark.parametrize("containment", ALL)
def test_a_file_with_a_key_in_a_folder_that_is_shown_is_hidden(
    tmp_path: Path, containment: Containment
) -> None:
    """As `/opt` is; here a folder to read stands for it, as only root may write there."""
    shown = tmp_path / "opt"
    shown.mkdir()
    (shown / "key").write_text(CANARY)
    (shown / "beside").write_text("to be seen")
    (shown / "link").symlink_to(shown / "key")
    scene = Scene(tmp_path, containment, secret_files=(shown / "link",))
    said = scene.shell("command", f"cat {shown}/key {shown}/link {shown}/beside", read=(shown,))
    assert CANARY not in said
    assert "to be seen" in said


# What is told of it.


@pytest.mark.parametrize(
    ("found", "required", "grade", "words"),
    [
        (Containment.BUBBLEWRAP, True, Grade.WELL, "are contained"),
        (Containment.LANDLOCK, True, Grade.WARN, "contained by Landlock only"),
        (Containment.NONE, True, Grade.BAD, "so none is run"),
        (Containment.NONE, False, Grade.WARN, "are not contained"),
    ],
)
def test_a_doctor_says_how_contained_programs_are_and_what_to_do(
    found: Containment, required: bool, grade: Grade, words: str
) -> None:
    finding = of_containment(found, required, "why", "install it")
    assert finding.grade is grade
    assert words in finding.words
    assert bool(finding.fix) == (grade is not Grade.WELL)


@on_a_loop
async def test_the_doctor_looks_at_this_machine(tmp_path: Path) -> None:
    findings = {one.check: one for one in await look_over(Settings(tmp_path), SystemClock(), ())}
    assert findings["containment"].grade is Grade.WELL
