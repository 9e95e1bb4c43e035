"""
One provider as the gateway asks it: over the client's own wire the body passes, else it is translated.

Guarded both ways. Source: spec gateway "Config", spec chain C18.
"""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from types import MappingProxyType

from structguard.errors import ProviderError
from structguard.gateway.crossing import Crossing
from structguard.gateway.flowing import RawStream
from structguard.gateway.passing import Passage
from structguard.gateway.translate import fitted
from structguard.gateway.turn import RAW, Mode, Turn
from structguard.gateway.whole import RawReply
from structguard.guard import Guard
from structguard.refusal import RequestFacts
from structguard.service import EventStream, Provider, Status
from structguard.types import Api, Completion, Finished, Kind, Request, StreamEvent

_LACKING = 3600.0  # seconds for which a missing API is not asked for again


class Named:
    """A provider under another id: what one client's credential may do is not another's to know."""

    protected = False

    def __init__(self, provider: Provider, name: str) -> None:
        self._provider = provider
        self.id = name
        self.attempts: int | None = getattr(provider, "attempts", None)
        told: Callable[..., RequestFacts] | None = getattr(provider, "facts_of", None)
        if told is not None:  # what a refusal is judged by: the provider knows best
            self.facts_of: Callable[..., RequestFacts] = told

    @property
    def base_url(self) -> str:
        """The provider's."""
        return self._provider.base_url

    def api_for(self, model: str | None, /) -> Api:
        """The provider's."""
        return self._provider.api_for(model)

    async def complete(self, request: Request, /) -> Completion:
        """The provider's."""
        return await self._provider.complete(request)

    def stream(self, request: Request, /) -> EventStream:
        """The provider's."""
        return self._provider.stream(request)

    async def status(self) -> Status:
        """The provider's."""
        return await self._provider.status()

    async def aclose(self) -> None:
        """Whoever made the provider closes it."""


class Upstream:
    """One provider as the gateway asks it, for one credential."""

    protected = True  # guarded in here, once

    def __init__(
        self,
        name: str,
        provider: Provider,
        passages: Mapping[Api, Passage],
        crossings: Mapping[Api, Crossing],
        guards: Mapping[Mode, Guard],
        *,
        memo_id: str,
        lacking: dict[Api, float],
    ) -> None:
        self.id = name
        self.provider = provider
        self._passages = {
            api: replace(passage, memo_id=memo_id) for api, passage in passages.items()
        }
        self._crossings = {
            api: replace(crossing, passage=replace(crossing.passage, memo_id=memo_id))
            for api, crossing in crossings.items()
        }
        self._memo_id = memo_id
        self._guards = guards
        self._made: dict[Mode, Provider] = {}
        self._lacking = lacking

    @property
    def base_url(self) -> str:
        """The provider's."""
        return self.provider.base_url

    def api_for(self, model: str | None, /) -> Api:
        """The wire a translated request goes over."""
        return self.provider.api_for(model)

    async def complete(self, request: Request, /) -> Completion:
        """The reply; raw where the wire is the client's own."""
        turn = Turn.of(request)
        raw = await self.raw(turn, request.model or turn.model)
        if raw is not None:
            return raw.completion
        return await self.completed(turn, request.model, _rest_of(request))

    async def raw(self, turn: Turn, model: str) -> RawReply | None:
        """The reply of an upstream that speaks the client's wire; None where it does not."""
        passage = self._passage(turn)
        if passage is None:
            return None
        try:
            return await passage.complete(turn, model)
        except ProviderError as error:
            if not self._lacks(turn.api, error):
                raise
        return None

    async def opened(self, turn: Turn, model: str) -> RawStream | None:
        """As `raw`, a stream that has begun; whoever asked closes it."""
        passage = self._passage(turn)
        if passage is None:
            return None
        try:
            return await passage.open(turn, model)
        except ProviderError as error:
            if not self._lacks(turn.api, error):
                raise
        return None

    @asynccontextmanager
    async def stream(self, request: Request, /) -> AsyncGenerator[AsyncIterator[StreamEvent]]:
        """The events; one that holds the raw stream where the wire is the client's own."""
        turn = Turn.of(request)
        raw = await self.opened(turn, request.model or turn.model)
        if raw is not None:
            try:
                yield _holding(raw)
            finally:
                await raw.aclose()
            return
        async with self.translated(turn, request.model, _rest_of(request)) as events:
            yield events

    async def completed(
        self, turn: Turn, model: str | None, rest: Mapping[str, object] = MappingProxyType({})
    ) -> Completion:
        """The reply of an upstream that speaks another wire; `rest` is what a chain asks besides."""
        crossing = self._crossings.get(self.provider.api_for(model)) if model else None
        if crossing is not None and model and not rest:
            neutral = partial(self._neutral, turn, model, rest)
            reply = await crossing.complete(turn, model, neutral)
            if reply is not None:
                return reply
        return await self._guarded(turn.mode).complete(self._neutral(turn, model, rest))

    def translated(
        self, turn: Turn, model: str | None, rest: Mapping[str, object] = MappingProxyType({})
    ) -> EventStream:
        """As `completed`, its events."""
        return self._guarded(turn.mode).stream(self._neutral(turn, model, rest))

    def _guarded(self, mode: Mode) -> Provider:
        """The provider under a mode's guard, made when it is first asked that way."""
        made = self._made.get(mode)
        if made is None:
            made = self._made[mode] = self._guards[mode].protect(
                Named(self.provider, self._memo_id)
            )
        return made

    def _passage(self, turn: Turn) -> Passage | None:
        passage = self._passages.get(turn.api)
        if passage is None or time.monotonic() < self._lacking.get(turn.api, 0.0):
            return None
        return passage

    def _lacks(self, api: Api, error: ProviderError) -> bool:
        """Whether the endpoint has no such API at all, and has another one; noted for a while."""
        failure = error.failure
        told = failure.status in {404, 405, 501} and error.kind in {
            Kind.NOT_FOUND,
            Kind.INVALID_REQUEST,
            Kind.UNSUPPORTED_API,
        }
        names_model = failure.code == "model_not_found" or "model" in failure.message.lower()
        if (not told and error.kind is not Kind.UNSUPPORTED_API) or (
            names_model and error.kind is not Kind.UNSUPPORTED_API
        ):
            return False
        if self.provider.api_for(None) == api:
            return False
        self._lacking[api] = time.monotonic() + _LACKING
        return True

    def _neutral(self, turn: Turn, model: str | None, rest: Mapping[str, object]) -> Request:
        known = {"timeout": turn.timeout, **rest, "model": model}
        target = self.provider.api_for(model)
        neutral, warning = fitted(turn.neutral(), turn.api, target, known)
        if warning:
            turn.served.warning = warning
        return neutral

    async def status(self) -> Status:
        """The provider's health."""
        return await self.provider.status()

    async def aclose(self) -> None:
        """Closed with all others."""


def _rest_of(request: Request) -> Mapping[str, object]:
    """What a chain's request says beside its model."""
    return {
        "timeout": request.timeout,
        "partition": request.partition,
        "attempts": request.attempts,
    }


async def _holding(raw: RawStream) -> AsyncIterator[StreamEvent]:
    """A raw stream as what chains and breakers hand on; whoever asks again hears how it ended."""
    told = raw.served
    yield Finished(
        Completion(
            provider=told.provider,
            enforced=told.enforced,
            requests=told.requests,
            metadata={RAW: raw},
        )
    )
    if raw.broken is not None:
        raise raw.broken
