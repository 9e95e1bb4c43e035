"""
The fast transport: aiohttp's C parser and pool, on asyncio only (extra `fast`).

One session an event loop. aiohttp's own re-sending of a GET over a stale connection is switched
off: whoever counts requests must see every one.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from functools import lru_cache

import aiohttp
import yarl
from anyio.lowlevel import current_token

from structguard.http.gunzip import undecodable
from structguard.http.loops import PerLoop
from structguard.http.seam import (
    ExchangeFailed,
    Limits,
    Response,
    Whole,
    broken,
    out_of_time,
    too_large,
    unreadable,
)

_ACCEPT = {"accept-encoding": "gzip"}
_AUTOMATIC = ("User-Agent", "Content-Type")  # ours to set


@lru_cache(maxsize=256)
def _url(url: str) -> yarl.URL:
    """The URL as it is: one that yarl spells anew is not the one that was signed."""
    return yarl.URL(url, encoded=url.isascii())


class AiohttpTransport:
    """
    Bytes over one `aiohttp.ClientSession`.

    `proxy` is an address, `verify` False skips the check of certificates; the environment is not
    read.

    Raises:
        RuntimeError: at the first send, when the event loop is not asyncio's.
    """

    def __init__(
        self, *, limits: Limits | None = None, proxy: str | None = None, verify: bool = True
    ) -> None:
        self._limits = limits or Limits()
        self._proxy = proxy
        self._verify = verify
        self._sessions: PerLoop[aiohttp.ClientSession] = PerLoop(self._open)

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
        try:
            answer = await self._sessions.get().request(
                method,
                _url(url),
                headers={**_ACCEPT, **headers},
                data=body,
                allow_redirects=False,
                proxy=self._proxy,
                timeout=aiohttp.ClientTimeout(
                    total=budget, sock_connect=self._limits.connect_timeout
                ),
            )
            reply = _Reply(answer, self._limits.max_body)
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise _fault(error) from error
        if stream:
            return reply
        try:
            return Whole(status=reply.status, headers=reply.headers, body=await reply.aread())
        finally:
            await reply.aclose()

    async def aclose(self) -> None:
        """See `seam.Transport.aclose`."""
        session = self._sessions.pop()
        if session is not None:
            await session.close()

    def _open(self) -> aiohttp.ClientSession:
        if "trio" in current_token().backend_class.__module__:
            raise RuntimeError(
                "the aiohttp transport runs on asyncio only; under trio use transport='httpx2'"
            )
        session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(
                limit=self._limits.connections,
                keepalive_timeout=self._limits.idle_seconds,
                ssl=self._verify,
            ),
            cookie_jar=aiohttp.DummyCookieJar(),
            skip_auto_headers=_AUTOMATIC,
            trust_env=False,
            auto_decompress=True,
        )
        # The only switch there is.
        session._retry_connection = False  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
        return session


class _Reply:
    """One reply whose body is still on the wire."""

    __slots__ = ("_limit", "_read", "_reply", "headers", "status")

    def __init__(self, reply: aiohttp.ClientResponse, limit: int) -> None:
        self.status = reply.status
        self.headers: Mapping[str, str] = {
            name.lower(): value for name, value in reply.headers.items()
        }
        self._reply = reply
        self._limit = limit
        self._read = 0

    def aiter(self) -> AsyncIterator[bytes]:
        return self

    def __aiter__(self) -> _Reply:
        return self

    async def __anext__(self) -> bytes:
        try:
            chunk = await self._reply.content.readany()
        except (aiohttp.ClientError, OSError) as error:
            raise _fault(error, self.status) from error
        if not chunk:
            raise StopAsyncIteration
        self._read += len(chunk)
        if self._read > self._limit:
            raise too_large(self._limit, self.status)
        return chunk

    async def aread(self) -> bytes:
        return b"".join([chunk async for chunk in self])

    async def aclose(self) -> None:
        if self._reply.content.at_eof():
            self._reply.release()
        else:
            self._reply.close()


def _fault(error: Exception, status: int | None = None) -> ExchangeFailed:
    match error:
        case aiohttp.ConnectionTimeoutError():
            return broken("the connection could not be made in time")
        case TimeoutError():
            return out_of_time(status)
        case aiohttp.ClientError() if _undecoded(error):
            return undecodable(status)
        case aiohttp.ClientResponseError():  # its text repeats the URL, and so a key in its query
            return broken(f"{error.status}: {error.message}", status)
        case aiohttp.ClientError() | OSError():
            return broken(str(error) or type(error).__name__, status)
        case _:  # a ValueError's text repeats the header, and so the key
            return unreadable("a header or the URL holds characters that HTTP does not allow")


def _undecoded(error: Exception) -> bool:
    return "decode content-encoding" in f"{error} {error.__cause__}".lower()
