"""
The events of a wrapped client's stream, healed on their way to the caller.

Source: spec guard §2, row "reply to a request that asked for JSON".
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

from structguard.clients.streams import StreamHealer


def healed(
    healer: StreamHealer,
    head: Iterable[Any],
    events: Iterator[Any],
    found: Callable[[str | None], None],
) -> Iterator[Any]:
    """
    `head` and then `events`, what was held behind them, and `found` told how the text was read.

    A stream that breaks gives out what it held first; it is closed on every way out.
    """
    try:
        for event in head:
            yield from healer.feed(event)
        for event in events:
            yield from healer.feed(event)
    except Exception:
        yield from healer.rest()
        raise
    finally:
        _close(events)
    yield from healer.rest()
    found(healer.source)


async def ahealed(
    healer: StreamHealer,
    head: Iterable[Any],
    events: AsyncIterator[Any],
    found: Callable[[str | None], None],
) -> AsyncIterator[Any]:
    """`healed` on the event loop."""
    try:
        for event in head:
            for healed_event in healer.feed(event):
                yield healed_event
        async for event in events:
            for healed_event in healer.feed(event):
                yield healed_event
    except Exception:
        for event in healer.rest():
            yield event
        raise
    finally:
        await _aclose(events)
    for event in healer.rest():
        yield event
    found(healer.source)


@contextmanager
def closed_if_not_begun(events: Iterator[Any]) -> Generator[None]:
    """
    A stream that is not handed on is closed at once: the second send may need its connection, and
    the error that keeps the stream alive is the caller's to keep.
    """
    try:
        yield
    except BaseException:
        _close(events)
        raise


@asynccontextmanager
async def aclosed_if_not_begun(events: AsyncIterator[Any]) -> AsyncGenerator[None]:
    """`closed_if_not_begun` on the event loop."""
    try:
        yield
    except BaseException:
        await _aclose(events)
        raise


def _close(events: Iterator[Any]) -> None:
    close = getattr(events, "close", None)
    if close is not None:
        close()


async def _aclose(events: AsyncIterator[Any]) -> None:
    close = getattr(events, "aclose", None)
    if close is not None:
        await close()
