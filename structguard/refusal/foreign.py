"""
Exceptions of anybody's SDK, judged by duck typing: no SDK is imported here.

| exception | status | body |
|---|---|---|
| our ProviderError | its verdict rides on it | `failure.body` |
| openai, anthropic, httpx, requests: `.response` | `.response.status_code` | `.response.text`, raw |
| botocore ClientError: `.response` is a dict | `ResponseMetadata.HTTPStatusCode` | its `Error` |
| openai APIError inside a stream: `.body`, no response | `body.code`, else 400 | `{"error": body}` |
| google-genai APIError: `.code`, `.details` | `.code` | `.details` |
| aiohttp: `.status`, `.message` | `.status` | `.message` |
| litellm, which refuses some formats before it sends: `.status_code`, no response | `.status_code` | `.message` |

The raw text is judged, never an SDK's `.body` beside a response: SDKs unwrap it and lose the
envelope. Only the exception itself is judged, never its cause. Source: spec guard §1.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import TypeGuard

from structguard.errors import ProviderError, secrets_in, without
from structguard.refusal.facts import RequestFacts, request_facts
from structguard.refusal.judge import detect_refusal
from structguard.types import Api, Kind, Refusal, as_mapping

_APIS: tuple[Api, ...] = ("chat", "responses", "messages", "converse", "generate_content")
_SPOKEN = (
    ("code", ("details", "message")),
    ("status", ("message",)),
    ("status_code", ("message",)),
)
_UNKNOWN = RequestFacts(sent="json_schema")  # what is assumed where no request can be read
_NO_FORMAT = RequestFacts(sent=None)
_OTHER_ADDRESSES = ("/images/", "/audio/")  # their response_format is no structured output
_ADDRESSES: Mapping[str, Api] = MappingProxyType(
    {
        "/chat/completions": "chat",
        "/responses": "responses",
        "/messages": "messages",
        "/converse": "converse",
        "generateContent": "generate_content",
        "GenerateContent": "generate_content",
    }
)


def is_refusal(exc: BaseException) -> bool:
    """
    Judge whether an exception is a refused format: a predicate for retries, breakers and fallbacks.

    It accepts `ProviderError` and, without importing them, the status errors of openai, anthropic,
    httpx, requests, botocore, google-genai and aiohttp. What was sent is read from the exception's
    own request; if it has none, a JSON Schema is assumed. A request without a format gives False.
    """
    if isinstance(exc, ProviderError) and exc.kind is Kind.FORMAT_REFUSED:
        return True
    return refusal_of(exc) is not None


def refusal_of(
    exc: BaseException,
    *,
    facts: RequestFacts | None = None,
    unnamed: bool = False,
    also_statuses: Collection[int] = frozenset(),
    anew: bool = False,
) -> Refusal | None:
    """
    The refusal an exception stands for, or None.

    `facts` say what was sent, where the caller knows; else the exception's own request is read.
    `unnamed` and `also_statuses` are those of `detect_refusal`. A ProviderError's own verdict is
    believed, that there is none too, unless these two widen it or `anew` says that its provider
    judged another request than `facts` (a retry, which carried no format).
    """
    answer = _provider_answer(exc) if isinstance(exc, ProviderError) else _answer(exc)
    if isinstance(exc, ProviderError):
        again = facts is not None and (anew or unnamed or also_statuses)
        if exc.refusal is not None or not again:
            return exc.refusal
    if answer is None:
        return None
    status, body = answer
    known = facts or _facts_of(exc)
    return detect_refusal(
        status,
        _without_credential(exc, body),
        sent=known.sent,
        api=known.api,
        tools=known.tools,
        stream=known.stream,
        reasoning=known.reasoning,
        unnamed=unnamed,
        also_statuses=also_statuses,
    )


def body_of(exc: BaseException) -> tuple[str, Api] | None:
    """
    The error body of a foreign exception and the API that speaks so, where it tells; chat where
    nothing says which.
    """
    answer = _answer(exc)
    if answer is None:
        return None
    body = answer[1] if isinstance(answer[1], str) else answer[1].decode("utf-8", "replace")
    reply = as_mapping(_get(exc, "response"))
    if reply is not None:
        error = as_mapping(reply.get("Error")) or {}
        return json.dumps({"code": error.get("Code"), "message": error.get("Message")}), "converse"
    found = _api_at(_address_of(exc))
    genai = as_mapping(_get(exc, "details")) is not None  # google-genai's errors
    return body, found or ("generate_content" if genai else "chat")


def status_of(exc: BaseException) -> int | None:
    """The HTTP status of the answer that `refusal_of` judges; None where no answer arrived."""
    answer = _provider_answer(exc) if isinstance(exc, ProviderError) else _answer(exc)
    return None if answer is None else answer[0]


def _provider_answer(error: ProviderError) -> tuple[int, str] | None:
    failure = error.failure
    if failure.status is None or failure.own_timeout or failure.network:
        return None
    return failure.status, failure.body


def _answer(exc: BaseException) -> tuple[int, bytes | str] | None:
    """Status and raw body of the answer an exception stands for; None when no answer arrived."""
    response = _get(exc, "response")
    reply = as_mapping(response)
    if reply is not None:
        return _boto(reply)
    status = _get(response, "status_code")
    if _is_status(status):
        return status, _text(response)
    return _streamed(exc) or _plain(exc)


def _boto(reply: Mapping[str, object]) -> tuple[int, str] | None:
    status = (as_mapping(reply.get("ResponseMetadata")) or {}).get("HTTPStatusCode")
    error = as_mapping(reply.get("Error"))
    if not _is_status(status) or error is None:
        return None
    return status, json.dumps({"error": error}, default=str)


def _streamed(exc: BaseException) -> tuple[int, str] | None:
    """An error event inside a stream: the SDK keeps what stood under `error`, and no response."""
    body = _get(exc, "body")
    told = as_mapping(body)
    if told is None and not (isinstance(body, str) and body):
        return None
    code = (told or {}).get("code")
    code = int(code) if isinstance(code, str) and code.isdecimal() and len(code) == 3 else code
    return (code if _is_status(code) else 400), json.dumps({"error": body}, default=str)


def _plain(exc: BaseException) -> tuple[int, str] | None:
    """What says its status and its words itself, and holds no response; see the table above."""
    for status_name, body_names in _SPOKEN:
        status = _get(exc, status_name)
        if _is_status(status):
            for name in body_names:
                body = _get(exc, name)
                if isinstance(body, str):
                    return status, body
                if as_mapping(body) is not None:
                    return status, json.dumps(body, default=str)
    return None


def _facts_of(exc: BaseException) -> RequestFacts:
    """What the exception's own request carried; a JSON Schema where it cannot be read."""
    request, address = _request_of(exc), _address_of(exc)
    if any(part in address for part in _OTHER_ADDRESSES):
        return _NO_FORMAT
    api = _api_at(address)
    body = _json(_get(request, "content") or _get(request, "body"))
    if body is None:
        return _UNKNOWN if api is None else RequestFacts(sent="json_schema", api=api)
    apis = _APIS if api is None else (api,)
    found = [request_facts(body, spelled) for spelled in apis]
    return next((facts for facts in found if facts.sent is not None), _NO_FORMAT)


