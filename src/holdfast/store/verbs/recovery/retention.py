"""Upkeep: remove old finished rows, a bounded batch at a time, and never unfinished ones."""

from __future__ import annotations

from holdfast.store.contract import Keep
from holdfast.store.verbs.tx import Tx


def retain(tx: Tx, keep: Keep, limit: int = 500) -> int:
    return sum(
        tx.run(name, before=tx.now - age, limit=limit, **more)
        for name, age, more in (
            ("forget_events", keep.events, {}),
            ("forget_set_aside", keep.set_aside, {}),
            ("forget_pairings", keep.set_aside, {}),
            ("forget_instances", keep.instances, {"instance": tx.instance}),
        )
    )
