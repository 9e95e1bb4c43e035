"""
Which wire API a model is asked over.

Order: the model's `api`, the provider's `api`, what the memo learned, the look-up, chat.
Source: spec api-choice.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeAlias

from structguard.events import ApiSwitched, Observer, OptionIgnored
from structguard.http import Response
from structguard.memo import Entry, Memo
from structguard.providers.call import Call, Fault, Route
from structguard.providers.endpoints import Endpoints, cached_join
from structguard.providers.lookup import Lookup
from structguard.service import Clock
from structguard.types import Api, Kind, MemoKey
from structguard.wire.base import DEFAULTS, Wire, WireOptions

OpenAIApi: TypeAlias = Literal["chat", "chat_completions", "responses"]
_APIS: Mapping[str, Api] = {
    "chat": "chat",
    "chat_completions": "chat",
    "responses": "responses",
}


def checked_api(api: str | None, where: str) -> Api | None:
    """
    The wire API an option names.

    Raises:
        ValueError: an unknown value; the known ones are listed.
    """
    if api is None:
        return None
    if api not in _APIS:
        known = ", ".join(repr(name) for name in _APIS)
        raise ValueError(f"{where} must be one of {known}, got {api!r}")
    return _APIS[api]


def ignore_api(api: str | None, own: Api, where: str, observer: Observer) -> None:
    """
    Say once that `api` does nothing on a provider with one wire.

    Raises:
        ValueError: a value that is no wire API at all.
    """
    if api is None or api == own:
        return
    checked_api(api, "api")
    observer(OptionIgnored(where=where, option="api", reason=f"it is always asked over {own}"))


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelOptions:
    """The API of one model, and its options, which replace the provider's."""

    api: OpenAIApi | None = None
    options: WireOptions | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FixedRouter:
    """The one wire of a vendor: `base_url` and the wire's own path."""

    wire: Wire
    base_url: str
    options: WireOptions = DEFAULTS
    models: Mapping[str, WireOptions] = field(default_factory=dict[str, WireOptions])

    def api_for(self, model: str | None) -> Api:
        """The one wire's."""
        del model
        return self.wire.API

    def dialect(self, model: str) -> tuple[Api, WireOptions]:
        """The one wire, and what is said about the model."""
        return self.wire.API, self.models.get(model, self.options)

    async def choose(self, call: Call) -> Route:
        """Always the same."""
        return Route(
            wire=self.wire,
            url=cached_join(self.base_url, self.wire.path(call.model, stream=call.stream)),
            options=self.models.get(call.model, self.options),
        )

    def other(self, call: Call, route: Route) -> Route | None:
        """There is none."""
        del call, route
        return None

    async def learned(self, call: Call, route: Route, fault: Fault) -> None:
        """Never asked."""

    def renewal(self) -> Callable[[], Coroutine[object, object, None]] | None:
        """Nothing to look up."""
        return None


class Asker(Protocol):
    """What a look-up needs of the engine: the credential's digest, and one GET."""

    async def credential(self, call: Call, /) -> str: ...
    async def ask(self, call: Call | None, url: str, /) -> Response: ...


@dataclass(slots=True, kw_only=True)
class ApiRouter:
    """
    The choice between chat and responses, for one OpenAI-style endpoint.

    `explicit` is the provider's `api`, `models` what is said about single ones. An explicit API is
    trusted: no look-up, no switch.
    """

    id: str
    memo_url: str  # the endpoint as the memo names it
    endpoints: Endpoints
    wires: Mapping[Api, Wire]
    memo: Memo
    observer: Observer
    explicit: Api | None = None
    models: Mapping[str, ModelOptions] = field(default_factory=dict[str, ModelOptions])
    options: WireOptions = DEFAULTS
    lookup: Lookup | None = None
    asker: Asker | None = None
    wall: Clock = time.time
    _credential: str = ""

    def api_for(self, model: str | None) -> Api:
        """The API as far as it is known without asking anybody."""
        name = model or ""
        return self._named(name) or self._learned(name) or self._listed(name) or "chat"

    def dialect(self, model: str) -> tuple[Api, WireOptions]:
        """The API of `api_for`, and what is said about the model."""
        return self.api_for(model), self._options(model)

    async def choose(self, call: Call) -> Route:
        """
        The route of a call; the first one that needs to know looks it up.

        Raises:
            ProviderError: the model lists neither API. ValueError: no URL can be derived.
        """
        name = call.model
        api = self._named(name)
        if api is None:
            if self.memo.stale():
                await self.memo.arefresh()
            api = self._learned(name)
        if api is None and self.lookup is not None:
            api = await self._looked_up(self.lookup, call)
        return self._route(api or "chat", name)

    def other(self, call: Call, route: Route) -> Route | None:
        """The other API, if this one was a guess and the other one's URL is known."""
        other: Api = "responses" if route.wire.API == "chat" else "chat"
        if self._named(call.model) is not None:
            return None
        if other == "responses" and not self.endpoints.can_derive():
            return None
        return self._route(other, call.model)

    async def learned(self, call: Call, route: Route, fault: Fault) -> None:
        """Remember the API that served, and say so the first time."""
        api = route.wire.API
        evidence = fault.failure.message or f"HTTP {fault.failure.status}"
        entry = Entry.use_api(
            self.id,
            call.model,
            self.memo_url,
            api,
            evidence,
            wall=self.wall(),
            status=fault.failure.status,
        )
        if await self.memo.aremember(entry):
            self.observer(
                ApiSwitched(provider=self.id, model=call.model, api=api, evidence=entry.evidence)
            )

    def renewal(self) -> Callable[[], Coroutine[object, object, None]] | None:
        """The look-up, once its answer is old."""
        lookup, asker, credential = self.lookup, self.asker, self._credential
        if lookup is None or asker is None or not lookup.due(credential):
            return None

        async def renew() -> None:
            await lookup.renew(
                credential, lambda: asker.ask(None, self.endpoints.beside("/models"))
            )

        return renew

    def _route(self, api: Api, model: str) -> Route:
        url = self.endpoints.url(api, model)
        return Route(wire=self.wires[api], url=url, options=self._options(model))

    def _options(self, model: str) -> WireOptions:
        options = self.models.get(model)
        return self.options if options is None or options.options is None else options.options

    def _named(self, model: str) -> Api | None:
        options = self.models.get(model)
        own = None if options is None else checked_api(options.api, f"api of model {model!r}")
        return own or self.explicit

    def _learned(self, model: str) -> Api | None:
        key = MemoKey(provider=self.id, model=model, base_url=self.memo_url)
        entry = self.memo.look(key, "use_api")
        if entry is None or self.memo.due(entry) or entry.api not in self.wires:
            return None
        return entry.api

    def _listed(self, model: str) -> Api | None:
        listed = None if self.lookup is None else self.lookup.listed(model, self._credential)
        return None if listed == "neither" else listed

    async def _looked_up(self, lookup: Lookup, call: Call) -> Api | None:
        if self.asker is None:
            return None
        asker = self.asker
        self._credential = await asker.credential(call)
        url = self.endpoints.beside("/models")
        await lookup.ensure(self._credential, lambda: asker.ask(call, url))
        listed = lookup.listed(call.model, self._credential)
        if listed == "neither":
            raise call.inline(
                Kind.UNSUPPORTED_API,
                f"the endpoint lists {call.model!r} for other APIs than chat and responses",
            )
        return listed
