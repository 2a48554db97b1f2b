"""When a conversation grows larger than a model can read: what is summed up, and what is shown shortened.

Turns that are over are summed up, oldest first; the last of them stay as they are while there is room, and
the open turn is never touched. If it is too large by itself, its older tool results are shown shortened: in
the view alone, the record keeps them whole.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby

from holdfast.model import Entry, Summed, TurnId
from holdfast.records import dataclass

from .markers import MARKERS, read_markers, shown
from .views import Message, Role, view

NEAR = 0.85
"""So full may it be before it is summed up: the estimate is one."""
KEPT = 0.25
"""So much of it may be earlier turns that stay as they are."""
AT_ONCE = 0.6
"""So much of it is summed up at once, at most: whoever does it has to read it."""
_PER_TOKEN = 4
_PER_MESSAGE = 8
_PER_PICTURE = 1_500
_LONG = 2_000
"""Characters of a result that is left as it is, where results are shortened."""
_ENDS = 800
"""Characters of its beginning and of its end that are left of a longer one."""

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
    """A part of a conversation that a summary may stand for."""

    first: int
    last: int
    at: int
    """When the last of it was committed."""
    text: str
    """What whoever sums it up is shown."""


def tokens_of(messages: Sequence[Message]) -> int:
    """About how many tokens a model reads in them."""
    return sum(map(_tokens, messages))


def _tokens(message: Message) -> int:
    size = len(message.text) + sum(len(call.name) + len(call.arguments) for call in message.calls)
    size += len(message.opaque or "") + sum(map(len, message.files))
    return size // _PER_TOKEN + _PER_MESSAGE + _PER_PICTURE * len(message.attachments)


def to_sum_up(entries: Sequence[Entry], turn: TurnId, room: int) -> ToSum | None:
    """The oldest of what is shown before the open turn, as whole turns; None when nothing is left of it."""
    begins = next(
        (one.seq for one in entries if one.turn == turn and not isinstance(one.body, MARKERS)), None
    )
    seen = shown(entries, read_markers(entries))
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
    """The last that it stands for; a summary stands for nothing that came after it, whatever it says."""
    return min(entry.body.last, entry.seq - 1) if isinstance(entry.body, Summed) else entry.seq


def _as_much_as_fits(sizes: Sequence[int], room: int) -> int:
    """How many of them, from the first on; always two if there are: one may be an earlier summary."""
    for count in range(2, len(sizes)):
        if sum(sizes[: count + 1]) > room:
            return count
    return len(sizes)


def summed(part: ToSum, text: str) -> Summed | None:
    """The summary that stands for that part; None if it is empty or longer than what it stands for."""
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
    """The same with long tool results shortened, oldest first, until it fits or none is left."""
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
