"""Inbox: what people send is kept first; only then is it acknowledged."""

from __future__ import annotations

from .intake import Intake

__all__ = ["Intake"]
