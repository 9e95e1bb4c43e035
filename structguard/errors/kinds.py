"""What each kind of failure means to retries, chain, breaker and gateway. Source: spec errors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Literal

from structguard.types import Failure, Kind


@dataclass(frozen=True, slots=True)
class KindRule:
    """What a kind means to retries, chain, breaker and gateway."""

    retry: bool
    advance: bool
    breaker: Literal["none", "threshold", "immediate"]
    http: int
    type: str


_INVALID, _UPSTREAM = "invalid_request_error", "upstream_error"
KINDS: Mapping[Kind, KindRule] = MappingProxyType(
    {
        Kind.INVALID_REQUEST: KindRule(False, False, "none", 400, _INVALID),
        Kind.FORMAT_REFUSED: KindRule(False, True, "none", 400, _INVALID),
        Kind.CONTEXT_LENGTH: KindRule(False, False, "none", 400, _INVALID),
        Kind.REQUEST_TOO_LARGE: KindRule(False, False, "none", 413, _INVALID),
        Kind.CONTENT_FILTERED: KindRule(False, False, "none", 400, _INVALID),
        Kind.DECLINED: KindRule(False, False, "none", 400, _INVALID),
        Kind.AUTHENTICATION: KindRule(False, True, "threshold", 502, _UPSTREAM),
        Kind.BILLING: KindRule(False, True, "immediate", 502, _UPSTREAM),
        Kind.NOT_FOUND: KindRule(False, True, "threshold", 404, "model_not_found"),
        Kind.UNSUPPORTED_API: KindRule(False, True, "none", 400, _INVALID),
        Kind.RATE_LIMITED: KindRule(True, True, "immediate", 429, "rate_limit_error"),
        Kind.UNAVAILABLE: KindRule(True, True, "immediate", 503, _UPSTREAM),
        Kind.TIMEOUT: KindRule(True, True, "immediate", 504, "timeout_error"),
        Kind.STREAM_TRUNCATED: KindRule(True, True, "threshold", 502, _UPSTREAM),
        Kind.BAD_RESPONSE: KindRule(True, True, "threshold", 502, _UPSTREAM),
        Kind.CANCELLED: KindRule(False, False, "none", 499, "cancelled"),
    }
)
"""One row a kind (spec errors, the table). `rule_for` adds what depends on the failure itself."""


_STATUSES: Mapping[int, Kind] = MappingProxyType(
    {
        401: Kind.AUTHENTICATION,
        402: Kind.BILLING,
        403: Kind.AUTHENTICATION,
        404: Kind.NOT_FOUND,
        408: Kind.TIMEOUT,
        409: Kind.UNAVAILABLE,
        410: Kind.NOT_FOUND,
        413: Kind.REQUEST_TOO_LARGE,
        425: Kind.UNAVAILABLE,
        429: Kind.RATE_LIMITED,
        504: Kind.TIMEOUT,
    }
)


def kind_of_status(status: int) -> Kind:
    """What an HTTP status of 400 or more means where nothing else is known."""
    return _STATUSES.get(status, Kind.UNAVAILABLE if status >= 500 else Kind.INVALID_REQUEST)


def rule_for(kind: Kind, failure: Failure) -> KindRule:
    """
    The row of a kind, narrowed by the failure: an own time-out is not retried on the same link and
    counts only at the threshold; nothing is retried once a stream gave its first event.
    """
    rule = KINDS[kind]
    if kind is Kind.TIMEOUT and failure.own_timeout:
        rule = replace(rule, retry=False, breaker="threshold")
    if failure.yielded and rule.retry:
        rule = replace(rule, retry=False)
    return rule
