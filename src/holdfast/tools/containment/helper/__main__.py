"""Runs the program of this folder with the given name."""

from __future__ import annotations

import os
import sys
from importlib import import_module


def run() -> int:
    # Python looks for modules in the folder it runs; the programs are modules of the package around it.
    sys.path[0] = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    program = import_module(f"helper.{sys.argv[1]}")
    code: int = program.main(sys.argv[2:])
    return code


if __name__ == "__main__":
    sys.exit(run())
