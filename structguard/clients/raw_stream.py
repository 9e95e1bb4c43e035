"""
A raw response that streams, looked into until its answer begins; what was read is put back.

The caller may still read it whichever way they like. A compressed body is left alone. Source: spec
guard §2, row "retry accepted".
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Generator, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import cast

import anyio
import httpx2
import jiter
from openai import APIConnectionError, APITimeoutError

from structguard.clients.http_stream import EventStream

_CLOSING = 1.0  # seconds granted to closing a response


def begin(response: httpx2.Response, events: EventStream) -> None:
    """
    Read until `events` has seen enough; a stream that told of an error is closed.

    Raises:
        openai.APIConnectionError, APITimeoutError: as the SDK's own streams do.
    """
    if "content-encoding" in response.headers or response.is_stream_consumed:
        return
    stream = cast("httpx2.SyncByteStream", response.stream)
    chunks, head = iter(stream), list[bytes]()
    response.stream = _Begun(head, chunks, stream)
    try:
        with _in_the_sdks_words(response):
            for chunk in chunks:
                head.append(chunk)
                if events.peek(chunk):
                    break
            else:
                events.ended()
    except BaseException:
        response.close()
        raise
    if events.failure is not None:
        response.close()


async def abegin(response: httpx2.Response, events: EventStream) -> None:
    """`begin` on the event loop."""
    if "content-encoding" in response.headers or response.is_stream_consumed:
        return
    stream = cast("httpx2.AsyncByteStream", response.stream)
    chunks, head = aiter(stream), list[bytes]()
    response.stream = _AsyncBegun(head, chunks, stream)
    try:
        with _in_the_sdks_words(response):
            async for chunk in chunks:
                head.append(chunk)
                if events.peek(chunk):
                    break
            else:
                events.ended()
    except BaseException:
        with anyio.CancelScope(shield=True):
            await response.aclose()
        raise
    if events.failure is not None:
        await response.aclose()


def whole(response: httpx2.Response) -> object:
    """
    The JSON of a reply that was asked for as events and came whole, None for events.

    It is read here: the SDK looks for events in it and finds none, whatever it says.
    """
    if not _is_json(response):
        return None
    with _in_the_sdks_words(response):
        response.read()
    return _json_of(response)


async def awhole(response: httpx2.Response) -> object:
    """`whole` on the event loop."""
    if not _is_json(response):
        return None
    with _in_the_sdks_words(response):
        await response.aread()
    return _json_of(response)


def _is_json(response: httpx2.Response) -> bool:
    kind: str = response.headers.get("content-type", "")
    return kind.partition(";")[0].strip().lower() == "application/json"


def _json_of(response: httpx2.Response) -> object:
    try:
        value: object = jiter.from_json(response.content)
    except ValueError:
        return None
    return value


@contextmanager
def _in_the_sdks_words(response: httpx2.Response) -> Generator[None]:
    try:
        yield
    except httpx2.TimeoutException as error:
        raise APITimeoutError(request=response.request) from error
    except httpx2.RequestError as error:
        raise APIConnectionError(request=response.request) from error


@dataclass(slots=True)
class _Begun(httpx2.SyncByteStream):
    """A body of which `head` was read already."""

    head: list[bytes]
    rest: Iterator[bytes]
    stream: httpx2.SyncByteStream

    def __iter__(self) -> Iterator[bytes]:
        yield from self.head
        yield from self.rest

    def close(self) -> None:
        self.stream.close()


@dataclass(slots=True)
class _AsyncBegun(httpx2.AsyncByteStream):
    """The same on the event loop."""

    head: list[bytes]
    rest: AsyncIterator[bytes]
    stream: httpx2.AsyncByteStream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for chunk in self.head:
            yield chunk
        async for chunk in self.rest:
            yield chunk

    async def aclose(self) -> None:
        """Walking on over the closed connection ends the generators that httpx2 has nested."""
        with anyio.move_on_after(_CLOSING, shield=True):
            await self.stream.aclose()
            with suppress(httpx2.HTTPError, httpx2.StreamError, OSError, RuntimeError):
                async for _ in self.rest:
                    pass
