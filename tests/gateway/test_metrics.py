"""What is counted, what Prometheus reads, and that labels stay few."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import get_args

import pytest

import structguard.events as ev
from structguard.errors import MissingExtra
from structguard.gateway import metrics as module
from structguard.gateway.metrics import BOUNDS, STEP, STEPS, Metrics, share_metrics
from structguard.gateway.numbers import Histogram
from structguard.observe.prometheus import PrometheusSink
from structguard.types import Failure, Kind, Refusal, Scope
from tests.doubles import ManualClock

pytest.importorskip("prometheus_client", reason="prometheus-client is not installed")

_REFUSAL = Refusal(Scope.SCHEMA, "row", "json_schema", "schema is not supported")
_WHO = {"provider": "cloud", "model": "m", "format": "json_schema", "refusal": _REFUSAL}
_CALL = {"provider": "cloud", "model": "m", "format": "json_object"}
EVENTS: list[tuple[ev.Event, str]] = [
    (
        ev.RefusalRemembered(**_WHO, expires_in=1.0),  # type: ignore[arg-type]
        'refusals_total{format="json_schema",outcome="remembered",provider="cloud",scope="schema"}',
    ),
    (
        ev.RefusalRenewed(**_WHO),  # type: ignore[arg-type]
        'refusals_total{format="json_schema",outcome="renewed",provider="cloud",scope="schema"}',
    ),
    (
        ev.RefusalUnhandled(**_WHO, reason="no_time"),  # type: ignore[arg-type]
        'refusals_total{format="json_schema",outcome="unhandled",provider="cloud",scope="schema"}',
    ),
    (
        ev.RefusalObserved(**_WHO, would="retry"),  # type: ignore[arg-type]
        'refusals_total{format="json_schema",outcome="observed",provider="cloud",scope="schema"}',
    ),
    (
        ev.RefusalSkipped(**_WHO),  # type: ignore[arg-type]
        'requests_saved_total{format="json_schema",provider="cloud"}',
    ),
    (
        ev.FormatRecovered(**_CALL),  # type: ignore[arg-type]
        'formats_recovered_total{format="json_object",provider="cloud"}',
    ),
    (
        ev.FormatIgnored(**_CALL, times=3),  # type: ignore[arg-type]
        'formats_ignored_total{format="json_object",provider="cloud"}',
    ),
    (
        ev.ApiSwitched(provider="cloud", model="m", api="responses", evidence=""),
        'api_switches_total{api="responses",provider="cloud"}',
    ),
    (
        ev.ApiLookupFailed(provider="cloud", base_url="http://x", reason="down"),
        'api_lookups_failed_total{provider="cloud"}',
    ),
    (ev.MemoTrouble(store="disk:", reason="full"), 'memo_trouble_total{benign="False"}'),
    (ev.OptionIgnored(where="x", option="api", reason=""), 'options_ignored_total{option="api"}'),
    (
        ev.ProviderFailed(
            kind=Kind.RATE_LIMITED,
            retryable=True,
            provider="cloud",
            operation="complete",
            model="m",
            request_id=None,
            user=None,
            message="slow down",
            failure=Failure(status=429),
        ),
        'provider_errors_total{kind="rate_limited",operation="complete",provider="cloud"}',
    ),
    (
        ev.LinkAway(partition="p", link="a", to="b", reason="down"),
        'link_events_total{event="away",link="a"}',
    ),
    (ev.LinkBack(partition="p", link="a"), 'link_events_total{event="back",link="a"}'),
    (
        ev.BreakerOpened(partition="p", link="a", seconds=30.0, reason="down"),
        'link_events_total{event="cooling",link="a"}',
    ),
    (ev.BreakerHalfOpen(partition="p", link="a"), 'link_events_total{event="half-open",link="a"}'),
    (ev.LinkDropped(link="a", reason="x"), 'link_events_total{event="dropped",link="a"}'),
    (ev.ChainExhausted(partition="p", attempts=()), "chains_exhausted_total"),
    (
        ev.SubcallFailing(name="rewriter", session="7", times=3, reason="x"),
        'subcalls_failing_total{name="rewriter"}',
    ),
]


def lines(metrics: Metrics) -> dict[str, float]:
    text, kind = metrics.render()
    assert kind.startswith("text/plain")
    rows = (line.rpartition(" ") for line in text.decode().splitlines() if line[0] != "#")
    return {name: float(value) for name, _, value in rows}


def answer(metrics: Metrics, status: int = 200, seconds: float = 0.02, **more: object) -> None:
    metrics.started("/v1/responses")
    metrics.finished(endpoint="/v1/responses", status=status, seconds=seconds, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(("event", "line"), EVENTS, ids=[line for _, line in EVENTS])
def test_an_event_adds_one_to_its_counter(event: ev.Event, line: str) -> None:
    metrics = Metrics()
    metrics.sink(event)
    metrics.sink(event)
    assert lines(metrics)[f"structguard_{line}"] == 2.0


def test_every_kind_of_event_has_a_row() -> None:
    assert {type(event) for event, _ in EVENTS} == set(get_args(ev.Event))


def test_the_documentation_lists_every_metric_with_its_labels() -> None:
    docs = Path(__file__).parents[2] / "docs" / "gateway-operations.md"
    rows = re.findall(r"^\| `(structguard_\w+)` \| ([\w, ]*?) ?\|", docs.read_text(), re.MULTILINE)
    listed = {name: {one for one in labels.split(", ") if one} for name, labels in rows}
    metrics = Metrics()
    for event, _ in EVENTS:
        metrics.sink(event)
    answer(metrics, first_byte=0.1, enforced=True, source="strict")
    metrics.upstream(provider="cloud", status=200, seconds=0.1)
    found: dict[str, set[str]] = {}
    for line in lines(metrics):
        name = re.sub(r"_(bucket|count|sum|created)$", "", line.partition("{")[0])
        labels = set(re.findall(r'(\w+)="', line)) - {"le"}
        if not line.partition("{")[0].endswith("_created"):
            found[name] = labels
    assert found == listed


def test_a_link_s_gauge_follows_its_breaker() -> None:
    metrics = Metrics()
    name = 'structguard_link_state{link="a"}'
    for event, state in (
        (ev.BreakerOpened(partition="p", link="a", seconds=1.0, reason=""), 2),
        (ev.BreakerHalfOpen(partition="p", link="a"), 1),
        (ev.LinkBack(partition="p", link="a"), 0),
    ):
        metrics.sink(event)
        assert lines(metrics)[name] == state
    metrics.sink.link_state("a", "cooling")
    assert lines(metrics)[name] == 2


def test_what_clients_and_models_say_is_never_a_label() -> None:
    metrics = Metrics()
    for event, _ in EVENTS:
        metrics.sink(event)
    text = metrics.render()[0].decode()
    for said in ('="m"', "slow down", 'partition="', "schema is not supported", 'session="'):
        assert said not in text


def test_requests_durations_and_what_is_in_flight_are_counted() -> None:
    metrics = Metrics()
    answer(metrics, seconds=0.02, first_byte=0.004)
    answer(metrics, 503, seconds=0.2)
    metrics.started("/v1/responses")
    metrics.upstream(provider="cloud", status=200, seconds=0.01)
    metrics.upstream(provider="cloud", status=None, seconds=3.0)
    found = lines(metrics)
    expected = {
        'structguard_requests_total{endpoint="/v1/responses",status="200"}': 1,
        'structguard_requests_total{endpoint="/v1/responses",status="503"}': 1,
        'structguard_in_flight{endpoint="/v1/responses"}': 1,
        'structguard_request_seconds_bucket{endpoint="/v1/responses",le="0.01"}': 0,
        'structguard_request_seconds_bucket{endpoint="/v1/responses",le="0.025"}': 1,
        'structguard_request_seconds_count{endpoint="/v1/responses"}': 2,
        'structguard_first_byte_seconds_count{endpoint="/v1/responses"}': 1,
        'structguard_upstream_seconds_count{provider="cloud"}': 2,
        'structguard_upstream_requests_total{provider="cloud",status="none"}': 1,
    }
    assert {name: found.get(name) for name in expected} == expected


def test_the_enforced_ratio_counts_only_replies_to_requests_with_a_format() -> None:
    metrics = Metrics()
    answer(metrics)
    assert "structguard_enforced_ratio" not in lines(metrics)
    assert metrics.summary().enforced_ratio is None
    for enforced in (True, True, True, False):
        answer(metrics, enforced=enforced, source="strict" if enforced else "fenced")
    found = lines(metrics)
    assert found["structguard_enforced_ratio"] == 0.75
    assert found['structguard_formats_total{enforced="false"}'] == 1
    assert found['structguard_replies_read_total{source="fenced"}'] == 1
    assert metrics.summary().enforced_ratio == 0.75


def test_the_page_s_numbers_are_the_counters_sums() -> None:
    metrics = Metrics()
    for event, _ in EVENTS:
        metrics.sink(event)
    for status in (200, 200, 404, 500, 503):
        answer(metrics, status, seconds=0.02)
    metrics.started("/v1/chat/completions")
    numbers = metrics.summary()
    assert (numbers.requests, numbers.failed, numbers.in_flight) == (5, 2, 1)
    assert (numbers.refusals, numbers.saved, numbers.recovered) == (4, 1, 1)
    assert numbers.provider_errors == 1
    failed = next(event for event, _ in EVENTS if isinstance(event, ev.ProviderFailed))
    metrics.sink(replace(failed, kind=Kind.FORMAT_REFUSED))
    assert metrics.summary().provider_errors == 1
    assert numbers.latency.total == 5
    assert numbers.latency.counts[BOUNDS.index(0.025)] == 5
    assert numbers.first_byte.total == 0


def test_traffic_is_the_last_ten_minutes_by_steps() -> None:
    clock = ManualClock()
    metrics = Metrics(clock=clock)
    answer(metrics)
    answer(metrics, 502)
    clock.now += STEP
    answer(metrics)
    traffic = metrics.summary().traffic
    assert (traffic.requests[-2:], traffic.failed[-2:]) == ((2, 1), (1, 0))
    clock.now += STEP * (STEPS - 1)
    assert sum(metrics.summary().traffic.requests) == 1
    clock.now += STEP * STEPS * 1000
    assert sum(metrics.summary().traffic.requests) == 0
    clock.now -= STEP * 3
    answer(metrics)
    assert metrics.summary().traffic.requests[-1] == 1


@pytest.mark.parametrize(
    ("counts", "share", "expected"),
    [
        ((0, 0, 0), 0.5, None),
        ((10, 0, 0), 0.5, 0.5),
        ((0, 10, 0), 0.5, 1.5),
        ((5, 5, 0), 0.5, 1.0),
        ((5, 5, 0), 0.9, 1.8),
        ((0, 0, 3), 0.5, 2.0),
        ((1, 0, 0), 0.0, 0.0),
    ],
)
def test_a_quantile_lies_in_its_bucket(
    counts: tuple[int, ...], share: float, expected: float | None
) -> None:
    found = Histogram(bounds=(1.0, 2.0), counts=counts).quantile(share)
    assert found == (None if expected is None else pytest.approx(expected))


_WORKER = """
import sys
from pathlib import Path
from structguard.gateway.metrics import Metrics
metrics = Metrics(workers_dir=Path(sys.argv[1]))
for _ in range(3):
    metrics.started("/v1/responses")
    metrics.finished(endpoint="/v1/responses", status=200, seconds=0.02, enforced=True)
