"""
A chain of links: the first that serves answers, and a link that fails is left alone for a while.

Per link the layers are breaker → guard (degrade) → provider, so a handled refusal is a success to
everything outside it. Source: spec chain; DESIGN "Public face" 5.
"""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from structguard.events import ChainExhausted, Observer
from structguard.layers.breaker import Breaker, Judge, one_line
from structguard.layers.links import Link, link_names, usable
from structguard.layers.outage import kind_of, rule_of
from structguard.layers.partition import LinkView
from structguard.observe import careful, log_events
from structguard.options import BreakerOptions
from structguard.service import (
    Clock,
    Complete,
    EventStream,
    Guarding,
    OpenStream,
    Provider,
    Status,
    stack,
)
from structguard.types import Api, Completion, Kind, Request, StreamEvent, require_request

__all__ = ["FallbackChain", "Link"]


@dataclass(frozen=True, slots=True)
class _Entry:
    """A usable link, its layers around it."""

    name: str
    provider: Provider
    model: str | None
    complete: Complete
    stream: OpenStream


class FallbackChain:
    """
    A provider made of other providers.

    `complete` and `stream` ask the primary, which is the first link, and move on to the next link
    if one fails in a way that another provider might not. State is kept per `Request.partition`.
    `Request.timeout` is the budget of each link. If `Request.provider` names a link, by its name or
    its provider's id, only that link is asked, and no state is read or changed.

    Args:
        links: The links, in order.
        guard: Protects the provider of each link, unless it is protected already.
        options: When a breaker opens, and for how long.
        clock: Returns monotonic seconds; for tests.
        observer: A callable that receives every event.
        judge: Decides what an error means to chain and breaker.

    Raises:
        ValueError: No links, a first link without a provider, or a name that is used twice.
        TypeError: Something that is not a Link, or a Link whose provider is not a provider.
    """

    def __init__(
        self,
        links: Iterable[Link],
        *,
        guard: Guarding | None = None,
        options: BreakerOptions = BreakerOptions(),  # noqa: B008  frozen
        clock: Clock = time.monotonic,
        observer: Observer = log_events,
        judge: Judge = rule_of,
    ) -> None:
        observer = careful(observer)
        usable_links = usable(tuple(links), observer)
        names = link_names([link for link, _ in usable_links])
        self._observer = observer
        self._clock = clock
        self._judge = judge
        self._breaker = Breaker(names, options=options, clock=clock, observer=observer, judge=judge)
        self._links = tuple(
            self._entry(index, name, link.model, provider, guard)
            for index, (name, (link, provider)) in enumerate(zip(names, usable_links, strict=True))
        )
        self.protected: bool = all(getattr(e.provider, "protected", False) for e in self._links)

    def _entry(
        self, index: int, name: str, model: str | None, provider: Provider, guard: Guarding | None
    ) -> _Entry:
        if guard is not None and not getattr(provider, "protected", False):
            provider = guard.protect(provider, model=model)
        return _Entry(
            name=name,
            provider=provider,
            model=model,
            complete=stack((self._breaker.layer(index),), provider.complete),
            stream=self._breaker.stream_layer(index)(provider.stream),
        )

    @property
    def id(self) -> str:
        """The names of the links, joined by arrows."""
        return " → ".join(entry.name for entry in self._links)

    @property
    def base_url(self) -> str:
        """The base URL of the primary."""
        return self._links[0].provider.base_url

    def api_for(self, model: str | None, /) -> Api:
        """The API that the primary uses for a model."""
        return self._links[0].provider.api_for(self._links[0].model or model)

    async def complete(self, request: Request, /, *, partition: str | None = None) -> Completion:
        """
        Return the first reply that a link gives. `partition` is short for `Request.partition`.

        Raises:
            ProviderError: (or what a provider of your own raises) An error that does not make the
                chain move on; or, if all links failed, the error of the last one, or of the primary
                if its key or account was rejected and no fallback has ever answered. `.attempts`
                lists (link, error) pairs.
            ValueError: `Request.provider` names no link.
        """
        request = _in_partition(request, partition)
        if request.provider is not None:
            entry = self._pinned(request)
            return await entry.provider.complete(_for_link(request, entry))
        attempts: list[tuple[str, Exception]] = []
        for index in self._breaker.partition(request.partition).route(self._clock):
            entry = self._links[index]
            try:
                return await entry.complete(_for_link(request, entry))
            except Exception as error:
                if self._stops(entry, error, attempts):
                    raise
        raise self._exhausted(request, attempts)

    def stream(self, request: Request, /, *, partition: str | None = None) -> EventStream:
        """
        Do the same as `complete` for a stream.

        Links are tried until one delivers a first event; after that, nothing is restarted. Leaving
        the context closes the stream.
        """
        return self._stream(_in_partition(request, partition))

    @asynccontextmanager
    async def _stream(self, request: Request) -> AsyncGenerator[AsyncIterator[StreamEvent]]:
        async with AsyncExitStack() as attempt:
            yield await self._open(request, attempt)

    async def _open(self, request: Request, attempt: AsyncExitStack) -> AsyncIterator[StreamEvent]:
        if request.provider is not None:
            entry = self._pinned(request)
            stream = entry.provider.stream(_for_link(request, entry))
            return await attempt.enter_async_context(stream)
        attempts: list[tuple[str, Exception]] = []
        for index in self._breaker.partition(request.partition).route(self._clock):
            entry = self._links[index]
            try:
                return await attempt.enter_async_context(entry.stream(_for_link(request, entry)))
            except Exception as error:
                if self._stops(entry, error, attempts):
                    raise
        raise self._exhausted(request, attempts)

    def _stops(
        self, entry: _Entry, error: Exception, attempts: list[tuple[str, Exception]]
    ) -> bool:
        """Note a failed attempt; whether its error does not advance and is raised as it is (C7)."""
        attempts.append((entry.name, error))
        if self._judge(error).advance:
            return False
        if len(attempts) > 1:  # the failures before it stay reachable
            _attach(error, self._every(attempts))
        return True

    def _exhausted(self, request: Request, attempts: list[tuple[str, Exception]]) -> Exception:
        """The error of a chain in which every link failed (C14)."""
        partition = self._breaker.partition(request.partition)
        error = attempts[-1][1]
        name, first = attempts[0]
        refused = kind_of(first) in {Kind.AUTHENTICATION, Kind.BILLING}
        if refused and name == self._links[0].name and not partition.fallback_served:
            error = first
        every = self._every(attempts)
        _attach(error, every)
        self._observer(
            ChainExhausted(
                partition=request.partition,
                attempts=tuple((link, one_line(failure)) for link, failure in every),
            )
        )
        return error

    def _every(self, attempts: Sequence[tuple[str, Exception]]) -> list[tuple[str, Exception]]:
        """The attempts, those of a chain that is a link itself in place of the one it stands for."""
        chains = {entry.name for entry in self._links if _is_chain(entry.provider)}
        every: list[tuple[str, Exception]] = []
        for link, error in attempts:
            inner = getattr(error, "attempts", ()) if link in chains else ()
            every += [(f"{link}: {name}", cause) for name, cause in inner] or [(link, error)]
        return every

    def _pinned(self, request: Request) -> _Entry:
        """The one link a request names: by link name, else by provider id and its model (C16)."""
        name = request.provider
        for entry in self._links:
            if entry.name == name:
                return entry
        entries = [entry for entry in self._links if entry.provider.id == name]
        for entry in entries:
            if request.model in {None, entry.model}:
                return entry
        if entries:
            return entries[0]
        known = ", ".join(repr(entry.name) for entry in self._links)
        raise ValueError(f"Request.provider {name!r} is not a link of this chain; it has {known}")

    @property
    def partitions(self) -> int:
        """How many partitions are remembered; never more than `BreakerOptions.partitions`."""
        return len(self._breaker)

    def state(self, partition: str = "") -> tuple[LinkView, ...]:
        """Every link of a partition as it stands now: breaker, failures, which one serves."""
        return self._breaker.peek(partition).view(self._clock())

    def describe(self, partition: str = "") -> str:
        """One line a link, for people."""
        return "\n".join(
            _described(number, view, entry)
            for number, (view, entry) in enumerate(
                zip(self.state(partition), self._links, strict=True), start=1
            )
        )

    async def status(self) -> Status:
        """The primary's health; degraded when only a fallback is healthy."""
        first = await self._links[0].provider.status()
        if first.health == "healthy":
            return first
        for entry in self._links[1:]:
            status = await entry.provider.status()
            if status.health == "healthy":
                message = f"{self._links[0].name}: {first.message}; {entry.name} is healthy"
                return Status(health="degraded", message=message, latency=status.latency)
        return first

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close every link's provider, each once."""
        async with AsyncExitStack() as closing:
            for provider in {id(e.provider): e.provider for e in self._links}.values():
                closing.push_async_callback(provider.aclose)


