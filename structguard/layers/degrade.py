"""
The layer that rescues a refusal on the same provider: it drives the flow over any `Complete`.

Stands innermost, right over the provider, so that a handled refusal is a success to the breaker and
the chain. Text and prompt are left alone. Source: DESIGN "Order of layers", spec guard §2.
"""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Any, Self, TypeVar

from structguard.errors import ProviderError
from structguard.events import Observer, ignore
from structguard.flow import Info, Send, Sent, Served, adrive, attach, tell
from structguard.flow.prompt import instruction
from structguard.memo import Memo
from structguard.memo.keys import routing_digest
from structguard.options import Policy
from structguard.refusal import RequestFacts, detect_refusal, refusal_of, status_of
from structguard.schema import advise, as_format, digest
from structguard.service import Clock, Complete, EventStream, OpenStream, Provider, Status
from structguard.types import (
    Api,
    Completion,
    DeclineDelta,
    Finished,
    Flag,
    Format,
    JsonSchema,
    MemoKey,
    Message,
    Refusal,
    Request,
    StreamEvent,
    TextDelta,
    ToolCalled,
)

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class RequestCall:
    """A Request as the flow sees it."""

    layer: Degrade
    request: Request
    format: Format | None
    streaming: bool
    guardable: bool

    @property
    def pair(self) -> tuple[str, str]:
        """The memo's first level."""
        return (self.layer.provider.id, self.request.model or "")

    @property
    def flags(self) -> frozenset[Flag]:
        """What the call carries beside the format."""
        carried: tuple[tuple[Flag, bool], ...] = (
            ("tools", bool(self.request.tools)),
            ("stream", self.streaming),
            ("reasoning", self.request.effort is not None),
        )
        return frozenset(flag for flag, is_carried in carried if is_carried)

    @property
    def key(self) -> MemoKey:
        """The whole key."""
        provider = self.layer.provider
        wanted = self.format if isinstance(self.format, JsonSchema) else None
        return MemoKey(
            provider=provider.id,
            model=self.request.model or "",
            base_url=provider.base_url,
            api=provider.api_for(self.request.model),
            format="json_schema" if wanted else "json_object",
            routing=routing_digest(self.request.extra_body.get("provider")),
            flags=self.flags,
            schema=digest(wanted.schema) if wanted else "",
            strict=wanted.strict if wanted else None,
        )

    def degraded(self) -> RequestCall:
        """The same request without the format; the prompt is left alone unless policy says always."""
        request = replace(self.request, response_format=None)
        if self.layer.policy.prompt == "always":
            request = self._instructed(request)
        return replace(self, request=request, guardable=False)

    def prompted(self) -> RequestCall:
        """The same request: this face leaves the prompt alone."""
        return self

    def _instructed(self, request: Request) -> Request:
        if self.format is None:
            return request
        said = Message(role="system", content=instruction(self.format))
        return replace(request, messages=(said, *request.messages))

    def advice(self) -> str:
        """What the schema would have to change to fit OpenAI's strict mode."""
        return advise(self.format.schema) if isinstance(self.format, JsonSchema) else ""


@dataclass(slots=True)
class _Budget:
    """What both sends share: the deadline and the transport attempts."""

    deadline: float | None
    attempts: int | None
    spent: int = 0


@dataclass(frozen=True, slots=True)
class _Opened:
    """A stream that gave its first events."""

    head: list[StreamEvent]
    events: AsyncIterator[StreamEvent]


