"""What the person is owed when a turn ends: its answer, or the words for why there is none; told once."""

from __future__ import annotations

from holdfast.agents import Choice
from holdfast.model import Claimed, Owed, OwedKind, TurnState, answer_key
from holdfast.policy.delivery.parts import Longest, parts_for
from holdfast.policy.turn.partials import kept_reply
from holdfast.policy.turn.steps import Finish


def gone_for(claimed: Claimed, choice: Choice) -> tuple[Owed, ...]:
    """What a chat is owed, once, when whom or what it chose is gone: the turn goes on all the same."""
    if not choice.words:
        return ()
    chat = claimed.session.chat
    return (Owed(chat, f"gone:{chat}:{choice.gone}", (choice.words,), OwedKind.NOTICE),)


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


def partial_for(claimed: Claimed, text: str, longest: Longest, mark: str) -> tuple[Owed, ...]:
    """What people saw of a reply that this turn is not going to finish."""
    return kept_reply(claimed.session.chat, claimed.turn.id, text, longest, mark, claimed.cause.message_id)
