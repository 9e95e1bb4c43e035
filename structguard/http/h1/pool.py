"""
The connections of one event loop, kept between requests; new ones by the first address that answers.

Source: RFC 8305 (happy eyeballs), RFC 9112 §9.
"""

from __future__ import annotations

import asyncio  # noqa: TID251  see connection
import socket
import ssl
from dataclasses import dataclass

from aiohappyeyeballs import start_connection  # pyright: ignore[reportUnknownVariableType]

from structguard.http.h1.connection import Connection
from structguard.http.seam import ExchangeFailed, Limits, bounded, broken

_NEXT_ADDRESS = 0.25  # seconds until a host's next address is tried beside the first (RFC 8305)
_TURNS = 10  # of the event loop, granted to sockets that are being closed


@dataclass(frozen=True, slots=True, eq=False)
class Origin:
    """Whom a connection reaches; one object an origin."""

    host: str
    port: int
    secure: bool


class Pool:
    """
    The connections of one event loop: the last one given back is the first to be used again.

    A slot is taken by whoever asks, and given back when the exchange is over.
    """

    def __init__(
        self, loop: asyncio.AbstractEventLoop, limits: Limits, *, verify: bool = True
    ) -> None:
        self.slots: asyncio.Semaphore = asyncio.Semaphore(limits.connections)
        self.loop: asyncio.AbstractEventLoop = loop
        self._limits = limits
        self._verify = verify
        self._all: set[Connection] = set()
        self._idle: dict[object, list[Connection]] = {}
        self._idle_count = 0
        self._timer: asyncio.TimerHandle | None = None
        self._tls: ssl.SSLContext | None = None

    async def wait_for_slot(self, budget: float | None) -> float | None:
        """
        Wait for room; what is left of the budget.

        Raises:
            ExchangeFailed: the time is over.
        """
        if budget is None:
            await self.slots.acquire()
            return None
        end = self.loop.time() + budget
        await bounded(end, self.slots.acquire)
        return max(end - self.loop.time(), 0.0)

    def idle_connection(self, origin: Origin) -> Connection | None:
        """An idle connection, if one is still good."""
        idle = self._idle.get(origin)
        while idle:
            connection = idle.pop()
            self._idle_count -= 1
            if connection.is_usable and not self._is_old(connection):
                return connection
            connection.close()
        return None

    def _is_old(self, connection: Connection) -> bool:
        return self.loop.time() - connection.since >= self._limits.idle_seconds

    async def open_connection(
        self, origin: Origin, budget: float | None
    ) -> tuple[Connection, float | None]:
        """
        A new connection, and what is left of the budget.

        Raises:
            ExchangeFailed: it cannot be made, or not in time.
        """
        try:
            started, limit = self.loop.time(), self._limits.connect_timeout
            if budget is not None and budget <= limit:
                connection = await bounded(started + budget, lambda: self._dial(origin))
            else:
                connection = await self._dial_in_time(started + limit, origin)
        except BaseException:
            self.slots.release()
            raise
        self._all.add(connection)
        left = None if budget is None else budget - (self.loop.time() - started)
        return connection, left

    async def _dial_in_time(self, end: float, origin: Origin) -> Connection:
        try:
            return await bounded(end, lambda: self._dial(origin))
        except ExchangeFailed as error:
            if not error.failure.own_timeout:
                raise
            raise broken("the connection could not be made in time") from error

    async def _dial(self, origin: Origin) -> Connection:
        try:
            found = await self.loop.getaddrinfo(origin.host, origin.port, type=socket.SOCK_STREAM)
            sock = await start_connection(found, happy_eyeballs_delay=_NEXT_ADDRESS, loop=self.loop)
            try:
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
                _, connection = await self.loop.create_connection(
                    lambda: Connection(self, origin, self.loop),
                    sock=sock,
                    ssl=self._context() if origin.secure else None,
                    server_hostname=origin.host if origin.secure else None,
                )
            except BaseException:
                sock.close()
                raise
        except (OSError, RuntimeError) as error:  # uvloop knows RuntimeErrors of its own
            raise broken(str(error) or type(error).__name__) from error
        return connection

    def _context(self) -> ssl.SSLContext:
        if self._tls is None:
            self._tls = ssl.create_default_context()
            if not self._verify:
                self._tls.check_hostname = False
                self._tls.verify_mode = ssl.CERT_NONE
        return self._tls

    def release(self, connection: Connection, /, *, keep: bool) -> None:
        """An exchange is over: see `connection.ConnectionOwner`."""
        self.slots.release()
        if not keep:
            return
        if self._idle_count >= self._limits.idle or not self._limits.idle_seconds:
            connection.close()
            return
        connection.since = self.loop.time()
        self._idle.setdefault(connection.origin, []).append(connection)
        self._idle_count += 1
        if self._timer is None:
            self._timer = self.loop.call_later(self._limits.idle_seconds, self._sweep)

    def forget(self, connection: Connection, /) -> None:
        """A connection is closed: see `connection.ConnectionOwner`."""
        self._all.discard(connection)
        idle = self._idle.get(connection.origin)
        if idle is not None and connection in idle:
            idle.remove(connection)
            self._idle_count -= 1

    def _sweep(self) -> None:
        """Close what was idle for too long."""
        self._timer = None
        for idle in self._idle.values():
            for connection in idle:
                if self._is_old(connection):
                    connection.close()  # and `gone` takes it out
        if self._idle_count:
            self._timer = self.loop.call_later(self._limits.idle_seconds, self._sweep)

    async def aclose(self) -> None:
        """Close everything; sockets are closed by the event loop's next turns."""
        if self._timer is not None:
            self._timer.cancel()
        for connection in self._all:
            connection.close()
        for _ in range(_TURNS):
            if not self._all:
                break
            await asyncio.sleep(0)
