"""What a view becomes: arguments of bubblewrap, rules of Landlock, a filter of calls; what belongs to it."""

import os
import shutil
import subprocess
from pathlib import Path, PurePosixPath

import pytest

from holdfast.policy.containment import ClosedFolders, Containment, refused_path
from holdfast.policy.settings import ToolSettings
from holdfast.tools.containment import Launcher, NotContained, ProgramView, is_protected, machine
from holdfast.tools.containment.bubblewrap import arguments
from holdfast.tools.containment.helper.landlock import READ, WRITE
from holdfast.tools.containment.installations import parts_of
from holdfast.tools.containment.landlock import alone, around, beside_bubblewrap
from holdfast.tools.containment.launcher import advice
from holdfast.tools.containment.machine import Machine, installed, secrets_in
from holdfast.tools.containment.protected import protection
from holdfast.tools.containment.seccomp import call_filter

USER = PurePosixPath("/people/ann")
KEPT = ClosedFolders(
    USER / ".holdfast", (PurePosixPath("/opt/holdfast/.venv"), PurePosixPath("/opt/holdfast/src")), USER
)
MACHINE = Machine((Path("/usr"), Path("/etc")), ((Path("/bin"), "usr/bin"),), (Path("/etc/shadow"),))
GATEWAY = Path("/people/ann/.holdfast")
VIEW = ProgramView(GATEWAY / "workspace/sessions/s", GATEWAY / "private/sessions/s", hidden=GATEWAY)


def pairs(view: ProgramView, machine: Machine = MACHINE) -> list[tuple[str, str]]:
    """Each mount as its kind and place, in order."""
    words = list(arguments(view, machine, frozenset(machine.secrets)))
    kinds = {"--ro-bind": 2, "--bind": 2, "--tmpfs": 1, "--symlink": 2, "--proc": 1, "--dev": 1}
    return [(word, words[at + kinds[word]]) for at, word in enumerate(words) if word in kinds]


def test_a_view_is_what_it_names_and_nothing_else() -> None:
    assert {place: kind for kind, place in pairs(VIEW)} == {
        "/usr": "--ro-bind",
        "/etc": "--ro-bind",
        "/bin": "--symlink",
        "/proc": "--proc",
        "/dev": "--dev",
        "/dev/shm": "--tmpfs",
        "/tmp": "--bind",
        "/var/tmp": "--bind",
        "/etc/shadow": "--ro-bind",
        str(VIEW.workspace): "--bind",
        str(VIEW.home): "--bind",
        str(VIEW.temporary): "--bind",
    }


def test_the_inner_of_two_places_counts_and_comes_later() -> None:
    folder = Path("/srv/code")
    view = ProgramView(folder, VIEW.private, read=(Path("/srv"),), protected=(folder / ".git/hooks",))
    places = [place for _, place in pairs(view)]
    kinds = {place: kind for kind, place in pairs(view)}
    assert places.index("/srv") < places.index("/srv/code") < places.index("/srv/code/.git/hooks")
    assert [kinds[one] for one in ("/srv", "/srv/code", "/srv/code/.git/hooks")] == [
        "--ro-bind",
        "--bind",
        "--ro-bind",
    ]


def test_a_home_in_a_folder_that_is_shown_is_covered() -> None:
    home = Path("/usr/local/holdfast")
    view = ProgramView(home / "workspace", home / "private", hidden=home)
    found = pairs(view)
    assert ("--tmpfs", str(home)) in found
    assert found.index(("--tmpfs", str(home))) < found.index(("--bind", str(home / "workspace")))


def test_everything_is_its_own_but_the_network_if_that_is_on() -> None:
    on = arguments(VIEW, MACHINE)
    assert {"--unshare-pid", "--unshare-ipc", "--die-with-parent", "--cap-drop"} <= set(on)
    assert "--unshare-net" not in on
    off = ProgramView(VIEW.workspace, VIEW.private, network=False)
    assert "--unshare-net" in arguments(off, MACHINE)
    sealed = [on[at + 1] for at, word in enumerate(on) if word == "--remount-ro"]
    assert sealed[:3] == ["/dev", "/proc", "/"]


def test_landlock_alone_allows_folders_without_their_secrets() -> None:
    tree = {Path("/etc"): [Path("/etc/passwd"), Path("/etc/shadow"), Path("/etc/ssl")]}
    rules = alone(VIEW, MACHINE, lambda folder: tree.get(folder, []))
    assert ("/usr", READ) in rules
    assert ("/etc/passwd", READ) in rules
    assert ("/etc/ssl", READ) in rules
    assert {path for path, _ in rules}.isdisjoint({"/", "/etc", "/etc/shadow", "/proc", "/dev", "/tmp"})
    assert {path for path, access in rules if access == WRITE} == {
        *(str(path) for path in VIEW.writable),
        *(f"/dev/{name}" for name in ("null", "zero", "full", "random", "urandom")),
    }


