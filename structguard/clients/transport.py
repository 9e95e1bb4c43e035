"""
An httpx2 transport that guards any client speaking one of the five wires, whoever wrote it.

    guard = structguard.Guard()
    client = anthropic.Anthropic(http_client=httpx2.Client(transport=guard.transport()))

Requests that are no JSON POST to a wire, or ask for no JSON format, pass untouched. A refusal is
rescued with one more request; replies come back as bare JSON, streams from their first event on. An
error inside a 200 gets the status it should have had, so that the client raises its own exception.
A signed request (AWS SigV4, content digests) is never changed: its refusals are only told.

Each response carries its `Info` in `extensions["structguard"]`, and after a failed rescue the first
refusal in `extensions["structguard.refused"]`; `structguard.watch` gets one Info per call. A client
time-out given as one number is the budget of both sends; one set per phase stays per phase.
Source: DESIGN "Public face", spec guard §2.
"""

from __future__ import annotations

from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Generator,
    Iterator,
)
from contextlib import suppress
from dataclasses import dataclass
from types import TracebackType
from typing import Self, cast

import anyio
import httpx2

from structguard.clients.call import BodyCall
from structguard.clients.http_call import HttpCall, read_call
from structguard.clients.http_reply import GuardedCall, untouched
from structguard.clients.http_stream import EventStream
from structguard.events import Observer
from structguard.flow import Send, Sent, adrive, drive
from structguard.memo import Memo
from structguard.options import Policy
from structguard.service import Clock

_DRAIN = 0.05  # seconds granted to the end of a stream that told of an error
_CLOSING = 1.0  # seconds granted to closing a response


def _check(transport: object, sends: str, example: str) -> None:
    """A client, a URL or the other kind of transport would only fail at the first request."""
    if transport is not None and not hasattr(transport, sends):
        raise TypeError(
            f"a transport with {sends} is needed, such as {example}(), got"
            f" {type(transport).__module__}.{type(transport).__qualname__}"
        )


class GuardedTransport(httpx2.BaseTransport):
    """
    Guards what is sent through `transport` (None: `httpx2.HTTPTransport()`), which it owns.

    `Guard.transport()` makes one with the guard's memo and policy. `clock` gives seconds.
    """

    def __init__(
        self,
        transport: httpx2.BaseTransport | None = None,
        *,
        memo: Memo,
        policy: Policy,
        observer: Observer,
        clock: Clock,
    ) -> None:
        _check(transport, "handle_request", "httpx2.HTTPTransport")
        self._inner = httpx2.HTTPTransport() if transport is None else transport
        self._memo, self._policy, self._observer, self._clock = memo, policy, observer, clock

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """One request of the client: one send, or two."""
        http = read_call(request, self._policy)
        if http is None:
            return self._inner.handle_request(request)
        if not http.call.guardable:
            return untouched(http, self._inner.handle_request(request))
        return self._guarded(http)

    def _guarded(self, http: HttpCall) -> httpx2.Response:
        guarded = GuardedCall(http, self._policy, self._clock)

        def send(effect: Send[BodyCall]) -> Sent[httpx2.Response]:
            try:
                return self._send(guarded, guarded.request(effect))
            except httpx2.HTTPError as error:
                return guarded.failed(error)

        try:
            served = drive(
                http.call, send, memo=self._memo, policy=guarded.policy, observer=self._observer,
                timeout=http.timeout,
            )  # fmt: skip
        except (httpx2.HTTPStatusError, ValueError) as error:
            response = guarded.instead(error)
            if response is None:
                return untouched(http, self._inner.handle_request(http.request))
            return response
        return guarded.finish(served)

    def _send(self, guarded: GuardedCall, request: httpx2.Request) -> Sent[httpx2.Response]:
        response = self._inner.handle_request(request)
        try:
            part = guarded.part(response)
            if part == "nothing":
                return guarded.unseen(response)
            if part == "whole":
                # the stream itself: a reply from memory (a cache, a recording) is read already
                stream = cast("httpx2.SyncByteStream", response.stream)
                raw = b"".join(stream)
                stream.close()
                return guarded.whole(response, raw)
            chunks = cast("Generator[bytes]", response.iter_bytes())
            events = guarded.events()
            for chunk in chunks:
                if events.peek(chunk):
                    break
            else:
                events.ended()
            if events.failure is not None:
                response.close()
            return guarded.opened(response, events, _Body(guarded, events, response, chunks))
        except BaseException:
            response.close()
            raise

    def close(self) -> None:
        """Close the transport below; the memo is its guard's to close."""
        self._inner.close()

    def __enter__(self) -> Self:
        self._inner.__enter__()
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None = None,
        exc_value: BaseException | None = None,
        traceback: TracebackType | None = None,
    ) -> None:
        self._inner.__exit__(exc_type, exc_value, traceback)


