"""Files that are attached to messages: the ledger has a row for each, the bytes are in a file beside it."""

from __future__ import annotations

from collections.abc import Iterable

from holdfast.errors import NotFound
from holdfast.store.contract import Blob
from holdfast.store.verbs.tx import Read, Tx


def keep_blob(tx: Tx, digest: str, size: int, media_type: str) -> bool:
    if tx.one("bring_blob", digest=digest) is not None:
        return False
    tx.run("add_blob", digest=digest, size=size, media_type=media_type, now=tx.now)
    return True


def bring_blob(tx: Tx, digest: str) -> Blob:
    row = tx.one("bring_blob", digest=digest)
    if row is None:
        raise NotFound("attachment", digest)
    return Blob(*row)


def blob(read: Read, digest: str) -> Blob:
    row = read.one("blob", digest=digest)
    if row is None:
        raise NotFound("attachment", digest)
    return Blob(*row)


def known_blobs(read: Read, digests: Iterable[str]) -> frozenset[str]:
    return frozenset(digest for digest in digests if read.one("blob", digest=digest) is not None)