def test_beside_bubblewrap_all_may_be_read_and_little_changed() -> None:
    rules = beside_bubblewrap(VIEW)
    assert rules[0] == ("/", READ)
    assert {path for path, access in rules if access == WRITE} == {
        *(str(path) for path in VIEW.writable),
        *("/tmp", "/var/tmp", "/dev"),
    }


def test_around_a_hole_its_neighbours_are_allowed_at_every_depth() -> None:
    tree = {Path("/a"): [Path("/a/b"), Path("/a/x")], Path("/a/b"): [Path("/a/b/c"), Path("/a/b/y")]}
    assert list(around(Path("/a"), [Path("/a/b/c")], lambda one: tree[one])) == [Path("/a/b/y"), Path("/a/x")]
    assert list(around(Path("/a/b/c/d"), [Path("/a/b/c")], lambda one: [])) == []


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_the_filter_is_known_for_two_kinds_of_machine_and_no_other(machine: str) -> None:
    on, off = call_filter(True, machine=machine), call_filter(False, machine=machine)
    beside = call_filter(True, alone=False, machine=machine)
    assert on and off and beside and len({on, off, beside}) == 3 and len(on) % 8 == 0
    assert call_filter(True, machine="sparc") is None


# Installations.


@pytest.mark.parametrize(
    ("folder", "shown", "hidden"),
    [
        ("/people/ann/.cargo/bin", {"bin", "lib"}, {"credentials.toml", "registry", "config.toml"}),
        ("/people/ann/code/.venv/bin", {"bin", "lib", "pyvenv.cfg"}, {".env", "src"}),
        ("/people/ann/.pyenv/shims", {"shims", "libexec", "versions"}, {".git"}),
        ("/people/ann/.local/bin", {"bin", "lib"}, {"share", "state"}),
        ("/srv/tools/bin", {"bin", "share"}, {"etc", "var"}),
    ],
)
def test_of_an_installation_only_programs_and_their_data_are_shown(
    folder: str, shown: set[str], hidden: set[str]
) -> None:
    names = {path.name for path in parts_of(PurePosixPath(folder), USER)}
    assert shown <= names
    assert names.isdisjoint(hidden)


@pytest.mark.parametrize("folder", ["/people/ann/bin", "/people/ann/scripts", "/people/bin"])
def test_a_folder_in_a_home_stands_for_itself_alone(folder: str) -> None:
    assert parts_of(PurePosixPath(folder), USER) == (PurePosixPath(folder),)


@pytest.mark.parametrize("folder", ["/people/ann", "/people", "/"])
def test_a_home_is_never_shown_for_being_on_the_path(folder: str) -> None:
    assert parts_of(PurePosixPath(folder), USER) == ()


def test_a_link_in_a_folder_of_programs_leads_to_another_installation(tmp_path: Path) -> None:
    user, tool = tmp_path / "ann", tmp_path / "ann" / ".local" / "share" / "uv" / "tools" / "ruff"
    for folder in (
        user / ".local" / "bin",
        tool / "bin",
        tool / "lib",
        user / ".local" / "share" / "keyrings",
    ):
        folder.mkdir(parents=True)
    (tool / "bin" / "ruff").write_text("")
    (user / ".local" / "bin" / "ruff").symlink_to(tool / "bin" / "ruff")
    shown = installed((user / ".local" / "bin",), (), user)
    assert {user / ".local" / "bin", tool / "bin", tool / "lib"} == set(shown)


def test_what_not_everybody_may_read_is_a_secret(tmp_path: Path) -> None:
    (tmp_path / "open").mkdir()
    (tmp_path / "closed").mkdir(mode=0o700)
    for name, mode in (("open/all", 0o644), ("open/key", 0o640), ("closed/all", 0o644)):
        (tmp_path / name).write_text("")
        (tmp_path / name).chmod(mode)
    (tmp_path / "open").chmod(0o755)
    assert set(secrets_in(tmp_path)) == {tmp_path / "closed", tmp_path / "open" / "key"}


