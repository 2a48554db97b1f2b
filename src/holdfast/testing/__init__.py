"""What tests of Holdfast, and of platforms and tools made for it, are written with."""

from __future__ import annotations

from .clock import ManualClock, SeededIds

__all__ = ["ManualClock", "SeededIds"]
