"""
What every transport offers: bytes go out once, a status, headers and bytes come back.

A transport never sends twice, never follows a redirect, never logs a body or a header, and gives
every fault as one `ExchangeFailed` that carries a `Failure`. Source: spec wire, spec errors.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

import anyio

from structguard.types import Failure

T = TypeVar("T")


class ExchangeFailed(Exception):
    """An exchange broke before its reply was whole; `failure` holds the facts to classify."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """
    Limits of a transport's connections and replies.

    Raises:
        ValueError: A limit that would allow nothing.
    """

    connections: int = 1000  # open at once, in one event loop
    idle: int = 100  # kept open between requests
    idle_seconds: float = 15.0  # an idle connection is closed after these
    connect_timeout: float = 10.0  # seconds; never longer than the exchange itself
    max_body: int = 64 * 1024 * 1024  # bytes of one reply, unpacked

    def __post_init__(self) -> None:
        for name in ("connections", "connect_timeout", "max_body"):
            if not getattr(self, name) > 0:
                raise ValueError(f"{name} must be more than 0, got {getattr(self, name)!r}")
        for name in ("idle", "idle_seconds"):
            if not getattr(self, name) >= 0:
                raise ValueError(f"{name} must be at least 0, got {getattr(self, name)!r}")


class Response(Protocol):
    """
    One reply; `headers` has lower-case names. Close it whatever happens.

    `aread` gives the whole body, `aiter` its pieces as they come. Both raise ExchangeFailed when
    the connection breaks (`network`, `truncated`), the time is over (`own_timeout`) or the body is
    too large.
    """

    @property
    def status(self) -> int: ...
    @property
    def headers(self) -> Mapping[str, str]: ...
    async def aread(self) -> bytes: ...
    def aiter(self) -> AsyncIterator[bytes]: ...
    async def aclose(self) -> None: ...


class Transport(Protocol):
    """
    Sends one request. `budget` is for the whole exchange, the body included, in seconds; with
    `stream` the reply is handed over as soon as its head is there.
    """

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
        """
        The reply, whatever its status.

        Raises:
            ExchangeFailed: no reply, or not a whole one.
        """
        ...

    async def aclose(self) -> None:
        """Close the connections of this event loop. Safe to call twice."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Whole:
    """A reply that was read to its end."""

    status: int
    headers: Mapping[str, str]
    body: bytes = field(repr=False)

    async def aread(self) -> bytes:
        """The body."""
        return self.body

    async def aiter(self) -> AsyncIterator[bytes]:
        """The body as one piece."""
        yield self.body

    async def aclose(self) -> None:
        """Nothing is left open."""


def out_of_time(status: int | None = None) -> ExchangeFailed:
    """Our own deadline passed."""
    text = "no reply within the time allowed" if status is None else "the reply took too long"
    return ExchangeFailed(Failure(status=status, message=text, timed_out=True, own_timeout=True))


def broken(why: str, status: int | None = None) -> ExchangeFailed:
    """The connection could not be made or broke; with a status, in the middle of the reply."""
    cut = status is not None
    return ExchangeFailed(Failure(status=status, message=why, network=True, truncated=cut))


def unreadable(why: str, status: int | None = None) -> ExchangeFailed:
    """A reply whose bytes cannot be used."""
    return ExchangeFailed(Failure(status=status, message=why))


def too_large(limit: int, status: int) -> ExchangeFailed:
    """A body over the limit."""
    return unreadable(f"the reply is larger than {limit} bytes", status)


async def bounded(end: float, work: Callable[[], Awaitable[T]], status: int | None = None) -> T:
    """
    The work's result, or ExchangeFailed once the event loop's clock passes `end`.

    A cancellation from outside stays a cancellation.
    """
    with anyio.CancelScope(deadline=end):
        return await work()
    raise out_of_time(status)
