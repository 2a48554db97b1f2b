"""Send a file to a person: its bytes are kept first; the commit that settles the call owes it."""

from __future__ import annotations

import asyncio

from holdfast.errors import NotFound, StoreClosed, StoreFault, SyncFailed
from holdfast.model import CallRecord, CallState, Claimed, Owed, Returned
from holdfast.policy.delivery.files import size_of
from holdfast.policy.delivery.parts import Longest, parts_with_file
from holdfast.store import Step
from holdfast.tools import SendFile, ToolFailed
from holdfast.turns.tools.long_results import LongResults


async def send_file(
    outputs: LongResults, claimed: Claimed, longest: Longest, wanted: SendFile, call: CallRecord
) -> Step:
    """Owe the file under the call's key: a repeat of the call after a crash owes it only once."""
    try:
        file = await outputs.keep_file(wanted.name, wanted.media_type, wanted.content)
    except asyncio.CancelledError:
        # The outcome is certain: the file is owed only by the commit that settles this call.
        raise ToolFailed("the turn was stopped before the file was kept; nothing was sent") from None
    except (SyncFailed, StoreClosed):
        raise
    except NotFound:
        raise ToolFailed("no files can be sent here") from None
    except StoreFault as fault:
        raise ToolFailed(f"nothing was sent: the file could not be kept ({fault})") from fault
    chat = claimed.session.chat
    owed = Owed(
        chat,
        f"file:{call.key}",
        parts_with_file(wanted.caption, longest(chat)),
        reply_to=claimed.cause.message_id,
        files=(file,),
    )
    text = f"{file.name} ({size_of(file.size)}) is sent to the person, as it is now. Do not send it again."
    return Step((Returned(call.id, CallState.DONE, text),), owe=(owed,))
