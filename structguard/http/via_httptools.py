"""
The gateway's transport: httptools' parser, connections kept in a pool of our own, asyncio only.

A third of what aiohttp costs for the one thing a gateway does: POST bytes, take bytes back. No
redirects, cookies, proxies or HTTP/2. Source: spec gateway "Speed bar"; RFC 9112.
"""

from __future__ import annotations

import asyncio  # noqa: TID251  see h1.connection
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import quote, urlsplit
from weakref import WeakKeyDictionary

from structguard.http.h1 import Origin, Pool, Reply
from structguard.http.seam import Limits, Response, unreadable

_TOKEN = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_QUOTABLE = "%/:=&?~#+!$,;'@()*[]"


@dataclass(frozen=True, slots=True, eq=False)
class Target:
    """One URL taken apart: `line` is what follows the method, up to the Host header's end."""

    origin: Origin
    line: str


@lru_cache(maxsize=256)
def _origin(host: str, port: int, secure: bool) -> Origin:  # noqa: FBT001
    return Origin(host, port, secure)


@lru_cache(maxsize=1024)
def _target(url: str) -> Target:
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise ValueError("not an http or https URL with a host")
    secure = parts.scheme == "https"
    host = parts.hostname
    if not host.isascii():
        host = host.encode("idna").decode()
    host_header = f"[{host}]" if ":" in host else host
    if parts.port is not None:
        host_header += f":{parts.port}"
    path = quote(parts.path or "/", safe=_QUOTABLE)
    if parts.query:
        path += "?" + quote(parts.query, safe=_QUOTABLE)
    origin = _origin(host, parts.port or (443 if secure else 80), secure)
    return Target(origin, f" {path} HTTP/1.1\r\nhost: {host_header}\r\naccept-encoding: gzip\r\n")


@lru_cache(maxsize=256)
def _is_token(text: str) -> bool:
    return _TOKEN.fullmatch(text) is not None


def _head(method: str, line: str, headers: Mapping[str, str], length: int | None) -> bytes:
    """
    The head of a request.

    Raises:
        ValueError: characters that would end a header, or that HTTP/1.1 cannot carry.
    """
    lines = [f"{name}: {value}\r\n" for name, value in headers.items()]
    if length is not None:
        lines.append(f"content-length: {length}\r\n")
    text = "".join(lines)
    ends = len(lines)
    if (
        text.count("\r") != ends
        or text.count("\n") != ends
        or "\0" in text
        or not all(_is_token(name) for name in headers)
    ):
        raise ValueError("a header holds characters that HTTP does not allow")
    return f"{method}{line}{text}\r\n".encode("latin-1")


class HttptoolsTransport:
    """
    Bytes over HTTP/1.1 connections of our own, a pool an event loop.

    `verify` False skips the check of certificates; the environment is not read.

    Raises:
        RuntimeError: at the first send, when the event loop is not asyncio's.
    """

    def __init__(self, *, limits: Limits | None = None, verify: bool = True) -> None:
        self._limits = limits or Limits()
        self._verify = verify
        self._pools: WeakKeyDictionary[asyncio.AbstractEventLoop, Pool] = WeakKeyDictionary()
        self._last: Pool | None = None

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
            target = _target(url)
            length = None if body is None and method in {"GET", "DELETE"} else len(body or b"")
            head = _head(method, target.line, headers, length)
        except ValueError:  # whose text may repeat the header, and so the key
            raise unreadable(
                "a header or the URL holds characters that HTTP does not allow"
            ) from None
        pool = self._pool()
        if pool.slots.locked():
            budget = await pool.wait_for_slot(budget)
        else:
            await pool.slots.acquire()
        connection = pool.idle_connection(target.origin)
        if connection is None:
            connection, budget = await pool.open_connection(target.origin, budget)
        reply = connection.send_request(
            head, body or b"", budget=budget, limit=self._limits.max_body, streamed=stream
        )
        return await _answered(reply)

    def _pool(self) -> Pool:
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError as error:
            raise RuntimeError(
                "the httptools transport runs on asyncio only; under trio use transport='httpx2'"
            ) from error
        last = self._last
        if last is not None and last.loop is loop:
            return last  # nearly always
        pool = self._pools.get(loop)
        if pool is None:
            pool = self._pools[loop] = Pool(loop, self._limits, verify=self._verify)
        self._last = pool
        return pool

    async def aclose(self) -> None:
        """See `seam.Transport.aclose`."""
        self._last = None
        pool = self._pools.pop(asyncio.get_running_loop(), None)
        if pool is not None:
            await pool.aclose()


async def _answered(reply: Reply) -> Reply:
    """The reply once its head is there, or all of it; cut off if nobody waits any longer."""
    try:
        await reply.ready()
    except BaseException:
        await reply.aclose()
        raise
    return reply
