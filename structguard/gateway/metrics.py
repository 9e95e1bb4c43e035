"""
The gateway's metrics: requests, durations, what was enforced; with the events of the guard.

Several workers (`--workers N`) share prometheus-client's directory of memory-mapped files, so that
whichever worker is scraped answers for all. `share_metrics` must name it in the environment before
prometheus-client is imported: the parent does so before it starts the workers, which inherit it.
Source: spec gateway, issue "Observability"; prometheus-client "Multiprocess Mode".
"""

from __future__ import annotations

import os
import secrets
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, MutableMapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, cast

from structguard.errors import MissingExtra
from structguard.gateway.numbers import Histogram, Numbers, Traffic
from structguard.gateway.series import Count, Durations, OwnSeries, Series, SharedSeries
from structguard.observe.prometheus import PrometheusSink
from structguard.service import Clock
from structguard.types import Kind

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric
    from prometheus_client.registry import Collector

BOUNDS = (
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0
)  # fmt: skip
"""Seconds: from what the gateway adds to what a long answer takes."""

STEP, STEPS = 10.0, 60  # seconds; how many make up the traffic of the page

_DIRECTORY = "PROMETHEUS_MULTIPROC_DIR"  # prometheus-client's own name
_SHARED = "shared.secret"
_WORDS = {True: "true", False: "false"}


def share_metrics(directory: Path, environ: MutableMapping[str, str] = os.environ) -> None:
    """
    Let the workers that this process will start share their metrics in a directory, emptied first.

    Before prometheus-client is imported; every worker makes its Metrics with `workers_dir`. The
    directory (mode 0700) also holds a secret for them, see `Metrics.shared_secret`.
    """
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    for left in directory.glob("*.db"):
        left.unlink()
    (directory / _SHARED).write_bytes(secrets.token_bytes(32))
    environ[_DIRECTORY] = str(directory)


def forget_dead_workers(directory: Path) -> None:
    """Drop the gauges of workers that no longer run, such as requests in flight; their counts stay."""
    from prometheus_client import multiprocess  # noqa: PLC0415  an extra

    for pid in {int(file.stem.rpartition("_")[2]) for file in directory.glob("gauge_live*_*.db")}:
        try:
            os.kill(pid, 0)  # sends nothing: only asks whether it runs
        except ProcessLookupError:
            multiprocess.mark_process_dead(pid, str(directory))  # type: ignore[no-untyped-call]


class Metrics:
    """
    Counters and histograms of one worker; `render` gives the text that Prometheus scrapes.

    `workers_dir` is the directory that `share_metrics` was given, None for a single worker. `clock`
    is monotonic seconds.

    Raises:
        MissingExtra: prometheus-client is not installed.
    """

    def __init__(self, *, workers_dir: Path | None = None, clock: Clock = time.monotonic) -> None:
        try:
            import prometheus_client as library  # noqa: PLC0415  an extra
        except ImportError as error:
            raise MissingExtra("the gateway's metrics", "gateway") from error
        self._workers_dir = workers_dir
        self._own_secret = secrets.token_bytes(32)
        self._registry = registry = library.CollectorRegistry(auto_describe=False)
        self._recent = _Recent(clock)
        self.sink: PrometheusSink = PrometheusSink(registry)

        series: Series = OwnSeries(registry) if workers_dir is None else SharedSeries(registry)

        def counter(name: str, about: str, *labels: str) -> Count:
            return series.counter(f"structguard_{name}", about, *labels)

        def durations(name: str, about: str, label: str) -> Durations:
            return series.durations(f"structguard_{name}", about, label, BOUNDS)

        self._requests = counter("requests", "Requests answered", "endpoint", "status")
        self._seconds = durations("request_seconds", "From request to last byte", "endpoint")
        self._first = durations("first_byte_seconds", "From request to first byte", "endpoint")
        self._upstream = durations("upstream_seconds", "One exchange with a provider", "provider")
        self._asked = counter("upstream_requests", "Requests sent", "provider", "status")
        self._formats = counter("formats", "Replies to requests that carried a format", "enforced")
        self._read = counter("replies_read", "How the JSON was found in a reply", "source")
        self._in_flight = series.gauge(
            "structguard_in_flight", "Requests being answered", "endpoint"
        )

    def shared_secret(self) -> bytes:
        """Random bytes, the same in all workers of one `structguard serve`."""
        if self._workers_dir is None:
            return self._own_secret
        return (self._workers_dir / _SHARED).read_bytes()

    def started(self, endpoint: str) -> None:
        """A request has arrived; `endpoint` is a route, never a path that a client made up."""
        self._in_flight(1, endpoint)

    def finished(
        self,
        *,
        endpoint: str,
        status: int,
        seconds: float,
        first_byte: float | None = None,
        enforced: bool | None = None,
        source: str | None = None,
    ) -> None:
        """
        A request that `started` was answered, in `seconds`; `first_byte` in seconds for streams.

        `enforced` and `source` are for replies to requests that carried a format.
        """
        self._in_flight(-1, endpoint)
        self._requests(1, endpoint, str(status))
        self._seconds(seconds, endpoint)
        self._recent.count(failed=status >= 500)
        if first_byte is not None:
            self._first(first_byte, endpoint)
        if enforced is not None:
            self._formats(1, _WORDS[enforced])
        if source is not None:
            self._read(1, source)

    def upstream(self, *, provider: str, status: int | None, seconds: float) -> None:
        """One exchange with a provider is over; `status` None where there was no HTTP answer."""
        self._upstream(seconds, provider)
        self._asked(1, provider, "none" if status is None else str(status))

    def render(self) -> tuple[bytes, str]:
        """The metrics of all workers in Prometheus' text format, and its content type."""
        from prometheus_client import exposition  # noqa: PLC0415  an extra
        from prometheus_client.metrics_core import GaugeMetricFamily  # noqa: PLC0415

        families = self._families()
        ratio = _ratio(families)
        about = "Share of the replies to requests with a format whose format was enforced"
        if ratio is not None:
            families.append(GaugeMetricFamily("structguard_enforced_ratio", about, value=ratio))
        return exposition.generate_latest(_Collected(families)), exposition.CONTENT_TYPE_LATEST

    def summary(self) -> Numbers:
        """The numbers of the status page."""
        families = self._families()
        total = _Totals(families)
        return Numbers(
            requests=total("structguard_requests_total"),
            failed=total("structguard_requests_total", lambda labels: labels["status"] >= "500"),
            in_flight=total("structguard_in_flight"),
            refusals=total("structguard_refusals_total"),
            saved=total("structguard_requests_saved_total"),
            recovered=total("structguard_formats_recovered_total"),
            provider_errors=total("structguard_provider_errors_total", _is_failure),
            enforced_ratio=_ratio(families),
            latency=total.histogram("structguard_request_seconds"),
            first_byte=total.histogram("structguard_first_byte_seconds"),
            upstream=total.histogram("structguard_upstream_seconds"),
            traffic=self._recent.traffic(),
        )

    def _families(self) -> list[Metric]:
        """What is counted now, over all workers."""
        if self._workers_dir is None:
            return list(self._registry.collect())
        from prometheus_client import multiprocess  # noqa: PLC0415  an extra

        collector = cast("Callable[[None, str], Collector]", multiprocess.MultiProcessCollector)
        return list(collector(None, str(self._workers_dir)).collect())


