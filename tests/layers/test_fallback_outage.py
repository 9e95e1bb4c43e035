"""What foreign exceptions mean: judged by status, or by name where there is none."""

from __future__ import annotations

from types import SimpleNamespace

import httpx2
import openai
import pytest

from structguard.errors import KINDS
from structguard.layers.fallback import FallbackChain, Link
from structguard.layers.outage import is_outage, kind_of, rule_of
from structguard.types import Kind
from tests.doubles import ManualClock
from tests.layers.script import ASK, Script, failing


class StatusError(Exception):
    """As the SDKs raise them."""

    def __init__(self, status: int, text: str = "no") -> None:
        super().__init__(text)
        self.status_code = status


class ResponseError(Exception):
    """As httpx raises them."""

    def __init__(self, status: int) -> None:
        super().__init__("no")
        self.response = SimpleNamespace(status_code=status, text="")


class ClientError(Exception):
    """As botocore raises them."""

    def __init__(self, status: int) -> None:
        super().__init__("no")
        self.response = {"ResponseMetadata": {"HTTPStatusCode": status}}


class ClientResponseError(Exception):
    """As aiohttp raises them."""

    def __init__(self, status: int) -> None:
        super().__init__("no")
        self.status = status


class CodeError(Exception):
    """As google-genai raises them."""

    def __init__(self, code: int) -> None:
        super().__init__("no")
        self.code = code


class APIConnectionError(Exception):
    """No status: the name tells."""


class APITimeoutError(APIConnectionError):
    """A time-out is a connection error too in some SDKs."""


OUTAGES = {
    401: ("authentication", "threshold"),
    402: ("billing", "immediate"),
    403: ("authentication", "threshold"),
    404: ("not_found", "threshold"),
    408: ("timeout", "immediate"),
    409: ("unavailable", "immediate"),
    410: ("not_found", "threshold"),
    429: ("rate_limited", "immediate"),
    500: ("unavailable", "immediate"),
    503: ("unavailable", "immediate"),
    504: ("timeout", "immediate"),
    529: ("unavailable", "immediate"),
}


@pytest.mark.parametrize("status", OUTAGES)
@pytest.mark.parametrize(
    "shape", [StatusError, ResponseError, ClientError, ClientResponseError, CodeError]
)
def test_a_status_is_found_wherever_an_sdk_keeps_it(shape: type[StatusError], status: int) -> None:
    error = shape(status)
    assert is_outage(error)
    assert (kind_of(error), rule_of(error).breaker) == OUTAGES[status]


@pytest.mark.parametrize("status", [400, 405, 413, 415, 422, 451])
def test_a_request_that_is_wrong_is_no_outage(status: int) -> None:
    error = StatusError(status)
    assert not is_outage(error)
    assert rule_of(error).breaker == "none"


@pytest.mark.parametrize(
    ("error", "kind", "breaker"),
    [
        (APIConnectionError(), Kind.UNAVAILABLE, "immediate"),
        (ConnectionResetError(), Kind.UNAVAILABLE, "immediate"),
        (APITimeoutError(), Kind.TIMEOUT, "threshold"),
        (TimeoutError(), Kind.TIMEOUT, "threshold"),
    ],
)
def test_without_a_status_the_name_tells(error: Exception, kind: Kind, breaker: str) -> None:
    assert is_outage(error)
    assert (kind_of(error), rule_of(error).breaker) == (kind, breaker)


@pytest.mark.parametrize(
    "error", [TypeError("no"), ValueError("no"), StatusError(200), KeyboardInterrupt()]
)
def test_what_nothing_is_known_about_is_no_outage(error: BaseException) -> None:
    assert not is_outage(error)
    assert kind_of(error) is None
    assert rule_of(error) == KINDS[Kind.INVALID_REQUEST]


@pytest.mark.parametrize("kind", list(Kind))
def test_our_own_errors_follow_their_kind(kind: Kind) -> None:
    error = failing(kind)
    assert is_outage(error) == KINDS[kind].advance
    assert rule_of(error) == KINDS[kind]
    assert kind_of(error) is kind


REFUSED = StatusError(
    400,
    "Error code: 400 - {'error': {'message': \"'response_format.type' : value is not one of the"
    " allowed values ['text']; json_schema is not supported by this model\","
    " 'type': 'invalid_request_error', 'param': 'response_format'}}",
)
REFUSED.body = {  # type: ignore[attr-defined]
    "error": {
        "message": "response_format json_schema is not supported by this model",
        "param": "response_format",
    }
}


def test_a_foreign_refusal_of_the_format_is_no_outage() -> None:
    assert kind_of(REFUSED) is Kind.FORMAT_REFUSED
    assert not is_outage(REFUSED)


async def test_in_a_chain_a_foreign_refusal_advances_without_a_count() -> None:
    chain = FallbackChain(
        [Link(Script(REFUSED, id="a")), Link(Script("second", id="b"))], clock=ManualClock()
    )
    assert (await chain.complete(ASK)).text == "second"
    assert chain.state()[0].failures == 0


