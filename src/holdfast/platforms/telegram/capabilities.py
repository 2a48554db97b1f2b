"""What Telegram's Bot API can do, as its documentation says."""

from __future__ import annotations

from holdfast.platforms.base import Ack, Capabilities
from holdfast.platforms.pace import Rate
from holdfast.policy.settings import DAY

CAPABILITIES = Capabilities(
    Ack.OFFSET,
    edit=True,
    threads=True,
    buttons=True,
    longest=4096,
    typing=4.0,
    drafts=True,
    catch_up=DAY,
    chat_rate=Rate(1),
    account_rate=Rate(30),
    files_in=20_000_000,
    newcomers=True,
)