def _without_credential(exc: BaseException, body: bytes | str) -> bytes | str:
    """The body without the credential of the request it answers: what is read from it is remembered."""
    headers = as_mapping(_get(_request_of(exc), "headers")) or {}
    sent = [(name, value) for name, value in headers.items() if isinstance(value, str)]
    text = body if isinstance(body, str) else body.decode("utf-8", "replace")
    return without(secrets_in(sent), text)


def _request_of(exc: BaseException) -> object:
    return _get(exc, "request") or _get(_get(exc, "response"), "request")


def _address_of(exc: BaseException) -> str:
    """The URL that was asked, without its query; "" where nothing tells."""
    return str(_get(_request_of(exc), "url") or "").split("?", 1)[0]


def _api_at(address: str) -> Api | None:
    return next((_ADDRESSES[part] for part in _ADDRESSES if part in address), None)


def _json(content: object) -> Mapping[str, object] | None:
    if not isinstance(content, bytes | bytearray | str):
        return None
    try:
        return as_mapping(json.loads(content))
    except (ValueError, RecursionError):
        return None


def _text(response: object) -> bytes | str:
    text = _get(response, "text")
    return text if isinstance(text, str) else ""


def _is_status(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and 100 <= value <= 599


def _get(holder: object, name: str) -> object:
    """An attribute, None where it is missing or not to be read (a body that was streamed away)."""
    try:
        return getattr(holder, name, None)
    except RuntimeError:  # httpx: RequestNotRead, ResponseNotRead, "request has not been set"
        return None