class _Collected:
    """Metrics that are there already, where a registry is asked for."""

    def __init__(self, families: Sequence[Metric]) -> None:
        self._families = families

    def collect(self) -> Iterable[Metric]:
        return self._families


class _Totals:
    """Sums over the samples of one name."""

    def __init__(self, families: Iterable[Metric]) -> None:
        self._samples: dict[str, list[tuple[Mapping[str, str], float]]] = {}
        for family in families:
            for sample in family.samples:
                self._samples.setdefault(sample.name, []).append((sample.labels, sample.value))

    def __call__(
        self, name: str, chosen: Callable[[Mapping[str, str]], bool] = lambda _: True
    ) -> int:
        return round(sum(value for labels, value in self._samples.get(name, ()) if chosen(labels)))

    def histogram(self, name: str) -> Histogram:
        """Over all labels; the samples count everything up to their bound."""
        upto = dict.fromkeys((*BOUNDS, float("inf")), 0.0)
        for labels, value in self._samples.get(f"{name}_bucket", ()):
            upto[float(labels["le"])] += value
        below, counts = 0.0, list[int]()
        for value in upto.values():
            counts.append(round(value - below))
            below = value
        return Histogram(bounds=BOUNDS, counts=tuple(counts))


def _is_failure(labels: Mapping[str, str]) -> bool:
    """A refused format is counted as a refusal; rescued, nobody has failed."""
    return labels["kind"] != Kind.FORMAT_REFUSED.value


def _ratio(families: Iterable[Metric]) -> float | None:
    total = _Totals(families)
    replies = total("structguard_formats_total")
    enforced = total("structguard_formats_total", lambda labels: labels["enforced"] == "true")
    return enforced / replies if replies else None


class _Recent:
    """How many requests there were in each of the last steps."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._step = int(clock() // STEP)
        self._counts: deque[list[int]] = deque(([0, 0] for _ in range(STEPS)), maxlen=STEPS)

    def count(self, *, failed: bool) -> None:
        """One more request, now."""
        self._advance()
        now = self._counts[-1]
        now[0] += 1
        now[1] += failed

    def traffic(self) -> Traffic:
        """The last ten minutes."""
        self._advance()
        return Traffic(
            step=STEP,
            requests=tuple(requests for requests, _ in self._counts),
            failed=tuple(failed for _, failed in self._counts),
        )

    def _advance(self) -> None:
        step = int(self._clock() // STEP)
        if step > self._step:
            self._counts.extend([0, 0] for _ in range(min(step - self._step, STEPS)))
            self._step = step
