"""
One HTTP/1.1 connection: an asyncio protocol around httptools' parser, one exchange at a time.

A reply that is whole frees its connection at once, whoever still reads it. Whatever is odd about a
connection ends it: bytes nobody asked for, a reply before its request was out. Source: RFC 9112.
"""

from __future__ import annotations

import asyncio  # noqa: TID251  a protocol is asyncio's own, and what uvloop drives fastest
from collections.abc import Callable
from typing import Protocol, cast

from httptools import HttpParserError, HttpParserUpgrade, HttpResponseParser

from structguard.http.h1.reply import Reply
from structguard.http.seam import broken, out_of_time

MAX_HEAD = 64 * 1024  # bytes of a reply's head
_ONE_WRITE = 64 * 1024  # bytes of a body that are copied behind the head


class ConnectionOwner(Protocol):
    """Who hands out a connection and takes it back: its pool."""

    def release(self, connection: Connection, /, *, keep: bool) -> None:
        """An exchange on it is over; `keep`: it can be used again, else it is being closed."""
        ...

    def forget(self, connection: Connection, /) -> None:
        """It is closed."""
        ...


class Connection(asyncio.Protocol):
    """One connection to `origin`; `since` is when it was last given back (the loop's clock)."""

    def __init__(
        self, owner: ConnectionOwner, origin: object, loop: asyncio.AbstractEventLoop
    ) -> None:
        self.origin = origin
        self.since: float = 0.0
        self._owner = owner
        self._loop = loop
        self._fresh: list[bytes] = []  # pieces of a body that were just parsed
        self.on_body: Callable[[bytes], None] = self._fresh.append  # called often, and from C
        self._parser = HttpResponseParser(self)
        self._reply: Reply | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._unread = 0  # bytes since the request, while the head is not whole
        self._keep = False
        self._interim = False
        self._paused = False

    @property
    def is_usable(self) -> bool:
        """Whether a request may go out on it."""
        return self._reply is None and not self._transport.is_closing()

    def send_request(
        self, head: bytes, body: bytes, *, budget: float | None, limit: int, streamed: bool
    ) -> Reply:
        """Send one request; its reply fills up from now on, for `budget` seconds at most."""
        reply = self._reply = Reply(self, limit, streamed=streamed)
        self._unread = 0
        if budget is not None:
            self._timer = self._loop.call_later(budget, self._expire)
        if len(body) <= _ONE_WRITE:
            self._transport.write(head + body)
        else:
            self._transport.write(head)
            self._transport.write(body)
        return reply

    def abort_exchange(self) -> None:
        """End an exchange in the middle, and the connection with it."""
        if self._reply is not None:
            self._over(self._reply, keep=False)

    def close(self) -> None:
        """Close it now."""
        self._transport.abort()

    def resume_reading(self) -> None:
        """The reader has caught up."""
        if self._paused:
            self._paused = False
            self._transport.resume_reading()

    # What asyncio calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """It is open."""
        self._transport = cast("asyncio.Transport", transport)  # uvloop's has no such base class

    def data_received(self, data: bytes) -> None:
        """Some of a reply."""
        reply = self._reply
        if reply is None:  # nobody asked
            self._transport.abort()
            return
        self._parse(reply, data)
        if reply.done or reply.fault is not None:
            self._over(reply, keep=self._keep and reply.done)
        elif not reply.streamed:
            return
        elif reply.is_much:
            self._paused = True
            self._transport.pause_reading()
        reply.wake()

    def _parse(self, reply: Reply, data: bytes) -> None:
        try:
            self._parser.feed_data(data)
        except (HttpParserError, HttpParserUpgrade):
            self._keep = False
            if not reply.done:
                fault = broken("the reply is not HTTP/1.1", reply.status or None)
                reply.fault = reply.fault or fault
        if self._fresh:
            if not reply.done:
                reply.add(self._fresh)
            self._fresh.clear()
        if not reply.status:
            self._unread += len(data)
            if self._unread > MAX_HEAD:
                reply.fault = broken(f"the reply's head is larger than {MAX_HEAD} bytes")

    def connection_lost(self, exc: Exception | None) -> None:
        """It is closed."""
        reply = self._reply
        if reply is not None:
            if exc is None and reply.is_open_ended:
                reply.end()
            if not reply.done and reply.fault is None:
                why = str(exc or "") or "the connection was closed before the reply was whole"
                reply.fault = broken(why, reply.status or None)
            self._over(reply, keep=False)
            reply.wake()
        self._owner.forget(self)

    def _expire(self) -> None:
        """The time for the exchange is over."""
        reply = self._reply
        if reply is not None:
            reply.fault = out_of_time(reply.status or None)
            self._over(reply, keep=False)
            reply.wake()

    def _over(self, reply: Reply, *, keep: bool) -> None:
        self._reply = None
        reply.detach()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if not keep or self._transport.get_write_buffer_size():
            keep = False
            self._transport.abort()
        self._owner.release(self, keep=keep)

    # What httptools calls.

    def on_message_begin(self) -> None:
        """A reply begins; after one that is done, nobody asked for it."""
        if self._reply is not None and self._reply.done:
            self._keep = False

    def on_header(self, name: bytes, value: bytes) -> None:
        """One header; after the head it is a trailer."""
        reply = self._reply
        if reply is not None and not reply.status:
            reply.raw.append((name, value))

    def on_headers_complete(self) -> None:
        """The head is whole, unless it only says that another one follows."""
        reply, status = self._reply, self._parser.get_status_code()
        if reply is None or reply.status:
            return
        self._interim = 100 <= status < 200
        if self._interim:
            reply.raw.clear()
        else:
            reply.begin(status)

    def on_message_complete(self) -> None:
        """The reply is whole."""
        reply = self._reply
        if reply is None or reply.done or self._interim:
            return
        self._keep = self._parser.should_keep_alive()
        reply.add(self._fresh)
        self._fresh.clear()
        reply.end()