@dataclass(frozen=True, slots=True, kw_only=True)
class Degrade:
    """What the calls of one protected provider share; `complete` and `stream` are the layers."""

    provider: Provider
    memo: Memo
    policy: Policy
    observer: Observer = ignore
    clock: Clock = time.monotonic
    model: str | None = None

    def complete(self, core: Complete) -> Complete:
        """The layer over a whole call."""

        async def guarded(request: Request, /) -> Completion:
            call, budget = self._begin(request, streaming=False)

            async def send(effect: Send[RequestCall]) -> Sent[Completion]:
                try:
                    reply = await core(self._asked(effect, budget))
                except Exception as error:  # noqa: BLE001  judged, then raised again unchanged
                    return self._failed(call, error, budget)
                return Sent(value=reply, status=200, answered=_answers(reply))

            served = await self._drive(call, send, budget)
            reply = _marked(served.value, served, budget)
            self._tell(call, served, reply)
            return reply

        return guarded

    def stream(self, core: OpenStream) -> OpenStream:
        """The layer over a streamed call: guarded until the first event, never re-sent after it."""

        @asynccontextmanager
        async def guarded(request: Request, /) -> AsyncGenerator[AsyncIterator[StreamEvent]]:
            call, budget = self._begin(request, streaming=True)
            async with AsyncExitStack() as opened:

                async def send(effect: Send[RequestCall]) -> Sent[_Opened]:
                    try:
                        events = await opened.enter_async_context(core(self._asked(effect, budget)))
                        head = await _head(events, confirm=effect.confirm)
                    except Exception as error:  # noqa: BLE001  judged, then raised again unchanged
                        await opened.aclose()
                        return self._failed(call, error, budget)
                    return Sent(
                        value=_Opened(head, events), status=200, answered=any(map(_is_sign, head))
                    )

                served = await self._drive(call, send, budget)
                self._tell(call, served, None)
                yield _MarkedEvents(served, budget)

        return guarded

    def _begin(self, request: Request, *, streaming: bool) -> tuple[RequestCall, _Budget]:
        """A broken schema is a ValueError here, before anything is sent."""
        if request.model is None and self.model is not None:
            request = replace(request, model=self.model)
        wanted = as_format(request.response_format)
        in_extra = {"response_format", "text"}.intersection(request.extra_body)
        call = RequestCall(
            layer=self,
            request=request,
            format=wanted,
            streaming=streaming,
            guardable=wanted is not None and not in_extra,
        )
        deadline = None if request.timeout is None else self.clock() + request.timeout
        return call, _Budget(deadline, request.attempts or getattr(self.provider, "attempts", None))

    def _asked(self, effect: Send[RequestCall], budget: _Budget) -> Request:
        request = effect.call.request
        if not budget.spent:
            return request
        left = None if budget.attempts is None else max(1, budget.attempts - budget.spent)
        return replace(request, timeout=effect.budget or request.timeout, attempts=left)

    def _failed(self, call: RequestCall, error: Exception, budget: _Budget) -> Sent[Any]:
        budget.spent += error.requests if isinstance(error, ProviderError) else 1
        left = None if budget.deadline is None else budget.deadline - self.clock()
        refusal, status = self._judge(call, error), status_of(error)
        return Sent(error=error, refusal=refusal, status=status, left=left)

    def _judge(self, call: RequestCall, error: Exception) -> Refusal | None:
        """The verdict that rides on the error, else a judgement of our own by the first send."""
        if not call.guardable:
            return None
        flags = call.flags
        facts = RequestFacts(
            sent="json_schema" if isinstance(call.format, JsonSchema) else "json_object",
            tools="tools" in flags,
            stream="stream" in flags,
            reasoning="reasoning" in flags,
            api=self.provider.api_for(call.request.model),
        )
        unnamed, also = self.policy.unnamed, self.policy.also_statuses
        if not isinstance(error, ProviderError):
            return refusal_of(error, facts=facts, unnamed=unnamed, also_statuses=also)
        if error.refusal is not None or error.failure.status is None:
            return error.refusal
        return detect_refusal(
            error.failure.status,
            error.failure.body,
            sent=facts.sent,
            api=facts.api,
            tools=facts.tools,
            stream=facts.stream,
            reasoning=facts.reasoning,
            unnamed=unnamed,
            also_statuses=also,
        )

    async def _drive(
        self,
        call: RequestCall,
        send: Callable[[Send[RequestCall]], Awaitable[Sent[T]]],
        budget: _Budget,
    ) -> Served[T]:
        try:
            return await adrive(
                call,
                send,
                memo=self.memo,
                policy=self.policy,
                observer=self.observer,
                timeout=call.request.timeout,
            )
        except ProviderError as error:
            error.requests = budget.spent
            raise

    def _tell(self, call: RequestCall, served: Served[Any], reply: Completion | None) -> None:
        told = Info(
            provider=self.provider.id,
            model=call.request.model or "",
            enforced=served.enforced,
            requests=served.requests,
            refusal=served.refusal,
        )
        tell(told)
        if reply is not None:
            attach(reply, told)


class Protected:
    """
    A provider behind its guard: same interface, same texts, a refused format is rescued.

    Whatever else the provider offers (`embed`, …) is reached through it unchanged.
    """

    protected = True

    def __init__(self, provider: Provider, degrade: Degrade) -> None:
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
        return await self._complete(request)

    def stream(self, request: Request, /) -> EventStream:
        """One streamed call, guarded until its first event."""
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


class _MarkedEvents:
    """The events of a served stream; the reply at its end says how it was served."""

    def __init__(self, served: Served[_Opened], budget: _Budget) -> None:
        self._served, self._budget = served, budget
        self._head = iter(served.value.head)

    def __aiter__(self) -> AsyncIterator[StreamEvent]:
        return self

    async def __anext__(self) -> StreamEvent:
        event = next(self._head, None)
        if event is None:
            try:
                event = await anext(self._served.value.events)
            except ProviderError as error:
                error.requests += self._budget.spent
                raise
        if isinstance(event, Finished):
            return Finished(_marked(event.completion, self._served, self._budget))
        return event


async def _head(events: AsyncIterator[StreamEvent], *, confirm: bool) -> list[StreamEvent]:
    """The first event; to confirm, all up to the first sign of an answer."""
    head: list[StreamEvent] = []
    async for event in events:
        head.append(event)
        if not confirm or _is_sign(event):
            break
    return head


def _is_sign(event: StreamEvent) -> bool:
    match event:
        case TextDelta(text) | DeclineDelta(text):
            return bool(text.strip())
        case ToolCalled():
            return True
        case Finished(completion):
            return _answers(completion)
        case _:
            return False


def _answers(reply: Completion) -> bool:
    return reply.answered and (reply.finish != "length" or bool(reply.tool_calls))


def _marked(reply: Completion, served: Served[Any], budget: _Budget) -> Completion:
    """The reply with how it was served; a provider that left the format out itself is believed."""
    enforced = False if reply.enforced is False else served.enforced
    requests = reply.requests + budget.spent
    if (enforced, requests, served.refusal) == (reply.enforced, reply.requests, reply.refusal):
        return reply
    return replace(reply, enforced=enforced, requests=requests, refusal=served.refusal)
