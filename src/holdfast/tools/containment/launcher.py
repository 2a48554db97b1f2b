"""Makes the command lines of the programs that agents cause to run, as contained as this machine allows."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from holdfast.installation import bubblewrap
from holdfast.policy.containment import Containment, Requirement, card_words
from holdfast.policy.settings import ToolSettings
from holdfast.records import dataclass
from holdfast.tools.base import ToolFailed

from . import helper
from .bubblewrap import arguments
from .helper import landlock as kernel
from .landlock import alone, beside_bubblewrap
from .machine import Machine, installed, look
from .protected import protection, together
from .seccomp import call_filter
from .view import ProgramLimits, ProgramView

HELPER = Path(helper.__file__).parent
ALL = (Containment.BUBBLEWRAP, Containment.LANDLOCK)


def advice(system: str = sys.platform) -> str:
    """What to do where programs are not contained, or not as well as they could be."""
    if system == "linux":
        return "install bubblewrap: apt-get install bubblewrap, or dnf install bubblewrap"
    return (
        'run the gateway on Linux, in a virtual machine for instance; or set tools.containment to "off", and '
        "every program then runs with all your rights and reads the gateway's token and your files"
    )


INSTALL = advice()
_PRIVATE = 0o700
_PROBE = 20.0
_MOST_WORDS = 300


class NotContained(ToolFailed):
    """The program was not started: it must be contained, and this machine cannot contain it."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """A program that one of the helpers can start."""

    argv: tuple[str, ...]
    environment: Mapping[str, str]
    containment: Containment
    limits: ProgramLimits

    @property
    def order(self) -> dict[str, Any]:
        """What every helper needs besides the command line."""
        return {
            "memory": self.limits.memory,
            "processes": self.limits.processes,
        }


@dataclass(frozen=True, slots=True)
class Probe:
    """How well this machine contains programs, found by a test run."""

    containment: Containment
    landlock: int = 0
    """The version of Landlock in the kernel; 0: none."""
    trouble: str = ""
    """Why containment is not better."""


def helper_command(program: str, *arguments: str) -> list[str]:
    """The command line that runs a helper outside of the view."""
    return [sys.executable, "-I", "-S", str(HELPER), program, *arguments]


class Launcher:
    """Contains programs. Every method reads files or starts processes, so none belongs on the event loop."""

    def __init__(
        self,
        settings: ToolSettings,
        known: Mapping[str, str],
        home: Path | None = None,
        allowed: Sequence[Containment] = ALL,
        secret_files: Sequence[Path] = (),
    ) -> None:
        self._secret_files = tuple(secret_files)
        self._settings = settings
        self._known = dict(known)
        self._home = home
        self._allowed = allowed
        self._bubblewrap: str | None = None
        self._lock = threading.Lock()
        self._probe: Probe | None = None

    @property
    def required(self) -> bool:
        return self._settings.containment is Requirement.REQUIRED

    @property
    def _limits(self) -> ProgramLimits:
        return ProgramLimits(self._settings.terminal.memory, self._settings.terminal.processes)

    def probe(self) -> Probe:
        """How this machine contains programs. The first call tests it; later calls test until it works."""
        with self._lock:
            if self._probe is None or (self.required and self._probe.containment is Containment.NONE):
                self._bubblewrap = bubblewrap(self._known.get("PATH", os.defpath))
                self._probe = self._found()
            return self._probe

    def card_words(self) -> str:
        """What a consent card says about a call that starts a program."""
        try:
            found = self.probe().containment
        except OSError as error:
            return f"The gateway does not know yet whether it can contain the program ({error.strerror})."
        return card_words(found, self.required)

    def view(
        self,
        workspace: Path,
        private: Path,
        read: Sequence[Path] = (),
        write: Sequence[Path] = (),
        network: bool | None = None,
    ) -> ProgramView:
        """The view of a program that works in this folder."""
        roots = [(workspace, not self._is_ours(workspace)), *((path, True) for path in write)]
        found = together(
            [
                protection(root, self._settings.protected, repositories, (workspace, *write))
                for root, repositories in roots
                if root.is_dir()
            ]
        )
        return ProgramView(
            workspace,
            private,
            tuple(read),
            tuple(write),
            found.places,
            found.pinned,
            self._home,
            self._settings.network if network is None else network,
            self._limits,
        )

    def prepare(
        self,
        view: ProgramView,
        command: Sequence[str],
        cwd: Path | None = None,
        environment: Mapping[str, str] | None = None,
        *,
        files: int = 3,
        joined: bool = False,
        lingers: bool = False,
    ) -> Prepared:
        """The program, ready to start; raises `NotContained` if it must be contained and cannot be.

        `files` counts the descriptors that it keeps. `joined` sends its errors to its output. `lingers` keeps
        the processes that it started alive after its own end.
        """
        probe = self.probe()
        if probe.containment is Containment.NONE and self.required:
            raise NotContained(refusal(probe))
        order = {
            "cwd": str(cwd or view.workspace),
            "workspace": str(view.workspace),
            "files": files,
            "joined": joined,
            "lingers": lingers,
        }
        known = self._known if environment is None else environment
        return self._prepared(probe, view, command, known, order)

    def _prepared(
        self,
        probe: Probe,
        view: ProgramView,
        command: Sequence[str],
        known: Mapping[str, str],
        order: dict[str, Any],
    ) -> Prepared:
        for folder in (view.workspace, view.home, view.temporary):
            folder.mkdir(_PRIVATE, parents=True, exist_ok=True)
        contained = probe.containment
        order |= {
            "memory": view.limits.memory,
            "processes": view.limits.processes,
            "contained": contained is not Containment.NONE,
            "same": [] if contained is Containment.NONE else _identities(view),
            "rules": (),
            "filter": "",
        }
        if contained is Containment.NONE:
            argv = (*_entry(sys.executable, order), *command)
            return Prepared(argv, known, contained, view.limits)
        machine, view = self._machine(view, command, known)
        if contained is Containment.BUBBLEWRAP:
            assert self._bubblewrap is not None
            order["rules"] = beside_bubblewrap(view) if probe.landlock else ()
            order["filter"] = (call_filter(view.network, alone=False) or b"").hex()
            files = frozenset(path for path in machine.secrets if not path.is_dir())
            outside = (self._bubblewrap, *arguments(view, machine, files), "--")
            known = view.environment(known, Path("/tmp"))
        else:
            if view.protected:
                raise NotContained(
                    f"{view.protected[0]} has to stay read-only, which Landlock alone cannot do; {INSTALL}"
                )
            order["rules"] = alone(view, machine, _children)
            order["filter"] = (call_filter(view.network) or b"").hex()
            outside = ()
            known = view.environment(known, view.temporary)
        argv = (*outside, *_entry(str(machine.interpreter), order), *command)
        return Prepared(argv, known, contained, view.limits)

    def _machine(
        self, view: ProgramView, command: Sequence[str], known: Mapping[str, str]
    ) -> tuple[Machine, ProgramView]:
        """The machine, and the view with the installations of the programs on its PATH."""
        machine = look(HELPER, self._secret_files)
        # The view shows folders that contained code may change anyway; their links could lead anywhere.
        path, program = (
            [Path(one) for one in found if one.startswith("/") and not _changeable(Path(one), view)]
            for found in (known.get("PATH", "").split(":"), command[:1])
        )
        shown = tuple(
            one
            for one in installed(path, program, Path.home())
            if not any(one.is_relative_to(folder) for folder in machine.folders)
            and not (self._home is not None and self._home.is_relative_to(one))
        )
        return machine, ProgramView(
            view.workspace,
            view.private,
            (*shown, *view.read),
            view.write,
            view.protected,
            view.pinned,
            view.hidden,
            view.network,
            view.limits,
        )

    def _is_ours(self, folder: Path) -> bool:
        """Whether the gateway made this folder for its agents."""
        return self._home is not None and folder.is_relative_to(self._home)

    # How well this machine contains programs.

    def _found(self) -> Probe:
        if not self.required:
            return Probe(Containment.NONE, trouble="tools.containment is off")
        if sys.platform != "linux":
            return Probe(Containment.NONE, trouble="this system has neither bubblewrap nor Landlock")
        version = kernel.version()
        troubles: list[str] = []
        for containment in self._allowed:
            trouble = self._lacks(containment, version) or self._tried(Probe(containment, version))
            if trouble is None:
                return Probe(containment, version, "; ".join(troubles))
            troubles.append(trouble)
        return Probe(Containment.NONE, version, "; ".join(troubles))

    def _lacks(self, containment: Containment, version: int) -> str | None:
        if containment is Containment.BUBBLEWRAP:
            return None if self._bubblewrap else "bubblewrap is not installed"
        if version < kernel.SCOPED:
            return f"Landlock alone needs Linux 6.12 or newer (Landlock 6; this kernel has {version})"
        return None if call_filter(network=True) else "the call filter does not know this kind of processor"

    def _tried(self, probe: Probe) -> str | None:
        """Run a program that does nothing; the error, if that fails."""
        with tempfile.TemporaryDirectory(prefix="holdfast-probe-") as made:
            folder = os.path.realpath(made)
            view = ProgramView(Path(folder, "workspace"), Path(folder, "private"), limits=self._limits)
            order = {
                "cwd": str(view.workspace),
                "workspace": str(view.workspace),
                "files": 3,
                "joined": False,
                "lingers": False,
            }
            try:
                prepared = self._prepared(probe, view, ("/bin/sh", "-c", "exit 0"), self._known, order)
                words = _run(prepared)
            except OSError as error:
                words = str(error)
        return f"{probe.containment} does not work here: {words}" if words else None


def refusal(probe: Probe) -> str:
    """Why the gateway does not run a program, and what to do."""
    return (
        "No program was run: this machine cannot keep it from the gateway and from your files "
        f"({probe.trouble}). To change that, {INSTALL}. `holdfast doctor` says more."
    )


def _run(prepared: Prepared) -> str:
    order = {"argv": prepared.argv, **prepared.order}
    with subprocess.Popen(
        helper_command("command"),
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env=dict(prepared.environment),
    ) as ran:
        assert ran.stdin is not None
        assert ran.stderr is not None
        # The input stays open: its end would end the program.
        ran.stdin.write(json.dumps(order).encode() + b"\n")
        ran.stdin.flush()
        try:
            ran.wait(_PROBE)
        except subprocess.TimeoutExpired:
            ran.kill()
            return "the test program does not end"
        said = ran.stderr.read()
    *words, status = said.decode(errors="replace").strip().splitlines() or [""]
    if not words and '"exit": 0' in status:
        return ""
    return " ".join((*words, status))[:_MOST_WORDS]


def _entry(interpreter: str, order: Mapping[str, Any]) -> tuple[str, ...]:
    return (interpreter, "-I", "-S", str(HELPER), "entry", json.dumps(order))


def _changeable(path: Path, view: ProgramView) -> bool:
    real = Path(os.path.realpath(path))
    return any(one.is_relative_to(folder) for one in (path, real) for folder in view.writable)


def _identities(view: ProgramView) -> list[tuple[str, int, int]]:
    """Each path that code of an agent may have replaced, with the file or folder that it is now.

    The last step inside compares them and runs nothing if one was replaced since.
    """
    found = []
    for path in (*view.writable, *view.read, *view.pinned, *view.protected):
        start, names = Path("/"), path.parts[1:]
        if view.hidden is not None and path.is_relative_to(view.hidden):
            start, names = Path(os.path.realpath(view.hidden)), path.relative_to(view.hidden).parts
        found.append((str(path), *_identity(path, start, names)))
    return found


def _identity(path: Path, start: Path, names: Sequence[str]) -> tuple[int, int]:
    """Walk the path name by name, through no link."""
    folder = os.open(start, os.O_PATH | os.O_DIRECTORY)
    try:
        for name in names:
            below = os.open(name, os.O_PATH | os.O_NOFOLLOW, dir_fd=folder)
            os.close(folder)
            folder = below
            if stat.S_ISLNK(os.fstat(folder).st_mode):
                raise NotContained(f"{path} is behind a link that leads elsewhere; nothing was run")
        now = os.fstat(folder)
        return now.st_dev, now.st_ino
    except OSError as error:
        raise NotContained(f"{path}: {error.strerror}; nothing was run") from None
    finally:
        os.close(folder)


def _children(folder: Path) -> list[Path]:
    """The content of a folder without links: a rule for a link would open its target."""
    try:
        return sorted(one for one in folder.iterdir() if not one.is_symlink())
    except OSError:
        return []