class AsyncGuardedTransport(httpx2.AsyncBaseTransport):
    """
    Guards what is sent through `transport` (None: `httpx2.AsyncHTTPTransport()`), which it owns.

    On asyncio and trio; `Guard.async_transport()` makes one. `clock` gives seconds.
    """

    def __init__(
        self,
        transport: httpx2.AsyncBaseTransport | None = None,
        *,
        memo: Memo,
        policy: Policy,
        observer: Observer,
        clock: Clock,
    ) -> None:
        _check(transport, "handle_async_request", "httpx2.AsyncHTTPTransport")
        self._inner = httpx2.AsyncHTTPTransport() if transport is None else transport
        self._memo, self._policy, self._observer, self._clock = memo, policy, observer, clock

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """One request of the client: one send, or two."""
        http = read_call(request, self._policy)
        if http is None:
            return await self._inner.handle_async_request(request)
        if not http.call.guardable:
            return untouched(http, await self._inner.handle_async_request(request))
        return await self._guarded(http)

    async def _guarded(self, http: HttpCall) -> httpx2.Response:
        guarded = GuardedCall(http, self._policy, self._clock)

        async def send(effect: Send[BodyCall]) -> Sent[httpx2.Response]:
            try:
                return await self._send(guarded, guarded.request(effect))
            except httpx2.HTTPError as error:
                return guarded.failed(error)

        try:
            served = await adrive(
                http.call, send, memo=self._memo, policy=guarded.policy, observer=self._observer,
                timeout=http.timeout,
            )  # fmt: skip
        except (httpx2.HTTPStatusError, ValueError) as error:
            response = guarded.instead(error)
            if response is None:
                return untouched(http, await self._inner.handle_async_request(http.request))
            return response
        return guarded.finish(served)

    async def _send(self, guarded: GuardedCall, request: httpx2.Request) -> Sent[httpx2.Response]:
        response = await self._inner.handle_async_request(request)
        try:
            part = guarded.part(response)
            if part == "nothing":
                return guarded.unseen(response)
            if part == "whole":
                stream = cast("httpx2.AsyncByteStream", response.stream)
                raw = b"".join([piece async for piece in stream])
                await stream.aclose()
                return guarded.whole(response, raw)
            chunks = response.aiter_bytes()
            events = guarded.events()
            async for chunk in chunks:
                if events.peek(chunk):
                    break
            else:
                events.ended()
            if events.failure is not None:
                await _abandon(response, chunks)
            return guarded.opened(response, events, _AsyncBody(guarded, events, response, chunks))
        except BaseException:
            with anyio.CancelScope(shield=True):
                await response.aclose()
            raise

    async def aclose(self) -> None:
        """Close the transport below; the memo is its guard's to close."""
        await self._inner.aclose()

    async def __aenter__(self) -> Self:
        await self._inner.__aenter__()
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None = None,
        exc_value: BaseException | None = None,
        traceback: TracebackType | None = None,
    ) -> None:
        await self._inner.__aexit__(exc_type, exc_value, traceback)


@dataclass(slots=True)
class _Body(httpx2.SyncByteStream):
    """The rest of a stream that was peeked into."""

    guarded: GuardedCall
    events: EventStream
    response: httpx2.Response
    chunks: Generator[bytes]

    def __iter__(self) -> Iterator[bytes]:
        yield self.events.head()
        try:
            for chunk in self.chunks:
                if out := self.events.feed(chunk):
                    yield out
        except httpx2.HTTPError:
            yield self.events.close()
            raise
        yield self.events.close()
        self.guarded.read(self.events.healer.source)

    def close(self) -> None:
        self.chunks.close()
        self.response.close()


@dataclass(slots=True)
class _AsyncBody(httpx2.AsyncByteStream):
    """The same on the event loop."""

    guarded: GuardedCall
    events: EventStream
    response: httpx2.Response
    chunks: AsyncGenerator[bytes]

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield self.events.head()
        try:
            async for chunk in self.chunks:
                if out := self.events.feed(chunk):
                    yield out
        except httpx2.HTTPError:
            yield self.events.close()
            raise
        yield self.events.close()
        self.guarded.read(self.events.healer.source)

    async def aclose(self) -> None:
        await _closed(self.response, self.chunks)


async def _abandon(response: httpx2.Response, chunks: AsyncGenerator[bytes]) -> None:
    """Close a stream that told of an error; if it is at its end, its connection is kept."""
    try:
        with anyio.move_on_after(_DRAIN):
            async for _ in chunks:
                pass
    except httpx2.HTTPError:
        pass  # the error it told of is the one that counts
    finally:
        await _closed(response, chunks)


async def _closed(response: httpx2.Response, chunks: AsyncGenerator[bytes]) -> None:
    """
    Close a response that was read in part.

    Walking on over the closed connection ends the generators that httpx2 has nested; one left to
    the garbage collector is an error under trio.
    """
    with anyio.move_on_after(_CLOSING, shield=True):
        await response.aclose()
        with suppress(httpx2.HTTPError, httpx2.StreamError, OSError):
            async for _ in chunks:
                pass
        await chunks.aclose()
