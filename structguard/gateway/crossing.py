"""
A client of one OpenAI wire, an upstream of the other: a body made anew, sent like any other, and read.

What goes out is a body of the upstream's own wire, so it takes the path that such bodies take
(`passing`), its short cuts included. What only the general way can carry is left to it, before
anything is sent. Source: spec gateway "Speed bar", spec wire.
"""

from __future__ import annotations

from dataclasses import dataclass

import orjson

from structguard.gateway.passing import Passage
from structguard.gateway.turn import Turn
from structguard.providers.exchange import signed
from structguard.refusal import names_format
from structguard.schema import as_format
from structguard.types import Completion, Request
from structguard.wire.base import Unencodable, WireOptions, sendable_format


@dataclass(frozen=True, slots=True, kw_only=True)
class Crossing:
    """One upstream by its own wire; `options` are its dialect."""

    passage: Passage
    options: WireOptions

    async def complete(self, turn: Turn, request: Request) -> Completion | None:
        """
        The reply to `request`, which is the turn in the upstream's terms; None where this way cannot
        carry it, and nothing was sent.

        Raises:
            ProviderError: the call failed. ValueError: the client's schema cannot be read.
        """
        made = self._made(turn, request)
        if made is None:
            return None
        reply, told = await self.passage.crossed(made, made.model)
        return signed(reply, provider=told.provider, requests=told.requests, enforced=told.enforced)

    def _made(self, turn: Turn, request: Request) -> Turn | None:
        """The turn as a client of the upstream's wire would have sent it."""
        if names_format(request.extra_body):
            return None
        format_ = as_format(request.response_format)
        wire = self.passage.sending.wire
        try:
            if sendable_format(request, format_, self.options) is not format_:
                return None
            body = wire.encode_request(request, format=format_, options=self.options)
            raw = orjson.dumps(body)
        except (Unencodable, orjson.JSONEncodeError):  # the general way says what is wrong
            return None
        return Turn(
            api=wire.API,
            body=body,
            raw=raw,
            mode=turn.mode,
            timeout=turn.timeout,
            scope=turn.scope,
            format=format_,
        )
