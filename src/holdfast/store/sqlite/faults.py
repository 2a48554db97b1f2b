"""What the driver's errors mean: whose fault it was and whether another try can help."""

from __future__ import annotations

import sqlite3

from holdfast.errors import ConstraintBroken, DiskFull, StoreFault, StoreUnavailable, SyncFailed

_NOT_NOW = {
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_LOCKED,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_NOMEM,
    sqlite3.SQLITE_INTERRUPT,
}
_FAILED_SYNCS = (sqlite3.SQLITE_IOERR_FSYNC, sqlite3.SQLITE_IOERR_DIR_FSYNC)


def translate(error: Exception) -> Exception:
    """Turn an error of the driver into one of Holdfast; any other error stays as it is."""
    if isinstance(error, sqlite3.IntegrityError):
        return ConstraintBroken(f"the ledger's rules forbid this write: {error}")
    if isinstance(error, MemoryError):
        return StoreUnavailable("there is not enough memory just now; nothing was kept")
    if not isinstance(error, sqlite3.Error):
        return error
    code, name = code_of(error), name_of(error)
    if code == sqlite3.SQLITE_FULL:
        return DiskFull("the disk is full; nothing was kept, and nothing is acknowledged until there is room")
    if code in _FAILED_SYNCS:
        return SyncFailed(f"the disk did not confirm a sync ({name})")
    if family_of(code) in _NOT_NOW:
        return StoreUnavailable(f"the ledger could not be used just now ({name}); nothing was kept")
    return StoreFault(f"the ledger failed: {error} ({name}); nothing was kept")


def refuse_failed_sync(error: Exception) -> None:
    """Raise `SyncFailed` if this error means one: unlike other faults of a disk, waiting does not help."""
    if code_of(error) in _FAILED_SYNCS:
        raise translate(error) from error


def is_damage(error: BaseException) -> bool:
    """Whether the file does not hold what was written to it."""
    return family_of(code_of(error)) in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


def may_be_damage(error: BaseException) -> bool:
    """Whether damaged values may have stopped this work, and not the machine or a refusal of the store."""
    return isinstance(error, (ConstraintBroken, ValueError, TypeError)) or type(error) is StoreFault


def code_of(error: BaseException) -> int:
    """SQLite's extended code; 0 for an error that the driver raises by itself."""
    return int(getattr(error, "sqlite_errorcode", 0))


def family_of(code: int) -> int:
    """The primary code: it also covers errors of a newer SQLite that this Python cannot name."""
    return code & 0xFF


def name_of(error: Exception) -> str:
    """SQLite's name of the error, or the name of its Python class (out of memory has only that)."""
    return str(getattr(error, "sqlite_errorname", type(error).__name__))
