"""What the owner's own Git executes or trusts in a folder that agents may write: they plant nothing there."""

import subprocess
import sys
from pathlib import Path

import pytest

from holdfast.policy.containment import Containment
from holdfast.records import dataclass
from holdfast.tools import ToolFailed
from holdfast.tools.containment import ALL
from holdfast.tools.containment.protected import protection
from tests.support.contained import KINDS, Scene

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="code of agents is contained on Linux alone")
WHO = "-c user.name=a -c user.email=a@b"
COMMIT = f"git {WHO} commit -qm x --allow-empty"
HOOK = "printf '#!/bin/sh\\ntouch %s/PLANTED\\n' {root} > {at}; chmod +x {at}"
CONFIG = "printf '[core]\\n\\tfsmonitor = touch %s/PLANTED; false\\n' {root} > {at}"


@dataclass(frozen=True, slots=True)
class Way:
    """How the folder is, what an agent's calls do there, and what the owner does afterwards."""

    before: str
    attacks: tuple[str, ...]
    after: str = "git status"


PUSH = f"cd {{root}} && git init -q w && cd w && {COMMIT} && git push -q ../code/x.git HEAD:m"
WAYS = {
    "a folder of hooks": Way(
        "git init -q . && git config core.hooksPath .husky && mkdir .husky",
        (HOOK.replace("{at}", ".husky/pre-commit"),),
        COMMIT,
    ),
    "a folder of hooks that is not there": Way(
        "git init -q . && git config core.hooksPath tools/hooks",
        ("mkdir -p tools/hooks; " + HOOK.replace("{at}", "tools/hooks/pre-commit"),),
        COMMIT,
    ),
    "a folder of hooks for an added work tree": Way(
        f"git init -q m && cd m && git config core.hooksPath .h && {COMMIT} && git worktree add -q ../t",
        ("mkdir -p t/.h; " + HOOK.replace("{at}", "t/.h/pre-commit"),),
        f"cd t && {COMMIT}",
    ),
    "scripts that husky runs": Way(
        "git init -q . && git config core.hooksPath .husky/_ && mkdir -p .husky/_ && "
        "printf '#!/bin/sh\\n. .husky/pre-commit\\n' > .husky/_/pre-commit && chmod +x .husky/_/pre-commit",
        (HOOK.replace("{at}", ".husky/pre-commit"),),
        COMMIT,
    ),
    "no configuration": Way("git init -q . && rm .git/config", (CONFIG.replace("{at}", ".git/config"),)),
    "no configuration of the work tree": Way(
        "git init -q . && git config extensions.worktreeConfig true",
        (CONFIG.replace("{at}", ".git/config.worktree"),),
    ),
    "no configuration of an added work tree": Way(
        f"git init -q m && cd m && git config extensions.worktreeConfig true && {COMMIT} && "
        "git worktree add -q ../t",
        (CONFIG.replace("{at}", "m/.git/worktrees/t/config.worktree"),),
        "cd t && git status",
    ),
    "included configuration": Way(
        "git init -q . && git config include.path ../.gitconfig && touch .gitconfig",
        (CONFIG.replace("{at}", ".gitconfig"),),
    ),
    "configuration that is included and not there": Way(
        "git init -q . && git config includeIf.onbranch:*.path ../more/config",
        ("mkdir more; " + CONFIG.replace("{at}", "more/config"),),
    ),
    "a bare repository": Way(
        "git init -q --bare x.git", (HOOK.replace("{at}", "x.git/hooks/post-receive"),), PUSH
    ),
    "a bare repository that is taken apart": Way(
        "git init -q --bare x.git",
        (
            "mv x.git/refs x.git/HEAD .",
            HOOK.replace("{at}", "x.git/hooks/post-receive") + "; mv refs HEAD x.git",
        ),
        PUSH,
    ),
}


def attacked(
    root: Path, code: Path, way: Way, containment: Containment | None, kind: str = "command"
) -> bool:
    """Whether something of the agent's ran with the owner's rights; without containment this proves a way."""
    scene = None if containment is None else Scene(root, containment)
    subprocess.run(way.before, shell=True, cwd=code, check=True)
    for attack in way.attacks:
        words = attack.replace("{root}", str(root))
        if scene is None:
            subprocess.run(words, shell=True, cwd=code, check=False)
            continue
        try:
            scene.shell(kind, f"cd {code}; {words}", write=(code,))
        except ToolFailed:
            assert containment is Containment.LANDLOCK
    done = way.after.replace("{root}", str(root))
    subprocess.run(done, shell=True, cwd=code, check=False, capture_output=True)
    return (root / "PLANTED").exists()


