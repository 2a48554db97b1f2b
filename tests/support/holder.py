"""A process that takes the lock of a home, starts a child that may outlive it, and waits to be killed."""

import subprocess
import sys
from pathlib import Path

from holdfast.errors import HomeLocked
from holdfast.store.sqlite.home_lock import HomeLock


def main(home: Path) -> None:
    lock = HomeLock(home)
    try:
        lock.take()
    except HomeLocked as refused:
        sys.stdout.write(f"{refused.holder}\n")
        return
    # The child lives until its standard input ends, which is ours and stays open when we die.
    child = subprocess.Popen(
        [sys.executable, "-c", "import sys; sys.stdin.read()"], close_fds=False, stdout=subprocess.DEVNULL
    )
    sys.stdout.write(f"{child.pid}\n")
    sys.stdout.flush()
    sys.stdin.read()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
