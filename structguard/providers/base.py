"""What the five providers are beside their constructors: `service.Provider`, done by an engine."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from structguard.memo import endpoint_id
from structguard.providers.engine import Engine
from structguard.refusal import RequestFacts
from structguard.service import EventStream, Status
from structguard.types import Api, Completion, Request
from structguard.wire.base import Wire


class BaseProvider:
    """
    An endpoint behind an engine; a vendor's class adds what it takes and reads from the environment.

    The one class that others of ours inherit from: the same ten members spelled out in each of five
    files would say less, and drift.
    """

    def __init__(self, engine: Engine, wire: Wire, *, base_url: str, models_url: str) -> None:
        self._engine = engine
        self._wire = wire
        self._base_url = endpoint_id(base_url)
        self._models_url = models_url

    @property
    def id(self) -> str:
        """Its name in memo, events and errors."""
        return self._engine.id

    @property
    def base_url(self) -> str:
        """The endpoint as the memo names it: `host[:port][/path]`."""
        return self._base_url

    @property
    def attempts(self) -> int:
        """How often a call is sent at most when the request does not say."""
        return self._engine.retry.attempts

    def api_for(self, model: str | None, /) -> Api:
        """The wire API of a model as far as it is known without asking the endpoint."""
        return self._engine.router.api_for(model)

    def facts_of(self, request: Request, /, *, stream: bool) -> RequestFacts:
        """What a request carries as it would be sent: `tools_first` may leave the format out."""
        return self._engine.facts_of(request, stream=stream)

    async def complete(self, request: Request, /) -> Completion:
        """The whole reply. Raises ProviderError."""
        return await self._engine.complete(request)

    def stream(self, request: Request, /) -> EventStream:
        """The events of one reply; see `service.OpenStream`."""
        return self._engine.stream(request)

    async def status(self) -> Status:
        """Health by a GET of the endpoint's list of models; never raises."""
        return await self._engine.status(self._models_url, self._wire)

    async def aclose(self) -> None:
        """Close its connections; a client, transport or memo of the caller's own stays open."""
        await self._engine.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.aclose()

    def __repr__(self) -> str:
        return f"{type(self).__name__}(id={self.id!r})"