@pytest.fixture
def code(tmp_path: Path) -> Path:
    folder = tmp_path / "code"
    folder.mkdir()
    return folder


@pytest.mark.guards("R24.2")
@pytest.mark.parametrize("containment", ALL)
@pytest.mark.parametrize("way", WAYS)
def test_nothing_of_an_agent_runs_by_the_owners_git(
    tmp_path: Path, code: Path, way: str, containment: Containment
) -> None:
    assert not attacked(tmp_path, code, WAYS[way], containment)


@pytest.mark.guards("R24.2")
@pytest.mark.parametrize("containment", ALL)
@pytest.mark.parametrize("way", ["a folder of hooks", "no configuration", "included configuration"])
@pytest.mark.parametrize("kind", [one for one in KINDS if one != "command"])
def test_nothing_of_a_background_process_or_mcp_program_runs_by_it_either(
    tmp_path: Path, code: Path, kind: str, way: str, containment: Containment
) -> None:
    assert not attacked(tmp_path, code, WAYS[way], containment, kind)


@pytest.mark.parametrize("way", WAYS)
def test_uncontained_each_of_these_ways_works(tmp_path: Path, code: Path, way: str) -> None:
    """Otherwise the test above would prove nothing."""
    assert attacked(tmp_path, code, WAYS[way], None)


def test_a_folder_of_hooks_that_is_a_link_is_refused_in_words(tmp_path: Path, code: Path) -> None:
    subprocess.run("git init -q . && git config core.hooksPath .h", shell=True, cwd=code, check=True)
    (code / ".h").symlink_to(tmp_path)
    with pytest.raises(ToolFailed, match=f"{code}/.h is a link"):
        protection(code, (), repositories=True)


def test_a_repository_in_one_folder_keeps_what_it_names_in_another(tmp_path: Path, code: Path) -> None:
    scene = Scene(tmp_path, Containment.BUBBLEWRAP)
    shared = tmp_path / "shared"
    shared.mkdir()
    subprocess.run(f"git init -q . && git config core.hooksPath {shared}/h", shell=True, cwd=code, check=True)
    scene.shell("command", f"echo a > {shared}/h/pre-commit; echo a > {shared}/b", write=(code, shared))
    assert [one.name for one in sorted(shared.iterdir())] == ["b", "h"]
    assert list((shared / "h").iterdir()) == []


def test_a_folder_inside_a_work_tree_keeps_what_the_repository_above_names(
    tmp_path: Path, code: Path
) -> None:
    scene = Scene(tmp_path, Containment.BUBBLEWRAP)
    (code / "src").mkdir()
    subprocess.run("git init -q . && git config core.hooksPath src/h", shell=True, cwd=code, check=True)
    scene.shell("command", f"mkdir {code}/src/h; echo a > {code}/src/h/pre-commit", write=(code / "src",))
    assert list((code / "src" / "h").iterdir()) == []


def test_a_repository_in_a_protected_folder_does_not_open_it(tmp_path: Path, code: Path) -> None:
    scene = Scene(tmp_path, Containment.BUBBLEWRAP, protected=("vendor",))
    subprocess.run("git init -q vendor/one", shell=True, cwd=code, check=True)
    scene.shell("command", f"echo a > {code}/vendor/one/a; echo a > {code}/vendor/one/.git/a", write=(code,))
    assert not (code / "vendor" / "one" / "a").exists()
    assert not (code / "vendor" / "one" / ".git" / "a").exists()


def test_the_owners_git_works_on_as_before(tmp_path: Path, code: Path) -> None:
    scene = Scene(tmp_path, Containment.BUBBLEWRAP)
    subprocess.run(f"git init -q . && {COMMIT} && rm .git/config", shell=True, cwd=code, check=True)
    scene.shell("command", f"cd {code}; echo a > a; git add a; {COMMIT}", write=(code,))
    asked = "git status --porcelain && git log --oneline && git config a.b c && git worktree add -q ../t"
    done = subprocess.run(asked, shell=True, cwd=code, check=False, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert len(done.stdout.splitlines()) == 2
