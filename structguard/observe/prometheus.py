"""
Events → Prometheus counters. Labels hold configured names and closed sets, never what a client says.

Needs prometheus-client. Source: spec gateway, issue "Observability"; Prometheus naming practice.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import attrgetter
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeAlias, cast

import structguard.events as ev
from structguard.errors import MissingExtra

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry, Counter, Gauge

Labels: TypeAlias = tuple[str, ...]

STATES: Mapping[str, int] = MappingProxyType({"closed": 0, "half-open": 1, "cooling": 2})
"""What `structguard_link_state` says, by the breaker's own words."""

_COUNTERS: Mapping[str, tuple[str, Labels]] = MappingProxyType(
    {
        "refusals": (
            "Refusals of a format, by what became of them",
            ("provider", "format", "scope", "outcome"),
        ),
        "requests_saved": (
            "Refused requests that the memo spared",
            ("provider", "format"),
        ),
        "formats_recovered": ("Formats that were accepted again", ("provider", "format")),
        "formats_ignored": ("Endpoints found to ignore a format", ("provider", "format")),
        "provider_errors": ("Failed calls", ("provider", "kind", "operation")),
        "api_switches": ("Models found on another wire API", ("provider", "api")),
        "api_lookups_failed": ("Lists of models that could not be had", ("provider",)),
        "memo_trouble": ("Failures of the memo's store", ("benign",)),
        "link_events": ("What happened to the links of chains", ("link", "event")),
        "chains_exhausted": ("Calls for which every link failed", ()),
        "options_ignored": ("Options that do nothing where they were set", ("option",)),
        "subcalls_failing": ("Sub-calls that failed several times in a row", ("name",)),
    }
)


_WHOSE, _REFUSED = ("provider", "format"), ("provider", "format", "refusal.scope.value")
_RULES: Mapping[type[ev.Event], tuple[str, Labels, Labels]] = MappingProxyType(
    {
        ev.RefusalRemembered: ("refusals", _REFUSED, ("remembered",)),
        ev.RefusalRenewed: ("refusals", _REFUSED, ("renewed",)),
        ev.RefusalUnhandled: ("refusals", _REFUSED, ("unhandled",)),
        ev.RefusalObserved: ("refusals", _REFUSED, ("observed",)),
        ev.RefusalSkipped: ("requests_saved", _WHOSE, ()),
        ev.FormatRecovered: ("formats_recovered", _WHOSE, ()),
        ev.FormatIgnored: ("formats_ignored", _WHOSE, ()),
        ev.ProviderFailed: ("provider_errors", ("provider", "kind.value", "operation"), ()),
        ev.ApiSwitched: ("api_switches", ("provider", "api"), ()),
        ev.ApiLookupFailed: ("api_lookups_failed", ("provider",), ()),
        ev.MemoTrouble: ("memo_trouble", ("benign",), ()),
        ev.BreakerOpened: ("link_events", ("link",), ("cooling",)),
        ev.BreakerHalfOpen: ("link_events", ("link",), ("half-open",)),
        ev.LinkAway: ("link_events", ("link",), ("away",)),
        ev.LinkBack: ("link_events", ("link",), ("back",)),
        ev.LinkDropped: ("link_events", ("link",), ("dropped",)),
        ev.ChainExhausted: ("chains_exhausted", (), ()),
        ev.OptionIgnored: ("options_ignored", ("option",), ()),
        ev.SubcallFailing: ("subcalls_failing", ("name",), ()),
    }
)
"""One row an event: its counter, the attributes that label it, and labels that are always so."""


def _nothing(_: object) -> tuple[object, ...]:
    return ()


_READ: Mapping[type[ev.Event], tuple[str, Callable[[object], object], Labels]] = {
    kind: (name, attrgetter(*paths) if paths else _nothing, rest)
    for kind, (name, paths, rest) in _RULES.items()
}

_STATE_AFTER: Mapping[type[ev.Event], str] = MappingProxyType(
    {ev.BreakerOpened: "cooling", ev.BreakerHalfOpen: "half-open", ev.LinkBack: "closed"}
)


class PrometheusSink:
    """
    An observer that counts events in a registry (None: the library's default one).

    `structguard_link_state` follows the last event of a link over all partitions; `link_state` sets
    it to what a look at the breaker says.

    Raises:
        MissingExtra: prometheus-client is not installed.
    """

    def __init__(self, registry: CollectorRegistry | None = None) -> None:
        try:
            import prometheus_client as library  # noqa: PLC0415  an extra
        except ImportError as error:
            raise MissingExtra("counting events for Prometheus", "gateway") from error
        registry = library.REGISTRY if registry is None else registry
        self._counters: dict[str, Counter] = {
            name: library.Counter(f"structguard_{name}", about, labels, registry=registry)
            for name, (about, labels) in _COUNTERS.items()
        }
        self._children: dict[tuple[type[ev.Event], object], Counter] = {}
        self._state: Gauge = library.Gauge(
            "structguard_link_state",
            "A link's breaker: 0 closed, 1 half-open, 2 cooling",
            ("link",),
            registry=registry,
            multiprocess_mode="max",
        )

    def __call__(self, event: ev.Event, /) -> None:
        """Count one event."""
        kind = type(event)
        read = _READ[kind][1](event)
        child = self._children.get((kind, read))
        if child is None:  # the library's own look-up costs more
            child = self._children[kind, read] = self._child(kind, read)
        child.inc()
        after = _STATE_AFTER.get(kind)
        if after is not None:
            self.link_state(str(read), after)

    def _child(self, kind: type[ev.Event], read: object) -> Counter:
        name, _, fixed = _READ[kind]
        values = cast("tuple[object, ...]", read) if isinstance(read, tuple) else (read,)
        labels = (*map(str, values), *fixed)
        counter = self._counters[name]
        return counter.labels(*labels) if labels else counter

    def link_state(self, link: str, mode: str) -> None:
        """Set a link's gauge; `mode` closed, half-open or cooling."""
        self._state.labels(link).set(STATES[mode])
