"""
One body to one upstream over one wire, once; what came back is a reply, an open stream or a fault.

Source: spec errors, spec guard §1.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol

import anyio

from structguard.clients.call import BodyCall
from structguard.errors import secrets_in, without
from structguard.gateway.flowing import RawStream
from structguard.gateway.opening import opened
from structguard.gateway.whole import Whole, is_sound, read
from structguard.http import ExchangeFailed, Response, Transport
from structguard.options import Policy
from structguard.providers.call import Fault
from structguard.providers.endpoints import Endpoints
from structguard.providers.exchange import fault_of, redirect_of
from structguard.refusal import detect_refusal
from structguard.types import Completion, Failure, Format
from structguard.wire.base import BadReply, Wire
from structguard.wire.reply import json_object, with_headers


class Decode(Protocol):
    """A wire's `completion_in`."""

    def __call__(
        self,
        data: Mapping[str, object],
        body: bytes,
        *,
        format: Format | None,  # noqa: A002  the field's word
    ) -> Completion:
        """The completion in a body that was read. Raises BadReply."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Sending:
    """
    One upstream as one wire reaches it. `decode`: every accepted reply is decoded, as one that goes
    back over another wire must be; else only one that looks like none.

    `asked` is the call as the client made it: a fault is judged by what it carried.
    """

    endpoints: Endpoints
    wire: Wire
    headers: Mapping[str, str] = field(repr=False)
    transport: Transport
    policy: Policy
    decode: Decode | None = None

    async def whole(self, asked: BodyCall, body: bytes, budget: float) -> Whole | Fault:
        """The whole reply."""
        try:
            response = await self._sent(asked, body, budget, stream=False)
            raw = await response.aread()
        except ExchangeFailed as error:
            return fault_of(self.wire, replace(error.failure, truncated=False), error)
        if not 200 <= response.status < 300:
            return self._refused(asked, response, raw, stream=False)
        try:
            return self._read(asked, raw)
        except BadReply as error:
            failure = with_headers(error.failure, response.headers)
            return self._judged(asked, failure, error, stream=False)

    def _read(self, asked: BodyCall, raw: bytes) -> Whole:
        """A 2xx body. Raises BadReply for what is no answer."""
        if self.decode is not None:
            given = json_object(raw)
            format_ = asked.format if asked.guardable else None
            return Whole(raw, given, self.decode(given, raw, format=format_))
        whole = read(raw)
        if not is_sound(whole.parsed, asked.api):
            self.wire.decode_reply(raw)
        return whole

    async def opened(
        self, asked: BodyCall, body: bytes, budget: float, *, confirm: bool
    ) -> RawStream | Fault:
        """A stream that has begun; `confirm`: with a sign of an answer."""
        try:
            response = await self._sent(asked, body, budget, stream=True)
        except ExchangeFailed as error:
            return fault_of(self.wire, error.failure, error)
        try:
            if not 200 <= response.status < 300:
                raw = await response.aread()
                await response.aclose()
                return self._refused(asked, response, raw, stream=True)
            return await opened(response, self.wire, confirm=confirm)
        except ExchangeFailed as error:
            await response.aclose()
            return fault_of(self.wire, error.failure, error)
        except BadReply as error:
            await response.aclose()
            return self._judged(asked, error.failure, error, stream=True)
        except BaseException:
            with anyio.CancelScope(shield=True):
                await response.aclose()
            raise

    async def _sent(self, asked: BodyCall, body: bytes, budget: float, *, stream: bool) -> Response:
        url = self.endpoints.url(self.wire.API, asked.model)
        return await self.transport.send(
            "POST", url, headers=self.headers, body=body, budget=budget, stream=stream
        )

    def _refused(self, asked: BodyCall, response: Response, raw: bytes, *, stream: bool) -> Fault:
        failure = self.wire.failure(response.status, response.headers, raw)
        moved = redirect_of(self.wire, response, failure)
        return moved or self._judged(asked, failure, None, stream=stream)

    def _judged(
        self, asked: BodyCall, failure: Failure, cause: BaseException | None, *, stream: bool
    ) -> Fault:
        fault = fault_of(self.wire, failure, cause)
        facts = asked.facts
        if facts.sent is None or failure.status is None:
            return fault
        return replace(
            fault,
            refusal=detect_refusal(
                failure.status,
                without(secrets_in(self.headers.items()), failure.body),
                sent=facts.sent,
                api=facts.api,
                tools=facts.tools,
                stream=stream,
                reasoning=facts.reasoning,
                unnamed=self.policy.unnamed,
                also_statuses=self.policy.also_statuses,
            ),
        )
