"""What the person is owed when a turn ends: its answer, or the words for why there is none; told once."""

from __future__ import annotations

from holdfast.model import Claimed, Owed, OwedKind, TurnState, answer_key
from holdfast.policy.parts import Longest, parts_for
from holdfast.policy.steps import Finish


def owed_for(claimed: Claimed, end: Finish, longest: Longest) -> Owed:
    """The one message a turn's end owes, to the chat and thread its cause came from."""
    done, chat = end.state is TurnState.DONE, claimed.session.chat
    return Owed(
        chat,
        answer_key(claimed.turn.id),
        parts_for(end.reply if done else end.words, longest(chat)),
        OwedKind.REPLY if done else OwedKind.NOTICE,
        claimed.cause.message_id,
    )
