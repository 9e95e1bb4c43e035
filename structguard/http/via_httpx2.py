"""
The default transport: httpx2's connection pool, on asyncio and trio.

The pool is driven below `httpx2.AsyncClient`: no cookies, no redirects, no environment. One pool
an event loop, so that a provider may live longer than one `anyio.run`.
"""

from __future__ import annotations

import ssl
import time
import zlib
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from functools import lru_cache

import anyio
import httpx2

from structguard.http.gunzip import Unpack, undecodable
from structguard.http.loops import PerLoop
from structguard.http.seam import (
    ExchangeFailed,
    Limits,
    Response,
    Whole,
    bounded,
    broken,
    out_of_time,
    too_large,
    unreadable,
)

_url = lru_cache(maxsize=256)(httpx2.URL)
_ACCEPT = {"accept-encoding": "gzip"}
_CLOSING = 2.0  # seconds a close may take while the caller is being cancelled
_SLACK = 0.05  # of the budget: before that is spent, the socket's own time-out is exact enough


class Httpx2Transport:
    """
    Bytes over `httpx2.AsyncHTTPTransport`.

    `transport` is any `httpx2.AsyncBaseTransport` of the caller's own (a proxy, a mock); it is
    closed with this one. `proxy` and `verify` are httpx2's; the environment is not read.
    """

    def __init__(
        self,
        transport: httpx2.AsyncBaseTransport | None = None,
        *,
        limits: Limits | None = None,
        proxy: str | None = None,
        verify: bool | ssl.SSLContext = True,
    ) -> None:
        self._limits = limits or Limits()
        self._given = transport
        self._proxy = proxy
        self._verify = verify
        self._pools: PerLoop[httpx2.AsyncBaseTransport] = PerLoop(self._open)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._limits!r})"

    async def send(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str],
        body: bytes | None = None,
        budget: float | None = None,
        stream: bool = False,
    ) -> Response:
        """See `seam.Transport.send`."""
        end = float("inf") if budget is None else anyio.current_time() + budget
        request = httpx2.Request(
            method,
            _url(url),
            headers={**_ACCEPT, **headers},
            content=body,
            extensions=self._phases(budget),
        )

        async def head() -> Response:
            reply = Reply(await self._answer(request), end, budget, self._limits.max_body)
            if stream:
                return reply
            return await reply.whole()

        return await bounded(end, head)

    async def aclose(self) -> None:
        """See `seam.Transport.aclose`."""
        pool = self._pools.pop()
        if pool is not None:
            await pool.aclose()
        if self._given is not None:
            await self._given.aclose()

    def _phases(self, budget: float | None) -> dict[str, dict[str, float | None]]:
        connect = self._limits.connect_timeout
        return {"timeout": {"connect": connect, "read": budget}}

    async def _answer(self, request: httpx2.Request) -> httpx2.Response:
        try:
            return await (self._given or self._pools.get()).handle_async_request(request)
        except (httpx2.HTTPError, OSError) as error:
            raise fault(error) from error

    def _open(self) -> httpx2.AsyncHTTPTransport:
        limits = httpx2.Limits(
            max_connections=self._limits.connections,
            max_keepalive_connections=self._limits.idle,
            keepalive_expiry=self._limits.idle_seconds,
        )
        return httpx2.AsyncHTTPTransport(
            verify=_context(self._verify),
            trust_env=False,
            limits=limits,
            proxy=self._proxy,
            retries=0,
        )


class Reply:
    """One reply whose body is still on the wire; its own iterator, so that nothing dangles."""

    __slots__ = (
        "_end",
        "_exact_from",
        "_limit",
        "_pieces",
        "_read",
        "_reply",
        "_unpack",
        "headers",
        "status",
    )

    def __init__(
        self, reply: httpx2.Response, end: float, budget: float | None, limit: int
    ) -> None:
        self.status: int = reply.status_code
        self.headers: Mapping[str, str] = {
            name.decode("latin-1").lower(): value.decode("latin-1")
            for name, value in reply.headers.raw
        }
        self._reply = reply
        self._limit = limit
        self._read = 0
        self._pieces = _raw(reply)
        self._unpack = _unpack(self.headers.get("content-encoding", ""))
        self._end = end
        self._exact_from = time.monotonic() + (float("inf") if budget is None else budget * _SLACK)

    def aiter(self) -> AsyncIterator[bytes]:
        return self

    def __aiter__(self) -> Reply:
        return self

    async def __anext__(self) -> bytes:
        # The socket's read time-out started with the exchange's budget; a scope around each piece
        # costs more than the piece, so it is only set once a noticeable share has been spent.
        if time.monotonic() < self._exact_from:
            return await self._next()
        with anyio.CancelScope(deadline=self._end):
            return await self._next()
        raise out_of_time(self.status)

    async def _next(self) -> bytes:
        try:
            chunk = await anext(self._pieces)
        except (httpx2.HTTPError, OSError) as error:
            raise fault(error, self.status) from error
        except StopAsyncIteration:
            if self._unpack is not None and self._unpack.is_cut:
                raise undecodable(self.status) from None
            raise
        if self._unpack is not None:
            chunk = self._unpacked(self._unpack, chunk)
        self._read += len(chunk)
        if self._read > self._limit:
            raise too_large(self._limit, self.status)
        return chunk

    def _unpacked(self, unpack: Unpack, chunk: bytes) -> bytes:
        try:
            return unpack(chunk, self._limit + 1)
        except zlib.error as error:
            raise undecodable(self.status) from error

    async def aread(self) -> bytes:
        return await bounded(self._end, self._drain, self.status)

    async def whole(self) -> Whole:
        try:
            return Whole(status=self.status, headers=self.headers, body=await self._drain())
        finally:
            await self.aclose()

    async def _drain(self) -> bytes:
        pieces: list[bytes] = []
        try:
            while True:
                pieces.append(await self._next())
        except StopAsyncIteration:
            return b"".join(pieces)

    async def aclose(self) -> None:
        with anyio.move_on_after(_CLOSING, shield=True):
            await self._reply.aclose()
            # Walking on over the closed connection ends the generators that httpx2 has nested; a
            # generator left to the garbage collector is an error under trio.
            with suppress(httpx2.HTTPError, httpx2.StreamError, OSError):
                async for _ in self._pieces:
                    pass


def _raw(reply: httpx2.Response) -> AsyncIterator[bytes]:
    stream = reply.stream
    if not isinstance(stream, httpx2.AsyncByteStream):  # pragma: no cover  a broken own transport
        raise unreadable("the transport gave a stream that is not async", reply.status_code)
    return aiter(stream)


@lru_cache(maxsize=8)
def _context(verify: bool | ssl.SSLContext) -> ssl.SSLContext:  # noqa: FBT001  httpx2's own argument
    """Making one takes 30 ms; all pools share it."""
    return httpx2.create_ssl_context(verify=verify, trust_env=False)


def _unpack(encoding: str) -> Unpack | None:
    """Only gzip was asked for; bytes in any other encoding are refused as junk by it."""
    return None if encoding.strip().lower() in {"", "identity"} else Unpack()


def fault(error: Exception, status: int | None = None) -> ExchangeFailed:
    """What an exception of httpx2 or of the socket means."""
    match error:
        case httpx2.ConnectTimeout():
            return broken("the connection could not be made in time")
        case httpx2.TimeoutException():
            return out_of_time(status)
        case httpx2.LocalProtocolError():  # its text repeats the header, and so the key
            return unreadable("a header or the URL holds characters that HTTP does not allow")
        case _:
            return broken(str(error) or type(error).__name__, status)
