"""
The one shape of the call path: `async (Request) -> Completion`, and what may stand on it.

Source: STYLE "One shape".
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

from structguard.types import Api, Completion, Request, StreamEvent

EventStream: TypeAlias = AbstractAsyncContextManager[AsyncIterator[StreamEvent]]


class Complete(Protocol):
    """One call: a request in, a whole reply out."""

    async def __call__(self, request: Request, /) -> Completion: ...


class OpenStream(Protocol):
    """
    One streamed call. Entering the context sends the request and raises what failed before the
    first event; leaving it closes the HTTP response whatever happened.
    """

    def __call__(self, request: Request, /) -> EventStream: ...


Layer: TypeAlias = Callable[[Complete], Complete]
StreamLayer: TypeAlias = Callable[[OpenStream], OpenStream]
Clock: TypeAlias = Callable[[], float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """A provider's health as one look saw it; `latency` in seconds."""

    health: Literal["healthy", "degraded", "unhealthy"]
    message: str
    latency: float


class Provider(Protocol):
    """
    One endpoint and credential: what `Guard.protect`, chains and sub-calls take.

    `complete` and the entering of `stream` raise ProviderError, or what the vendor's SDK raises.
    """

    @property
    def id(self) -> str:
        """Its name in memo, events and errors."""
        ...

    @property
    def base_url(self) -> str:
        """What identifies the endpoint in the memo, without secrets."""
        ...

    def api_for(self, model: str | None, /) -> Api:
        """The wire API on which a model is asked."""
        ...

    async def complete(self, request: Request, /) -> Completion:
        """The whole reply."""
        ...

    def stream(self, request: Request, /) -> EventStream:
        """The events of one reply; the last is Finished."""
        ...

    async def status(self) -> Status:
        """Its health; never raises."""
        ...

    async def aclose(self) -> None:
        """Let go of its connections."""
        ...


class Guarding(Protocol):
    """
    What a chain needs of a guard: each link's provider, protected. A provider that is already
    protected is handed back as it is. `guard.Guard` is the one implementation.
    """

    def protect(self, provider: Provider, /, *, model: str | None = None) -> Provider: ...


def stack(layers: Sequence[Layer], core: Complete) -> Complete:
    """`core` with the layers around it; the first layer is outermost."""
    for layer in reversed(layers):
        core = layer(core)
    return core
