"""Every event becomes one line at the level the spec names, and no line tells a secret."""

from __future__ import annotations

import logging
from typing import Any, get_args

import pytest

import structguard.events as ev
from structguard.observe import Careful, careful, log_events
from structguard.types import Failure, Kind, Refusal, Scope

REFUSAL = Refusal(Scope.CAPABILITY, "not_supported", "response_format", "no such thing")
SCHEMA = Refusal(Scope.SCHEMA, "schema_keyword", "json_schema", "minItems")
PAIR = Refusal(Scope.COMBINATION, "not_together", "json_mode", "not with tools", "tools")
WHO: dict[str, Any] = {"provider": "host/v1", "model": "m"}

CASES: list[tuple[ev.Event, int, str]] = [
    (
        ev.RefusalRemembered(**WHO, format="json_schema", refusal=REFUSAL, expires_in=86400.0),
        logging.WARNING,
        "for 24 h",
    ),
    (
        ev.RefusalRemembered(**WHO, format="json_schema", refusal=PAIR, expires_in=300.0),
        logging.WARNING,
        "calls that carry tools for 5 min",
    ),
    (
        ev.RefusalRemembered(
            **WHO, format="json_schema", refusal=SCHEMA, expires_in=None, advice="Mend it."
        ),
        logging.WARNING,
        "this one schema is left out of its calls until forgotten. Mend it. To forget: structguard memo",
    ),
    (
        ev.RefusalRemembered(**WHO, format="json_schema", refusal=REFUSAL, expires_in=9.0),
        logging.WARNING,
        "for 9 s",
    ),
    (
        ev.RefusalSkipped(**WHO, format="json_schema", refusal=REFUSAL),
        logging.DEBUG,
        "sent without",
    ),
    (
        ev.RefusalRenewed(**WHO, format="json_schema", refusal=REFUSAL),
        logging.INFO,
        "still refuses",
    ),
    (
        ev.RefusalUnhandled(**WHO, format="json_schema", refusal=REFUSAL, reason="no_time"),
        logging.ERROR,
        "no_time",
    ),
    (
        ev.RefusalObserved(**WHO, format="json_schema", refusal=REFUSAL, would="retry"),
        logging.WARNING,
        "would send the call once more without it",
    ),
    (ev.FormatRecovered(**WHO, format="json_object"), logging.INFO, "accepts json_object again"),
    (ev.FormatIgnored(**WHO, format="json_schema", times=3), logging.WARNING, "3 times in a row"),
    (ev.ApiSwitched(**WHO, api="responses", evidence="only there"), logging.INFO, "over responses"),
    (
        ev.ApiLookupFailed(provider="p", base_url="host/v1", reason="time-out"),
        logging.WARNING,
        "could not be listed (time-out)",
    ),
    (ev.MemoTrouble(store="disk:x", reason="full"), logging.WARNING, "memo disk:x: full;"),
    (
        ev.MemoTrouble(store="disk:x", reason="corrupt", moved_to="/y"),
        logging.WARNING,
        "corrupt; it was moved to /y",
    ),
    (ev.MemoTrouble(store="disk:x", reason="read-only", benign=True), logging.INFO, "read-only"),
    (
        ev.OptionIgnored(where="A", option="api", reason="one wire"),
        logging.WARNING,
        "api is ignored",
    ),
    (ev.LinkAway(partition="p", link="a", to="b", reason="429"), logging.WARNING, "a → b: 429"),
    (ev.LinkBack(partition="p", link="a"), logging.INFO, "back to a"),
    (
        ev.BreakerOpened(partition="p", link="a", seconds=30.0, reason="429"),
        logging.INFO,
        "a cools down for 30 s",
    ),
    (ev.BreakerHalfOpen(partition="p", link="a"), logging.DEBUG, "probing a"),
    (ev.LinkDropped(link="a", reason="no key"), logging.WARNING, "left out: no key"),
    (
        ev.ChainExhausted(partition="p", attempts=(("a", "429"), ("b", "down"))),
        logging.ERROR,
        "a: 429; b: down",
    ),
    (
        ev.SubcallFailing(name="vote", session="7", times=3, reason="time-out"),
        logging.WARNING,
        "vote failed 3 times in a row in session 7",
    ),
]


def failed(refusal: Refusal | None) -> ev.ProviderFailed:
    return ev.ProviderFailed(
        kind=Kind.RATE_LIMITED,
        retryable=True,
        provider="p",
        operation="complete",
        model="m",
        request_id="req_1",
        user="ann",
        message="slow down",
        failure=Failure(status=429, body="the whole body with a prompt"),
        refusal=refusal,
    )


@pytest.mark.parametrize(
    ("event", "level", "text"), CASES, ids=[f"{type(e).__name__} {t}" for e, _, t in CASES]
)
def test_an_event_is_one_line_at_its_level(
    event: ev.Event, level: int, text: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG, "structguard"):
        log_events(event)
    (record,) = caplog.records
    assert record.levelno == level
    assert text in record.getMessage()
    assert record.structguard_event is event  # type: ignore[attr-defined]


def test_a_failed_call_is_an_error_unless_a_refusal_rides_on_it(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.DEBUG, "structguard"):
        log_events(failed(None))
        log_events(failed(REFUSAL))
    assert [record.levelno for record in caplog.records] == [logging.ERROR, logging.DEBUG]
    text = caplog.records[0].getMessage()
    for word in ("rate_limited (retryable)", "slow down", "req_1", "ann"):
        assert word in text
    assert "prompt" not in text


def test_no_event_is_forgotten() -> None:
    told = {type(event) for event, _, _ in CASES} | {ev.ProviderFailed}
    assert told == set(get_args(ev.Event))


def test_a_level_that_is_off_costs_no_record(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR, "structguard"):
        log_events(ev.LinkBack(partition="p", link="a"))
    assert caplog.records == []


def test_an_observers_fault_is_logged_and_goes_no_further(caplog: pytest.LogCaptureFixture) -> None:
    def breaks(event: ev.Event, /) -> None:
        raise RuntimeError(type(event).__name__)

    watched = careful(breaks)
    assert careful(watched) is watched == Careful(breaks)
    assert careful(log_events) is log_events
    watched(ev.FormatRecovered(**WHO, format="json_schema"))
    assert caplog.messages == ["an observer failed on FormatRecovered"]
    assert caplog.records[0].exc_info is not None
