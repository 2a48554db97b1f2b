"""When a conversation is larger than a model can read: what the gateway sums up, and what it shortens.

It sums up ended turns, oldest first; the last of them stay as they are while there is room, and the open
turn is never summed up. If the open turn alone is too large, its older tool results are shortened, but only
in the view: the record keeps them whole.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby

from holdfast.model import Entry, Summed, TurnId
from holdfast.records import dataclass

from .markers import MARKERS, read_markers, visible_entries
from .views import Message, Role, view

NEAR = 0.85
"""The share of the room at which the gateway sums up: below 1, because sizes are estimates."""
KEPT = 0.25
"""The share of the room for earlier turns that stay as they are."""
AT_ONCE = 0.6
"""The largest share that is summed up at once: the model that does it has to read it."""
_PER_TOKEN = 4
_PER_MESSAGE = 8
_PER_PICTURE = 1_500
_LONG = 2_000
"""Characters of the longest result that is never shortened."""
_ENDS = 800
"""Characters that stay at the beginning and at the end of a shortened result."""

INSTRUCTIONS = (
    "You keep the memory of an assistant. Write what it must still know when it can no longer see the "
    "conversation itself: what the person wants, what was decided and why, what was done with which "
    "result (names, paths, numbers as they are), what failed or is unknown, what is still to be done. State "
    "facts; do not answer the person, do not call tools, do not invent anything."
)
ASK = "Sum up this conversation."
HEAD = "What was said and done before, summed up (the person has not seen this summary):"


@dataclass(frozen=True, slots=True)
class ToSum:
    """A part of a conversation that a summary may replace."""

    first: int
    last: int
    at: int
    """When its last entry was committed."""
    text: str
    """The text for the model that sums it up."""


def tokens_of(messages: Sequence[Message]) -> int:
    """An estimate of the tokens of these messages."""
    return sum(map(_tokens, messages))


def _tokens(message: Message) -> int:
    size = len(message.text) + sum(len(call.name) + len(call.arguments) for call in message.calls)
    size += len(message.opaque or "") + sum(map(len, message.files))
    return size // _PER_TOKEN + _PER_MESSAGE + _PER_PICTURE * len(message.attachments)


def to_sum_up(entries: Sequence[Entry], turn: TurnId, room: int) -> ToSum | None:
    """The oldest whole turns of the view before the open turn; None when all are summed up already."""
    begins = next(
        (one.seq for one in entries if one.turn == turn and not isinstance(one.body, MARKERS)), None
    )
    seen = visible_entries(entries, read_markers(entries))
    earlier = [entry for entry in seen if begins is None or _last(entry) < begins]
    groups = [list(group) for _, group in groupby(earlier, key=_whose)]
    sizes = [tokens_of(view(group).messages) for group in groups]
    kept, left = len(groups), int(room * KEPT)
    while kept and sizes[kept - 1] <= left:
        kept -= 1
        left -= sizes[kept]
    chosen = _as_much_as_fits(sizes[:kept], int(room * AT_ONCE))
    parts = [entry for group in groups[:chosen] for entry in group]
    if all(isinstance(entry.body, Summed) for entry in parts):
        return None
    last = max(_last(entry) for entry in parts)
    at = next(entry.at for entry in reversed(entries) if entry.seq <= last)
    return ToSum(entries[0].seq, last, at, _text(view(parts).messages, room))


def _whose(entry: Entry) -> str:
    return "" if isinstance(entry.body, Summed) else entry.turn


def _last(entry: Entry) -> int:
    """The last place that an entry covers; a summary never covers entries after itself."""
    return min(entry.body.last, entry.seq - 1) if isinstance(entry.body, Summed) else entry.seq


def _as_much_as_fits(sizes: Sequence[int], room: int) -> int:
    """How many of the first ones fit; at least two, because the first may be an earlier summary."""
    for count in range(2, len(sizes)):
        if sum(sizes[: count + 1]) > room:
            return count
    return len(sizes)


def summed(part: ToSum, text: str) -> Summed | None:
    """The summary that replaces this part; None if it is empty or longer than the part."""
    words = f"{HEAD}\n{text.strip()}"
    if not text.strip() or len(words) >= len(part.text):
        return None
    return Summed(part.first, part.last, words, part.at)


def _text(messages: Sequence[Message], room: int) -> str:
    lines = "\n\n".join(line for message in messages for line in _lines(message))
    return f"{ASK}\n\n{_shortened(lines, int(room * AT_ONCE) * _PER_TOKEN)}"


def _lines(message: Message) -> Iterator[str]:
    if message.role is Role.TOOL:
        yield f"Result ({message.state}): {_shortened(message.text, _LONG)}"
        return
    who = {Role.USER: "Person", Role.ASSISTANT: "Assistant"}.get(message.role, "Note")
    if message.text.strip():
        yield f"{who}: {message.text}"
    for file in message.attachments:
        yield f"{who} sent a file: {file.name} ({file.media_type})"
    for call in message.calls:
        yield f"Assistant called {call.name} {_shortened(call.arguments, _LONG)}"


def made_to_fit(messages: Sequence[Message], room: int) -> tuple[Message, ...]:
    """The messages with long tool results shortened, oldest first, until they fit or none is left."""
    fitted = list(messages)
    over = tokens_of(messages) - room
    for at, message in enumerate(messages):
        if over <= 0:
            break
        if message.role is Role.TOOL and len(message.text) > _LONG:
            fitted[at] = replace(message, text=_shortened(message.text, _LONG))
            over -= _tokens(message) - _tokens(fitted[at])
    return tuple(fitted)


def _shortened(text: str, most: int) -> str:
    if len(text) <= most:
        return text
    ends = min(_ENDS, most // 2)
    out = len(text) - 2 * ends
    words = (
        f"[{out} characters are left out here: more than can be read at once. Ask again for a smaller part.]"
    )
    return f"{text[:ends]}\n{words}\n{text[-ends:]}"
