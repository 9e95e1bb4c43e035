"""
A directory that processes on one machine share, on diskcache.

No connection is kept open between two questions: a fork inherits none, a deleted or damaged store
is noticed, and the last one to leave folds the write-ahead log into the database. What changed can
then be told from one file's stamp: the log's while there is one, else the database's.
Source: spec guard §3 "diskcache store".
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from structguard.memo.damage import DATABASE, OURS, judge
from structguard.memo.record import VERSION
from structguard.memo.store import StoreFailure, take_lease

if TYPE_CHECKING:
    from structguard.memo.textcache import TextCache

T = TypeVar("T")

LIMIT = 10_000  # entries
SETTLED = 0.1  # seconds; a file written less than that ago may change again under the same stamp

_ENTRY = f"v{VERSION}:"  # another version's entries live beside ours, untouched
_LEASE = f"lease-v{VERSION}:"


class DiskStore:
    """Opened when first asked something; its owner asks one thing at a time."""

    blocking = True

    def __init__(self, path: Path, *, limit: int = LIMIT) -> None:
        self.path = path
        self._limit = limit
        self._database = str(path / DATABASE)
        self._log = f"{self._database}-wal"
        self._cache: TextCache | None = None
        self._inode = 0

    @property
    def name(self) -> str:
        """The URL that opens it."""
        return f"disk:{self.path}"

    def stamp(self) -> object:
        """One `os.stat`, two when nobody has the store open; None when there is no store."""
        for file in (self._log, self._database):
            with suppress(OSError):
                info = os.stat(file)  # noqa: PTH116  a Path would double the cost
                settled = abs(time.time() - info.st_mtime) > SETTLED
                return (file, info.st_ino, info.st_mtime_ns, info.st_size, settled)
        return None

    def read(self) -> Mapping[str, str]:
        """All entries by key, the least recently written first."""
        texts = self._ask(lambda cache: cache.texts(_ENTRY))
        return {key.removeprefix(_ENTRY): text for key, text in texts.items()}

    def swap(self, key: str, old: str | None, new: str) -> str | None:
        """Put `new` where `old` stands, and keep the number of entries within bounds."""

        def work(cache: TextCache) -> str | None:
            found = _swap(cache, _ENTRY + key, old, new)
            if found is None:
                cache.trim(_ENTRY, self._limit)
            return found

        return self._write(work)

    def drop(self, keys: Iterable[str]) -> int:
        """Remove entries and their leases, all in one step."""
        names = tuple(keys)

        def work(cache: TextCache) -> int:
            for key in names:
                cache.remove(_LEASE + key)
            return sum(cache.remove(_ENTRY + key) for key in names)

        return self._write(work)

    def lease(self, key: str, seconds: float, now: float) -> float:
        """Take the key's lease, or the seconds somebody still holds it."""
        return self._write(
            lambda cache: take_lease(
                lambda old, new: _swap(cache, _LEASE + key, old, new), seconds=seconds, now=now
            )
        )

    def release(self, key: str) -> None:
        """End the key's lease."""
        self._write(lambda cache: cache.remove(_LEASE + key))

    def close(self) -> None:
        """Nothing is open."""

    def _write(self, work: Callable[[TextCache], T]) -> T:
        def transaction(cache: TextCache) -> T:
            with cache.transaction():
                return work(cache)

        return self._ask(transaction)

    def _ask(self, work: Callable[[TextCache], T]) -> T:
        """Open, ask, close; whatever goes wrong is a StoreFailure."""
        from structguard.memo.textcache import patiently  # noqa: PLC0415  loads diskcache

        opened = self._cache is not None
        inode = 0
        try:
            inode = self._inode_now()
            cache = self._cache
            if cache is None or inode != self._inode:
                cache = self._open()
            try:
                return patiently(lambda: work(cache))
            finally:
                cache.close()
        except StoreFailure:
            raise
        except Exception as error:
            raise judge(error, self.path, opened=opened, inode=inode) from error

    def _open(self) -> TextCache:
        from structguard.memo.textcache import TextCache  # noqa: PLC0415  loads diskcache

        if str(self.path).startswith("~"):
            raise StoreFailure("there is no home directory to store it in", benign=True)
        self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._make_private()
        self._cache = TextCache(str(self.path))
        self._inode = self._inode_now()
        return self._cache

    def _make_private(self) -> None:
        """Close an older directory of ours to others; never one that holds anything else."""
        mode = stat.S_IMODE(self.path.stat().st_mode)
        if mode & 0o077 and all(name.startswith(OURS) for name in os.listdir(self.path)):  # noqa: PTH208
            self.path.chmod(0o700)

    def _inode_now(self) -> int:
        """Which file is the database now; 0 before there is one."""
        try:
            return os.stat(self._database).st_ino  # noqa: PTH116
        except FileNotFoundError:
            if self._cache is None:
                return 0
            raise


def _swap(cache: TextCache, key: str, old: str | None, new: str) -> str | None:
    found = cache.text(key)
    if found == old:
        cache.put(key, new)
    return found
