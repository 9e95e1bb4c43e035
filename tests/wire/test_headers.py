"""What response headers say."""

from __future__ import annotations

import time

import pytest

from structguard.wire import chat
from structguard.wire.headers import duration, metadata, number, request_id

DATE = "Fri, 29 Nov 2024 12:00:00 GMT"
LATER = "Fri, 29 Nov 2024 12:00:30 GMT"
NOW = 1_732_881_590.0  # ten seconds before DATE


@pytest.mark.parametrize(
    ("headers", "now", "seconds"),
    [
        ({"Retry-After": "7"}, None, 7.0),
        ({"retry-after": "0.25"}, None, 0.25),
        ({"Retry-After": "-3"}, None, 0.0),
        ({"retry-after-ms": "1500", "retry-after": "9"}, None, 1.5),
        ({"Retry-After": LATER, "Date": DATE}, None, 30.0),
        ({"Retry-After": LATER, "Date": DATE}, NOW, 30.0),
        ({"Retry-After": LATER}, NOW, 40.0),
        ({"Retry-After": DATE, "Date": LATER}, None, 0.0),
        ({"Retry-After": LATER}, None, None),
        ({"Retry-After": "soon"}, NOW, None),
        ({"Retry-After": "nan"}, NOW, None),
        ({"Retry-After": "inf"}, NOW, None),
        ({"Retry-After": "Fri, 29 Nov 99999999999 12:00:30 GMT"}, NOW, None),
        ({"Retry-After": LATER, "Date": "Fri, 29 Nov 2024 12:00:00 +99999999999999999"}, NOW, 40.0),
        ({}, NOW, None),
    ],
)
def test_retry_after_is_seconds_or_a_date(
    headers: dict[str, str], now: float | None, seconds: float | None
) -> None:
    assert chat.failure(429, headers, "", now=now).retry_after == seconds


@pytest.mark.parametrize(
    "date",
    [
        LATER,
        "Friday, 29-Nov-24 12:00:30 GMT",
        "Fri Nov 29 12:00:30 2024",
        "Fri, 29 Nov 2024 12:00:30 -0000",
        "Fri, 29 Nov 2024 12:00:30",
    ],
)
def test_every_form_of_a_date_is_utc_wherever_we_are(
    date: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", "America/New_York")
    time.tzset()
    try:
        assert chat.failure(429, {"retry-after": date}, "", now=NOW).retry_after == 40.0
    finally:
        monkeypatch.undo()
        time.tzset()


@pytest.mark.parametrize(
    ("text", "value"),
    [("60", 60), ("0.5", 0.5), ("1e3", 1000), ("", None), ("x", None), ("nan", None)],
)
def test_numbers_are_numbers(text: str, value: float | None) -> None:
    assert number(text) == value
    assert type(number(text)) is type(value)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1s", 1.0),
        ("6m0s", 360.0),
        ("120ms", 0.12),
        ("1h2m3.5s", 3723.5),
        ("2d", 172800.0),
        ("1x", None),
        ("s", None),
        ("", None),
        ("2026-01-01T00:00:00Z", None),
    ],
)
def test_durations_are_seconds(text: str, seconds: float | None) -> None:
    assert duration(text) == (pytest.approx(seconds) if seconds is not None else None)


@pytest.mark.parametrize(
    "name",
    ["x-request-id", "request-id", "x-amzn-requestid", "apim-request-id", "x-goog-request-id"],
)
def test_every_vendors_request_id_is_found(name: str) -> None:
    assert request_id({name: "r"}) == "r"
    assert metadata({name.title(): "r"}) == {"request_id": "r"}


def test_metadata_keeps_what_is_set() -> None:
    assert metadata({"x-ratelimit-limit-requests": "5"}, tier=None, other="x") == {
        "other": "x",
        "x-ratelimit-limit-requests": 5,
    }
