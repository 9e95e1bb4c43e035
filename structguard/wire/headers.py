"""
What response headers say: request id, how long to wait, what is left of the rate limit.

Source: RFC 9110 §10.2.3 (Retry-After); the vendors' pages on rate-limit and request id headers.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

_REQUEST_ID = (
    "x-request-id",
    "request-id",
    "x-amzn-requestid",
    "apim-request-id",
    "x-ms-request-id",
    "x-goog-request-id",
    "cf-ray",
)
_LIMIT_PREFIXES = ("x-ratelimit-", "anthropic-ratelimit-")
_DURATION = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


def lowered(headers: Mapping[str, str]) -> dict[str, str]:
    """The headers with lower-case names."""
    return {name.lower(): value for name, value in headers.items()}


def request_id(low: Mapping[str, str]) -> str | None:
    """The vendor's id of this exchange."""
    for name in _REQUEST_ID:
        if value := low.get(name):
            return value
    return None


def retry_after(low: Mapping[str, str], now: float | None = None) -> float | None:
    """
    Seconds to wait: `retry-after-ms`, then Retry-After as a number or an HTTP date. A date is
    counted from the response's own Date header, else from `now` (seconds since the epoch).
    """
    if (milliseconds := number(low.get("retry-after-ms", ""))) is not None:
        return max(0.0, milliseconds / 1000)
    value = low.get("retry-after", "")
    if (seconds := number(value)) is not None:
        return max(0.0, float(seconds))
    when, sent = _date(value), _date(low.get("date", ""))
    since = sent.timestamp() if sent else now
    return max(0.0, when.timestamp() - since) if when and since is not None else None


def _date(text: str) -> datetime | None:
    """An HTTP date, in any of its three forms; one that names no zone is in UTC (RFC 9110 §5.6.7)."""
    try:
        found = parsedate_to_datetime(text)
    except (ValueError, OverflowError):  # a year or an offset beyond any calendar
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def number(text: str) -> int | float | None:
    """The text as a number, None where it is none."""
    try:
        value = float(text)
    except ValueError:
        return None
    if value != value or value in {float("inf"), float("-inf")}:  # noqa: PLR0124  NaN
        return None
    return int(value) if value.is_integer() else value


def duration(text: str) -> float | None:
    """Seconds in a duration such as `6m0s`, `120ms` or `33.5s`; None where it is none."""
    parts = _DURATION.findall(text)
    if not parts or "".join(amount + unit for amount, unit in parts) != text:
        return None
    return sum(float(amount) * _SECONDS[unit] for amount, unit in parts)


def rate_limits(low: Mapping[str, str]) -> dict[str, object]:
    """
    The rate-limit headers under their own names: counts as numbers, durations as seconds; a
    time of day stays text.
    """
    limits: dict[str, object] = {}
    for name, value in low.items():
        if name.startswith(_LIMIT_PREFIXES):
            amount = number(value)
            seconds = duration(value) if amount is None else amount
            limits[name] = value if seconds is None else seconds
    return limits


def metadata(headers: Mapping[str, str], **facts: object) -> dict[str, object]:
    """What a reply says beside the answer: request id, rate limits, and the facts that are set."""
    low = lowered(headers)
    known = {"request_id": request_id(low), **facts}
    return {key: value for key, value in known.items() if value is not None} | rate_limits(low)
