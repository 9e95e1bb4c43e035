"""
A client's body to an upstream of the same wire: bytes out, bytes back, guarded, healed where needed.

What needs no change is not changed: the request goes out as it came, a reply that is whole JSON
comes back byte for byte. Source: spec gateway "Speed bar", spec guard §2.
"""

from __future__ import annotations

import random
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import anyio
import orjson

from structguard import errors
from structguard.clients.call import BodyCall
from structguard.clients.healing import heal
from structguard.clients.replies import failure_in, get, is_answer, put, text_slots
from structguard.clients.thoughts import promote
from structguard.events import Observer
from structguard.flow import Send, Sent, Served as Outcome, adrive
from structguard.gateway.flowing import RawStream, opened
from structguard.gateway.turn import RAW, Served, Turn
from structguard.http import ExchangeFailed, Response, Transport
from structguard.memo import Memo
from structguard.options import Policy, RetryOptions
from structguard.providers.call import Call, Fault
from structguard.providers.exchange import fault_of
from structguard.refusal import detect_refusal
from structguard.service import Clock
from structguard.types import (
    Completion,
    Failure,
    Finished,
    Operation,
    StreamEvent,
    as_mapping,
    as_sequence,
)
from structguard.wire.base import BadReply, Wire
from structguard.wire.payload import loads

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class RawReply:
    """A reply as it goes back to the client; `parsed` is the same, read."""

    body: bytes = field(repr=False)
    parsed: Mapping[str, object] = field(repr=False)
    served: Served

    @property
    def completion(self) -> Completion:
        """Itself as what chains and breakers hand on."""
        told = self.served
        return Completion(
            provider=told.provider,
            enforced=told.enforced,
            requests=told.requests,
            metadata={RAW: self},
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """One upstream as one wire reaches it. `memo_id` tells credentials apart, `url` is whole."""

    id: str
    memo_id: str
    base_url: str
    url: str
    wire: Wire
    headers: Mapping[str, str] = field(repr=False)
    transport: Transport
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
        call = self._begin(turn, model, stream=False)
        asked = self._asked(turn, model)

        async def send(effect: Send[BodyCall]) -> Sent[_Whole]:
            body = self._body(turn, asked, effect.call, model)
            outcome = await self._attempts(call, lambda: self._whole(call, asked, body))
            if isinstance(outcome, Fault):
                return _failed(call, outcome)
            answered = not effect.confirm or is_answer(outcome.parsed, turn.api)
            prose = self._prose(outcome.parsed, asked) if self.policy.ignored_after else None
            return Sent(value=outcome, status=200, answered=answered, prose=prose)

        served = await self._drive(turn, asked, send, call)
        return self._healed(turn, asked, served, call.requests)

    @asynccontextmanager
    async def stream(self, turn: Turn, model: str) -> AsyncGenerator[AsyncIterator[StreamEvent]]:
        """
        The stream as one event that holds a `RawStream` in `metadata[RAW]`.

        Raises:
            ProviderError: on entering, what failed before the first event.
        """
        call = self._begin(turn, model, stream=True)
        asked = self._asked(turn, model)
        async with AsyncExitStack() as open_:

            async def send(effect: Send[BodyCall]) -> Sent[RawStream]:
                body = self._body(turn, asked, effect.call, model)
                outcome = await self._attempts(
                    call, lambda: self._open(call, asked, body, confirm=effect.confirm)
                )
                if isinstance(outcome, Fault):
                    return _failed(call, outcome)
                open_.push_async_callback(outcome.aclose)
                return Sent(value=outcome, status=200, answered=outcome.answered)

            served = await self._drive(turn, asked, send, call)
            stream = served.value
            stream.served = Served(self.id, served.enforced, call.requests)
            if asked.guardable:
                stream.heal(turn.asked, degraded=served.enforced is False)
            yield _one(
                Completion(
                    provider=self.id,
                    enforced=served.enforced,
                    requests=call.requests,
                    metadata={RAW: stream},
                )
            )

    def _begin(self, turn: Turn, model: str, *, stream: bool) -> Call:
        operation: Operation = "stream" if stream else "complete"
        return Call(
            request=turn.seen,
            format=None,
            stream=stream,
            fail=errors.ErrorBuilder(
                operation=operation, provider=self.id, model=model, observer=self.observer
            ),
            clock=self.clock,
            deadline=self.clock() + (turn.timeout or self.timeout),
            retry=self.retry,
            attempts=self.retry.attempts,
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
        )

    def _body(self, turn: Turn, first: BodyCall, call: BodyCall, model: str) -> bytes:
        if call is first:
            return turn.content(model)
        return orjson.dumps({**call.body, "model": model})

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

    async def _send(self, call: Call, body: bytes, *, stream: bool) -> Response:
        call.requests += 1
        return await self.transport.send(
            "POST", self.url, headers=self.headers, body=body, budget=call.left(), stream=stream
        )

    async def _whole(self, call: Call, asked: BodyCall, body: bytes) -> _Whole | Fault:
        try:
            response = await self._send(call, body, stream=False)
            raw = await response.aread()
        except ExchangeFailed as error:
            return fault_of(self.wire, replace(error.failure, truncated=False), error)
        if not 200 <= response.status < 300:
            return self._refused(call, asked, response, raw)
        parsed = _read(raw)
        if _is_sound(parsed, asked):
            found = asked.guardable and promote(parsed, asked.api, asked.resolve)
            return _Whole(orjson.dumps(parsed) if found else raw, parsed)
        try:
            self.wire.decode_reply(raw, response.headers)
        except BadReply as error:
            return self._judged(call, asked, error.failure, error)
        return _Whole(raw, parsed)

    async def _open(
        self, call: Call, asked: BodyCall, body: bytes, *, confirm: bool
    ) -> RawStream | Fault:
        try:
            response = await self._send(call, body, stream=True)
        except ExchangeFailed as error:
            return fault_of(self.wire, error.failure, error)
        try:
            if not 200 <= response.status < 300:
                raw = await response.aread()
                await response.aclose()
                return self._refused(call, asked, response, raw)
            return await opened(response, self.wire, confirm=confirm)
        except ExchangeFailed as error:
            await response.aclose()
            return fault_of(self.wire, error.failure, error)
        except BadReply as error:
            await response.aclose()
            return self._judged(call, asked, error.failure, error)
        except BaseException:
            with anyio.CancelScope(shield=True):
                await response.aclose()
            raise

    def _refused(self, call: Call, asked: BodyCall, response: Response, raw: bytes) -> Fault:
        failure = self.wire.failure(response.status, response.headers, raw)
        return self._judged(call, asked, failure, None)

    def _judged(
        self, call: Call, asked: BodyCall, failure: Failure, cause: BaseException | None
    ) -> Fault:
        fault = fault_of(self.wire, failure, cause)
        if not asked.guardable or failure.status is None:
            return fault
        facts = asked.facts
        return replace(
            fault,
            refusal=detect_refusal(
                failure.status,
                failure.body,
                sent=facts.sent,
                api=facts.api,
                tools=facts.tools,
                stream=call.stream,
                reasoning=facts.reasoning,
                unnamed=self.policy.unnamed,
                also_statuses=self.policy.also_statuses,
            ),
        )

    def _prose(self, parsed: Mapping[str, object], asked: BodyCall) -> bool | None:
        texts = [str(get(holder, name)) for holder, name in text_slots(parsed, asked.api)]
        if not texts or not asked.guardable:
            return None
        return any(heal(text, asked.resolve, degraded=False).source is None for text in texts)

    def _healed(
        self, turn: Turn, asked: BodyCall, served: Outcome[_Whole], requests: int
    ) -> RawReply:
        whole = served.value
        told = Served(self.id, served.enforced, requests)
        if not asked.guardable:
            return RawReply(body=whole.raw, parsed=whole.parsed, served=told)
        changed = False
        for holder, name in text_slots(whole.parsed, turn.api):
            text = str(get(holder, name))
            healed = heal(text, turn.asked, degraded=served.enforced is False)
            told.source = told.source or healed.source
            if healed.text != text:
                put(holder, name, healed.text)
                changed = True
        raw = orjson.dumps(whole.parsed) if changed else whole.raw
        return RawReply(body=raw, parsed=whole.parsed, served=told)


@dataclass(frozen=True, slots=True)
class _Whole:
    """A 2xx reply, read."""

    raw: bytes
    parsed: Mapping[str, object]


def _read(raw: bytes) -> Mapping[str, object]:
    try:
        value = as_mapping(orjson.loads(raw))
    except orjson.JSONDecodeError:
        try:
            value = as_mapping(loads(raw))
        except ValueError:
            value = None
    return value or {}


def _is_sound(parsed: Mapping[str, object], asked: BodyCall) -> bool:
    """Whether a reply is plainly an answer; else the wire says what is wrong with it."""
    output = as_sequence(parsed.get("choices" if asked.api == "chat" else "output"))
    return bool(output) and failure_in(parsed, asked.api) is None


def _failed(call: Call, fault: Fault) -> Sent[Any]:
    error = call.error(fault)
    error.__cause__ = fault.cause
    return Sent(error=error, refusal=fault.refusal, status=fault.failure.status, left=call.left())


async def _one(completion: Completion) -> AsyncIterator[StreamEvent]:
    yield Finished(completion)
