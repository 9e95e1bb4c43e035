"""
A client's body to an upstream of the same wire: bytes out, bytes back, guarded, healed where needed.

What needs no change is not changed: the request goes out as it came, a reply that is whole JSON
comes back byte for byte. Source: spec gateway "Speed bar", spec guard §2.
"""

from __future__ import annotations

import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import anyio

from structguard import errors
from structguard.clients.call import BodyCall
from structguard.events import Observer
from structguard.flow import Send, Sent, Served as Outcome, adrive
from structguard.gateway.flowing import RawStream
from structguard.gateway.plain import Tried, plain_reply, plan_of
from structguard.gateway.sending import Sending
from structguard.gateway.turn import Served, Turn
from structguard.gateway.whole import RawReply, Whole, answers, healed, holds_prose, promoted
from structguard.gateway.writing import packed
from structguard.memo import Memo
from structguard.options import Policy, RetryOptions
from structguard.providers.call import Call, Fault
from structguard.service import Clock
from structguard.types import Completion, Failure, Operation

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """One upstream as one wire reaches it, guarded. `memo_id` tells credentials apart."""

    id: str
    memo_id: str
    base_url: str
    sending: Sending
    memo: Memo
    policy: Policy
    observer: Observer
    timeout: float
    retry: RetryOptions
    clock: Clock = time.monotonic

    async def complete(self, turn: Turn, model: str) -> RawReply:
        """
        The whole reply.

        Raises:
            ProviderError: the call failed. ApiError: the client's schema cannot be read.
        """
        asked = self._asked(turn, model)
        whole, told = await self.exchanged(turn, asked)
        return plain_reply(whole, asked, told) or healed(promoted(whole, asked), asked, told)

    async def crossed(self, turn: Turn, model: str) -> tuple[Completion, Served]:
        """
        The whole reply, read and not healed, for a client of another wire.

        Raises:
            ProviderError: the call failed.
        """
        whole, told = await self.exchanged(turn, self._asked(turn, model))
        assert whole.decoded is not None  # noqa: S101  `sending` decodes
        return whole.decoded, told

    async def exchanged(self, turn: Turn, asked: BodyCall) -> tuple[Whole, Served]:
        """The reply as it came, and how it was served."""
        plan, tried = plan_of(asked, turn.mode, self.memo, self.policy, turn.without), None
        if plan is not None:
            began, body = self.clock(), plan.body or self._body(turn, asked, plan.call, asked.model)
            outcome = await self.sending.whole(asked, body, turn.timeout or self.timeout)
            if isinstance(outcome, Whole):
                # decided once: the memo may say otherwise by now, and nothing is sent twice
                plan.skipped(self.memo, self.observer)
                return outcome, Served(self.id, plan.enforced)
            tried = Tried[Whole](body, outcome, began)
        return await self._completed(turn, asked.model, asked, tried)

    async def _completed(
        self, turn: Turn, model: str, asked: BodyCall, tried: Tried[Whole] | None
    ) -> tuple[Whole, Served]:
        """The general way; `tried` is an exchange that was made before."""
        call = self._begin(turn, model, tried)

        async def send(effect: Send[BodyCall]) -> Sent[Whole]:
            body = self._body(turn, asked, effect.call, model)

            async def once() -> Whole | Fault:
                found = tried and tried.taken(body)
                if found:
                    return found
                call.requests += 1
                return await self.sending.whole(asked, body, call.left())

            outcome = await self._attempts(call, once)
            if isinstance(outcome, Fault):
                return _failed(call, outcome)
            outcome = promoted(outcome, asked)
            answered = not effect.confirm or answers(outcome, turn.api)
            prose = holds_prose(outcome, asked) if self.policy.ignored_after else None
            return Sent(value=outcome, status=200, answered=answered, prose=prose)

        served = await self._drive(turn, asked, send, call)
        return served.value, Served(self.id, served.enforced, call.requests)

    async def open(self, turn: Turn, model: str) -> RawStream:
        """
        The stream, once it has begun; whoever asked closes it.

        Raises:
            ProviderError: what failed before the first event.
        """
        asked = self._asked(turn, model)
        plan, tried = plan_of(asked, turn.mode, self.memo, self.policy, turn.without), None
        if plan is not None:
            began, body = self.clock(), plan.body or self._body(turn, asked, plan.call, model)
            budget = turn.timeout or self.timeout
            outcome = await self.sending.opened(asked, body, budget, confirm=False)
            if isinstance(outcome, RawStream):
                plan.skipped(self.memo, self.observer)
                return self._begun(turn, asked, outcome, Served(self.id, plan.enforced))
            tried = Tried[RawStream](body, outcome, began)
        return await self._opened(turn, model, asked, tried)

    async def _opened(
        self, turn: Turn, model: str, asked: BodyCall, tried: Tried[RawStream] | None
    ) -> RawStream:
        """The general way, as for whole replies."""
        call = self._begin(turn, model, tried, operation="stream")
        opened: list[RawStream] = []

        async def send(effect: Send[BodyCall]) -> Sent[RawStream]:
            body = self._body(turn, asked, effect.call, model)

            async def once() -> RawStream | Fault:
                found = tried and tried.taken(body)
                if found:
                    return found
                call.requests += 1
                return await self.sending.opened(asked, body, call.left(), confirm=effect.confirm)

            outcome = await self._attempts(call, once)
            if isinstance(outcome, Fault):
                return _failed(call, outcome)
            opened.append(outcome)
            return Sent(value=outcome, status=200, answered=outcome.answered)

        try:
            served = await self._drive(turn, asked, send, call)
        except BaseException:
            for stream in opened:
                await stream.aclose()
            raise
        told = Served(self.id, served.enforced, call.requests)
        return self._begun(turn, asked, served.value, told)

    def _begun(self, turn: Turn, asked: BodyCall, stream: RawStream, told: Served) -> RawStream:
        """A stream on its way to the client."""
        build = errors.ErrorBuilder(
            operation="stream", provider=self.id, model=asked.model, observer=self.observer
        )

        def broken(failure: Failure) -> errors.ProviderError:
            failure = replace(failure, message=errors.redact(failure.message), yielded=True)
            return build.from_failure(failure, self.sending.wire.classify, requests=told.requests)

        stream.served, stream.fail = told, broken
        if asked.guardable:
            stream.heal(turn.asked, degraded=told.enforced is False)
        return stream

    def _begin(
        self,
        turn: Turn,
        model: str,
        tried: Tried[Any] | None,
        operation: Operation = "complete",
    ) -> Call:
        began = self.clock() if tried is None else tried.began
        return Call(
            request=turn.seen,
            format=None,
            stream=operation == "stream",
            fail=errors.ErrorBuilder(
                operation=operation, provider=self.id, model=model, observer=self.observer
            ),
            clock=self.clock,
            deadline=began + (turn.timeout or self.timeout),
            retry=self.retry,
            attempts=self.retry.attempts,
            requests=0 if tried is None else 1,  # it was sent, whether or not it is taken over
        )

    def _asked(self, turn: Turn, model: str) -> BodyCall:
        return BodyCall(
            provider=self.memo_id,
            model=model,
            base_url=self.base_url,
            api=turn.api,
            body=turn.body,
            guardable=turn.guardable,
            prompt=self.policy.prompt,
            format=turn.format,
            quotes=turn.quotes,
            read=turn.read,
        )

    def _body(self, turn: Turn, first: BodyCall, call: BodyCall, model: str) -> bytes:
        if call is first:
            return turn.content(model)
        without = turn.without(first) if call.is_degraded else None
        return without or packed({**call.body, "model": model})

    async def _drive(
        self,
        turn: Turn,
        asked: BodyCall,
        send: Callable[[Send[BodyCall]], Awaitable[Sent[T]]],
        call: Call,
    ) -> Outcome[T]:
        policy = self.policy
        if turn.mode != "guard":
            policy = replace(
                policy,
                mode="guard" if turn.mode == "native" else "off",
                require_enforced=turn.mode == "native",
            )
        try:
            return await adrive(
                asked,
                send,
                memo=self.memo,
                policy=policy,
                observer=self.observer,
                timeout=call.left(),
            )
        except errors.ProviderError as error:
            error.requests = call.requests
            raise
        except ValueError as error:  # the client's schema
            raise turn.bad_format(error) from error

    async def _attempts(self, call: Call, send: Callable[[], Awaitable[T | Fault]]) -> T | Fault:
        """Send, and send the same bytes again while the table and the budget allow it."""
        while True:
            outcome = await send()
            if not isinstance(outcome, Fault):
                return outcome
            pause = call.pause(outcome, random.random())  # noqa: S311  jitter
            if pause is None:
                return outcome
            await anyio.sleep(pause)


def _failed(call: Call, fault: Fault) -> Sent[Any]:
    error = call.error(fault)
    error.__cause__ = fault.cause
    return Sent(error=error, refusal=fault.refusal, status=fault.failure.status, left=call.left())