def _in_partition(request: Request, partition: str | None) -> Request:
    require_request(request)
    if partition is None or partition == request.partition:
        return request
    return request.derive(partition=partition)


def _for_link(request: Request, entry: _Entry) -> Request:
    """The request with the link's model; a pin is spent here (C16)."""
    model = entry.model or request.model
    if model == request.model and request.provider is None:
        return request
    return request.derive(model=model, provider=None)


def _is_chain(provider: object) -> bool:
    """Whether a link's provider is itself a chain, guarded or not."""
    return isinstance(getattr(provider, "provider", provider), FallbackChain)


def _attach(error: Exception, attempts: Sequence[tuple[str, Exception]]) -> None:
    with suppress(AttributeError, TypeError):  # a foreign exception may have no place for it
        error.attempts = tuple(attempts)  # type: ignore[attr-defined]


def _described(number: int, view: LinkView, entry: _Entry) -> str:
    where = f"{number}. {view.link} ({entry.model or 'the model asked for'})"
    cooling = f" for {view.cools_for:.0f} s" if view.cools_for else ""
    plural = "" if view.failures == 1 else "s"
    failures = f", {view.failures} failure{plural} in a row" if view.failures else ""
    marks = (", serving" if view.serving else "") + (", being probed" if view.probing else "")
    reason = f": {view.reason}" if view.reason else ""
    return f"{where}: {view.mode}{cooling}{failures}{marks}{reason}"
