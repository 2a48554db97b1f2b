"""`/allowed`: lists the rules that owners stored for this chat with "always allow this", and revokes them."""

from __future__ import annotations

from holdfast.errors import WrongState
from holdfast.model import AllowedCall
from holdfast.policy.ages import age
from holdfast.policy.consent.allowed_calls import described
from holdfast.policy.consent.card import one_line
from holdfast.policy.intake.access import Denied, still_allowed

from . import replies
from .command_context import CommandCall, CommandContext, done, refuse

REVOKE = "revoke"
_NONE = (
    "No rule is stored for this chat. An owner stores one with “always allow this”, on the card that asks "
    "for permission."
)
_HOW = f"/allowed {REVOKE} NUMBER revokes a rule (owners)."
_LONGEST_RULE = 200
"""How many characters of a rule a list shows."""


async def allowed(context: CommandContext, asked: CommandCall) -> None:
    """List this chat's rules, or revoke one of them."""
    word, _, number = asked.command.args.partition(" ")
    if not word:
        await _list(context, asked)
    elif word.lower() != REVOKE or not (number.isascii() and number.isdigit()):
        text = f"I do not know {replies.excerpt(asked.command.args)}; nothing was changed. {_HOW}"
        await refuse(context, asked, "unknown_rule", text)
    elif not asked.owner:
        await refuse(context, asked, "not_owner", "Not done: only an owner may revoke a rule.")
    else:
        await _revoke(context, asked, int(number))


async def _list(context: CommandContext, asked: CommandCall) -> None:
    rules = await context.store.allowed_calls(asked.row.place.address)
    lines = [_line(context, rule) for rule in rules]
    text = "\n".join(["Calls that run here without a question:", *lines, _HOW]) if lines else _NONE
    await done(context, asked, text)


def _line(context: CommandContext, rule: AllowedCall) -> str:
    now = context.clock.now()
    who = still_allowed(rule.allowed_by, context.access(), now)
    is_owner = not isinstance(who, Denied) and who.owner
    given = f"allowed by {rule.allowed_by} {replies.span(age(now, rule.allowed_at))} ago"
    counts = "" if is_owner else ", who is no longer an owner, so the rule does not count"
    return f"{rule.id}. {replies.excerpt(one_line(described(rule)), _LONGEST_RULE)}, {given}{counts}."


async def _revoke(context: CommandContext, asked: CommandCall, number: int) -> None:
    row, chat = asked.row, asked.row.place.address
    told = asked.reply(f"Rule {number} is revoked. From now on I ask again before such a call.")
    try:
        await context.store.revoke_allowed_call(number, row.sender, chat, row.position, told)
    except WrongState as refusal:
        if not refusal.what.startswith("rule"):
            raise
        text = f"Not done: no rule {number} is in force in this chat. /allowed lists the rules."
        await refuse(context, asked, "unknown_rule", text)
