"""Runs one of the programs of this folder by its name."""

from __future__ import annotations

import os
import sys
from importlib import import_module


def run() -> int:
    # Run as a folder, Python looks for modules in it; the programs are modules of the package around.
    sys.path[0] = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    program = import_module(f"helper.{sys.argv[1]}")
    code: int = program.main(sys.argv[2:])
    return code


if __name__ == "__main__":
    sys.exit(run())
