"""
From a model's name to who answers: aliases, chains, and each provider over the right wire.

An `Upstream` is a provider whose request carries a client's turn: of the same wire it passes, else
it is translated; guarded both ways. Source: spec gateway "Config", spec chain C18.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace

from structguard.errors import ProviderError
from structguard.events import Observer
from structguard.gateway.building import apis_of, build_passage, build_provider, transport_of
from structguard.gateway.config import Config, ProviderConfig
from structguard.gateway.faults import ApiError
from structguard.gateway.metrics import Metrics
from structguard.gateway.passing import Passage
from structguard.gateway.sending import Sending
from structguard.gateway.translate import fitted
from structguard.gateway.turn import Mode, Turn
from structguard.gateway.whole import RawReply
from structguard.guard import Guard
from structguard.http import Transport
from structguard.layers.fallback import FallbackChain
from structguard.layers.links import Link
from structguard.memo import Memo
from structguard.options import Policy
from structguard.service import EventStream, Provider, Status
from structguard.types import Api, Completion, Kind, Request, StreamEvent

_LACKING = 3600.0  # seconds for which a missing API is not asked for again
_SCOPES = 1000  # credentials of clients whose chains are kept
_NEUTRAL: tuple[Mode, ...] = ("guard", "native", "off")


class Named:
    """A provider under another id: what one client's credential may do is not another's to know."""

    protected = False

    def __init__(self, provider: Provider, name: str) -> None:
        self._provider = provider
        self.id = name
        self.attempts: int | None = getattr(provider, "attempts", None)

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
        named = Named(provider, memo_id)
        self._guarded = {mode: guard.protect(named) for mode, guard in guards.items()}
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
        return await self._guarded[turn.mode].complete(self._neutral(turn, request))

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

    @asynccontextmanager
    async def stream(self, request: Request, /) -> AsyncGenerator[AsyncIterator[StreamEvent]]:
        """The events; one that holds the raw stream where the wire is the client's own."""
        turn = Turn.of(request)
        passage, model = self._passage(turn), request.model or turn.model
        if passage is not None:
            opening = passage.stream(turn, model)
            try:
                events = await opening.__aenter__()
            except ProviderError as error:
                if not self._lacks(turn.api, error):
                    raise
            else:
                async with _entered(opening):
                    yield events
                return
        async with self._guarded[turn.mode].stream(self._neutral(turn, request)) as events:
            yield events

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

    def _neutral(self, turn: Turn, request: Request) -> Request:
        target = self.provider.api_for(request.model)
        neutral, warning = fitted(turn.neutral(), turn.api, target)
        if warning:
            turn.served.warning = warning
        return neutral.derive(
            model=request.model,
            timeout=request.timeout,
            partition=request.partition,
            attempts=request.attempts,
        )

    async def status(self) -> Status:
        """The provider's health."""
        return await self.provider.status()

    async def aclose(self) -> None:
        """Closed with all others."""


@asynccontextmanager
async def _entered(opening: EventStream) -> AsyncGenerator[None]:
    """Leave a context that was entered by hand, telling it what happened."""
    try:
        yield
    except BaseException as error:
        if not await opening.__aexit__(type(error), error, error.__traceback__):
            raise
    else:
        await opening.__aexit__(None, None, None)


class Upstreams:
    """All providers of a worker, and who answers for a model."""

    def __init__(
        self,
        config: Config,
        *,
        metrics: Metrics,
        memo: Memo,
        policy: Policy,
        transport: Transport,
        observer: Observer,
    ) -> None:
        self.config = config
        self._transport = transport
        self._observer = observer
        neutral = replace(policy, prompt="always" if policy.prompt == "auto" else policy.prompt)
        self._policies: Mapping[Mode, Policy] = {
            "guard": neutral,
            "native": replace(neutral, require_enforced=True),
            "off": replace(neutral, mode="off"),
        }
        self.providers: dict[str, Provider] = {
            name: build_provider(name, one, transport_of(name, one, transport, metrics), observer)
            for name, one in config.providers.items()
        }
        self._passages: Mapping[str, Mapping[Api, Passage]] = {
            name: {
                api: build_passage(
                    name, one, api, transport_of(name, one, transport, metrics),
                    memo=memo, policy=policy, observer=observer,
                )
                for api in apis_of(one)
            }
            for name, one in config.providers.items()
        }  # fmt: skip
        self._guards = {name: self._guards_of(one, memo) for name, one in config.providers.items()}
        self._lacking: dict[str, dict[Api, float]] = {name: {} for name in config.providers}
        self._known: OrderedDict[tuple[str, str], Provider] = OrderedDict()
        self.default: str | None = next(iter(self.providers)) if len(self.providers) == 1 else None

    def _guards_of(self, config: ProviderConfig, memo: Memo) -> Mapping[Mode, Guard]:
        also = frozenset(config.also_statuses)
        return {
            mode: Guard(memo, replace(self._policies[mode], also_statuses=also), self._observer)
            for mode in _NEUTRAL
        }

    def links(self, model: str) -> Sequence[tuple[str, str]]:
        """
        Who answers for a model, in order: (provider, model) pairs.

        Raises:
            ApiError: 404 model_not_found.
        """
        alias = self.config.models.get(model)
        if alias is not None:
            return tuple(_split(link) for link in alias)
        name, rest = _split(model)
        if rest and name in self.providers:
            return ((name, rest),)
        if self.default is not None and model:
            return ((self.default, model),)
        raise ApiError(
            404, f"there is no model {model!r} here", param="model", code="model_not_found"
        )

    def passes_credential(self, model: str) -> bool:
        """Whether the client's own credential goes upstream for this model."""
        return any(
            self.config.providers[name].credential == "client" for name, _ in self.links(model)
        )

    def answering(self, turn: Turn) -> tuple[Provider, str | None]:
        """
        The provider or chain for a turn, and the model where it is not the chain that names it.

        Raises:
            ApiError: no such model.
        """
        links = turn.links or self.links(turn.model)
        first, model = links[0]
        key = (turn.model if len(links) > 1 else first, turn.scope)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = self._made(links, turn.scope)
            while len(self._known) > _SCOPES:
                self._known.popitem(last=False)
        else:
            self._known.move_to_end(key)
        return found, model if len(links) == 1 else None

    def passage(self, name: str) -> Sending | None:
        """Any way on which a provider is reached as it is; None where it speaks a wire of its own."""
        return next((one.sending for one in self._passages[name].values()), None)

    def chains(self) -> Mapping[str, FallbackChain]:
        """The chains that have been asked for, by alias."""
        return {key[0]: one for key, one in self._known.items() if isinstance(one, FallbackChain)}

    def _made(self, links: Sequence[tuple[str, str]], scope: str) -> Provider:
        if len(links) == 1:
            return self._upstream(links[0][0], scope)
        return FallbackChain(
            [
                Link(self._upstream(name, scope), model=model, name=f"{name}:{model}")
                for name, model in links
            ],
            observer=self._observer,
        )

    def _upstream(self, name: str, scope: str) -> Provider:
        own = self.config.providers[name].credential == "client" and scope
        return Upstream(
            name,
            self.providers[name],
            self._passages[name],
            self._guards[name],
            memo_id=f"{name}#{scope}" if own else name,
            lacking=self._lacking[name],
        )

    async def aclose(self) -> None:
        """Close every provider and the pool."""
        for provider in self.providers.values():
            await provider.aclose()
        await self._transport.aclose()


def _split(link: str) -> tuple[str, str]:
    name, _, model = link.partition(":")
    return name, model
