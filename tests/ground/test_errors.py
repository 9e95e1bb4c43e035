"""One table, one tree, one place that makes errors: facts travel, secrets do not."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from structguard.errors import (
    KINDS,
    Attempt,
    AuthenticationFailed,
    ContentFiltered,
    ContextLengthExceeded,
    MissingExtra,
    ParseError,
    ProviderError,
    RateLimited,
    Timeout,
    Unavailable,
    operation,
    redact,
    rule_for,
)
from structguard.events import Event, ProviderFailed
from structguard.types import Failure, Kind, Refusal, Request, Scope

REQUEST = Request(messages=[], model="m", user="ann")
REFUSAL = Refusal(Scope.CAPABILITY, "not_supported", "response_format", "no")
# kind: retry, advance, breaker, HTTP (spec errors, the table)
TABLE: dict[str, tuple[bool, bool, str, int]] = {
    "invalid_request": (False, False, "none", 400),
    "format_refused": (False, True, "none", 400),
    "context_length": (False, False, "none", 400),
    "request_too_large": (False, False, "none", 413),
    "content_filtered": (False, False, "none", 400),
    "declined": (False, False, "none", 400),
    "authentication": (False, True, "threshold", 502),
    "billing": (False, True, "immediate", 502),
    "not_found": (False, True, "threshold", 404),
    "unsupported_api": (False, True, "none", 400),
    "rate_limited": (True, True, "immediate", 429),
    "unavailable": (True, True, "immediate", 503),
    "timeout": (True, True, "immediate", 504),
    "stream_truncated": (True, True, "threshold", 502),
    "bad_response": (True, True, "threshold", 502),
    "cancelled": (False, False, "none", 499),
}


def classify(failure: Failure) -> tuple[Kind, str, dict[str, object]]:
    return Kind.RATE_LIMITED, failure.message, {"limit": 7}


@pytest.mark.parametrize("kind", list(Kind))
def test_the_table_says_what_each_kind_means(kind: Kind) -> None:
    rule = KINDS[kind]
    assert (rule.retry, rule.advance, rule.breaker, rule.http) == TABLE[kind.value]


def test_an_own_timeout_is_not_retried_and_counts_at_the_threshold() -> None:
    rule = rule_for(Kind.TIMEOUT, Failure(own_timeout=True))
    assert (rule.retry, rule.advance, rule.breaker) == (False, True, "threshold")


@pytest.mark.parametrize("kind", [Kind.UNAVAILABLE, Kind.STREAM_TRUNCATED])
def test_nothing_is_retried_after_a_streams_first_event(kind: Kind) -> None:
    assert not rule_for(kind, Failure(yielded=True)).retry
    assert rule_for(kind, Failure()).retry


@pytest.mark.parametrize(
    ("kind", "cls"),
    [
        (Kind.RATE_LIMITED, RateLimited),
        (Kind.CONTEXT_LENGTH, ContextLengthExceeded),
        (Kind.CONTENT_FILTERED, ContentFiltered),
        (Kind.AUTHENTICATION, AuthenticationFailed),
        (Kind.TIMEOUT, Timeout),
        (Kind.UNAVAILABLE, Unavailable),
        (Kind.NOT_FOUND, ProviderError),
    ],
)
def test_a_kind_has_the_class_that_callers_catch(kind: Kind, cls: type[ProviderError]) -> None:
    error = operation("complete", REQUEST, "p").inline(kind, "why")
    assert type(error) is cls
    assert str(error) == "p: why"
    assert error.requests == 0


def test_a_failure_becomes_one_error_and_one_event() -> None:
    seen: list[Event] = []
    failure = Failure(status=429, message="slow", retry_after=2.0, request_id="r1", body="B")
    fail = operation("stream", REQUEST, "p", observer=seen.append)
    error = fail.from_failure(failure, classify, details={"more": 1}, requests=3)
    assert (error.kind, error.retryable, error.retry_after) == (Kind.RATE_LIMITED, True, 2.0)
    assert (error.request_id, error.requests, error.details) == ("r1", 3, {"limit": 7, "more": 1})
    (event,) = seen
    assert isinstance(event, ProviderFailed)
    assert (event.operation, event.model, event.user) == ("stream", "m", "ann")
    assert (event.kind, event.request_id, event.message) == (Kind.RATE_LIMITED, "r1", "slow")


def test_what_is_said_explicitly_wins_over_the_classifier() -> None:
    fail = operation("complete", REQUEST, "p")
    failure = Failure(status=400, message="theirs")
    error = fail.from_failure(
        failure, classify, kind=Kind.BILLING, message="ours", details={"limit": 8}
    )
    assert (error.kind, error.message, error.details) == (Kind.BILLING, "p: ours", {"limit": 8})
    refused = fail.from_failure(failure, classify, refusal=REFUSAL)
    assert (refused.kind, refused.refusal) == (Kind.FORMAT_REFUSED, REFUSAL)


def test_an_empty_message_still_says_what_happened() -> None:
    fail = operation("complete", None, "p")
    assert "HTTP 502" in str(fail.inline(Kind.UNAVAILABLE, "", failure=Failure(status=502)))
    assert "no HTTP response" in str(fail.inline(Kind.UNAVAILABLE, "", failure=Failure()))


@pytest.mark.parametrize(
    "error",
    [
        operation("complete", REQUEST, "p").from_failure(
            Failure(status=429, body="B"), classify, refusal=REFUSAL
        ),
        ParseError("misfit", [Attempt(source="json", span=(0, 2), why="no")]),
        MissingExtra("aiohttp", "fast"),
    ],
    ids=["ProviderError", "ParseError", "MissingExtra"],
)
def test_every_error_can_be_pickled(error: Any) -> None:
    copy = pickle.loads(pickle.dumps(error))  # noqa: S301  our own bytes
    assert type(copy) is type(error)
    assert str(copy) == str(error)
    for name in ("kind", "failure", "refusal", "reason", "attempts", "extra"):
        assert getattr(copy, name, None) == getattr(error, name, None)


def test_a_parse_error_tells_the_first_attempts() -> None:
    attempts = [Attempt(source="embedded", span=(n, n + 1), why=f"w{n}") for n in range(5)]
    text = str(ParseError("misfit", attempts))
    assert "no value in the answer matches the schema" in text
    assert "embedded at 0: w0" in text
    assert "(+2 more)" in text


def test_a_missing_extra_names_the_pip_line() -> None:
    assert "pip install 'structguard[fast]'" in str(MissingExtra("the aiohttp transport", "fast"))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (
            "Incorrect API key provided: sk-abcdefghijklmnopqrstu.",
            "Incorrect API key provided: ***",
        ),
        ("Authorization: Bearer abcdefgh.ijklmnop", "Authorization: Bearer ***"),
        ('{"api_key": "12345678"}', '{"api_key": "***"}'),
        ("bearer ABCDEFGHIJ", "bearer ***"),
        ("https://user:secret@host/x", "https://***@host/x"),
        ("redis://:secret@host/1", "redis://***@host/1"),
        ("AIzaSyA1234567890abcdefg", "***"),
        ("eyJhbGciOiJIUzI1.eyJzdWIiOiIxMjM0.abc", "***"),
        ("max_tokens: 100 must be at most 99", "max_tokens: 100 must be at most 99"),
        ("keyboard_interrupt_handler_and_more", "keyboard_interrupt_handler_and_more"),
        ("", ""),
    ],
)
def test_what_looks_like_a_credential_is_masked(text: str, shown: str) -> None:
    assert redact(text).startswith(shown)
    assert redact(redact(text)) == redact(text)
