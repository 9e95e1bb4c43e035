"""One process's own numbers read like the library's."""

from __future__ import annotations

from collections.abc import Callable

import pytest

pytest.importorskip("prometheus_client", reason="prometheus-client is not installed")
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import generate_latest

from structguard.gateway.series import OwnSeries, Series, SharedSeries


def told(make: Callable[[CollectorRegistry], Series]) -> list[str]:
    """What Prometheus would read, without when each series was first used."""
    registry = CollectorRegistry(auto_describe=False)
    series = make(registry)
    count = series.counter("asked", "Requests", "endpoint", "status")
    going = series.gauge("going", "Under way", "endpoint")
    took = series.durations("took_seconds", "From first to last", "endpoint", (0.1, 1.0, 10.0))
    series.counter("never", "Nothing yet", "endpoint")
    for endpoint, seconds in (("/a", 0.05), ("/a", 0.1), ("/b", 5.0), ("/a", 11.0)):
        going(1, endpoint)
        count(1, endpoint, "200")
        took(seconds, endpoint)
    going(-1, "/a")
    text = generate_latest(registry).decode()
    return [line for line in text.splitlines() if "_created" not in line]


def test_own_series_read_like_the_librarys() -> None:
    assert told(OwnSeries) == told(SharedSeries)
    assert 'took_seconds_bucket{endpoint="/a",le="0.1"} 2.0' in told(OwnSeries)
