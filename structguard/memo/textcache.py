"""
diskcache, held to plain text: nothing here pickles or unpickles, whatever the database file holds.

The only file that touches the (untyped) library; imported when a store on disk is first asked
something. Source: spec guard §3 "diskcache store".
"""

# pyright: basic
# ruff: noqa: ARG002  signatures are the library's
from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, TypeVar, cast

import diskcache

T = TypeVar("T")
Execute = Callable[..., sqlite3.Cursor]

if TYPE_CHECKING:  # what is used of the library, which has no types

    class _Disk:
        def __init__(self, directory: str) -> None: ...

    class _Cache:
        _sql: Execute
        _disk: _Disk

        def __init__(self, directory: str, **settings: object) -> None: ...
        def get(self, key: str) -> object: ...
        def set(self, key: str, value: object) -> bool: ...
        def delete(self, key: str) -> bool: ...
        def transact(self) -> AbstractContextManager[None]: ...
        def close(self) -> None: ...

else:
    _Disk, _Cache = diskcache.Disk, diskcache.Cache

TIMEOUT = 1.0  # seconds to wait for another process's lock
POLL = 0.005  # seconds between two tries: SQLite's own back-off starves a waiter

Timeout: type[Exception] = diskcache.Timeout


class TextDisk(_Disk):
    """Keys and values are str; anything else is not ours and reads as None."""

    def get(self, key: object, raw: object) -> object:
        """The key; never unpickled."""
        return key if raw and isinstance(key, str) else None

    def store(
        self, value: object, read: object, key: object = None
    ) -> tuple[int, int, None, object]:
        """(size, mode, file name, value) of a str."""
        if not isinstance(value, str):
            raise TypeError(f"the memo stores text, got {type(value).__name__}")
        return 0, diskcache.core.MODE_RAW, None, value

    def fetch(self, mode: object, filename: object, value: object, read: object) -> str | None:
        """The text; never unpickled, never a file."""
        return value if mode == diskcache.core.MODE_RAW and isinstance(value, str) else None


class TextCache(_Cache):
    """A cache of texts that evicts nothing by itself and waits at most TIMEOUT for a lock."""

    def __init__(self, directory: str) -> None:
        try:
            super().__init__(
                directory,
                timeout=POLL,  # pyright: ignore[reportArgumentType]  handed on to sqlite3
                disk=TextDisk,
                eviction_policy="none",
                statistics=0,
                tag_index=0,
                cull_limit=0,
                sqlite_mmap_size=0,  # a mapped file that somebody truncates kills the process
            )
        except BaseException:
            self.close()
            raise

    @property
    def _sql_retry(self) -> Execute:
        """The library waits up to 60 s for each statement that sets up the database."""
        execute = self._execute
        return lambda *args: patiently(lambda: execute(*args))

    def transaction(self) -> AbstractContextManager[None]:
        """All or nothing; writers one after the other."""
        return self.transact()

    def text(self, key: str) -> str | None:
        """The text of one key."""
        return cast("str | None", self.get(key))

    def put(self, key: str, text: str) -> None:
        """Set the text of one key."""
        self.set(key, text)

    def remove(self, key: str) -> bool:
        """Whether there was such a key."""
        return bool(self.delete(key))

    def texts(self, prefix: str) -> dict[str, str]:
        """All texts whose keys begin so, the least recently written first."""
        rows = self._execute(
            "SELECT key, value FROM Cache WHERE key >= ? AND key < ? AND raw = 1 AND mode = ?"
            " AND typeof(value) = 'text' ORDER BY store_time, rowid",
            (*_range(prefix), diskcache.core.MODE_RAW),
        )
        return dict(rows.fetchall())

    def trim(self, prefix: str, limit: int) -> None:
        """Drop the least recently written of the keys that begin so, beyond the limit."""
        counted = self._execute(
            "SELECT COUNT(*) FROM Cache WHERE key >= ? AND key < ?", _range(prefix)
        )
        ((count,),) = counted.fetchall()
        if count > limit:
            self._execute(
                "DELETE FROM Cache WHERE rowid IN (SELECT rowid FROM Cache"
                " WHERE key >= ? AND key < ? ORDER BY store_time, rowid LIMIT ?)",
                (*_range(prefix), count - limit),
            )

    @property
    def _execute(self) -> Execute:
        return self._sql


def _range(prefix: str) -> tuple[str, str]:
    return prefix, prefix[:-1] + chr(ord(prefix[-1]) + 1)


def is_busy(error: BaseException) -> bool:
    """Whether somebody else held the lock."""
    cause = error.__context__ if isinstance(error, Timeout) else error
    code = getattr(cause, "sqlite_errorcode", None)
    return code is not None and code & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def patiently(ask: Callable[[], T]) -> T:
    """Ask until nobody holds the lock, for TIMEOUT seconds; then the last error."""
    deadline = time.monotonic() + TIMEOUT
    while True:
        try:
            return ask()
        except (sqlite3.OperationalError, Timeout) as error:
            if not is_busy(error) or time.monotonic() >= deadline:
                raise
        _pause.wait(POLL)


_pause = threading.Event()  # never set: a wait that needs no clock
