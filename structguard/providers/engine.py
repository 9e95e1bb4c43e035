"""
What all five providers share: encode, send, judge, retry; a stream until its first event.

A provider hands in two seams: `Authorise` puts its credential on a request, `Router` says where the
call goes. Every fault becomes one `ProviderError` with one event; what was rescued underneath (a
retry, a renewed credential, a switched API) is only counted. Source: spec wire "Providers".
"""

from __future__ import annotations

import random
import time
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Awaitable,
    Callable,
    Mapping,
    Sequence,
)
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Literal, TypeAlias, TypeVar

import anyio

import structguard.errors as errors
from structguard.events import Observer
from structguard.http import ExchangeFailed, Response, Transport
from structguard.observe import log_events
from structguard.options import RetryOptions
from structguard.providers.call import Call, Fault, Outgoing, Route, Unauthorised
from structguard.providers.credentials import digest
from structguard.providers.encoding import encoded, facts_of, written
from structguard.providers.exchange import fault_of, opened, whole
from structguard.providers.seams import Authorise, Feed, Headers, Router
from structguard.providers.streaming import Events
from structguard.refusal import RequestFacts
from structguard.schema import as_format
from structguard.service import Clock, Status
from structguard.types import (
    Completion,
    Failure,
    Format,
    Kind,
    Operation,
    Request,
    StreamEvent,
)
from structguard.wire.base import BadReply, StreamDecoder, Wire

T = TypeVar("T")
Send: TypeAlias = Callable[[Call, Route, Format | None, bytes], Awaitable[T | Fault]]
Health: TypeAlias = Literal["healthy", "degraded", "unhealthy"]
STATUS_TIMEOUT = 10.0  # seconds a look at the health may take
_JSON = {"content-type": "application/json", "user-agent": "structguard"}


