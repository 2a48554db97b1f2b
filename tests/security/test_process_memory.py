"""Attacks by another process of the same user on the gateway's memory and environment."""

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from holdfast.process.supervisor import supervisor_of
from tests.support.commands import environment, gateway_pid
from tests.support.parts import missing

SECRET = "sk-canary-in-the-environment"
THEFT = """
import sys
for pid in sys.argv[1:]:
    for name in ("environ", "mem", "maps", "auxv"):
        try:
            open(f"/proc/{pid}/{name}", "rb").read(1)
            print("read", pid, name)
        except OSError as refused:
            print(name, refused.strerror)
"""


def ordinary(command: Sequence[str]) -> list[str]:
    """This command as an ordinary user runs it: root can always read, unless it gave its rights up."""
    if os.geteuid() != 0:
        return list(command)
    if shutil.which("setpriv") is None:
        missing("setpriv, to run a gateway without the rights of root")
    return ["setpriv", "--bounding-set=-all", "--inh-caps=-all", "--", *command]


def stolen(*pids: int) -> list[str]:
    theft = ordinary([sys.executable, "-c", THEFT, *map(str, pids)])
    return subprocess.run(theft, capture_output=True, text=True, check=True).stdout.splitlines()


@pytest.mark.guards("R22.3")
def test_another_process_of_the_same_user_reads_neither_memory_nor_environment(tmp_path: Path) -> None:
    known = environment(CANARY_API_KEY=SECRET)
    command = ordinary([sys.executable, "-m", "holdfast", "up", "--home", str(tmp_path)])
    with subprocess.Popen(command, env=known, stderr=subprocess.PIPE, text=True) as parent:
        try:
            assert parent.stderr is not None
            next(line for line in parent.stderr if "prints a link" in line)
            gateway, supervisor = gateway_pid(tmp_path), supervisor_of(tmp_path)
            assert supervisor is not None and supervisor != gateway
            with subprocess.Popen(ordinary(["sleep", "3600"])) as plain:
                assert "read" in stolen(plain.pid)[0], "the attack works on other processes"
                plain.kill()
            found = stolen(gateway, supervisor)
            assert len(found) == 8 and not [line for line in found if line.startswith("read")], found
            limits = Path(f"/proc/{gateway}/limits").read_text().splitlines()
            core = next(line for line in limits if line.startswith("Max core file size"))
            assert core.split()[4:6] == ["0", "0"]
        finally:
            parent.terminate()
