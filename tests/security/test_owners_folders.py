"""Folders that the owner opened to an agent: what it leaves there opens nothing more and runs nothing."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from holdfast.config.load import load_settings
from holdfast.errors import BadConfig
from holdfast.installation import bubblewrap, installation_folders
from holdfast.policy.containment import Containment
from holdfast.process.gateway_command import gateway_command
from holdfast.tools import ToolFailed
from holdfast.tools.containment import ALL, Launcher, protected
from tests.support.contained import CANARY, Scene, python_on_path

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="code of agents is contained on Linux alone")
WHO = "-c user.name=a -c user.email=a@b"
PLANT = "echo evil > .git/hooks/pre-commit; git config core.fsmonitor ./evil"


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path, Containment.BUBBLEWRAP)


@pytest.fixture
def code(tmp_path: Path) -> Path:
    folder = tmp_path / "code"
    folder.mkdir()
    return folder


def repository(folder: Path) -> Path:
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    script = f"echo a > a && git add a && git {WHO} commit -qm one"
    subprocess.run(["sh", "-c", script], cwd=folder, check=True)
    return folder


def attack(scene: Scene, code: Path, *commands: str) -> None:
    """Each as a call of its own: what the first does is there when the next is looked at."""
    for command in commands:
        try:
            scene.shell("command", f"cd {code} && {command}", write=(code,))
        except ToolFailed:
            return


def is_planted(folder: Path) -> bool:
    found = subprocess.run(
        ["git", "config", "core.fsmonitor"], cwd=folder, capture_output=True, text=True, check=False
    )
    return (folder / ".git" / "hooks" / "pre-commit").exists() or bool(found.stdout)


# Hooks and configuration of a repository that is there.


@pytest.mark.guards("R24.2")
@pytest.mark.parametrize(
    "commands",
    [
        pytest.param((f"cd {'deep/' * 9} && {PLANT}",), id="deep"),
        pytest.param(
            (f"chmod 0 {'deep/' * 4}", f"chmod -R 755 deep; cd {'deep/' * 9} && {PLANT}"), id="closed"
        ),
        pytest.param(
            ("mkdir $(seq 1 300)", f"cd {'deep/' * 9} && {PLANT}"),
            id="many folders",
        ),
        pytest.param(("mv deep away; mkdir deep", f"cd away/{'deep/' * 8} && {PLANT}"), id="renamed"),
    ],
)
def test_a_repository_is_not_overlooked(
    scene: Scene, code: Path, monkeypatch: pytest.MonkeyPatch, commands: tuple[str, ...]
) -> None:
    monkeypatch.setattr(protected, "_MOST_FOLDERS", 200)
    owned = repository(code / ("deep/" * 9))
    attack(scene, code, *commands)
    subprocess.run(["chmod", "-R", "u+rwx", str(code)], check=True)
    assert owned.exists()
    assert not is_planted(owned)


def test_what_cannot_be_looked_through_is_refused_in_words(
    scene: Scene, code: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(protected, "_MOST_FOLDERS", 200)
    scene.shell("command", f"cd {code}; mkdir $(seq 1 300)", write=(code,))
    with pytest.raises(ToolFailed, match=f"{code} has more than 200 folders.*nothing was run"):
        scene.shell("command", "true", write=(code,))


@pytest.mark.guards("R24.2")
def test_modules_and_worktrees_are_not_overlooked(scene: Scene, code: Path) -> None:
    git = repository(code) / ".git"
    for place in ("modules/sub", "worktrees/one"):
        (git / place).mkdir(parents=True)
    for name in ("modules/sub/HEAD", "modules/sub/config", "worktrees/one/commondir", "config.worktree"):
        (git / name).write_text("as it was\n")
    tried = "echo evil > .git/modules/sub/config; mkdir -p .git/modules/sub/hooks; "
    tried += "echo evil > .git/modules/sub/hooks/pre-commit; echo evil > .git/worktrees/one/commondir; "
    tried += "echo evil > .git/config.worktree; mv .git/worktrees away"
    attack(scene, code, "rm .git/modules/sub/HEAD", tried)
    for name in ("modules/sub/config", "worktrees/one/commondir", "config.worktree"):
        assert (git / name).read_text() == "as it was\n"
    assert list((git / "modules" / "sub" / "hooks").iterdir()) == []


@pytest.mark.parametrize("name", [".git", ".git/hooks", ".git/config"])
def test_a_link_that_could_be_exchanged_is_refused_in_words(scene: Scene, code: Path, name: str) -> None:
    repository(code)
    (code / name).rename(code / "elsewhere")
    (code / name).symlink_to(code / "elsewhere")
    with pytest.raises(ToolFailed, match=f"{code / name} is a link"):
        scene.shell("command", "true", write=(code,))


# Git reads more than these two. Where the owner wants to run it there, all of `.git` can be kept.

ELSEWHERE = (
    "[core]\nrepositoryformatversion = 0\nbare = false\nworktree = .\nfsmonitor = touch PLANTED; false\n"
)
WAYS = {
    "another common folder": "mkdir -p e/objects e/refs; cp .git/HEAD config e/; echo ../e > .git/commondir",
    "a repository in it": f"git init -q s; cd s; git {WHO} commit -qm one --allow-empty; "
    "git config core.fsmonitor 'touch PLANTED; false'; cd ..; git add s",
    "the folder itself as one": "rm .git/HEAD; mkdir objects refs; echo ref: refs/heads/m > HEAD",
}


@pytest.mark.guards("R24.2")
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kept", [True, False])
def test_where_all_of_a_repository_is_protected_running_git_runs_nothing_else(
    tmp_path: Path, code: Path, way: str, kept: bool
) -> None:
    """And without that it does, as SECURITY.md says: otherwise this would prove nothing."""
    scene = Scene(tmp_path, Containment.BUBBLEWRAP, protected=(".git",) if kept else ())
    repository(code)
    (code / "config").write_text(ELSEWHERE)
    attack(scene, code, WAYS[way])
    subprocess.run(["git", "status"], cwd=code, capture_output=True, check=False)
    assert bool(list(code.rglob("PLANTED"))) is not kept


# Folders that open more of the machine.


@pytest.mark.guards("R22.1")
@pytest.mark.parametrize("containment", ALL)
def test_a_link_in_a_folder_of_programs_opens_nothing_if_an_agent_could_lay_it(
    tmp_path: Path, code: Path, containment: Containment
) -> None:
    """The environment of a project was active when the gateway was started."""
    scene = Scene(tmp_path, containment)
    (code / "env" / "bin").mkdir(parents=True)
    known = python_on_path()
    known["PATH"] = f"{code}/env/bin:{known['PATH']}"
    scene.launcher = Launcher(scene.settings, known, scene.home, (containment,))
    lay = f"mv env old; mkdir -p env/bin; cd env/bin && ln -s {scene.user_file} u; ln -s {scene.home}/token t"
    scene.shell("command", f"cd {code}; {lay}", write=(code,))
    said = scene.shell("command", f"cat {code}/env/bin/*; cat {scene.user_file}", write=(code,))
    assert CANARY not in said
    assert (code / "env" / "bin" / "u").is_symlink()


@pytest.mark.guards("R22.1")
@pytest.mark.parametrize("containment", ALL)
def test_a_path_to_read_that_another_agent_exchanged_is_not_opened(
    tmp_path: Path, code: Path, containment: Containment
) -> None:
    scene = Scene(tmp_path, containment)
    (code / "notes").mkdir()
    scene.shell("command", f"cd {code}; mv notes old; ln -s {scene.user_file.parent} notes", write=(code,))
    with pytest.raises(ToolFailed, match="a link that leads elsewhere"):
        scene.shell("command", f"cat {code}/notes/*", read=(code / "notes",))


# What the gateway runs at its next start.


@pytest.mark.guards("R22.2")
def test_a_gateway_imports_nothing_from_the_folder_it_is_started_in(tmp_path: Path, code: Path) -> None:
    """`cd project && holdfast up`, and the project is what the agent works on."""
    for name in ("holdfast", "json"):
        (code / name).mkdir()
        (code / name / "__init__.py").write_text(f"open({str(tmp_path / 'PLANTED')!r}, 'w')\n")
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "holdfast.toml").write_text("nonsense")
    command = gateway_command(tmp_path / "home")
    ran = subprocess.run(command, cwd=code, capture_output=True, text=True, check=False)
    assert "nonsense" in ran.stderr or "holdfast.toml" in ran.stderr
    assert not (tmp_path / "PLANTED").exists()


@pytest.mark.guards("R22.2")
def test_what_is_imported_or_contains_others_is_not_opened_for_writing(
    tmp_path: Path, code: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "holdfast.toml").write_text(f'[agents.main]\nmodel = "m"\nwrite = ["{code}"]\n')
    load_settings(home, {})
    with monkeypatch.context() as changed:
        changed.syspath_prepend(str(code / "lib"))
        (code / "lib").mkdir()
        assert code / "lib" in installation_folders()
        with pytest.raises(BadConfig, match="agents.main.write.*installation"):
            load_settings(home, {})
    planted = code / "bin" / "bwrap"
    planted.parent.mkdir()
    planted.write_text("#!/bin/sh\n")
    planted.chmod(0o755)
    if os.path.exists("/usr/bin/bwrap"):
        assert bubblewrap(f"{planted.parent}:/usr/bin") == "/usr/bin/bwrap"
    monkeypatch.setattr("holdfast.installation._SYSTEM", ())
    monkeypatch.setenv("PATH", f"{planted.parent}:{os.environ['PATH']}")
    with pytest.raises(BadConfig, match="agents.main.write.*installation"):
        load_settings(home, {})
