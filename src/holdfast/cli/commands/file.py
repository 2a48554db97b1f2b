"""`holdfast file`: copy an attachment out of the gateway's home."""

from __future__ import annotations

import re
from pathlib import Path
from shutil import copyfile
from typing import Annotated

import typer

from holdfast.cli.options import AsJson, Home
from holdfast.cli.render.output import print_json, stdout
from holdfast.config.load import find_home
from holdfast.errors import BadRequest, NotFound
from holdfast.gateway.files.blobs import FOLDER

_DIGEST = re.compile(r"[0-9a-f]{8,64}")


def file(
    digest: Annotated[
        str, typer.Argument(metavar="HASH", help="The file's hash: its first 8 digits or more.")
    ],
    to: Annotated[
        Path | None,
        typer.Argument(metavar="PATH", help="Where to copy it. An existing file is not replaced."),
    ] = None,
    home: Home = None,
    as_json: AsJson = False,
) -> None:
    """Copy a file that a person or an agent sent. Without PATH, print where it is in the home.

    This works with and without a running gateway.
    """
    if not _DIGEST.fullmatch(digest):
        raise BadRequest.value("HASH", digest, "at least 8 digits of the file's hash, in small letters")
    found = sorted((find_home(home) / FOLDER / digest[:2]).glob(f"{digest}*"))
    # The name of a file that is still being written is more than the hash.
    kept = [one for one in found if "." not in one.name]
    if not kept:
        raise NotFound("file", digest)
    if len(kept) > 1:
        raise BadRequest(f"the hashes of {len(kept)} files begin with {digest}; give more digits")
    place = kept[0] if to is None else _copied(kept[0], to)
    if as_json:
        print_json({"path": str(place)})
    else:
        stdout().print(str(place), soft_wrap=True)


def _copied(kept: Path, to: Path) -> Path:
    target = to / kept.name if to.is_dir() else to
    if target.exists():
        raise BadRequest(f"{target} exists and was not touched; choose another name")
    try:
        copyfile(kept, target)
    except OSError as error:
        raise BadRequest(f"{target} could not be written: {error.strerror}") from None
    return target
