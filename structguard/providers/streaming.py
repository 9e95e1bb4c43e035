"""
The events of one streamed reply, read from its connection as they are asked for.

One closing rule: the connection is closed whenever the consumer stops, is cancelled or fails; the
engine calls `aclose` on every way out. Source: spec wire "Streams".
"""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from dataclasses import replace
from typing import Self

import anyio

from structguard.errors import ProviderError
from structguard.http import ExchangeFailed, Response
from structguard.types import Completion, Failure, Finished, StreamEvent
from structguard.wire.base import BadReply, StreamDecoder

_DRAIN = 0.05  # seconds granted to the end of a finished body, so that its connection can be kept


class Events:
    """
    An async iterator of events.

    `finish` signs the whole reply, `fail` makes the error of what broke after the first event;
    before that, in `start`, BadReply and ExchangeFailed come out as they are.
    """

    def __init__(
        self,
        response: Response,
        decoder: StreamDecoder,
        feed: Callable[[bytes], list[StreamEvent]],
        *,
        finish: Callable[[Completion], Completion],
        fail: Callable[[Failure, Exception], ProviderError],
    ) -> None:
        self._response = response
        self._pieces: AsyncIterator[bytes] = response.aiter()
        self._decoder = decoder
        self._feed = feed
        self._finish = finish
        self._fail = fail
        self._ready: deque[StreamEvent] = deque()
        self._over = False
        self._ended = False  # the decoder has read the end; the connection may be kept
        self._pending: BadReply | None = None

    async def start(self) -> None:
        """
        Read up to the first event.

        Raises:
            BadReply, ExchangeFailed: there is none.
        """
        while not self._ready and not self._over:
            await self._read()
        if not self._ready and self._pending is not None:
            raise self._pending

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> StreamEvent:
        while not self._ready:
            if self._over:
                await self._conclude()
            try:
                await self._read()
            except ExchangeFailed as error:
                self._over = True
                await self.aclose()
                raise self._fail(replace(error.failure, yielded=True), error) from error
        return self._signed(self._ready.popleft())

    def waiting(self) -> list[StreamEvent]:
        """What is there without waiting, taken out: the end is still `__anext__`'s to tell."""
        ready = [*self._ready]
        self._ready.clear()
        if ready:
            ready[-1] = self._signed(ready[-1])
        return ready

    def _signed(self, event: StreamEvent) -> StreamEvent:
        return Finished(self._finish(event.completion)) if isinstance(event, Finished) else event

    async def _read(self) -> None:
        """One piece of the body, or its end."""
        try:
            chunk = await anext(self._pieces)
        except StopAsyncIteration:
            self._close_decoder()
            return
        except ExchangeFailed as error:
            self._cut(error)
            return
        try:
            self._ready.extend(self._feed(chunk))
        except BadReply as error:
            self._over, self._pending = True, error
            return
        if self._decoder.done:
            self._ended = True
            self._close_decoder()

    def _close_decoder(self) -> None:
        self._over = True
        try:
            self._ready.extend(self._decoder.close())
        except BadReply as error:
            self._pending = error

    def _cut(self, error: ExchangeFailed) -> None:
        """
        The connection broke: what was read may still be a whole reply, else the stream was cut.

        Our own deadline and a fault before the first byte stay what they are.
        """
        if error.failure.own_timeout or not error.failure.truncated:
            raise error
        self._close_decoder()
        if self._pending is not None:  # whatever half an event looked like, the cut explains it
            self._pending = BadReply(replace(error.failure, network=False, truncated=True))
            self._pending.__cause__ = error

    async def _conclude(self) -> None:
        pending, self._pending = self._pending, None
        await self.aclose()
        if pending is not None:
            raise self._fail(replace(pending.failure, yielded=True), pending) from pending
        raise StopAsyncIteration

    async def aclose(self) -> None:
        """Close the connection, or give it back if its body is at its end."""
        try:
            ended, self._ended = self._ended, False
            if ended and not getattr(self._response, "done", False):  # some know that all has come
                with anyio.move_on_after(_DRAIN), suppress(ExchangeFailed):
                    async for _ in self._pieces:
                        pass
        finally:
            await self._response.aclose()
