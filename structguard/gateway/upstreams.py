"""
From a model's name to who answers: aliases, chains, and each provider over the right wire.

Source: spec gateway "Config", spec chain C18.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import replace

from structguard.events import Observer
from structguard.gateway.building import (
    apis_of,
    build_crossing,
    build_passage,
    build_provider,
    transport_of,
)
from structguard.gateway.config import Config
from structguard.gateway.config_provider import ProviderConfig
from structguard.gateway.crossing import Crossing
from structguard.gateway.faults import ApiError
from structguard.gateway.metrics import Metrics
from structguard.gateway.passing import Passage
from structguard.gateway.sending import Sending
from structguard.gateway.settings import placed
from structguard.gateway.turn import Mode, Turn
from structguard.gateway.upstream import Upstream
from structguard.guard import Guard
from structguard.http import Transport
from structguard.layers.fallback import FallbackChain
from structguard.layers.links import Link
from structguard.memo import Memo
from structguard.options import Policy
from structguard.service import Provider
from structguard.types import Api

_SCOPES = 1000  # credentials of clients whose chains are kept
_NEUTRAL: tuple[Mode, ...] = ("guard", "native", "off")


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
        self.providers: dict[str, Provider] = {}
        self._passages: dict[str, Mapping[Api, Passage]] = {}
        for name, one in config.providers.items():
            with placed(f"providers.{name}"):
                self.providers[name] = build_provider(
                    name, one, transport_of(name, one, transport, metrics), observer
                )
                self._passages[name] = {
                    api: build_passage(
                        name, one, api, transport_of(name, one, transport, metrics),
                        memo=memo, policy=policy, observer=observer,
                    )
                    for api in apis_of(one)
                }  # fmt: skip
        self._crossings: Mapping[str, Mapping[Api, Crossing]] = {
            name: {
                api: build_crossing(config.providers[name], one) for api, one in passages.items()
            }
            for name, passages in self._passages.items()
        }
        self._guards = {name: self._guards_of(one, memo) for name, one in config.providers.items()}
        self._lacking: dict[str, dict[Api, float]] = {name: {} for name in config.providers}
        self._known: OrderedDict[tuple[str, bool, str], Provider] = OrderedDict()
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
        # an alias may be called as a provider is
        chained = len(links) > 1
        key = (turn.model if chained else first, chained, turn.scope)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = self._made(links, turn.scope)
            while len(self._known) > _SCOPES:
                self._known.popitem(last=False)
        else:
            self._known.move_to_end(key)
        return found, None if chained else model

    def speaks(self, links: Sequence[tuple[str, str]], api: Api) -> bool:
        """Whether one of these may take a body of a wire as it is."""
        return any(api in self._passages[name] for name, _ in links)

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
            self._crossings[name],
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
