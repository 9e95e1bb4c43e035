"""
A provider that plays outcomes in order and keeps every request: no network, no mock library.

It fails as our own providers do: one ProviderError, its refusal judged, kind `format_refused`.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Awaitable,
    Callable,
    Iterable,
    Mapping,
    Sequence,
)
from contextlib import aclosing, asynccontextmanager
from dataclasses import replace
from types import MappingProxyType
from typing import TypeAlias, cast

import anyio.lowlevel

from structguard.errors import ProviderError, operation
from structguard.events import Observer, ignore
from structguard.refusal import detect_refusal
from structguard.schema import as_format
from structguard.service import EventStream, Status
from structguard.types import (
    Api,
    Completion,
    Failure,
    Finished,
    Format,
    FormatKind,
    JsonObject,
    JsonSchema,
    Operation,
    Request,
    StreamEvent,
    TextDelta,
    ToolCalled,
)
from structguard.wire import chat
from structguard.wire.base import DEFAULTS, is_reasoning, sendable_format

Step: TypeAlias = StreamEvent | Failure | BaseException
Played: TypeAlias = Completion | str | Failure | BaseException | Sequence[Step]
Outcome: TypeAlias = Played | Callable[[Request], Played | Awaitable[Played]]

_SENT: Mapping[type[Format], FormatKind] = MappingProxyType(
    {JsonSchema: "json_schema", JsonObject: "json_object"}
)


class ScriptOver(AssertionError):
    """A scripted provider got more requests than it has outcomes."""


class Script:
    """
    A provider that plays one outcome per request, whole or streamed.

    An outcome is a text or a Completion (the reply), a Failure (raised as the ProviderError that a
    real provider would raise; if the request carries a format, it may be a refusal), an exception
    (raised as it is), a list of stream events that ends with Finished (a Failure or an exception in
    it breaks the stream there), or a callable, sync or async, that takes the request and returns any
    of these. `requests` holds the requests in order; `closed` counts the calls of `aclose`.

    Raises:
        TypeError: An outcome of another type.
        ScriptOver: A request after the last outcome.
    """

    def __init__(
        self,
        outcomes: Iterable[Outcome] = (),
        *,
        id: str = "script",  # noqa: A002  the protocol's word
        base_url: str = "",
        api: Api = "chat",
        observer: Observer = ignore,
    ) -> None:
        self.id = id
        self.base_url = base_url
        self.outcomes: list[Outcome] = [_checked(outcome) for outcome in outcomes]
        self.requests: list[Request] = []
        self.closed: int = 0
        self._api: Api = api
        self._observer = observer

    def api_for(self, model: str | None, /) -> Api:
        """The API that it pretends to use, the same for every model."""
        del model
        return self._api

    async def complete(self, request: Request, /) -> Completion:
        """Play the next outcome as a whole reply."""
        for step in await self._next(request):
            event = self._played(step, request, "complete")
            if isinstance(event, Finished):
                return event.completion
        raise AssertionError("a checked script ends with a reply or a failure")  # pragma: no cover

    def stream(self, request: Request, /) -> EventStream:
        """Play the next outcome as a stream; a failure at its start is raised on entering."""
        return self._stream(request)

    @asynccontextmanager
    async def _stream(self, request: Request) -> AsyncGenerator[AsyncIterator[StreamEvent]]:
        steps = await self._next(request)
        first = self._played(steps[0], request, "stream")

        async def events() -> AsyncGenerator[StreamEvent]:
            yield first
            for step in steps[1:]:
                await anyio.lowlevel.checkpoint()
                yield self._played(step, request, "stream", yielded=True)

        async with aclosing(events()) as playing:
            yield playing

    async def status(self) -> Status:
        """Always healthy."""
        return Status(health="healthy", message="scripted", latency=0.0)

    async def aclose(self) -> None:
        """Count the call; there is nothing to close."""
        self.closed += 1

    async def _next(self, request: Request) -> Sequence[Step]:
        """The next outcome as the steps of a stream."""
        await anyio.lowlevel.checkpoint()
        self.requests.append(request)
        number = len(self.requests)
        if number > len(self.outcomes):
            raise ScriptOver(
                f"{self.id!r} got request number {number} and has {len(self.outcomes)} outcomes to"
                f" play; the request asked for {request.model or 'no model'!r}, format"
                f" {_sent_format(request) or 'none'}"
            )
        outcome = self.outcomes[number - 1]
        if callable(outcome):
            played = outcome(request)
            outcome = await played if inspect.isawaitable(played) else played
        return _steps(outcome)

    def _played(
        self, step: Step, request: Request, operation: Operation, *, yielded: bool = False
    ) -> StreamEvent:
        """The event of one step; what fails is raised."""
        match step:
            case BaseException():
                raise step
            case Failure():
                raise self._error(replace(step, yielded=yielded), request, operation)
            case Finished(completion=completion):
                return Finished(self._signed(completion, request))
            case _:
                return step

    def _error(self, failure_: Failure, request: Request, name: Operation) -> ProviderError:
        failure = _with_facts(failure_)
        return operation(name, request, self.id, observer=self._observer).from_failure(
            failure,
            chat.classify,
            refusal=detect_refusal(
                failure.status,
                failure.body,
                sent=_sent_format(request),
                api=self._api,
                tools=bool(request.tools),
                stream=name == "stream",
                reasoning=is_reasoning(request, DEFAULTS),
            ),
        )

    def _signed(self, reply: Completion, request: Request) -> Completion:
        """What a provider adds to a reply, where the script does not say it."""
        enforced = reply.enforced
        if enforced is None and _sent_format(request) is not None:
            enforced = True
        return replace(
            reply,
            enforced=enforced,
            provider=reply.provider or self.id,
            model=reply.model or request.model,
        )


def _sent_format(request: Request) -> FormatKind | None:
    """The format that such a request puts on the wire."""
    format_ = sendable_format(request, as_format(request.response_format), DEFAULTS)
    return None if format_ is None else _SENT[type(format_)]


def _checked(outcome: Outcome) -> Outcome:
    if not callable(outcome):
        _steps(outcome)
    return outcome


def _steps(played: object) -> Sequence[Step]:
    """An outcome as the steps of a stream."""
    match played:
        case str():
            return _steps(Completion(text=played))
        case Completion():
            deltas = [TextDelta(played.text)] if played.text else []
            return [*deltas, *map(ToolCalled, played.tool_calls), Finished(played)]
        case Failure() | BaseException():
            return [played]
        case list() | tuple():
            steps = cast("Sequence[Step]", played)
            if steps and isinstance(steps[-1], Finished | Failure | BaseException):
                return steps
            raise TypeError("a list of stream events ends with Finished, a Failure or an exception")
        case _:
            raise TypeError(
                "an outcome is text, a Completion, a Failure, an exception, a list of stream events"
                f" or a callable, got {type(played).__name__}"
            )


def _with_facts(failure: Failure) -> Failure:
    """The failure with its body and what is read from it, where only one of the two was given."""
    facts = (failure.body, failure.message, failure.code, failure.type, failure.param)
    if failure.status is None or not any(facts):  # nothing to read, and no body to make up
        return failure
    body = failure.body or json.dumps(
        {"error": {"message": failure.message, "code": failure.code, "type": failure.type,
                   "param": failure.param}}
    )  # fmt: skip
    read = chat.failure(failure.status, {}, body)
    return replace(
        failure,
        body=body,
        message=failure.message or read.message,
        code=failure.code or read.code,
        type=failure.type or read.type,
        param=failure.param or read.param,
    )
