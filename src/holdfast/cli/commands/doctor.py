"""`holdfast doctor`: check a gateway, and say what to do about each problem."""

from __future__ import annotations

from pathlib import Path

import typer

from holdfast.cli.options import AsJson, Home, run
from holdfast.cli.render.output import print_json, print_table, stdout
from holdfast.cli.render.terminal_text import styled
from holdfast.clock import SystemClock
from holdfast.config.load import load_settings
from holdfast.maintenance.doctor import look_over, unit_files
from holdfast.policy.health import Grade
from holdfast.process.exit_codes import FAILED

_COLOURS = {Grade.WELL: "green", Grade.WARN: "yellow", Grade.BAD: "red"}


def doctor(home: Home = None, as_json: AsJson = False) -> None:
    """Check the gateway, its home and its platforms, and say what to do about each problem.

    The check changes nothing, so you can run it at any time. Exit code 1 if something is bad.
    """
    settings = load_settings(home).settings
    found = run(look_over(settings, SystemClock(), unit_files(Path.home())))
    bad = any(one.grade is Grade.BAD for one in found)
    if as_json:
        print_json(
            {
                "well": not bad,
                "findings": [
                    {"check": one.check, "grade": one.grade.value, "words": one.words, "fix": one.fix}
                    for one in found
                ],
            }
        )
    else:
        rows = [
            (one.check, styled((one.grade.value, _COLOURS[one.grade])), one.words, one.fix) for one in found
        ]
        print_table(stdout(), ("check", "", "what", "what to do"), rows)
    if bad:
        raise typer.Exit(FAILED)
