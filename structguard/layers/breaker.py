"""
The breaker of a chain as a layer: it admits each call to a link and reports how it ended.

It stands outside degrade, so a handled refusal is a success to it (DESIGN, order of layers). The
decisions are `partition.Partition`'s. Source: spec chain C8 to C13, C15, C17.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Literal, Self, TypeAlias

from structguard.errors import KindRule, ProviderError, operation, redact
from structguard.events import Event, Observer
from structguard.layers.outage import kind_of, rule_of
from structguard.layers.partition import Partition
from structguard.options import BreakerOptions
from structguard.service import Clock, Complete, Layer, OpenStream, StreamLayer
from structguard.types import Completion, Failure, Kind, Request, StreamEvent

Judge: TypeAlias = Callable[[BaseException], KindRule]


class Breaker:
    """
    The partitions of one chain, bounded (the least recently used go first), and the layers that
    report every call to them. `judge` says what an exception means.
    """

    def __init__(
        self,
        names: tuple[str, ...],
        *,
        options: BreakerOptions,
        clock: Clock,
        observer: Observer,
        judge: Judge = rule_of,
    ) -> None:
        self.clock = clock
        self.observer = observer
        self.judge = judge
        self._names = names
        self._options = options
        self._partitions: OrderedDict[str, Partition] = OrderedDict()

    def __len__(self) -> int:
        return len(self._partitions)

    def partition(self, key: str) -> Partition:
        """The state of a partition, fresh if it is new or was forgotten."""
        found = self._partitions.get(key)
        if found is not None:
            self._partitions.move_to_end(key)
            return found
        found = self._partitions[key] = Partition(key, self._names, self._options)
        if len(self._partitions) > self._options.partitions:
            self._partitions.popitem(last=False)
        return found

    def peek(self, key: str) -> Partition:
        """As `partition`, but a look neither keeps a partition nor makes one."""
        return self._partitions.get(key) or Partition(key, self._names, self._options)

    def layer(self, link: int) -> Layer:
        """Around one link's `complete`."""

        def around(core: Complete) -> Complete:
            async def complete(request: Request, /) -> Completion:
                call = _Call(self, link, request)
                try:
                    completion = await core(request)
                except BaseException as error:
                    call.failed(error)
                    raise
                call.served()
                return completion

            return complete

        return around

    def stream_layer(self, link: int) -> StreamLayer:
        """
        Around one link's `stream`: the attempt lasts until the first event, which is awaited here;
        a later failure counts too. What the consumer raises is no outcome of the link.
        """

        def around(core: OpenStream) -> OpenStream:
            @asynccontextmanager
            async def stream(request: Request, /) -> AsyncGenerator[AsyncIterator[StreamEvent]]:
                call = _Call(self, link, request)
                try:
                    async with core(request) as events:
                        first = await self._first(events, link, request)
                        call.opened()
                        yield _Live(first, events, call)
                except BaseException as error:
                    call.failed(error)
                    raise
                finally:
                    call.closed()

            return stream

        return around

    async def _first(
        self, events: AsyncIterator[StreamEvent], link: int, request: Request
    ) -> StreamEvent:
        first = await anext(events, None)
        if first is not None:
            return first
        message = "the stream ended before its first event"
        fail = operation("stream", request, self._names[link], observer=self.observer)
        raise fail.inline(
            Kind.STREAM_TRUNCATED,
            message,
            failure=Failure(truncated=True, message=message),
            requests=1,
        )


class _Call:
    """One call to one link: admitted when made, its outcome reported once."""

    __slots__ = ("_breaker", "_partition", "_stage", "_ticket")

    def __init__(self, breaker: Breaker, link: int, request: Request) -> None:
        self._breaker = breaker
        self._stage: Literal["asking", "live", "over"] = "asking"
        self._partition = breaker.partition(request.partition)
        self._ticket, events = self._partition.admit(link, breaker.clock())
        self._emit(events)

    def served(self) -> None:
        self._stage = "over"
        self._emit(self._partition.succeed(self._ticket))

    def opened(self) -> None:
        """A stream gave its first event: a probe has its answer, the count waits for the end."""
        self._stage = "live"
        self._emit(self._partition.succeed(self._ticket, whole=False))
        self._ticket = replace(self._ticket, probe=False)

    def failed(self, error: BaseException) -> None:
        """The attempt failed; what reaches here once a stream lives is the consumer's own."""
        if self._stage == "asking":
            self._report(error)

    def broke(self, error: BaseException) -> None:
        """A live stream failed."""
        self._report(error)

    def closed(self) -> None:
        """A stream is over; one that did not break served to its end, abandoned or not."""
        if self._stage == "live":
            self._stage = "over"
            self._partition.finish(self._ticket)

    def _report(self, error: BaseException) -> None:
        self._stage = "over"
        if not isinstance(error, Exception) or kind_of(error) is Kind.CANCELLED:
            self._partition.release(self._ticket)
            return
        counts, now = self._breaker.judge(error).breaker, self._breaker.clock()
        if counts == "none":
            self._partition.release(self._ticket, asked_at=now)
            return
        self._emit(self._partition.fail(self._ticket, now, counts, one_line(error)))

    def _emit(self, events: Sequence[Event]) -> None:
        for event in events:
            self._breaker.observer(event)


class _Live:
    """An open stream: its first event again, then the rest; a failure is reported."""

    __slots__ = ("_call", "_events", "_first")

    def __init__(self, first: StreamEvent, events: AsyncIterator[StreamEvent], call: _Call) -> None:
        self._first: StreamEvent | None = first
        self._events = events
        self._call = call

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> StreamEvent:
        first, self._first = self._first, None
        if first is not None:
            return first
        try:
            return await anext(self._events)
        except StopAsyncIteration:
            raise
        except BaseException as error:
            self._call.broke(error)
            raise


def one_line(error: BaseException) -> str:
    """An exception for an event: kind and message, one line, no credential, 200 characters."""
    name = error.kind.value if isinstance(error, ProviderError) else type(error).__name__
    return " ".join(redact(f"{name}: {error}").split())[:200]
