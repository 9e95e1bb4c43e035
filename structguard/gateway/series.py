"""
Counters and histograms of one process in plain numbers, told to Prometheus when it asks.

A count in prometheus-client costs as much as a JSON decode, ten of them a tenth of a request. Several
workers need the library's own, which live in files that all of them read: `shared`. Source:
prometheus-client "Custom Collectors", "Multiprocess Mode".
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import cache
from itertools import accumulate
from typing import TYPE_CHECKING, Protocol, cast

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry
    from prometheus_client.metrics_core import Metric
    from prometheus_client.registry import Collector


class Count(Protocol):
    """Counts at a counter or a gauge, which may go down; labels by their values, in order."""

    def __call__(self, amount: int, /, *labels: str) -> None: ...


class Durations(Protocol):
    """Adds one duration to a histogram of seconds with one label."""

    def __call__(self, seconds: float, label: str, /) -> None: ...


class Series(Protocol):
    """Makes counters, gauges and histograms, each under its name and with one line about it."""

    def counter(self, name: str, about: str, /, *labels: str) -> Count: ...
    def gauge(self, name: str, about: str, /, *labels: str) -> Count: ...
    def durations(
        self, name: str, about: str, label: str, bounds: Sequence[float], /
    ) -> Durations: ...


class OwnSeries:
    """One process's own: a collector of a registry."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._all: list[_Counts | _Histogram] = []
        registry.register(cast("Collector", self))

    def counter(self, name: str, about: str, /, *labels: str) -> Count:
        """A counter."""
        return self._counts(name, about, labels, falls=False)

    def gauge(self, name: str, about: str, /, *labels: str) -> Count:
        """A gauge."""
        return self._counts(name, about, labels, falls=True)

    def durations(self, name: str, about: str, label: str, bounds: Sequence[float], /) -> Durations:
        """A histogram; `bounds` are the upper ends of its buckets in seconds, rising."""
        histogram = _Histogram(name, about, label, bounds)
        self._all.append(histogram)
        return histogram.add

    def _counts(self, name: str, about: str, labels: Sequence[str], *, falls: bool) -> Count:
        counts = _Counts(name, about, labels, falls=falls)
        self._all.append(counts)
        return counts.add

    def collect(self) -> Iterable[Metric]:
        """What a registry asks."""
        return [series.family() for series in self._all]


class _Counts:
    def __init__(self, name: str, about: str, labels: Sequence[str], *, falls: bool) -> None:
        self._what = name, about, labels
        self._falls = falls
        self._counts: defaultdict[tuple[str, ...], int] = defaultdict(int)

    def add(self, amount: int, /, *labels: str) -> None:
        self._counts[labels] += amount

    def family(self) -> Metric:
        from prometheus_client import metrics_core as core  # noqa: PLC0415  an extra

        name, about, labels = self._what
        kind = core.GaugeMetricFamily if self._falls else core.CounterMetricFamily
        family = kind(name, about, labels=labels)
        for values, count in self._counts.items():
            family.add_metric(values, count)
        return family


class _Histogram:
    def __init__(self, name: str, about: str, label: str, bounds: Sequence[float]) -> None:
        self._what = name, about, label
        self._bounds = bounds
        self._counts: defaultdict[str, list[int]] = defaultdict(lambda: [0] * (len(bounds) + 1))
        self._sums: defaultdict[str, float] = defaultdict(float)

    def add(self, seconds: float, label: str, /) -> None:
        self._counts[label][bisect_left(self._bounds, seconds)] += 1
        self._sums[label] += seconds

    def family(self) -> Metric:
        from prometheus_client.metrics_core import HistogramMetricFamily  # noqa: PLC0415  an extra

        name, about, label = self._what
        family = HistogramMetricFamily(name, about, labels=[label])
        ends = [*map(str, self._bounds), "+Inf"]
        for value, counts in self._counts.items():
            family.add_metric(
                [value], [*zip(ends, accumulate(counts), strict=True)], self._sums[value]
            )
        return family


class SharedSeries:
    """The library's own, in the files that all workers of one gateway read."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._registry = registry

    def counter(self, name: str, about: str, /, *labels: str) -> Count:
        """A counter."""
        from prometheus_client import Counter  # noqa: PLC0415  an extra

        child = cache(Counter(name, about, labels, registry=self._registry).labels)
        return lambda amount, *values: child(*values).inc(amount)

    def gauge(self, name: str, about: str, /, *labels: str) -> Count:
        """A gauge: the sum over the workers that live."""
        from prometheus_client import Gauge  # noqa: PLC0415  an extra

        gauge = Gauge(name, about, labels, registry=self._registry, multiprocess_mode="livesum")
        child = cache(gauge.labels)
        return lambda amount, *values: child(*values).inc(amount)

    def durations(self, name: str, about: str, label: str, bounds: Sequence[float], /) -> Durations:
        """A histogram; `bounds` as of `OwnSeries`."""
        from prometheus_client import Histogram  # noqa: PLC0415  an extra

        histogram = Histogram(name, about, [label], buckets=tuple(bounds), registry=self._registry)
        child = cache(histogram.labels)
        return lambda seconds, value: child(value).observe(seconds)
