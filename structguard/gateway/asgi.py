"""
One HTTP exchange on bare ASGI: headers, a bounded body, a reply, a stream, a client that goes away.

Source: the ASGI specification, HTTP; spec gateway "Requests", order of checks.
"""

from __future__ import annotations

import time
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Iterable,
    Mapping,
    MutableMapping,
)
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from structguard.gateway.config import LimitsConfig
from structguard.gateway.faults import ApiError

Message: TypeAlias = MutableMapping[str, Any]
Scope: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
SendMessage: TypeAlias = Callable[[Message], Awaitable[None]]
App: TypeAlias = Callable[[Scope, Receive, SendMessage], Awaitable[None]]
RawHeaders: TypeAlias = list[tuple[bytes, bytes]]
EXCHANGE = "structguard.exchange"
"""Where a request's scope holds its exchange, for what Starlette serves."""
WHOLE = "structguard.whole"
"""Where it holds what sends a whole reply at once, if the server has that: `HttpConnection.whole`."""

_JSON = (b"content-type", b"application/json")
_SSE: RawHeaders = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-cache"),
    (b"x-accel-buffering", b"no"),  # a proxy must not hold events back
]


class Gone(Exception):
    """The client went away before its request was whole."""


def encoded(headers: Mapping[str, str]) -> RawHeaders:
    """Headers as ASGI takes them."""
    return [
        (name.encode("ascii"), value.encode("latin-1", "replace"))
        for name, value in headers.items()
    ]


@dataclass(slots=True)
class Exchange:
    """
    One request and its reply. `more` are headers that go on every reply; `on_body` is told when the
    body is whole; `named` are the request's headers by lower-case names, the last where several came.
    """

    scope: Scope
    receive: Receive
    send: SendMessage
    more: RawHeaders
    status: int = 0
    began: float = 0.0  # when a stream's head went out
    on_body: Callable[[], None] | None = None
    named: Mapping[bytes, bytes] = field(init=False)

    def __post_init__(self) -> None:
        self.named = dict(self.scope["headers"])

    def header(self, name: bytes) -> str | None:
        """A request header by its lower-case name."""
        found = self.named.get(name)
        return None if found is None else found.decode("latin-1")

    @property
    def peer(self) -> str:
        """The client's address."""
        client = self.scope.get("client")
        return str(client[0]) if client else ""

    def check_headers(self, limits: LimitsConfig) -> None:
        """
        Refuse more header lines or bytes than are allowed.

        Raises:
            ApiError: 431.
        """
        headers: RawHeaders = self.scope["headers"]
        size = 0
        for name, value in headers:
            size += len(name) + len(value)
        if len(headers) > limits.headers or size > limits.header_bytes:
            raise ApiError(431, "the request's headers are too large")

    async def body(self, limits: LimitsConfig) -> bytes:
        """
        The whole body.

        Raises:
            ApiError: 413 too large, 415 compressed. Gone: the client left.
        """
        length = self.named.get(b"content-length")
        if length is not None and length.isdigit() and int(length) > limits.body:
            raise _too_large(limits.body)
        whole = await self._read(limits.body)
        if self.on_body is not None:
            self.on_body()
        coding = self.named.get(b"content-encoding")
        if coding is not None and coding.lower() != b"identity":
            raise _compressed(coding)
        return whole

    def late(self, limits: LimitsConfig) -> ApiError:
        """The error of a body that did not come."""
        text = f"the body did not arrive within {limits.body_seconds:g} s"
        return ApiError(408, text, headers={"connection": "close"})

    async def _read(self, limit: int) -> bytes:
        message = await self.receive()
        if message["type"] == "http.request" and not message.get("more_body"):
            whole: bytes = message.get("body", b"")
            if len(whole) > limit:
                raise _too_large(limit)
            return whole
        pieces, size = list[bytes](), 0
        while True:
            if message["type"] == "http.disconnect":
                raise Gone
            piece: bytes = message.get("body", b"")
            pieces.append(piece)
            size += len(piece)
            if size > limit:
                raise _too_large(limit)
            if not message.get("more_body"):
                return b"".join(pieces)
            message = await self.receive()

    async def reply(
        self,
        status: int,
        body: bytes,
        headers: Mapping[str, str] | None = None,
        told: Iterable[tuple[bytes, bytes]] = (),
        kind: tuple[bytes, bytes] = _JSON,
    ) -> None:
        """A whole reply; JSON unless `kind` says otherwise; `told` are headers that are bytes already."""
        self.status = status
        raw = [kind, (b"content-length", b"%d" % len(body)), *self.more, *told]
        if headers:
            raw += encoded(headers)
        at_once = self.scope.get(WHOLE)
        if at_once is not None and at_once(self.scope, status, raw, body):
            return
        await self.send({"type": "http.response.start", "status": status, "headers": raw})
        await self.send({"type": "http.response.body", "body": body})

    async def refuse(self, error: ApiError) -> None:
        """An error as its reply; nothing where a reply has begun."""
        if not self.status:
            await self.reply(error.status, error.body, error.headers)

    async def fail(self, error: Exception, fault: ApiError) -> None:
        """As `refuse`; a bug goes on to the log."""
        await self.refuse(fault)
        if fault.code == "bug":
            raise error

    async def stream(
        self, blocks: AsyncIterator[bytes], told: Iterable[tuple[bytes, bytes]]
    ) -> None:
        """Server-sent events, a block a write; a write waits while the client reads slowly."""
        self.status, self.began = 200, time.perf_counter()
        raw = [*_SSE, *self.more, *told]
        await self.send({"type": "http.response.start", "status": 200, "headers": raw})

        async for block in blocks:
            await self.send({"type": "http.response.body", "body": block, "more_body": True})
        await self.send({"type": "http.response.body", "body": b""})


def _compressed(coding: bytes) -> ApiError:
    text = f"the body is {coding.decode('latin-1')!r} (content-encoding): send it as it is"
    headers = {"accept-encoding": "identity"}  # RFC 9110 section 15.5.16
    return ApiError(415, text, code="unsupported_content_encoding", headers=headers)


def _too_large(limit: int) -> ApiError:
    return ApiError(413, f"the body is larger than {limit} bytes", headers={"connection": "close"})
