"""A provider that plays outcomes and keeps requests, and errors by kind."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterable
from contextlib import aclosing, asynccontextmanager
from typing import TypeAlias

from structguard.errors import ProviderError, provider_error
from structguard.events import Event
from structguard.service import EventStream, Status
from structguard.types import (
    Api,
    Completion,
    Failure,
    Finished,
    Kind,
    Request,
    StreamEvent,
    TextDelta,
)

Outcome: TypeAlias = str | BaseException | Callable[[Request], "Completion | Awaitable[Completion]"]

STATUSES = {
    Kind.INVALID_REQUEST: 400,
    Kind.FORMAT_REFUSED: 400,
    Kind.AUTHENTICATION: 401,
    Kind.BILLING: 402,
    Kind.NOT_FOUND: 404,
    Kind.RATE_LIMITED: 429,
    Kind.UNAVAILABLE: 503,
    Kind.TIMEOUT: 504,
}


def failing(kind: Kind, message: str = "", *, own_timeout: bool = False) -> ProviderError:
    """The ProviderError of a kind, as a provider would raise it."""
    failure = Failure(
        status=None if own_timeout else STATUSES.get(kind), message=message, own_timeout=own_timeout
    )
    return provider_error(
        kind=kind,
        message=message,
        failure=failure,
        provider="scripted",
        model=None,
        operation="complete",
    )


class Script:
    """
    Plays its outcomes in order, the last one for ever: text is a reply, an exception is raised, a
    function is asked. `streams` are played by `stream`: lists of events and exceptions.
    """

    def __init__(
        self,
        *outcomes: Outcome,
        id: str = "scripted",  # noqa: A002  the protocol's word
        streams: Iterable[list[StreamEvent | BaseException]] = (),
    ) -> None:
        self.id = id
        self.base_url = f"http://{id}.invalid"
        self.outcomes = list(outcomes) or ["hello"]
        self.streams = list(streams)
        self.requests: list[Request] = []
        self.closed = 0
        self.streams_open = 0

    def api_for(self, model: str | None, /) -> Api:
        return "chat"

    async def complete(self, request: Request, /) -> Completion:
        self.requests.append(request)
        outcome = self.outcomes[0] if len(self.outcomes) == 1 else self.outcomes.pop(0)
        if isinstance(outcome, BaseException):
            raise outcome
        if isinstance(outcome, str):
            return Completion(text=outcome, provider=self.id, model=request.model)
        reply = outcome(request)
        return reply if isinstance(reply, Completion) else await reply

    def stream(self, request: Request, /) -> EventStream:
        return self._stream(request)

    @asynccontextmanager
    async def _stream(self, request: Request) -> AsyncGenerator[AsyncIterator[StreamEvent]]:
        self.requests.append(request)
        played = self.streams[0] if len(self.streams) == 1 else self.streams.pop(0)
        self.streams_open += 1
        try:
            async with aclosing(_play(played)) as events:
                yield events
        finally:
            self.streams_open -= 1

    async def status(self) -> Status:
        outcome = self.outcomes[0]
        healthy = isinstance(outcome, str)
        return Status(
            health="healthy" if healthy else "unhealthy", message=str(outcome), latency=0.1
        )

    async def aclose(self) -> None:
        self.closed += 1

    @property
    def calls(self) -> int:
        return len(self.requests)


async def _play(events: list[StreamEvent | BaseException]) -> AsyncGenerator[StreamEvent]:
    for event in events:
        if isinstance(event, BaseException):
            raise event
        yield event


def spoken(text: str) -> list[StreamEvent | BaseException]:
    """A whole stream that says this."""
    return [TextDelta(text), Finished(Completion(text=text))]


def named(events: Iterable[Event]) -> list[str]:
    """The names of events, without the errors every provider reports."""
    return [name for event in events if (name := type(event).__name__) != "ProviderFailed"]


ASK = Request(messages=[{"role": "user", "content": "hi"}])
