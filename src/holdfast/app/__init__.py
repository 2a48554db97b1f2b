"""App: configuration and the composition of the stages."""

from __future__ import annotations

from .config import Config, load
from .demo import Demo, open_demo

__all__ = ["Config", "Demo", "load", "open_demo"]
