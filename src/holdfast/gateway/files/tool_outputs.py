"""What tools leave that a ledger does not hold: long results and files for people, kept with other files."""

from __future__ import annotations

import asyncio

from holdfast.model import Attachment
from holdfast.records import dataclass
from holdfast.telemetry import Secrets, no_secrets
from holdfast.tools import ToolFailed

from .blobs import BlobFiles

_KIND = "text/plain"


@dataclass(frozen=True, slots=True)
class OutputFiles:
    """The text first, synced and under its name, then the row that says so; whatever names it comes last."""

    blobs: BlobFiles
    secrets: Secrets = no_secrets
    """A file that holds one of these is not kept. Results come without them."""

    async def keep(self, name: str, text: str) -> Attachment:
        kept = await self.blobs.keep(text.encode("utf-8", "replace"), _KIND)
        return Attachment(str(kept["digest"]), name, _KIND, int(kept["size"]))

    async def keep_file(self, name: str, media_type: str, content: bytes) -> Attachment:
        if await asyncio.to_thread(self.secrets().are_in, content):
            raise ToolFailed(
                "the file holds a secret of this gateway (a key, a token, or a variable it was given) and "
                "was not sent; remove the secret from the file first"
            )
        kept = await self.blobs.keep(content, media_type)
        return Attachment(str(kept["digest"]), name, str(kept["media_type"]), int(kept["size"]))

    async def read(self, digest: str) -> str:
        _, data = await self.blobs.read(digest)
        return data.decode("utf-8", "replace")