metrics.started("/v1/responses")
if sys.argv[2] == "tell":
    print(metrics.render()[0].decode())
    print(metrics.summary().requests, metrics.summary().in_flight)
"""


def test_whichever_worker_is_scraped_answers_for_all(tmp_path: Path) -> None:
    home = tmp_path / "metrics"
    environ: dict[str, str] = dict(os.environ)
    home.mkdir()
    (home / "counter_1.db").write_bytes(b"left by another run")
    share_metrics(home, environ)

    def work(what: str) -> str:
        done = subprocess.run(  # noqa: S603
            [sys.executable, "-c", _WORKER, str(home), what],
            env=environ,
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout

    work("be quiet")
    told = work("tell")
    assert 'structguard_requests_total{endpoint="/v1/responses",status="200"} 6.0' in told
    assert "structguard_enforced_ratio 1.0" in told
    assert told.splitlines()[-1] == "6 2"


def test_a_worker_that_ended_leaves_its_counts_and_takes_its_gauges(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        pass
    for pid in (ended.pid, os.getpid()):
        for kind in ("gauge_livesum", "counter"):
            (tmp_path / f"{kind}_{pid}.db").write_bytes(b"")
    module.forget_dead_workers(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {
        f"counter_{ended.pid}.db",
        f"counter_{os.getpid()}.db",
        f"gauge_livesum_{os.getpid()}.db",
    }


def test_without_the_library_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "prometheus_client", None)
    for make in (Metrics, PrometheusSink):
        with pytest.raises(MissingExtra, match=r"structguard\[gateway\]"):
            make()


def test_a_sink_without_a_registry_counts_in_the_library_s_own() -> None:
    from prometheus_client import REGISTRY  # noqa: PLC0415

    PrometheusSink()(ev.MemoTrouble(store="disk:", reason="full", benign=True))
    assert REGISTRY.get_sample_value("structguard_memo_trouble_total", {"benign": "True"}) == 1.0
