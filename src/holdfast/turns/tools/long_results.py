"""Results that are too long for a model: kept whole beside the ledger, shown with beginning and end."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Protocol

from holdfast.errors import HoldfastError, NotFound, Report
from holdfast.model import Attachment, CallRecord, CallState, Returned
from holdfast.policy.turn.synthetic_results import part_of, shortened
from holdfast.store import Step
from holdfast.tools import ReadOutput, ToolFailed


class LongResults(Protocol):
    """Keeps long results by the hash of their text."""

    async def keep(self, name: str, text: str) -> Attachment:
        """Keep the text durably before this returns: after that a commit may name it."""
        ...

    async def keep_file(self, name: str, media_type: str, content: bytes) -> Attachment:
        """Keep a file for a person in the same way; `ToolFailed` if it holds a known secret."""
        ...

    async def read(self, digest: str) -> str:
        """The whole text; raises `NotFound` when it is not kept."""
        ...


class Nowhere:
    """Keeps nothing: long results are only shortened."""

    async def keep(self, name: str, text: str) -> Attachment:
        raise NotFound("place for long results", name)

    async def keep_file(self, name: str, media_type: str, content: bytes) -> Attachment:
        raise NotFound("place for files", name)

    async def read(self, digest: str) -> str:
        raise NotFound("output", digest)


async def bounded(
    step: Step, call: CallRecord, outputs: LongResults, most: int, reader: str | None, report: Report
) -> Step:
    """The same step, with every result shortened to what a model may see.

    `reader` is the tool with which the model can read the rest, if it has one.
    """
    append = [
        await _short(body, call, outputs, most, reader, report)
        if isinstance(body, Returned) and len(body.text) > most
        else body
        for body in step.append
    ]
    return replace(step, append=tuple(append))


async def _short(
    body: Returned, call: CallRecord, outputs: LongResults, most: int, reader: str | None, report: Report
) -> Returned:
    keeping = asyncio.ensure_future(outputs.keep(f"output of {call.name}", body.text))
    file: Attachment | None = None
    try:
        # A cut must not break this off: the tool has done its work, and only its result says so.
        file = await asyncio.shield(keeping)
    except HoldfastError as fault:
        report(f"keeping the output of {call.name}", fault)
    except asyncio.CancelledError:
        keeping.cancel()
    digest = file.digest if file else None
    files = (file,) if file else ()
    return replace(body, text=shortened(body.text, most, digest, reader), files=files)


async def read_output(outputs: LongResults, wanted: ReadOutput, call: CallRecord, most: int) -> Step:
    """Show some lines of a long result."""
    try:
        text = await outputs.read(wanted.output)
    except NotFound:
        raise ToolFailed(f"no output is kept under the name {wanted.output!r}") from None
    return Step((Returned(call.id, CallState.DONE, part_of(text, wanted.first_line, wanted.lines, most)),))
