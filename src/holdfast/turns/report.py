"""Where a stage says what broke, for the operator; what the person is told stands in the ledger."""

from __future__ import annotations

from collections.abc import Callable

Report = Callable[[str, BaseException], None]
"""Called with what was being done and what went wrong; must not raise."""


def unreported(doing: str, fault: BaseException) -> None:
    """Nobody reads it."""
