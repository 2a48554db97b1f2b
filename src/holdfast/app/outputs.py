"""Results of tools that are too long for a model, kept with the files that come with messages."""

from __future__ import annotations

from holdfast.model import Attachment
from holdfast.records import dataclass

from .blobs import BlobFiles

_KIND = "text/plain"


@dataclass(frozen=True, slots=True)
class OutputFiles:
    """The text first, synced and under its name, then the row that says so; whatever names it comes last."""

    blobs: BlobFiles

    async def keep(self, name: str, text: str) -> Attachment:
        kept = await self.blobs.keep(text.encode("utf-8", "replace"), _KIND)
        return Attachment(str(kept["digest"]), name, _KIND, int(kept["size"]))

    async def read(self, digest: str) -> str:
        _, data = await self.blobs.read(digest)
        return data.decode("utf-8", "replace")
