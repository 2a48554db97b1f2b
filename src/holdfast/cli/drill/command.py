"""`holdfast drill`."""

from __future__ import annotations

from holdfast.cli.options import AsJson, Home


def drill(home: Home = None, as_json: AsJson = False) -> None:
    """Kill a gateway."""