async def test_in_a_chain_a_foreign_exception_counts_by_its_status() -> None:
    error = StatusError(503, "Authorization: Bearer abcdefghijklmnop")
    chain = FallbackChain(
        [Link(Script(error, id="a")), Link(Script("second", id="b"))], clock=ManualClock()
    )
    assert (await chain.complete(ASK)).text == "second"
    assert chain.state()[0].mode == "cooling"
    assert chain.state()[0].reason == "StatusError: Authorization: Bearer ***"


def answered(
    status: int, body: object, path: str = "/v1/chat/completions"
) -> openai.APIStatusError:
    """What the SDKs raise for an answer with an error status."""
    request = httpx2.Request("POST", f"http://127.0.0.1{path}")
    reply = httpx2.Response(status, json=body, request=request)
    return openai.APIStatusError("no", response=reply, body=body)


class BotoError(Exception):
    """As botocore raises them, with the exception's name."""

    def __init__(self, status: int, code: str, message: str = "no") -> None:
        super().__init__("no")
        self.response = {
            "ResponseMetadata": {"HTTPStatusCode": status},
            "Error": {"Code": code, "Message": message},
        }


class GenaiError(Exception):
    """As google-genai raises them."""

    def __init__(self, code: int, details: dict[str, object]) -> None:
        super().__init__("no")
        self.code = code
        self.details = details


def _error(**fields: object) -> dict[str, object]:
    return {"error": fields}


POOR = "Your credit balance is too low to access the Anthropic API."
KEY = {"status": "INVALID_ARGUMENT", "message": "no", "details": [{"reason": "API_KEY_INVALID"}]}


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (answered(429, _error(code="insufficient_quota", message="no")), Kind.BILLING),
        (answered(400, _error(code="model_not_found", message="no")), Kind.NOT_FOUND),
        (answered(400, _error(code="unsupported_api_for_model")), Kind.UNSUPPORTED_API),
        (answered(500, _error(code="context_length_exceeded")), Kind.CONTEXT_LENGTH),
        (answered(400, _error(message="no")), Kind.INVALID_REQUEST),
        (
            answered(400, _error(type="invalid_request_error", message=POOR), "/v1/messages"),
            Kind.BILLING,
        ),
        (BotoError(400, "ServiceQuotaExceededException"), Kind.RATE_LIMITED),
        (BotoError(424, "ModelErrorException"), Kind.UNAVAILABLE),
        (BotoError(400, "ExpiredTokenException"), Kind.AUTHENTICATION),
        (BotoError(400, "ValidationException", "Input is too long."), Kind.CONTEXT_LENGTH),
        (GenaiError(400, _error(**KEY)), Kind.AUTHENTICATION),
        (GenaiError(400, _error(status="INVALID_ARGUMENT", message="no")), Kind.INVALID_REQUEST),
    ],
)
def test_a_foreign_answer_is_judged_as_our_own_providers_judge_it(
    error: Exception, kind: Kind
) -> None:
    assert kind_of(error) is kind
    assert is_outage(error) == KINDS[kind].advance
    assert rule_of(error).breaker == KINDS[kind].breaker


REQUEST = httpx2.Request("POST", "http://127.0.0.1/v1")


def told(body: object) -> openai.APIError:
    """What the SDKs raise for an error event in a stream: no response, no status."""
    return openai.APIError("no", REQUEST, body=body)


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ({"message": "no", "code": "rate_limit_exceeded"}, Kind.RATE_LIMITED),
        ({"message": "no", "type": "server_error"}, Kind.UNAVAILABLE),
        ({"type": "error", "error": {"type": "overloaded_error"}}, Kind.UNAVAILABLE),
        ({"message": "no"}, Kind.BAD_RESPONSE),
        ({"message": "no", "code": "context_length_exceeded"}, Kind.CONTEXT_LENGTH),
    ],
)
def test_an_error_told_inside_a_stream_is_what_its_code_says(body: object, kind: Kind) -> None:
    assert kind_of(told(body)) is kind
    assert is_outage(told(body)) == KINDS[kind].advance


def test_a_refusal_told_inside_a_stream_is_no_outage() -> None:
    refused = told({"message": "response_format json_schema is not supported by this model"})
    assert kind_of(refused) is Kind.FORMAT_REFUSED
    assert not is_outage(refused)


def test_an_error_in_an_aws_event_stream_is_what_its_code_says() -> None:
    error = ClientError(200)
    error.response = {"Error": {"Code": "throttlingException"}}  # type: ignore[dict-item]
    assert kind_of(error) is Kind.RATE_LIMITED


@pytest.mark.parametrize(
    "name",
    [
        "ProxyError", "ClientPayloadError", "URLError", "IncompleteRead", "MaxRetryError",
        "ChunkedEncodingError", "HTTPClientError", "ResponseStreamingError",
    ],
)  # fmt: skip
def test_more_names_of_a_broken_network(name: str) -> None:
    assert kind_of(type(name, (Exception,), {})()) is Kind.UNAVAILABLE


def test_a_request_that_could_not_be_made_is_no_outage() -> None:
    assert not is_outage(httpx2.LocalProtocolError("no"))
    assert not is_outage(httpx2.UnsupportedProtocol("no"))
