"""Write a home into one file, and make a home from such a file.

A backup is a tar file: `ledger.db`, `holdfast.toml` without secrets, `blobs/…`, and `manifest.json`, which
lists each of them with its size and SHA-256. It is written beside its place and moved there when complete.
"""

from __future__ import annotations

import fcntl
import hashlib
import io
import json
import os
import tarfile
import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from shutil import copyfileobj, rmtree
from tempfile import mkdtemp
from typing import IO, Any

from holdfast import __version__
from holdfast.clock import Clock, Ids
from holdfast.config.load import FILE as CONFIG
from holdfast.errors import HoldfastError, Unusable
from holdfast.gateway.files.blobs import DIGEST
from holdfast.records import dataclass
from holdfast.store import LEDGER, bring_back, copy_ledger, problems_of
from holdfast.store.sqlite.home_lock import sync_folder
from holdfast.telemetry import is_secret_name

from .swap_directory import occupied, put_in_place

BLOBS = "blobs"
MANIFEST = "manifest.json"
FORMAT, VERSION = "holdfast-backup", 1
_CHUNK = 1024 * 1024

Progress = Callable[[str, int, int], None]
"""Called with the current step, how much of it is done, and how much there is."""


class NotDone(HoldfastError):
    """A backup or a restore was refused. The words say why; nothing was changed."""


class BackupDamaged(Unusable):
    """A backup has changed since it was made."""


@dataclass(frozen=True, slots=True)
class Made:
    """A complete backup on the disk."""

    path: Path
    size: int
    schema: int
    blobs: int
    left_out: tuple[str, ...]
    """The secret keys of the configuration, which a person must set again after a restore."""


@dataclass(frozen=True, slots=True)
class Restored:
    """A home made from a backup."""

    home: Path
    made_at: int
    held: dict[str, int]
    before: Path | None
    """Where the previous home is now."""