def feed_of(decoder: StreamDecoder) -> Feed:
    """How bytes reach a decoder of server-sent events."""
    return decoder.feed


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    """One provider's machinery. `clock` is monotonic; `sleep` and `jitter` are there for tests."""

    id: str
    transport: Transport
    router: Router = field(repr=False)
    authorise: Authorise | None = field(default=None, repr=False)  # None: all is in `headers`
    timeout: float  # seconds a call may take when the request does not say
    retry: RetryOptions = field(default_factory=RetryOptions)
    headers: Headers = field(default_factory=dict[str, str], repr=False)
    observer: Observer = field(default=log_events, repr=False)
    feed: Callable[[StreamDecoder], Feed] = field(default=feed_of, repr=False)
    stream_accept: str = "text/event-stream"
    owns_transport: bool = True  # False: whoever handed it in closes it
    clock: Clock = time.monotonic
    wall: Clock = time.time  # dates a Retry-After where the reply has no Date of its own
    sleep: Callable[[float], Awaitable[None]] = anyio.sleep
    jitter: Callable[[], float] = random.random

    def begin(self, operation: Operation, request: Request) -> Call:
        """
        A call under way.

        Raises:
            ValueError, TypeError: a format that is none.
        """
        return Call(
            request=request,
            format=as_format(request.response_format),
            stream=operation == "stream",
            fail=errors.operation(operation, request, self.id, observer=self.observer),
            clock=self.clock,
            deadline=self.clock() + (request.timeout or self.timeout),
            retry=self.retry,
            attempts=request.attempts or self.retry.attempts,
        )

    def facts_of(self, request: Request, *, stream: bool) -> RequestFacts:
        """What a request carries as it would be sent now; nothing is looked up for it."""
        return facts_of(request, *self.router.dialect(request.model or ""), stream=stream)

    async def complete(self, request: Request) -> Completion:
        """
        The whole reply.

        Raises:
            ProviderError: the call failed.
        """
        call = self.begin("complete", request)
        return await self._serve(call, partial(whole, self))

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncGenerator[AsyncIterator[StreamEvent]]:
        """
        The events of one reply; the connection is closed when the context is left.

        Raises:
            ProviderError: on entering, what failed before the first event; inside, what came later.
        """
        call = self.begin("stream", request)
        events = await self._serve(call, partial(opened, self))
        try:
            yield events
        finally:
            await events.aclose()

    async def status(self, url: str, wire: Wire) -> Status:
        """Health by one GET. Never raises; what is not healthy is told as an event."""
        call = self.begin("status", Request(messages=(), timeout=STATUS_TIMEOUT, attempts=1))
        started = self.clock()

        def seen(health: Health, message: str) -> Status:
            return Status(health=health, message=message, latency=self.clock() - started)

        try:
            response = await self.send(call, "GET", url, b"")
            raw = await response.aread()
        except ExchangeFailed as error:
            return seen("unhealthy", call.error(fault_of(wire, error.failure)).message)
        except Exception as error:  # noqa: BLE001  a look at the health is no reason to fail
            return seen("unhealthy", str(error))
        if 200 <= response.status < 300:
            return seen("healthy", f"HTTP {response.status}")
        failure = wire.failure(response.status, response.headers, raw, now=self.wall())
        message = call.error(fault_of(wire, failure)).message
        limping = response.status == 429 or response.status >= 500
        return seen("degraded" if limping else "unhealthy", message)

    async def post(
        self,
        operation: Operation,
        request: Request,
        wire: Wire,
        url: str,
        content: Mapping[str, object],
        decode: Callable[[bytes], T],
    ) -> tuple[T, int]:
        """
        One more endpoint of the same vendor (embeddings): the decoded reply, and what it cost.

        Raises:
            ProviderError: the call failed. `decode` raises BadReply for what it cannot use.
        """
        call = self.begin(operation, request)
        body = written(call, content)

        async def once() -> T | Fault:
            cause: Exception | None = None
            try:
                response = await self.send(call, "POST", url, body)
                raw = await response.aread()
                if 200 <= response.status < 300:
                    return decode(raw)
                failure = wire.failure(response.status, response.headers, raw, now=self.wall())
            except ExchangeFailed as error:
                failure, cause = replace(error.failure, truncated=False), error
            except BadReply as error:
                failure, cause = error.failure, error
            return fault_of(wire, failure, cause)

        outcome = await self._attempts(call, url, once)
        if isinstance(outcome, Fault):
            raise call.error(outcome) from outcome.cause
        return outcome, call.requests

    async def aclose(self) -> None:
        """Close the connections; a caller's own transport stays open."""
        if self.owns_transport:
            await self.transport.aclose()

    async def credential(self, call: Call) -> str:
        """A digest of the credential a call would carry now."""
        return digest(await self._authorised(call, Outgoing("GET", "", self.headers)) or {})

    async def ask(self, call: Call | None, url: str) -> Response:
        """One GET for a call (counted there), or beside it."""
        own = call or self.begin("status", Request(messages=()))
        return await self.send(own, "GET", url, b"")

    async def _serve(self, call: Call, send: Send[T]) -> T:
        """Send over the chosen route; once more over the other one when the API was the wrong one."""
        route = await self.router.choose(call)
        outcome = await self._beside(call, route, send)
        if isinstance(outcome, Fault) and outcome.kind is Kind.UNSUPPORTED_API:
            first, other = outcome, self.router.other(call, route)
            if other is not None:
                outcome = await self._over(call, other, send)
                if not isinstance(outcome, Fault):
                    async with _closing_on_error([outcome]):
                        await self.router.learned(call, other, first)
                    return outcome
                outcome = replace(outcome, cause=outcome.cause or BadReply(first.failure))
        if isinstance(outcome, Fault):
            raise call.error(outcome) from outcome.cause
        return outcome

    async def _beside(self, call: Call, route: Route, send: Send[T]) -> T | Fault:
        """The attempts; while they run, what the router wants to look up again."""
        renewal = self.router.renewal()
        if renewal is None:
            return await self._over(call, route, send)
        raised: Exception | None = None
        done: list[T | Fault] = []
        async with _closing_on_error(done), anyio.create_task_group() as group:
            group.start_soon(renewal)
            try:
                done.append(await self._over(call, route, send))
            except Exception as error:  # noqa: BLE001  handed on outside the group, unwrapped
                raised = error
            group.cancel_scope.cancel()
        if raised is not None:
            raise raised
        return done[0]

    async def _over(self, call: Call, route: Route, send: Send[T]) -> T | Fault:
        sent_format, body = encoded(call, route)
        return await self._attempts(call, route.url, lambda: send(call, route, sent_format, body))

    async def _attempts(
        self, call: Call, url: str, send: Callable[[], Awaitable[T | Fault]]
    ) -> T | Fault:
        """Send, and send the same bytes again while the table and the budget allow it."""
        while True:
            outcome = await send()
            if not isinstance(outcome, Fault):
                return outcome
            if await self._renewed(call, url, outcome):
                continue
            pause = call.pause(outcome, self.jitter())
            if pause is None:
                return outcome
            await self.sleep(pause)

    async def _renewed(self, call: Call, url: str, fault: Fault) -> bool:
        """After a 401, once: whether there is another credential to try."""
        if call.renewed or fault.failure.status != 401:
            return False
        call.renewed = True
        again = Outgoing("POST", url)
        return await self._authorised(call, again, call.headers) is not None

    async def _authorised(
        self, call: Call, outgoing: Outgoing, rejected: Headers | None = None
    ) -> Headers | None:
        if self.authorise is None:
            return outgoing.headers if rejected is None else None
        try:
            with anyio.fail_after(call.left()):
                return await self.authorise(outgoing, rejected=rejected)
        except Unauthorised as error:
            raise call.inline(Kind.AUTHENTICATION, str(error)) from error
        except TimeoutError as error:
            late = Failure(message="no credential in time", timed_out=True, own_timeout=True)
            raise call.fail.inline(
                Kind.TIMEOUT, late.message, failure=late, requests=call.requests
            ) from error

    async def send(
        self, call: Call, method: str, url: str, body: bytes, *, stream: bool = False
    ) -> Response:
        """
        One request with the credential on it, counted.

        Raises:
            ExchangeFailed: no whole reply. ProviderError: no credential.
        """
        accept = {"accept": self.stream_accept if stream else "application/json"}
        call.headers, call.url = {**_JSON, **accept, **self.headers}, url
        if self.authorise is not None:
            plain = Outgoing(method, url, call.headers, body)
            call.headers = await self._authorised(call, plain) or call.headers
        left = call.left()
        if left <= 0.0:
            text = "no time left to send"
            raise ExchangeFailed(Failure(message=text, timed_out=True, own_timeout=True))
        call.requests += 1
        return await self.transport.send(
            method, url, headers=call.headers, body=body or None, budget=left, stream=stream
        )


@asynccontextmanager
async def _closing_on_error(streams: Sequence[object]) -> AsyncGenerator[None]:
    """Close the opened streams among `held` if what is done meanwhile is cancelled or fails."""
    try:
        yield
    except BaseException:
        for stream in streams:
            if isinstance(stream, Events):
                await stream.aclose()
        raise
