"""Output of tools that is too large for the ledger: long results and files for people."""

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
    """Keeps a text as a synced file first, then its row; a commit may name it only after both."""

    blobs: BlobFiles
    secrets: Secrets = no_secrets
    """A file that holds one of these secrets is refused. Results arrive here already without secrets."""

    async def keep(self, name: str, text: str) -> Attachment:
        kept = await self.blobs.keep(text.encode("utf-8", "replace"), _KIND)
        return Attachment(str(kept["digest"]), name, _KIND, int(kept["size"]))

    async def keep_file(self, name: str, media_type: str, content: bytes) -> Attachment:
        if await asyncio.to_thread(self.secrets().are_in, content):
            raise ToolFailed(
                "the file was not sent: it holds a secret of this gateway (a key, a token, or a variable it "
                "was given); remove the secret from the file first"
            )
        kept = await self.blobs.keep(content, media_type)
        return Attachment(str(kept["digest"]), name, str(kept["media_type"]), int(kept["size"]))

    async def read(self, digest: str) -> str:
        _, data = await self.blobs.read(digest)
        return data.decode("utf-8", "replace")
