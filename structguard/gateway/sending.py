"""
One body to one upstream over one wire, once; what came back is a reply, an open stream or a fault.

Source: spec errors, spec guard §1.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import anyio

from structguard.clients.call import BodyCall
from structguard.gateway.flowing import RawStream, opened
from structguard.gateway.whole import Whole, is_sound, read
from structguard.http import ExchangeFailed, Response, Transport
from structguard.options import Policy
from structguard.providers.call import Fault
from structguard.providers.exchange import fault_of
from structguard.refusal import detect_refusal
from structguard.types import Failure
from structguard.wire.base import BadReply, Wire


@dataclass(frozen=True, slots=True, kw_only=True)
class Sending:
    """
    One upstream as one wire reaches it; `url` is whole.

    `asked` is the call as the client made it: a fault is judged by what it carried.
    """

    url: str
    wire: Wire
    headers: Mapping[str, str] = field(repr=False)
    transport: Transport
    policy: Policy

    async def whole(self, asked: BodyCall, body: bytes, budget: float) -> Whole | Fault:
        """The whole reply."""
        try:
            response = await self._sent(body, budget, stream=False)
            raw = await response.aread()
        except ExchangeFailed as error:
            return fault_of(self.wire, replace(error.failure, truncated=False), error)
        if not 200 <= response.status < 300:
            return self._refused(asked, response, raw, stream=False)
        whole = Whole(raw, read(raw))
        if is_sound(whole.parsed, asked.api):
            return whole
        try:
            self.wire.decode_reply(raw, response.headers)
        except BadReply as error:
            return self._judged(asked, error.failure, error, stream=False)
        return whole

    async def opened(
        self, asked: BodyCall, body: bytes, budget: float, *, confirm: bool
    ) -> RawStream | Fault:
        """A stream that has begun; `confirm`: with a sign of an answer."""
        try:
            response = await self._sent(body, budget, stream=True)
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

    async def _sent(self, body: bytes, budget: float, *, stream: bool) -> Response:
        return await self.transport.send(
            "POST", self.url, headers=self.headers, body=body, budget=budget, stream=stream
        )

    def _refused(self, asked: BodyCall, response: Response, raw: bytes, *, stream: bool) -> Fault:
        failure = self.wire.failure(response.status, response.headers, raw)
        return self._judged(asked, failure, None, stream=stream)

    def _judged(
        self, asked: BodyCall, failure: Failure, cause: BaseException | None, *, stream: bool
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
                stream=stream,
                reasoning=facts.reasoning,
                unnamed=self.policy.unnamed,
                also_statuses=self.policy.also_statuses,
            ),
        )
