"""Writes constraints.txt from pip's report of what it would install: `_pin.py RUNTIME.json DEV.json`.

Each pin has the hashes of all files of that version in the package index that fit where Holdfast runs: its
Pythons, on Linux and macOS. So the same file works on every machine.
"""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path

# The index that pip itself uses: this script names none.
from pip._internal.models.index import PyPI
from pip._vendor import requests
from pip._vendor.packaging.utils import canonicalize_name

HEAD = """\
# The versions Holdfast is tested with, transitive ones included, and the hashes of their files.
# Made by scripts/pin; do not edit by hand.
"""
OURS = "holdfast-gateway"
HREF = re.compile(r"""href=["'][^"']*/([^"'/#]+)#sha256=([0-9a-f]{64})""")
FITS = re.compile(
    r"\.tar\.gz$"
    r"|-py3-none-any\.whl$|-py2\.py3-none-any\.whl$"
    r"|-(?:cp3(?:1[1-4])?|py3|cp3[0-9]-abi3|cp31[0-4]-abi3)[^-]*-[^-]*-(?:any|(?:manylinux|musllinux)[^-]*_(?:x86_64|aarch64)"
    r"|macosx_[^-]*)\.whl$"
)
PATIENCE = 60


def reported(path: str) -> dict[str, tuple[str, str]]:
    """What pip would install: version and hash by name."""
    found = {}
    for item in json.loads(Path(path).read_text(encoding="utf-8"))["install"]:
        name = canonicalize_name(item["metadata"]["name"])
        if name != OURS:
            digest = item["download_info"]["archive_info"]["hashes"]["sha256"]
            found[name] = item["metadata"]["version"], digest
    return found


def offered(name: str, version: str) -> set[str]:
    """The hashes of the fitting files of this version."""
    index = os.environ.get("PIP_INDEX_URL", PyPI.simple_url)
    page = requests.get(f"{index.rstrip('/')}/{name}/", headers={"Accept": "text/html"}, timeout=PATIENCE)
    page.raise_for_status()
    named = re.sub("[-_.]+", "[-_.]+", name)
    stem = re.compile(rf"{named}-{re.escape(version)}(?:-|\.tar\.gz$)", re.IGNORECASE)
    return {digest for file, digest in HREF.findall(page.text) if stem.match(file) and FITS.search(file)}


def lines(pins: dict[str, tuple[str, str]]) -> list[str]:
    written = []
    for name, (version, digest) in sorted(pins.items()):
        hashes = sorted({digest} | offered(name, version))
        written.append(" ".join((f"{name}=={version}", *(f"--hash=sha256:{one}" for one in hashes))))
    return written


def main(runtime: str, dev: str) -> None:
    first, all_ = reported(runtime), reported(dev)
    rest = {name: pin for name, pin in all_.items() if name not in first}
    parts = [f"{HEAD}\n# To run it.", *lines(first), "\n# To work on it.", *lines(rest), ""]
    sys.stdout.write("\n".join(parts))


if __name__ == "__main__":
    main(*sys.argv[1:])