def test_secrets_of_the_gateways_own_user_are_left_out_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A service has its keys in a file of `/etc` that its user alone may read."""
    (tmp_path / "holdfast.env").write_text("KEY=1")
    (tmp_path / "holdfast.env").chmod(0o600)
    (tmp_path / "hosts").write_text("")
    (tmp_path / "hosts").chmod(0o644)
    monkeypatch.setattr(machine, "SETTINGS", tmp_path)
    monkeypatch.setattr(os, "geteuid", lambda: 1_000)
    assert machine.look(tmp_path).secrets == (tmp_path / "holdfast.env",)


# Paths of the configuration.


@pytest.mark.parametrize(
    ("path", "write", "words"),
    [
        ("/people/ann/.holdfast", False, "gateway's home"),
        ("/people/ann/.holdfast/logs", False, "gateway's home"),
        ("/people/ann", False, "gateway's home"),
        ("/", True, "gateway's home"),
        ("/opt/holdfast/.venv/lib", True, "installation"),
        ("/opt/holdfast", True, "installation"),
    ],
)
def test_some_paths_are_opened_by_no_configuration(path: str, write: bool, words: str) -> None:
    assert words in (refused_path(PurePosixPath(path), write, KEPT) or "")


def test_the_home_of_the_user_is_not_opened_for_writing_wherever_the_gateway_lives() -> None:
    kept = ClosedFolders(PurePosixPath("/var/lib/holdfast"), (), USER)
    assert "home of the user" in (refused_path(USER, True, kept) or "")
    assert refused_path(USER, False, kept) is None


@pytest.mark.parametrize(
    ("path", "write"), [("/people/ann/code", True), ("/opt/holdfast/src", False), ("/srv", True)]
)
def test_others_are_opened(path: str, write: bool) -> None:
    assert refused_path(PurePosixPath(path), write, KEPT) is None


# Protected places.


@pytest.mark.parametrize(
    ("path", "repositories", "expected"),
    [
        (".git/hooks/pre-commit", True, True),
        (".git/config", True, True),
        (".git", True, True),
        ("sub/.git/config", True, True),
        (".git/modules/x/hooks/a", True, True),
        (".git/index", True, False),
        (".git/config", False, False),
        ("hooks/config", True, False),
        ("Makefile", True, True),
        ("sub/Makefile", True, False),
        (".github/workflows/a.yml", False, True),
    ],
)
def test_one_list_says_which_places_stay_as_they_are(path: str, repositories: bool, expected: bool) -> None:
    assert is_protected(path.split("/"), ("Makefile", ".github/*"), repositories) is expected


def test_the_places_of_a_repository_are_found_and_the_folders_above_them_pinned(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path / "sub")], check=True)
    (tmp_path / "link").symlink_to(tmp_path / "sub" / ".git")
    found = protection(tmp_path, (), repositories=True)
    git = tmp_path / "sub" / ".git"
    assert set(found.places) == {git / "hooks", git / "config", git / "config.worktree"}
    assert set(found.pinned) == {tmp_path / "sub", git}
    assert protection(tmp_path, (), repositories=False).places == ()


def test_where_no_means_works_a_program_is_refused_in_words(tmp_path: Path) -> None:
    launcher = Launcher(ToolSettings(), {"PATH": str(tmp_path)}, tmp_path, (Containment.BUBBLEWRAP,))
    assert launcher.probe().containment is Containment.NONE
    with pytest.raises(NotContained, match="bubblewrap is not installed.*install bubblewrap"):
        launcher.prepare(launcher.view(tmp_path / "w", tmp_path / "p"), ("/bin/true",))


def test_without_bubblewrap_landlock_alone_is_found(tmp_path: Path) -> None:
    probe = Launcher(ToolSettings(), {"PATH": str(tmp_path)}, tmp_path).probe()
    assert (probe.containment, probe.trouble) == (Containment.LANDLOCK, "bubblewrap is not installed")


def test_landlock_alone_refuses_a_folder_with_places_that_have_to_stay(tmp_path: Path) -> None:
    repository = tmp_path / "code"
    subprocess.run(["git", "init", "-q", str(repository)], check=True)
    launcher = Launcher(ToolSettings(), dict(os.environ), tmp_path / "home", (Containment.LANDLOCK,))
    with pytest.raises(NotContained, match="Landlock alone cannot do"):
        launcher.prepare(launcher.view(repository, tmp_path / "p"), ("/bin/true",))


def test_where_bubblewrap_cannot_be_installed_nobody_is_told_to() -> None:
    assert "apt-get install bubblewrap" in advice("linux")
    assert "bubblewrap" not in advice("darwin")
    assert 'tools.containment to "off"' in advice("darwin")
    assert "all your rights" in advice("darwin")


def test_what_is_installed_later_is_found_without_a_restart(tmp_path: Path) -> None:
    launcher = Launcher(ToolSettings(), {"PATH": str(tmp_path)}, tmp_path, (Containment.BUBBLEWRAP,))
    assert launcher.probe().trouble == "bubblewrap is not installed"
    found = shutil.which("bwrap")
    assert found is not None
    (tmp_path / "bwrap").symlink_to(found)
    assert launcher.probe().containment is Containment.BUBBLEWRAP
