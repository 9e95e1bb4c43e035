"""A provider behind its guard."""

from __future__ import annotations

from types import TracebackType
from typing import Protocol, Self

from structguard.service import Complete, EventStream, OpenStream, Provider, Status
from structguard.types import Api, Completion, Request, require_request


class Layers(Protocol):
    """The guard's two layers; `degrade.Degrade` is the one implementation."""

    def complete(self, core: Complete, /) -> Complete: ...
    def stream(self, core: OpenStream, /) -> OpenStream: ...


class Protected:
    """
    A provider behind its guard: same interface, same texts, a refused format is rescued.

    Whatever else the provider offers (`embed`, …) is reached through it unchanged.
    """

    protected = True

    def __init__(self, provider: Provider, degrade: Layers) -> None:
        self.provider = provider
        self._complete = degrade.complete(provider.complete)
        self._stream = degrade.stream(provider.stream)

    @property
    def id(self) -> str:
        """The provider's id."""
        return self.provider.id

    @property
    def base_url(self) -> str:
        """The provider's base URL."""
        return self.provider.base_url

    def api_for(self, model: str | None, /) -> Api:
        """The wire API the provider asks this model over."""
        return self.provider.api_for(model)

    async def complete(self, request: Request, /) -> Completion:
        """One call; see `guard.Guard.protect`."""
        require_request(request)
        return await self._complete(request)

    def stream(self, request: Request, /) -> EventStream:
        """One streamed call, guarded until its first event."""
        require_request(request)
        return self._stream(request)

    async def status(self) -> Status:
        """The provider's health."""
        return await self.provider.status()

    async def aclose(self) -> None:
        """Close the provider; the guard and its memo stay open."""
        await self.provider.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.aclose()

    def __getattr__(self, name: str) -> object:
        if name == "provider":  # a copy that is not yet filled: no way round and round
            raise AttributeError(name)
        return getattr(self.provider, name)

    def __repr__(self) -> str:
        return f"Protected({self.provider!r})"
