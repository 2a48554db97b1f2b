"""Sends files to people: a picture as a photo if Telegram accepts it, any other file as a document."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from holdfast.model import Attachment
from holdfast.policy.delivery.files import more_time

from .client import WITHIN, CallRefused, Client

Stored = Callable[[str], Path]
"""Returns the path of the bytes with this hash, if they are stored."""

LARGEST_UPLOAD = 50_000_000
"""The most bytes of a file that a bot may send."""
_LARGEST_PHOTO = 10_000_000
_PHOTOS = frozenset(("image/jpeg", "image/png", "image/webp"))
_NO_PHOTO = ("photo_", "image_process_failed", "for a photo")


def nothing_stored(digest: str) -> Path:
    """No path: for a bot without stored files."""
    return Path(os.devnull)


def is_photo(files: tuple[Attachment, ...]) -> bool:
    """Whether to send it as a photo first; Telegram decides whether its size in pixels is allowed."""
    return any(file.media_type in _PHOTOS and file.size <= _LARGEST_PHOTO for file in files)


def is_no_photo(refusal: CallRefused) -> bool:
    """Whether Telegram may take the same picture as a document."""
    said = refusal.words.lower()
    return any(words in said for words in _NO_PHOTO)


async def send_file(
    client: Client, request: Mapping[str, object], file: Attachment, path: Path, as_photo: bool
) -> Any:
    """Send a file straight from the disk; raises as `Client.call` does."""
    method, name = ("sendPhoto", "photo") if as_photo else ("sendDocument", "document")
    within = WITHIN + round(more_time((file,)))
    return await client.call(method, {**request, name: client.upload(path, file.name)}, within)
