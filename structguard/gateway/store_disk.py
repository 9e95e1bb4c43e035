"""
Responses in a directory that the workers of one machine share, on diskcache held to plain text.

One thread owns the connection. A damaged database is moved aside, a deleted one is made anew; both
are told to the caller who met them. Source: spec gateway "Requests", "Scale and faults".
"""

# pyright: basic
from __future__ import annotations

import os
import stat
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from structguard.gateway.clerk import Clerk
from structguard.gateway.stored import Stored, StoreTrouble, decode, encode, fits, key_of
from structguard.memo.damage import DATABASE, OURS, judge
from structguard.memo.store import StoreFailure
from structguard.memo.textcache import TextCache, TextDisk, patiently
from structguard.service import Clock

T = TypeVar("T")

SWEEP_EVERY = 1.0  # seconds between two looks for what has expired


class SizedDisk(TextDisk):
    """Tells the library how large a text is, so that it keeps their sum."""

    def store(
        self, value: object, read: object, key: object = None
    ) -> tuple[int, int, None, object]:
        """(bytes, mode, file name, value) of a str."""
        _, mode, filename, text = super().store(value, read, key)
        return len(str(text).encode()), mode, filename, text


@dataclass(slots=True)
class Text:
    """One text on its way to the disk; what went wrong, once it is written or is not."""

    key: str
    text: str
    written: bool = False
    failure: StoreFailure | None = None


class ResponseCache(TextCache):
    """Texts with a bound on their bytes and their age."""

    def __init__(self, directory: str) -> None:
        super().__init__(directory)
        self._disk = SizedDisk(directory)

    def keep(self, texts: Sequence[Text], *, limit: int, before: float | None) -> None:
        """
        Set these texts; drop what was written `before`, and the oldest over the limit.

        A text set again gets a new row, so that the order of the rows is the order of time: what is
        to go stands at the front, however much is kept.
        """
        with self.transaction():
            for text in texts:
                self._execute("DELETE FROM Cache WHERE key = ? AND raw = 1", (text.key,))
                self.put(text.key, text.text)
            if before is not None:
                self._drop_while(lambda time, _: time <= before)
            over = self._bytes() - limit
            if over > 0:
                self._drop_while(lambda _, freed: freed < over)

    def kept(self, key: str, since: float) -> str | None:
        """The text of a key that was written after `since`."""
        rows = self._execute(
            "SELECT value FROM Cache WHERE key = ? AND raw = 1 AND store_time > ?"
            " AND typeof(value) = 'text'",
            (key, since),
        ).fetchall()
        return rows[0][0] if rows else None

    def _drop_while(self, goes: Callable[[float, int], bool]) -> None:
        """Drop the oldest rows one after the other while they go: by their time, by bytes freed."""
        freed, last = 0, None
        rows = self._execute("SELECT rowid, store_time, size FROM Cache ORDER BY rowid")
        for row, written, size in rows:  # read one by one: nearly always the first one stays
            if not goes(written, freed):
                break
            last, freed = row, freed + size
        rows.close()
        if last is not None:
            self._execute("DELETE FROM Cache WHERE rowid <= ?", (last,))

    def _bytes(self) -> int:
        rows = self._execute("SELECT value FROM Settings WHERE key = 'size'").fetchall()
        return int(rows[0][0])


class DiskStore:
    """A directory of its own (not the memo's), mode 0700; opened when first asked something."""

    def __init__(
        self, path: Path, *, expiry: float, limit_bytes: int, wall: Clock = time.time
    ) -> None:
        self.path = path
        self.name: str = f"disk:{path}"
        self._expiry = expiry
        self._limit = limit_bytes
        self._wall = wall
        self._clerk = Clerk("structguard-responses")
        self._cache: ResponseCache | None = None
        self._inode = 0
        self._swept = 0.0
        self._waiting: deque[Text] = deque()

    async def get(self, scope: str, id: str, /) -> Stored | None:  # noqa: A002
        """The turn, if it is there and has not expired."""
        key, since = key_of(scope, id), self._wall() - self._expiry
        text = await self._ask(lambda cache: cache.kept(key, since))
        return None if text is None else decode(text)

    async def put(self, scope: str, id: str, stored: Stored, /) -> None:  # noqa: A002
        """Keep a turn; the oldest make room."""
        text = encode(stored)
        fits(len(text), self._limit, self.name)
        waiting = Text(key_of(scope, id), text.decode())
        self._waiting.append(waiting)
        await self._clerk.run(lambda: self._write(waiting))

    async def delete(self, scope: str, id: str, /) -> bool:  # noqa: A002
        """Whether there was such a turn."""
        key, since = key_of(scope, id), self._wall() - self._expiry

        def work(cache: ResponseCache) -> bool:
            with cache.transaction():
                known = cache.kept(key, since) is not None
                cache.remove(key)
                return known

        return await self._ask(work)

    async def aclose(self) -> None:
        """Close the connection and its thread; asked again, it opens again."""
        await self._clerk.run(self._close)
        await self._clerk.aclose()

    async def _ask(self, work: Callable[[ResponseCache], T]) -> T:
        try:
            return await self._clerk.run(lambda: self._do(work))
        except StoreFailure as failure:
            raise _told(self.name, failure) from failure

    # --- in the thread -------------------------------------------------------------------------

    def _write(self, text: Text) -> None:
        """Write all that waits in one transaction: the busier, the cheaper; each hears of its own."""
        if not text.written:
            texts = [self._waiting.popleft() for _ in range(len(self._waiting))]
            now, before = self._wall(), None
            if not self._swept <= now < self._swept + SWEEP_EVERY:
                self._swept, before = now, now - self._expiry
            failure = None
            try:
                self._do(lambda cache: cache.keep(texts, limit=self._limit, before=before))
            except StoreFailure as error:
                failure = error
            for each in texts:
                each.written, each.failure = True, failure
        if text.failure is not None:
            raise _told(self.name, text.failure) from text.failure

    def _do(self, work: Callable[[ResponseCache], T]) -> T:
        opened = self._cache is not None
        try:
            cache = self._open()
            return patiently(lambda: work(cache))
        except Exception as error:
            failure = judge(error, self.path, opened=opened, inode=self._inode)
            if failure.lasting:
                self._close()
            raise failure from error

    def _open(self) -> ResponseCache:
        """The connection; a new one when the file is no longer the one it was opened on."""
        if self._cache is not None and _inode(self.path) != self._inode:
            self._close()
        if self._cache is None:
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            _make_private(self.path)
            (self.path / DATABASE).touch(mode=0o600)  # its log takes the mode over
            self._inode = _inode(self.path)
            self._cache = ResponseCache(str(self.path))
        return self._cache

    def _close(self) -> None:
        cache, self._cache = self._cache, None
        if cache is not None:
            with suppress(Exception):  # a broken file cannot be closed well
                cache.close()


def _inode(path: Path) -> int:
    try:
        return os.stat(path / DATABASE).st_ino  # noqa: PTH116  on each call: a Path doubles the cost
    except OSError:
        return 0


def _make_private(path: Path) -> None:
    """Close an older directory of ours to others; never one that holds anything else."""
    mode = stat.S_IMODE(path.stat().st_mode)
    if mode & 0o077 and all(name.startswith(OURS) for name in os.listdir(path)):  # noqa: PTH208
        path.chmod(0o700)


def _told(name: str, failure: StoreFailure) -> StoreTrouble:
    moved = (
        f"; it was moved to {failure.moved_to} and a new one is made" if failure.moved_to else ""
    )
    return StoreTrouble(f"the response store {name} failed: {failure.reason}{moved}")
