"""Tries an installed Holdfast: starts a gateway on a new home, says something, reads the answer, stops it.

python scripts/_smoke.py HOLDFAST HOME
"""

from __future__ import annotations

import subprocess
import sys
import time

PATIENCE = 120


def _said(command: str, home: str) -> subprocess.CompletedProcess[str]:
    """One message and its answer; asked again until the gateway is up."""
    until = time.monotonic() + PATIENCE
    while True:
        said = subprocess.run(
            [command, "chat", "--home", home],
            input="Do 2 steps.\n",
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        if said.returncode == 0 or time.monotonic() > until:
            return said
        time.sleep(0.5)


def main(command: str, home: str) -> int:
    gateway = subprocess.Popen([command, "up", "--home", home, "--port", "0"], stdout=subprocess.DEVNULL)
    try:
        said = _said(command, home)
        if said.returncode or "tep 2" not in said.stdout:
            print(f"holdfast: the gateway did not answer:\n{said.stdout}{said.stderr}", file=sys.stderr)
            return 1
        subprocess.run(
            [command, "stop", "--home", home], timeout=PATIENCE, check=True, stdout=subprocess.DEVNULL
        )
        return gateway.wait(PATIENCE)
    finally:
        if gateway.poll() is None:
            gateway.kill()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
