"""The command line. Nothing heavy is imported here: `up` has to start quickly and stay small."""

from __future__ import annotations

import sys

__all__ = ["main"]


def main() -> None:
    """Run the command line. An error is one readable message; the exit code says whose fault it is."""
    arguments = sys.argv[1:]
    if arguments[:1] == ["up"]:
        from .commands.up import parse_up, run_up  # noqa: PLC0415 - only the command that is asked for is imported

        up = parse_up(arguments[1:])
        if up is not None:
            raise SystemExit(run_up(up))
    from .program import run  # noqa: PLC0415 - typer and rich take longer than a gateway's start

    raise SystemExit(run(arguments))
