"""
Why a store on disk failed, and what to do with it: one judgement over the error and the files.

A damaged store is moved aside, never deleted; a directory that cannot be written is no fault.
Source: spec guard §3 "diskcache store".
"""

from __future__ import annotations

import errno
import os
import sqlite3
import time
from collections import deque
from contextlib import closing, suppress
from pathlib import Path

from structguard.memo.store import StoreFailure

DATABASE = "cache.db"
OURS = (DATABASE, "corrupt-")  # what a store's directory may hold

_READ_ONLY = frozenset({errno.EROFS, errno.EACCES, errno.EPERM})
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_BUSY_CODES = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED})


def judge(error: Exception, path: Path, *, opened: bool, inode: int) -> StoreFailure:
    """
    The failure of a store at `path`.

    `opened`: it had worked in this process before; `inode`: the database file that was asked.
    """
    cause = _cause(error)
    code = _code(cause)
    number = cause.errno if isinstance(cause, OSError) else None
    database = path / DATABASE
    if code in _BUSY_CODES:
        return StoreFailure("another process has kept it locked for too long", lasting=False)
    if opened and number not in _READ_ONLY and not _is_there(database):
        return StoreFailure("it was deleted while in use")
    if code == sqlite3.SQLITE_FULL or number in _FULL:
        return StoreFailure(f"the disk is full: {cause}")
    if code == sqlite3.SQLITE_READONLY or number in _READ_ONLY or _read_only(path):
        return StoreFailure(f"it cannot be written: {cause}", benign=not opened)
    if _damaged(cause, database, opened=opened):
        return StoreFailure(f"it is damaged: {cause}", moved_to=_move_aside(path, inode))
    return StoreFailure(f"it cannot be used: {cause}")


def _cause(error: Exception) -> BaseException:
    """The database's own error: the library hides it behind a Timeout."""
    if isinstance(error, sqlite3.Error | OSError) or error.__context__ is None:
        return error
    return error.__context__


def _code(error: BaseException) -> int | None:
    code = getattr(error, "sqlite_errorcode", None)  # not on errors of the Python module itself
    return code & 0xFF if isinstance(code, int) else None


def _read_only(path: Path) -> bool:
    """Whether the directory, or the nearest one that exists above it, takes no files."""
    while not _is_there(path) and path != path.parent:
        path = path.parent
    return path.is_dir() and not os.access(path, os.W_OK | os.X_OK)


def _is_there(path: Path) -> bool:
    """`Path.exists` raises where a directory above may not be entered."""
    return os.path.exists(path)  # noqa: PTH110


def _damaged(cause: BaseException, database: Path, *, opened: bool) -> bool:
    """Whether the file is no store of ours: asked of the file, not guessed from the error."""
    if not _is_there(database):
        return False
    if not isinstance(cause, sqlite3.Error | OSError):
        return not opened  # settings that the library cannot start with
    try:
        with closing(sqlite3.connect(database, timeout=1.0)) as connection:
            verdict: object = connection.execute("PRAGMA quick_check(1)").fetchone()
            rows = connection.execute("SELECT key, value, mode, raw, store_time FROM Cache")
            deque(rows, maxlen=0)  # each text is read: quick_check sees no flipped bit in one
            connection.execute("SELECT key, value FROM Settings LIMIT 1")
    except sqlite3.Error:
        return True
    return verdict != ("ok",)


def _move_aside(path: Path, inode: int) -> str | None:
    """Rename the database and its logs; None if they are gone, replaced or cannot be moved."""
    target = f"corrupt-{time.strftime('%Y%m%dT%H%M%S')}-{os.getpid()}.db"
    try:
        if (path / DATABASE).stat().st_ino != inode:
            return None  # somebody else has moved it already
        (path / DATABASE).replace(path / target)
    except OSError:
        return None
    for suffix in ("-wal", "-shm"):
        with suppress(OSError):
            (path / (DATABASE + suffix)).replace(path / (target + suffix))
    return str(path / target)
