"""What the five providers are beside their constructors: `service.Provider`, done by an engine."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from structguard.memo import endpoint_id
from structguard.providers.engine import Engine
from structguard.refusal import RequestFacts
from structguard.service import EventStream, Status
from structguard.types import Api, Completion, Request, require_request
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
        """The provider's name in the memo, events and errors."""
        return self._engine.id

    @property
    def base_url(self) -> str:
        """The endpoint's name in the memo: `host[:port][/path]`."""
        return self._base_url

    @property
    def attempts(self) -> int:
        """How often a call is sent at most, unless the request sets a limit."""
        return self._engine.retry.attempts

    def api_for(self, model: str | None, /) -> Api:
        """The API of a model, as far as it is known without asking the endpoint."""
        return self._engine.router.api_for(model)

    def facts_of(self, request: Request, /, *, stream: bool) -> RequestFacts:
        """What a request would carry when sent; `tools_first` may leave the format out."""
        return self._engine.facts_of(request, stream=stream)

    async def complete(self, request: Request, /) -> Completion:
        """
        Send a request and return the whole reply.

        Raises:
            ProviderError: The call failed; `kind` says how.
            TypeError: `request` is no Request.
        """
        require_request(request)
        return await self._engine.complete(request)

    def stream(self, request: Request, /) -> EventStream:
        """
        Send a request and stream the reply: `async with provider.stream(request) as events`.

        Entering the context sends the request. The last event is always `Finished`, with the whole
        completion. Leaving the context closes the connection.

        Raises:
            ProviderError: On entering, if the call failed; while iterating, if the stream broke.
        """
        require_request(request)
        return self._engine.stream(request)

    async def status(self) -> Status:
        """Check the endpoint's health by fetching its list of models; never raises."""
        return await self._engine.status(self._models_url, self._wire)

    async def aclose(self) -> None:
        """Close the connections; a client, transport or memo that you passed in stays open."""
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
