"""
A client of one OpenAI wire, an upstream of the other: a body made anew, sent like any other, and read.

What goes out is a body of the upstream's own wire, so it takes the path that such bodies take
(`passing`), its short cuts included. What only the general way can carry is left to it, before
anything is sent. Source: spec gateway "Speed bar", spec wire.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import orjson

from structguard.gateway.direct import direct
from structguard.gateway.passing import Passage
from structguard.gateway.turn import Turn
from structguard.gateway.writing import packed
from structguard.providers.exchange import signed
from structguard.refusal import names_format
from structguard.types import Completion, Format, Request
from structguard.wire.base import Unencodable, WireOptions, sendable_format


@dataclass(frozen=True, slots=True, kw_only=True)
class Crossing:
    """One upstream by its own wire; `options` are its dialect."""

    passage: Passage
    options: WireOptions

    async def complete(
        self, turn: Turn, model: str, neutral: Callable[[], Request]
    ) -> Completion | None:
        """
        The reply to a turn; None where this way cannot carry it, and nothing was sent. `neutral`
        gives the turn in the upstream's terms, asked where the short cut does not do.

        Raises:
            ProviderError: the call failed. ApiError, ValueError: the request cannot be read.
        """
        format_ = turn.asked()
        made = self._directly(turn, model, format_) or self._encoded(turn, neutral(), format_)
        if made is None:
            return None
        reply, told = await self.passage.crossed(made, made.model)
        return signed(reply, provider=told.provider, requests=told.requests, enforced=told.enforced)

    def _directly(self, turn: Turn, model: str, format_: Format | None) -> Turn | None:
        if turn.is_read:  # it may hold more than its body does
            return None
        source, target = turn.api, self.passage.sending.wire.API
        body = direct(turn.body, source, target, model=model, format=format_, options=self.options)
        return None if body is None else self._made(turn, body, format_)

    def _encoded(self, turn: Turn, request: Request, format_: Format | None) -> Turn | None:
        if names_format(request.extra_body):
            return None
        wire = self.passage.sending.wire
        try:
            if sendable_format(request, format_, self.options) is not format_:
                return None
            body = wire.encode_request(request, format=format_, options=self.options)
        except Unencodable:  # the general way says what is wrong
            return None
        return self._made(turn, body, format_)

    def _made(self, turn: Turn, body: dict[str, object], format_: Format | None) -> Turn | None:
        """The turn as a client of the upstream's wire would have sent it."""
        try:
            raw = packed(body)
        except orjson.JSONEncodeError:  # too deep: as above
            return None
        return Turn(
            api=self.passage.sending.wire.API,
            body=body,
            raw=raw,
            mode=turn.mode,
            timeout=turn.timeout,
            scope=turn.scope,
            format=format_,
        )