def make_backup(home: Path, target: Path, clock: Clock, force: bool, progress: Progress) -> Made:
    """Write a backup of this home, with or without a gateway running on it; `target` may be a folder.

    An existing file is replaced only with `force`, and then at once by the complete new file.
    """
    if not (home / LEDGER).exists():
        raise NotDone(f"there is no ledger in {home}; nothing has run there yet")
    if target.is_dir():
        now = datetime.fromtimestamp(clock.now() // 1_000, UTC)
        target = target / f"holdfast-{now:%Y%m%d-%H%M%S}.tar"
    if target.exists() and not force:
        raise NotDone(f"{target} exists and was not touched; choose another name, or --force to replace it")
    if not target.parent.is_dir():
        raise NotDone(f"there is no folder {target.parent}")
    try:
        with _workshop(target.parent, target.name) as work:
            made = _write(home, target, work, clock, progress)
            _publish(work / "backup.tar", target, force)
            return made
    except OSError as error:
        raise NotDone(f"the backup could not be written: {error}; nothing was left behind") from error


def _write(home: Path, target: Path, work: Path, clock: Clock, progress: Progress) -> Made:
    # The ledger first: a blob is stored before a row names it, so none that the copy names can be missing.
    schema = copy_ledger(home / LEDGER, work / LEDGER, lambda done, of: progress("copying", done, of))
    progress("checking", 0, 1)
    if problems := problems_of(work / LEDGER, clock.now()):
        raise NotDone(
            f"the ledger is broken ({problems[0]}), so no backup was made; `holdfast verify` says more. "
            "Stop the gateway and copy the whole folder by hand to keep it as it is."
        )
    text, left_out = config_without_secrets(home / CONFIG)
    blobs = sorted(_files_below(home / BLOBS))
    with (work / "backup.tar").open("xb") as file:
        os.fchmod(file.fileno(), 0o600)
        with tarfile.open(fileobj=file, mode="w", format=tarfile.PAX_FORMAT) as tar:
            packing = _Packing(tar, clock.now() // 1000)
            packing.add(LEDGER, work / LEDGER)
            if text is not None:
                packing.add_text(CONFIG, text)
            for number, blob in enumerate(blobs, 1):
                # A person may have erased the file since it was listed.
                with suppress(FileNotFoundError):
                    packing.add(f"{BLOBS}/{blob.relative_to(home / BLOBS)}", blob)
                progress("blobs", number, len(blobs))
            manifest = {
                "format": FORMAT,
                "version": VERSION,
                "made_at": clock.now(),
                "holdfast": __version__,
                "schema": schema,
                "left_out": left_out,
                "files": packing.files,
            }
            packing.add_text(MANIFEST, json.dumps(manifest, indent=1))
        file.flush()
        os.fsync(file.fileno())
        size = file.tell()
    kept = sum(name.startswith(f"{BLOBS}/") for name in packing.files)
    return Made(target, size, schema, kept, tuple(left_out))


class _Packing:
    """Adds files to a tar, and records the size and hash of each."""

    def __init__(self, tar: tarfile.TarFile, at: int) -> None:
        self._tar = tar
        self._at = at
        self.files: dict[str, dict[str, Any]] = {}

    def add(self, name: str, path: Path) -> None:
        with path.open("rb") as file:
            self._add(name, file, os.fstat(file.fileno()).st_size)

    def add_text(self, name: str, text: str) -> None:
        data = text.encode()
        self._add(name, io.BytesIO(data), len(data))

    def _add(self, name: str, file: IO[bytes], size: int) -> None:
        info = tarfile.TarInfo(name)
        info.size, info.mode, info.mtime = size, 0o600, self._at
        hashed = _Hashing(file)
        self._tar.addfile(info, hashed)
        self.files[name] = {"size": size, "sha256": hashed.digest.hexdigest()}


class _Hashing:
    """A file that hashes its bytes as they are read."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.digest = hashlib.sha256()

    def read(self, size: int = -1) -> bytes:
        data = self._file.read(size)
        self.digest.update(data)
        return data


def _files_below(folder: Path) -> Iterator[Path]:
    """The files that are stored under their hash. Files with other names are still being written."""
    if folder.is_dir():
        for path in folder.rglob("*"):
            if DIGEST.fullmatch(path.name) and path.is_file():
                yield path


def config_without_secrets(path: Path) -> tuple[str | None, list[str]]:
    """The configuration file without its secrets, and the keys that were left out."""
    try:
        text = path.read_text(encoding="utf-8")
        tree = tomllib.loads(text)
    except FileNotFoundError:
        return None, []
    except (OSError, ValueError) as error:
        raise NotDone(f"{path} cannot be read ({error}); no backup was made") from None
    flat = dict(_flat(tree))
    secret = [name for name in flat if is_secret_name(name)]
    if not secret:
        return text, []
    kept = [f"{name} = {json.dumps(value)}\n" for name, value in flat.items() if name not in secret]
    return "".join(kept) + "".join(f"# {name}: a secret, left out\n" for name in secret), secret


def _flat(tree: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in tree.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield prefix + name, value


@contextmanager
def _workshop(parent: Path, name: str) -> Iterator[Path]:
    """A folder for unfinished files beside their place. What a killed process left is removed first."""
    prefix, suffix = f".{name}.", ".partial"
    for left in parent.glob(f"{prefix}*{suffix}"):
        with suppress(OSError), _locked(left):
            rmtree(left)
    work = Path(mkdtemp(prefix=prefix, suffix=suffix, dir=parent))
    try:
        with _locked(work):
            yield work
    finally:
        rmtree(work, ignore_errors=True)


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(handle)


def _publish(made: Path, target: Path, force: bool) -> None:
    if force:
        os.replace(made, target)
    else:
        try:
            # Unlike a rename, a link never replaces a file that another process put there meanwhile.
            os.link(made, target)
        except FileExistsError:
            raise NotDone(f"{target} exists and was not touched") from None
    sync_folder(target.parent)


def restore(source: Path, home: Path, clock: Clock, ids: Ids, force: bool, progress: Progress) -> Restored:
    """Make a home from a backup, completely or not at all. Open work in it does not resume by itself.

    Raises `HomeLocked` while a gateway runs there, `BackupDamaged`, `SchemaTooNew` or `NotDone`.
    """
    home = home.absolute()
    home.parent.mkdir(parents=True, exist_ok=True)
    with occupied(home) as full:
        if full and not force:
            raise NotDone(
                f"{home} is not empty and was not touched; choose another --home, or --force to move it aside"
            )
        try:
            with _workshop(home.parent, home.name) as work:
                new = work / "home"
                new.mkdir(mode=0o700)
                made_at = _unpack(source, new, progress)
                progress("checking", 0, 1)
                held = bring_back(new / LEDGER, clock, ids)
                _sync_all(new)
                before = home.with_name(f"{home.name}.before-{clock.now()}") if full else None
                put_in_place(new, home, before)
        except OSError as error:
            raise NotDone(f"{home} could not be made: {error}; nothing was changed") from error
    return Restored(home, made_at, held, before)


def _unpack(source: Path, new: Path, progress: Progress) -> int:
    """Unpack the files of the manifest, and check each. Returns the time at which the backup was made."""
    try:
        with tarfile.open(source, "r:") as tar:
            manifest = _manifest(tar, source)
            files = manifest["files"]
            for number, (name, told) in enumerate(files.items(), 1):
                _unpack_one(tar, name, told, new)
                progress("unpacking", number, len(files))
            return int(manifest["made_at"])
    except FileNotFoundError:
        raise NotDone(f"there is no backup at {source}") from None
    except IsADirectoryError:
        raise NotDone(f"{source} is a folder; name the backup in it") from None
    except (tarfile.TarError, EOFError, KeyError, TypeError, ValueError) as error:
        raise BackupDamaged(
            f"{source} is not a backup, or it is damaged ({error}); nothing was changed"
        ) from None


def _manifest(tar: tarfile.TarFile, source: Path) -> dict[str, Any]:
    file = tar.extractfile(MANIFEST)
    assert file is not None
    manifest: dict[str, Any] = json.load(file)
    if manifest["format"] != FORMAT or LEDGER not in manifest["files"]:
        raise ValueError("its manifest has another format")
    if manifest["version"] > VERSION:
        raise NotDone(f"{source} was made by a newer Holdfast ({manifest['holdfast']}); nothing was changed")
    return manifest


def _unpack_one(tar: tarfile.TarFile, name: str, told: dict[str, Any], new: Path) -> None:
    parts = Path(name).parts
    if name not in (LEDGER, CONFIG) and (parts[0] != BLOBS or ".." in parts or Path(name).is_absolute()):
        raise ValueError(f"{name} does not belong there")
    file = tar.extractfile(name)
    if file is None:
        raise ValueError(f"{name} is not a file")
    place = new / name
    place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    hashed = _Hashing(file)
    with place.open("xb") as out:
        os.fchmod(out.fileno(), 0o600)
        copyfileobj(hashed, out, _CHUNK)
    if place.stat().st_size != told["size"] or hashed.digest.hexdigest() != told["sha256"]:
        raise ValueError(f"{name} has changed since the backup was made")


def _sync_all(folder: Path) -> None:
    for path in (*folder.rglob("*"), folder):
        if path.is_dir():
            sync_folder(path)
        else:
            with path.open("rb") as file:
                os.fsync(file.fileno())
