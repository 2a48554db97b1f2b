"""What tools leave that a ledger does not hold: long results and files for people, kept with other files."""

from __future__ import annotations

from holdfast.model import Attachment
from holdfast.records import dataclass
from holdfast.telemetry import Secrets, no_secrets

from .blobs import BlobFiles

_KIND = "text/plain"


@dataclass(frozen=True, slots=True)
class OutputFiles:
    """The text first, synced and under its name, then the row that says so; whatever names it comes last."""

    blobs: BlobFiles
    secrets: Secrets = no_secrets
    """What is removed from texts before they are kept; other files are kept as they are."""

    async def keep(self, name: str, text: str) -> Attachment:
        kept = await self.blobs.keep(text.encode("utf-8", "replace"), _KIND)
        return Attachment(str(kept["digest"]), name, _KIND, int(kept["size"]))

    async def keep_file(self, name: str, media_type: str, content: bytes) -> Attachment:
        kept = await self.blobs.keep(self._masked(content), media_type)
        return Attachment(str(kept["digest"]), name, str(kept["media_type"]), int(kept["size"]))

    def _masked(self, content: bytes) -> bytes:
        try:
            text = content.decode()
        except UnicodeDecodeError:
            return content
        return self.secrets().without(text).encode()

    async def read(self, digest: str) -> str:
        _, data = await self.blobs.read(digest)
        return data.decode("utf-8", "replace")
