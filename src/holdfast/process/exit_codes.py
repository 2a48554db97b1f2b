"""Exit codes, as supervisors read them."""

from __future__ import annotations

STOPPED = 0
FAILED = 1
RESTART = 75
"""Start it again at once: a person or an agent requested a restart."""
BAD_CONFIG = 78
"""Do not start it again: a person must change something first."""
