"""Error replies: facts, then a kind, by code and type, then status, then text (spec errors)."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from structguard.errors import KINDS
from structguard.types import Failure, Kind
from structguard.wire import chat, converse, generate_content, messages, responses
from structguard.wire.base import Wire

CORPUS = Path(__file__).parents[1] / "data" / "refusals.jsonl"
ALL: list[Wire] = [chat, responses, messages, converse, generate_content]


def kind_of(wire: Wire, status: int | None, body: object, **headers: str) -> Kind:
    raw = body if isinstance(body, str) else json.dumps(body)
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return wire.classify(wire.failure(status, named, raw))[0]


BY_STATUS = {
    300: Kind.BAD_RESPONSE, 400: Kind.INVALID_REQUEST, 401: Kind.AUTHENTICATION,
    402: Kind.BILLING, 403: Kind.AUTHENTICATION, 404: Kind.NOT_FOUND, 405: Kind.INVALID_REQUEST,
    406: Kind.INVALID_REQUEST, 408: Kind.TIMEOUT, 409: Kind.UNAVAILABLE, 410: Kind.NOT_FOUND,
    413: Kind.REQUEST_TOO_LARGE, 415: Kind.INVALID_REQUEST, 418: Kind.INVALID_REQUEST,
    422: Kind.INVALID_REQUEST, 425: Kind.UNAVAILABLE, 429: Kind.RATE_LIMITED,
    500: Kind.UNAVAILABLE, 501: Kind.UNAVAILABLE, 502: Kind.UNAVAILABLE, 503: Kind.UNAVAILABLE,
    504: Kind.TIMEOUT, 529: Kind.UNAVAILABLE, 599: Kind.UNAVAILABLE,
}  # fmt: skip


@pytest.mark.parametrize("wire", ALL)
@pytest.mark.parametrize(("status", "kind"), BY_STATUS.items())
def test_a_status_alone_tells_the_kind(wire: Wire, status: int, kind: Kind) -> None:
    for body in ("", "{}", "oops", "<html><body>busy</body></html>"):
        assert kind_of(wire, status, body) is kind


@pytest.mark.parametrize("wire", ALL)
@pytest.mark.parametrize(
    ("failure", "kind"),
    [
        (Failure(timed_out=True, own_timeout=True), Kind.TIMEOUT),
        (Failure(timed_out=True), Kind.TIMEOUT),
        (Failure(network=True), Kind.UNAVAILABLE),
        (Failure(truncated=True, status=200), Kind.STREAM_TRUNCATED),
        (Failure(), Kind.BAD_RESPONSE),
        (Failure(status=200), Kind.BAD_RESPONSE),
    ],
)
def test_what_the_transport_saw_comes_first(wire: Wire, failure: Failure, kind: Kind) -> None:
    assert wire.classify(failure)[0] is kind


def openai(message: str, code: object = None, kind: object = "invalid_request_error") -> object:
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}


OPENAI = [
    (400, openai("x", "context_length_exceeded"), Kind.CONTEXT_LENGTH),
    (400, openai("x", "content_filter"), Kind.CONTENT_FILTERED),
    (400, openai("x", "content_policy_violation"), Kind.CONTENT_FILTERED),
    (400, openai("x", "model_not_found"), Kind.NOT_FOUND),
    (404, openai("x", "model_not_found"), Kind.NOT_FOUND),
    (400, openai("x", "unsupported_api_for_model"), Kind.UNSUPPORTED_API),
    (400, openai("x", "invalid_api_key"), Kind.AUTHENTICATION),
    (429, openai("x", "insufficient_quota", "insufficient_quota"), Kind.BILLING),
    (429, openai("x", "rate_limit_exceeded", "tokens"), Kind.RATE_LIMITED),
    (503, openai("x", None, "overloaded_error"), Kind.UNAVAILABLE),
    (400, openai("Unknown parameter: 'timeout'."), Kind.INVALID_REQUEST),
    (401, openai("There was a network problem reading your context length"), Kind.AUTHENTICATION),
    (429, openai("maximum 30000 tokens per minute, prompt too long"), Kind.RATE_LIMITED),
    (500, openai("This model's maximum context length is 8192 tokens"), Kind.UNAVAILABLE),
    (403, openai("You are out of credits"), Kind.AUTHENTICATION),
    (400, openai("This model's maximum context length is 8192 tokens."), Kind.CONTEXT_LENGTH),
    (413, openai("maximum context length is 8192"), Kind.CONTEXT_LENGTH),
    (422, openai("the prompt is too long: 9 > 8"), Kind.CONTEXT_LENGTH),
    (400, openai("max_tokens: 100000 > 8192, the most this model writes"), Kind.INVALID_REQUEST),
    (400, openai("Your credit balance is too low"), Kind.BILLING),
    (400, openai("Incorrect API key provided"), Kind.AUTHENTICATION),
    (400, openai("The response was filtered by our content policy"), Kind.CONTENT_FILTERED),
    (400, openai("request body too large"), Kind.REQUEST_TOO_LARGE),
    (400, openai("The model `gpt-9` does not exist"), Kind.NOT_FOUND),
    (400, openai("'temperature' is not supported with this model."), Kind.INVALID_REQUEST),
    (
        400,
        openai('model "gpt-6" is not accessible via the /chat/completions endpoint'),
        Kind.UNSUPPORTED_API,
    ),
    (404, openai("This model is only supported in v1/responses"), Kind.UNSUPPORTED_API),
    (
        400,
        openai("The model 'm' does not support the '/v1/chat/completions' API"),
        Kind.UNSUPPORTED_API,
    ),
    (
        404,
        openai("This is not a chat model, not supported in the v1/chat/completions endpoint"),
        Kind.UNSUPPORTED_API,
    ),
    (400, {"detail": "insufficient balance"}, Kind.BILLING),
    (400, {"error": "Incorrect API key provided."}, Kind.AUTHENTICATION),
    (400, {"message": ["context window exceeded"]}, Kind.CONTEXT_LENGTH),
    (400, "prompt is too long", Kind.CONTEXT_LENGTH),
    (
        400,
        {
            "error": {
                "message": "Provider returned error",
                "code": 400,
                "metadata": {
                    "raw": json.dumps(openai("boom", "context_length_exceeded")),
                    "provider_name": "Azure",
                },
            }
        },
        Kind.CONTEXT_LENGTH,
    ),
    (
        502,
        {"error": {"code": "unavailable", "message": json.dumps(openai("x", "model_not_found"))}},
        Kind.NOT_FOUND,
    ),
    (403, {"error": {"message": "x", "metadata": {"flagged_input": "y"}}}, Kind.CONTENT_FILTERED),
    (
        404,
        {"error": {"message": "x", "metadata": {"failed_routing_step": "Filter"}}},
        Kind.NOT_FOUND,
    ),
    (400, openai("x", None, "api_error"), Kind.INVALID_REQUEST),
    (400, openai("x", "server_error"), Kind.INVALID_REQUEST),
    (200, openai("x", "server_error"), Kind.UNAVAILABLE),
    (200, openai("x", 402), Kind.BILLING),
    (200, openai("too long a prompt; context length", 400), Kind.CONTEXT_LENGTH),
]


@pytest.mark.parametrize("wire", [chat, responses])
@pytest.mark.parametrize(("status", "body", "kind"), OPENAI)
def test_the_openai_family(wire: Wire, status: int, body: object, kind: Kind) -> None:
    assert kind_of(wire, status, body) is kind


@pytest.mark.parametrize(
    ("status", "kind_", "message", "kind"),
    [
        (400, "invalid_request_error", "x", Kind.INVALID_REQUEST),
        (400, "invalid_request_error", "prompt is too long: 9 tokens > 8", Kind.CONTEXT_LENGTH),
        (400, "invalid_request_error", "Your credit balance is too low", Kind.BILLING),
        (413, "request_too_large", "x", Kind.REQUEST_TOO_LARGE),
        (401, "authentication_error", "x", Kind.AUTHENTICATION),
        (403, "permission_error", "x", Kind.AUTHENTICATION),
        (404, "not_found_error", "model: claude-9", Kind.NOT_FOUND),
        (429, "rate_limit_error", "x", Kind.RATE_LIMITED),
        (500, "api_error", "x", Kind.UNAVAILABLE),
        (529, "overloaded_error", "x", Kind.UNAVAILABLE),
        (200, "overloaded_error", "x", Kind.UNAVAILABLE),
        (200, "api_error", "x", Kind.UNAVAILABLE),
        (504, "timeout_error", "x", Kind.TIMEOUT),
    ],
)
def test_anthropics_types(status: int, kind_: str, message: str, kind: Kind) -> None:
    body = {
        "type": "error",
        "error": {"type": kind_, "message": message},
        "request_id": "req_011",
    }
    failure = messages.failure(status, {}, json.dumps(body))
    found, text, details = messages.classify(failure)
    assert (found, text, failure.type, failure.request_id) == (kind, message, kind_, "req_011")
    assert details == {"type": kind_}


@pytest.mark.parametrize(
    ("status", "code", "kind"),
    [
        (400, "ValidationException", Kind.INVALID_REQUEST),
        (403, "AccessDeniedException", Kind.AUTHENTICATION),
        (403, "UnrecognizedClientException", Kind.AUTHENTICATION),
        (400, "ExpiredTokenException", Kind.AUTHENTICATION),
        (404, "ResourceNotFoundException", Kind.NOT_FOUND),
        (400, "ThrottlingException", Kind.RATE_LIMITED),
        (429, "ModelNotReadyException", Kind.UNAVAILABLE),
        (400, "ServiceUnavailableException", Kind.UNAVAILABLE),
        (400, "InternalServerException", Kind.UNAVAILABLE),
        (400, "ModelTimeoutException", Kind.TIMEOUT),
        (424, "ModelErrorException", Kind.UNAVAILABLE),
        (424, "ModelStreamErrorException", Kind.UNAVAILABLE),
        (424, "SomethingNew", Kind.INVALID_REQUEST),
    ],
)
def test_bedrocks_exception_comes_before_the_status(status: int, code: str, kind: Kind) -> None:
    header = {
        "x-amzn-ErrorType": f"{code}:http://internal.amazon.com/coral/",
        "x-amzn-RequestId": "r",
    }
    failure = converse.failure(status, header, '{"message": "no"}')
    assert (failure.code, failure.message, failure.request_id) == (code, "no", "r")
    assert converse.classify(failure)[0] is kind
    named = {"__type": f"com.amazon.coral#{code}", "Message": "no"}
    assert kind_of(converse, status, named) is kind
    assert converse.failure(status, {}, json.dumps(named)).message == "no"


@pytest.mark.parametrize(
    ("status", "word", "reason", "kind"),
    [
        (400, "INVALID_ARGUMENT", None, Kind.INVALID_REQUEST),
        (400, "INVALID_ARGUMENT", "API_KEY_INVALID", Kind.AUTHENTICATION),
        (401, "UNAUTHENTICATED", None, Kind.AUTHENTICATION),
        (403, "PERMISSION_DENIED", None, Kind.AUTHENTICATION),
        (404, "NOT_FOUND", None, Kind.NOT_FOUND),
        (400, "RESOURCE_EXHAUSTED", None, Kind.RATE_LIMITED),
        (400, "FAILED_PRECONDITION", None, Kind.INVALID_REQUEST),
        (400, "UNAVAILABLE", None, Kind.UNAVAILABLE),
        (500, "DEADLINE_EXCEEDED", None, Kind.TIMEOUT),
        (500, "INTERNAL", None, Kind.UNAVAILABLE),
        (200, "UNAVAILABLE", None, Kind.UNAVAILABLE),
    ],
)
def test_googles_status_and_reason_come_before_the_http_status(
    status: int, word: str, reason: str | None, kind: Kind
) -> None:
    details = [
        {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": reason},
        {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "33.5s"},
    ]
    body = {"error": {"code": status, "message": "no", "status": word, "details": details}}
    failure = generate_content.failure(status, {}, json.dumps(body))
    assert generate_content.classify(failure)[0] is kind
    assert (failure.message, failure.type, failure.retry_after) == ("no", word, 33.5)
    assert kind_of(generate_content, status, [body]) is kind


def test_a_failed_precondition_about_billing_is_billing() -> None:
    body = {"error": {"code": 400, "status": "FAILED_PRECONDITION", "message": "enable billing"}}
    assert kind_of(generate_content, 400, body) is Kind.BILLING


def test_the_facts_of_an_error_reply() -> None:
    body = {
        "error": {
            "message": "Provider returned error",
            "code": 429,
            "metadata": {
                "raw": '{"error": {"message": "slow down", "type": "tokens", "param": "input"}}',
                "provider_name": "Azure",
            },
        }
    }
    headers = {"X-Request-ID": "req_7", "Retry-After": "1.5", "x-ratelimit-remaining-tokens": "0"}
    failure = chat.failure(429, headers, json.dumps(body).encode())
    assert failure == Failure(
        status=429,
        body=json.dumps(body),
        message="slow down",
        code="429",
        type="tokens",
        param="input",
        request_id="req_7",
        retry_after=1.5,
        metadata={"x-ratelimit-remaining-tokens": 0, "provider_name": "Azure"},
    )
    assert chat.classify(failure) == (
        Kind.RATE_LIMITED,
        "slow down",
        {"code": "429", "type": "tokens", "param": "input", "provider_name": "Azure"},
    )


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("", ""),
        ("upstream busy\n", "upstream busy"),
        ("<html><head><title>502 Bad &amp; Gateway</title></head></html>", "502 Bad & Gateway"),
        ("<html><p>busy</p></html>", "an HTML page, no JSON"),
        ("x" * 5000, "x" * 2000),
        ('prefix {"error": {"message": "inner"}}', "inner"),
        ('{"errors": [{"message": "first"}, {"message": "second"}]}', "first"),
        ('{"detail": [{"loc": ["body", "x"], "msg": "missing"}]}', "missing"),
        ('{"message": "a {brace"}', "a {brace"),
        ('{"message": "see [1] {"}', "see [1] {"),
        ("{" * 100_000, "{" * 2000),
        ("[" * 100_000, "[" * 2000),
    ],
)
def test_any_body_gives_a_message(body: str, message: str) -> None:
    for wire in ALL:
        failure = wire.failure(500, {}, body)
        assert (failure.message, failure.body) == (message, body)
        assert wire.classify(failure)[0] is Kind.UNAVAILABLE


def test_nesting_is_followed_only_so_far() -> None:
    body: object = openai("deep", "model_not_found")
    assert kind_of(chat, 400, body) is Kind.NOT_FOUND
    for _ in range(5):
        body = {"error": {"message": json.dumps(body)}}
    assert kind_of(chat, 400, body) is Kind.INVALID_REQUEST
    assert chat.failure(500, {}, b"\xff\xfe broken").message


EXPECTED = {
    "param": {"invalid_request"}, "tools": {"invalid_request"}, "prompt": {"invalid_request"},
    "size": {"context_length", "request_too_large"}, "auth": {"authentication"},
    "billing": {"billing"}, "rate": {"rate_limited"}, "server": {"unavailable"},
    "policy": {"content_filtered", "not_found"}, "model": {"not_found", "unsupported_api"},
}  # fmt: skip
WIRES = {
    "anthropic": messages,
    "bedrock": converse,
    "google": generate_content,
    "responses": responses,
}


def test_the_corpus_of_real_errors_is_classified_and_nothing_final_is_retried() -> None:
    """Rows that are no refusal and have one reading; refusals themselves must not be retried."""
    rows = [json.loads(line) for line in CORPUS.read_text().splitlines()]
    results: Counter[bool] = Counter()
    for row in rows:
        wire: Wire = WIRES.get(row["api"], chat)
        kind = wire.classify(wire.failure(row["status"], row["headers"] or {}, row["body"]))[0]
        expected = EXPECTED.get(row["kind"])
        final = row["label"] == "refusal" or row["kind"] not in {"rate", "server", "other"}
        assert not (final and KINDS[kind].retry), row["id"]
        if row["label"] == "not_refusal" and not row.get("ambiguous") and expected:
            results[kind.value in expected] += 1
    assert results[True] + results[False] == 92
    assert results[True] / results.total() >= 0.95


def test_a_code_of_any_length_is_only_a_code() -> None:
    for wire in ALL:
        failure = wire.failure(200, {}, json.dumps({"error": {"code": "9" * 5000, "message": "x"}}))
        assert wire.classify(failure)[0] is Kind.BAD_RESPONSE


@pytest.mark.parametrize(
    ("wire", "message"),
    [
        (
            messages,
            "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000",
        ),
        (
            chat,
            "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4097. Given: 5000",
        ),
        (
            chat,
            "Input validation error: `inputs` must have less than 4096 tokens. Given: 5000",
        ),
    ],
)
def test_a_prompt_over_the_window_is_told_in_many_words(wire: Wire, message: str) -> None:
    body = {"error": {"type": "invalid_request_error", "message": message}}
    assert kind_of(wire, 400, body) is Kind.CONTEXT_LENGTH
