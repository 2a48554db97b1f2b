"""`holdfast guarantees`: what Holdfast promises on each platform, and what it cannot promise."""

from __future__ import annotations

from typing import Annotated

import typer

from holdfast.api.to_json import Json
from holdfast.cli.options import AsJson, Home
from holdfast.cli.render.output import print_json, print_table, stdout
from holdfast.cli.render.terminal_text import styled
from holdfast.platforms.guarantees import Holds, guarantees
from holdfast.platforms.registry import Known, known

_COLOURS = {Holds.YES: "green", Holds.PARTLY: "yellow", Holds.NO: "red"}


def print_guarantees(
    platform: Annotated[
        str | None, typer.Argument(help="Only this platform.", show_default="every platform")
    ] = None,
    home: Home = None,
    as_json: AsJson = False,
) -> None:
    """Print what Holdfast promises on each platform, and what it cannot promise there.

    The promises follow from what the platform can do. A promise holds through crashes, restarts and power
    cuts, unless its words name a limit.
    """
    found = [one for one in known() if platform in (None, one.name)]
    if not found:
        there = ", ".join(one.name for one in known())
        raise typer.BadParameter(f"there is no platform {platform!r} here; there are: {there}")
    if as_json:
        print_json({"platforms": [_shown(one) for one in found]})
        return
    out = stdout()
    for one in found:
        out.print(styled((one.name, "bold"), (f"  comes with {one.come_from}", "dim")))
        rows = [
            (each.about.value, styled((each.holds.value, _COLOURS[each.holds])), each.words)
            for each in guarantees(one.capabilities)
        ]
        print_table(out, ("what", "promised", "how"), rows)


def _shown(one: Known) -> Json:
    return {
        "platform": one.name,
        "comes_with": one.come_from,
        "guarantees": [
            {"about": each.about.value, "holds": each.holds.value, "words": each.words}
            for each in guarantees(one.capabilities)
        ],
    }
