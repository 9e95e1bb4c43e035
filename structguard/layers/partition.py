"""
One partition of a chain: each link's breaker, and the override. A pure state machine.

It knows neither clock nor wire: time comes in as seconds, decisions and events come out. The
override is the link that serves while the primary (link 0) is away. A link is *closed* until a
failure arms its cooldown, *cooling* until that has passed, then *half-open*: one call probes it
while the others go elsewhere.

Source: spec chain C1, C3 to C6, C8 to C13.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

from structguard.events import BreakerHalfOpen, BreakerOpened, Event, LinkAway, LinkBack
from structguard.options import BreakerOptions
from structguard.service import Clock

Mode: TypeAlias = Literal["closed", "cooling", "half-open"]


@dataclass(slots=True)
class LinkState:
    """One link's breaker in one partition. Times are the injected clock's seconds."""

    failures: int = 0  # that count, since the last success
    step: int = 0  # of the cooldown ladder; 0 = not armed since the last success
    failed_at: float = 0.0
    armed_at: float = 0.0
    until: float = 0.0  # the end of the cooldown
    epoch: int = 0  # how often it was armed: tells old news from new
    probing: bool = False

    def mode(self, now: float, window: float) -> Mode:
        """Closed, cooling or half-open at this time."""
        if not self.step:
            return "closed"
        if now < self.until:
            return "cooling"
        return "closed" if now - self.failed_at > window else "half-open"


@dataclass(frozen=True, slots=True)
class Ticket:
    """One call's admission to a link; handed back with the call's outcome."""

    link: int
    epoch: int
    probe: bool
    turn: int  # which override stood then


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkView:
    """What `state` shows of one link; `cools_for` in seconds, 0 when it does not cool."""

    link: str
    mode: Mode
    failures: int
    cools_for: float
    serving: bool  # the link the next call is sent to first, probes aside
    probing: bool
    reason: str  # the last failure that counted, in one line


class Partition:
    """
    Breaker state and override of one partition of a chain.

    `route` gives the links for one call; each attempt is `admit`ted and ends with exactly one of
    `succeed`, `fail` or `release`. An outcome of a call that was admitted before its link was armed
    is old news and changes nothing: a burst of concurrent failures climbs one step, not the ladder.
    So is a fallback's success once the override has changed: a slow stream that began while the
    primary was away does not move the chain away again after it is back.
    """

    __slots__ = (
        "_asked_at",
        "_links",
        "_reasons",
        "_turn",
        "fallback_served",
        "key",
        "names",
        "options",
        "override",
    )

    def __init__(self, key: str, names: tuple[str, ...], options: BreakerOptions) -> None:
        self.key: str = key
        self.names: tuple[str, ...] = names
        self.options: BreakerOptions = options
        self.override: int | None = None
        self.fallback_served: bool = False
        self._links = [LinkState() for _ in names]
        self._reasons: dict[int, str] = {}
        self._turn = 0  # how often the override has changed
        self._asked_at: float | None = None  # when the primary last answered, but not with success

    def route(self, clock: Clock) -> Iterator[int]:
        """
        The links to ask, in order, until one serves: closed and half-open ones, each once; when
        all are cooling, only the one that has been cooling longest (C6).
        """
        tried: set[int] = set()
        while (link := self._next(clock(), tried)) is not None:
            tried.add(link)
            yield link
        link = self._last_resort(clock(), tried)
        if link is not None:
            yield link

    def admit(self, link: int, now: float) -> tuple[Ticket, tuple[Event, ...]]:
        """Let a call through to a link. A half-open link, or the primary while away, is probed."""
        state = self._links[link]
        mode = state.mode(now, self.options.window)
        asks = mode == "half-open" or (mode == "closed" and self._away_from(link))
        if state.probing or not asks:
            return Ticket(link, state.epoch, probe=False, turn=self._turn), ()
        state.probing = True
        event = BreakerHalfOpen(partition=self.key, link=self.names[link])
        return Ticket(link, state.epoch, probe=True, turn=self._turn), (event,)

    def succeed(self, ticket: Ticket, *, whole: bool = True) -> tuple[Event, ...]:
        """
        The link served (C9). `whole=False`: a stream gave its first event; the count of failures
        is cleared by `finish`, so that a link whose streams always break is noticed.
        """
        state = self._settle(ticket)
        if state.epoch != ticket.epoch:
            return ()
        state.step = 0
        events = self._serves(ticket)
        if whole:
            self.finish(ticket)
        return events

    def finish(self, ticket: Ticket) -> None:
        """What had begun to serve did so to its end: the link's failures are forgiven."""
        state = self._links[ticket.link]
        if state.epoch == ticket.epoch:
            state.failures = 0
            self._reasons.pop(ticket.link, None)

    def fail(
        self, ticket: Ticket, now: float, counts: Literal["threshold", "immediate"], reason: str
    ) -> tuple[Event, ...]:
        """The link failed in a way that counts (C8, C10)."""
        state = self._settle(ticket, asked_at=now)
        if state.epoch != ticket.epoch:
            return ()
        if state.failures and now - state.failed_at > self.options.window:
            state.failures = state.step = 0
        state.failures += 1
        state.failed_at = now
        self._reasons[ticket.link] = reason
        if counts == "immediate" or state.step or state.failures >= self.options.threshold:
            return (self._arm(ticket.link, now),)
        return ()

    def release(self, ticket: Ticket, *, asked_at: float | None = None) -> None:
        """The call says nothing about the link. `asked_at`: when the link answered; None: never."""
        self._settle(ticket, asked_at=asked_at)

    def view(self, now: float) -> tuple[LinkView, ...]:
        """Every link as it stands, for people."""
        return tuple(
            LinkView(
                link=name,
                mode=state.mode(now, self.options.window),
                failures=state.failures,
                cools_for=max(0.0, state.until - now) if state.step else 0.0,
                serving=index == self._head,
                probing=state.probing,
                reason=self._reasons.get(index, ""),
            )
            for index, (name, state) in enumerate(zip(self.names, self._links, strict=True))
        )

    @property
    def _head(self) -> int:
        return 0 if self.override is None else self.override

    def _away_from(self, link: int) -> bool:
        return link == 0 and self.override is not None

    def _order(self, now: float) -> Iterator[int]:
        """Primary first; while away: the override, those after it, those before it (C4)."""
        size = len(self._links)
        if self.override is None:
            yield from range(size)
            return
        if self._probe_due(now):
            yield 0
        yield from range(self.override, size)
        yield from range(1, self.override)
        yield 0

    def _probe_due(self, now: float) -> bool:
        return self._asked_at is None or now - self._asked_at >= self.options.probe_interval

    def _next(self, now: float, tried: set[int]) -> int | None:
        if self.override is None and not tried and not self._links[0].step:
            return 0  # the everyday case, as the rest would find it
        for link in self._order(now):
            if link not in tried and self._open(link, now):
                return link
        return None

    def _open(self, link: int, now: float) -> bool:
        state = self._links[link]
        mode = state.mode(now, self.options.window)
        if mode == "cooling":
            return False
        return not (state.probing and (mode == "half-open" or self._away_from(link)))

    def _last_resort(self, now: float, tried: set[int]) -> int | None:
        """When every link cools or is being probed: the one cooling longest, probed ones last."""
        links = range(len(self._links))
        if any(self._open(link, now) for link in links):
            return None
        left = [link for link in links if link not in tried]
        return min(
            left,
            key=lambda link: (self._links[link].probing, self._links[link].armed_at, link),
            default=None,
        )

    def _settle(self, ticket: Ticket, *, asked_at: float | None = None) -> LinkState:
        state = self._links[ticket.link]
        if ticket.probe:
            state.probing = False
        if asked_at is not None and ticket.link == 0:
            self._asked_at = asked_at
        return state

    def _arm(self, link: int, now: float) -> BreakerOpened:
        state, ladder = self._links[link], self.options.cooldowns
        seconds = ladder[min(state.step, len(ladder) - 1)]
        state.step += 1
        state.epoch += 1
        state.armed_at = now
        state.until = now + seconds
        return BreakerOpened(
            partition=self.key,
            link=self.names[link],
            seconds=seconds,
            reason=self._reasons[link],
        )

    def _serves(self, ticket: Ticket) -> tuple[Event, ...]:
        """
        Move the override to the link that served, if the one asked first has failures that count:
        a refused format alone (C12) never moves a chain away from a healthy link.
        """
        was, head, link = self.override, self._head, ticket.link
        if link == 0:
            if was is None:
                return ()
            self.override = None
            self._turn += 1
            return (LinkBack(partition=self.key, link=self.names[0]),)
        self.fallback_served = True
        if link == head or ticket.turn != self._turn or not self._links[head].failures:
            return ()
        self.override = link
        self._turn += 1
        if was is not None:
            return ()
        reason = self._reasons.get(0, "")
        return (
            LinkAway(partition=self.key, link=self.names[0], to=self.names[link], reason=reason),
        )
