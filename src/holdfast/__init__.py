"""Holdfast: a gateway between chat platforms and AI agents whose sessions cannot be lost."""

__all__ = ["__version__"]

__version__ = "0.1.0"
