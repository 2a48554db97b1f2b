"""Partials: what people saw of unfinished replies and calls. A run records them, and a cut keeps them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from holdfast.model import CallId, Fence, Partial, TurnId
from holdfast.store.verbs.tx import Read, Tx


def keep_partials(tx: Tx, fence: Fence, partials: Sequence[Partial], last_seq: int) -> None:
    """Record partials in place of earlier ones; a reply that has become an entry meanwhile is passed over."""
    for one in partials:
        if one.call is not None or one.after == last_seq:
            tx.run(
                "keep_partial",
                turn=fence.turn,
                call=one.call or "",
                generation=fence.generation,
                text=one.text,
                now=tx.now,
            )


def cut_replies(tx: Tx, turns: Iterable[TurnId]) -> dict[TurnId, str]:
    """The unfinished replies of these turns that no entry holds."""
    return {TurnId(turn): text for turn, text in tx.all("cut_replies", turns=json.dumps(list(turns)))}


def partials(read: Read | Tx, turn: TurnId) -> tuple[Partial, ...]:
    return tuple(
        Partial(text, CallId(call) if call else None, generation=generation)
        for text, call, generation in read.all("partials_of_turn", turn=turn)
    )
