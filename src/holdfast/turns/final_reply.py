"""The one message at the end of a turn: its answer, or why there is none."""

from __future__ import annotations

from holdfast.agents import Choice
from holdfast.model import Claimed, Owed, OwedKind, TurnState, answer_key
from holdfast.policy.delivery.parts import Longest, parts_for
from holdfast.policy.turn.partials import kept_reply
from holdfast.policy.turn.steps import Finish


def gone_for(claimed: Claimed, choice: Choice) -> tuple[Owed, ...]:
    """One notice when the agent or model that the chat chose is gone; the turn goes on with another."""
    if not choice.words:
        return ()
    chat = claimed.session.chat
    return (Owed(chat, f"gone:{chat}:{choice.gone}", (choice.words,), OwedKind.NOTICE),)


def owed_for(claimed: Claimed, end: Finish, longest: Longest) -> Owed:
    """The message that the end of a turn owes to the chat of its cause, as a reply to it."""
    done, chat = end.state is TurnState.DONE, claimed.session.chat
    return Owed(
        chat,
        answer_key(claimed.turn.id),
        parts_for(end.reply if done else end.words, longest(chat)),
        OwedKind.REPLY if done else OwedKind.NOTICE,
        claimed.cause.message_id,
    )


def partial_for(claimed: Claimed, text: str, longest: Longest, mark: str) -> tuple[Owed, ...]:
    """The part of an unfinished reply that people saw, with a mark that it ends there."""
    return kept_reply(claimed.session.chat, claimed.turn.id, text, longest, mark, claimed.cause.message_id)
