"""
One reply as it comes in: its head, its body unpacked, the reader that waits for more.

Source: RFC 9110 (content coding), RFC 9112.
"""

from __future__ import annotations

import asyncio  # noqa: TID251  a bare future is the cheapest way to wait
import zlib
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from typing import Protocol

from structguard.http.gunzip import Unpack, undecodable
from structguard.http.seam import ExchangeFailed, too_large

HIGH = 64 * 1024  # bytes of a streamed reply held for a slow reader; more, and the upstream waits


class ReplyConnection(Protocol):
    """What a reply asks of its connection."""

    def abort_exchange(self) -> None:
        """End the exchange in the middle, and the connection with it."""
        ...

    def resume_reading(self) -> None:
        """The reader has caught up."""
        ...


class Reply:
    """
    One reply: a `seam.Response`. `done`: nothing more will come; `fault`: why it will not.

    `limit` bounds the body in bytes, unpacked.
    """

    __slots__ = ("_connection", "_headers", "_held", "_limit", "_pieces", "_size", "_unpack", "_waiter",
                 "done", "fault", "raw", "status", "streamed")  # fmt: skip

    def __init__(self, connection: ReplyConnection, limit: int, *, streamed: bool) -> None:
        self.status: int = 0
        self.raw: list[tuple[bytes, bytes]] = []
        self._headers: Mapping[str, str] | None = None
        self.done: bool = False
        self.fault: ExchangeFailed | None = None
        self.streamed: bool = streamed
        self._connection: ReplyConnection | None = connection
        self._limit = limit
        self._pieces: list[bytes] = []
        self._held = 0
        self._size = 0
        self._unpack: Unpack | None = None
        self._waiter: asyncio.Future[None] | None = None

    @property
    def headers(self) -> Mapping[str, str]:
        """By lower-case names; the last where several came."""
        if self._headers is None:
            self._headers = {
                name.decode("latin-1").lower(): value.decode("latin-1") for name, value in self.raw
            }
        return self._headers

    async def ready(self) -> None:
        """
        Wait for the status of a streamed reply, else for the end.

        Raises:
            ExchangeFailed: it does not come.
        """
        while not (self.done or (self.streamed and self.status)):
            if self.fault is not None:
                raise self.fault
            await self._news()

    async def aread(self) -> bytes:
        """See `seam.Response.aread`."""
        if self.done and len(self._pieces) == 1:
            return self._pieces.pop()
        return b"".join([chunk async for chunk in self])

    def aiter(self) -> AsyncIterator[bytes]:
        """See `seam.Response.aiter`."""
        return self

    def __aiter__(self) -> Reply:
        return self

    async def __anext__(self) -> bytes:
        """What has come since, in one piece; a fault only after all that came before it."""
        pieces = self._pieces
        while not pieces:
            if self.done:
                raise StopAsyncIteration
            if self.fault is not None:
                raise self.fault
            await self._news()
        data = pieces[0] if len(pieces) == 1 else b"".join(pieces)
        pieces.clear()
        self._held = 0
        if self._connection is not None:
            self._connection.resume_reading()
        return data

    async def aclose(self) -> None:
        """End the connection, unless the reply is whole: then it is free already."""
        if self._connection is not None:
            self._connection.abort_exchange()

    async def _news(self) -> None:
        waiter = self._waiter = asyncio.get_running_loop().create_future()
        try:
            await waiter
        finally:
            self._waiter = None

    # What the connection tells.

    def wake(self) -> None:
        """Let the reader look."""
        waiter = self._waiter
        if waiter is not None and not waiter.done():
            waiter.set_result(None)

    def begin(self, status: int) -> None:
        """The head is whole."""
        self.status = status
        for name, value in self.raw:
            if len(name) == len(b"content-encoding") and name.lower() == b"content-encoding":
                coding = value.lower()
                if coding in {b"gzip", b"x-gzip"}:
                    self._unpack = Unpack()
                elif coding not in {b"", b"identity"}:
                    self.fault = undecodable(status)

    def add(self, pieces: Iterable[bytes]) -> None:
        """More of the body."""
        if self.fault is not None:
            return
        if self._unpack is not None:
            pieces = self._unpacked(self._unpack, pieces)
        before = len(self._pieces)
        self._pieces.extend(pieces)
        size = sum(map(len, self._pieces[before:]))
        self._held += size
        self._size += size
        if self._size > self._limit and self.fault is None:
            self.fault = too_large(self._limit, self.status)

    def _unpacked(self, unpack: Unpack, pieces: Iterable[bytes]) -> Iterator[bytes]:
        """The same unpacked, and not much more of it than is allowed."""
        room = self._limit + 1 - self._size
        for chunk in pieces:
            try:
                out = unpack(chunk, room)
            except zlib.error:
                self.fault = undecodable(self.status)
                return
            room -= len(out)
            if out:
                yield out

    def end(self) -> None:
        """The body is whole."""
        if self._unpack is not None and self._unpack.is_cut:
            self.fault = self.fault or undecodable(self.status)
        elif self.fault is None:
            self.done = True

    def detach(self) -> None:
        """The connection is no longer this reply's."""
        self._connection = None

    @property
    def is_much(self) -> bool:
        """Whether a slow reader should be waited for."""
        return self._held > HIGH

    @property
    def is_open_ended(self) -> bool:
        """Whether the end of the connection is the end of the body."""
        names = {name.lower() for name, _ in self.raw}
        return bool(self.status) and not names & {b"content-length", b"transfer-encoding"}
