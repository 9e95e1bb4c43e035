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
from typing import Any, TypeVar

from structguard.errors import ProviderError
from structguard.events import Observer, ignore
from structguard.flow import Send, Sent, Served, adrive, attach, info_of, publish
from structguard.layers.protected import Protected
from structguard.layers.request_call import RequestCall
from structguard.layers.served import (
    Budget,
    MarkedEvents,
    Opened,
    answers,
    head_of,
    is_sign,
    marked,
)
from structguard.memo import Memo
from structguard.options import Policy
from structguard.refusal import names_format, refusal_of, status_of
from structguard.schema import as_format
from structguard.service import Clock, Complete, OpenStream, Provider
from structguard.types import Completion, Refusal, Request, StreamEvent

T = TypeVar("T")
__all__ = ["Degrade", "Protected"]


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
                    reply = await core(self._request(effect, budget))
                except Exception as error:  # noqa: BLE001  judged, then raised again unchanged
                    return self._failed(call, effect.call, error, budget)
                return Sent(value=reply, status=200, answered=answers(reply))

            served = await self._drive(call, send, budget)
            reply = marked(served.value, served, budget)
            self._publish(call, served, reply)
            return reply

        return guarded

    def stream(self, core: OpenStream) -> OpenStream:
        """The layer over a streamed call: guarded until the first event, never re-sent after it."""

        @asynccontextmanager
        async def guarded(request: Request, /) -> AsyncGenerator[AsyncIterator[StreamEvent]]:
            call, budget = self._begin(request, streaming=True)
            async with AsyncExitStack() as opened:

                async def send(effect: Send[RequestCall]) -> Sent[Opened]:
                    try:
                        events = await opened.enter_async_context(
                            core(self._request(effect, budget))
                        )
                        head = await head_of(events, confirm=effect.confirm)
                    except Exception as error:  # noqa: BLE001  judged, then raised again unchanged
                        await opened.aclose()
                        return self._failed(call, effect.call, error, budget)
                    return Sent(
                        value=Opened(head, events), status=200, answered=any(map(is_sign, head))
                    )

                served = await self._drive(call, send, budget)
                self._publish(call, served, None)
                yield MarkedEvents(served, budget)

        return guarded

    def _begin(self, request: Request, *, streaming: bool) -> tuple[RequestCall, Budget]:
        """A broken schema is a ValueError here, before anything is sent."""
        if request.model is None and self.model is not None:
            request = replace(request, model=self.model)
        format_ = as_format(request.response_format)
        call = RequestCall(
            provider=self.provider,
            request=request,
            format=format_,
            streaming=streaming,
            guardable=format_ is not None and not names_format(request.extra_body),
            instruct=self.policy.prompt == "always",
        )
        if call.leaves_out:
            call = replace(call, guardable=False)
        deadline = None if request.timeout is None else self.clock() + request.timeout
        return call, Budget(deadline, request.attempts or getattr(self.provider, "attempts", None))

    def _request(self, effect: Send[RequestCall], budget: Budget) -> Request:
        request = effect.call.request
        if not budget.spent:
            return request
        left = None if budget.attempts is None else max(1, budget.attempts - budget.spent)
        return replace(request, timeout=effect.budget or request.timeout, attempts=left)

    def _failed(
        self, call: RequestCall, sent: RequestCall, error: Exception, budget: Budget
    ) -> Sent[Any]:
        budget.spent += error.requests if isinstance(error, ProviderError) else 1
        left = None if budget.deadline is None else budget.deadline - self.clock()
        refusal, status = self._judge(call, sent, error), status_of(error)
        return Sent(error=error, refusal=refusal, status=status, left=left)

    def _judge(self, call: RequestCall, sent: RequestCall, error: Exception) -> Refusal | None:
        """The verdict that rides on the error; a retry's is judged by what the first send carried."""
        if not call.guardable:
            return None
        return refusal_of(
            error,
            facts=call.facts,
            unnamed=self.policy.unnamed,
            also_statuses=self.policy.also_statuses,
            anew=sent is not call,
        )

    async def _drive(
        self,
        call: RequestCall,
        send: Callable[[Send[RequestCall]], Awaitable[Sent[T]]],
        budget: Budget,
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

    def _publish(self, call: RequestCall, served: Served[Any], reply: Completion | None) -> None:
        enforced = False if call.leaves_out else served.enforced
        enforced = enforced if reply is None else reply.enforced
        info = info_of(call.pair, served._replace(enforced=enforced))
        publish(info)
        if reply is not None:
            attach(reply, info)
