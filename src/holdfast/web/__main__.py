"""python -m holdfast.web HOME    runs one gateway in this process; a supervisor starts it."""

from __future__ import annotations

import sys

from holdfast.process.main import run_and_exit

from . import open_page

if __name__ == "__main__":
    run_and_exit(sys.argv[1:], open_page)
