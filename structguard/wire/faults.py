"""
Error bodies → facts → a kind; the vendors' tables of codes and texts are applied here.

Order: what the transport saw, then code and type (the vendor's own and those nested in it), then
status, then the text, and the text only inside 400, 404, 413 and 422, where the status alone says
too little. Source: spec errors.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from structguard.errors import KINDS, kind_of_status
from structguard.types import Failure, Kind, as_mapping, as_sequence, as_text
from structguard.wire.base import Headers, Verdict
from structguard.wire.headers import duration, lowered, rate_limits, request_id, retry_after
from structguard.wire.payload import embedded, loads, present

_LIMIT = 65536  # characters of a body that are read
_SHOWN = 2000  # characters of one text that are searched or shown
_DEPTH = 6
_NESTED = ("error", "errors", "message", "detail", "details", "metadata", "raw", "msg",
           "previous_errors", "attempts", "response")  # fmt: skip
_CODES = ("code", "type", "status", "reason", "error_type", "error_code", "__type", "error")
_TEXTS = ("message", "Message", "msg", "detail", "error", "raw", "error_message", "title")
_FACTS = ("provider_name", "failed_routing_step")
_STATUS = re.compile(r"[45][0-9]{2}")
_NO_CODE = frozenset({"error", "failure", "fail"})  # words that only say that it is an error
_TEXT_STATUSES = frozenset({400, 404, 413, 422})


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """
    One vendor's words: codes in lower case, keys whose presence tells, texts in order. `vague`
    codes say no more than a status does and are read only where there is none (a stream, a 200):
    relays put them on others' 400s.
    """

    codes: Mapping[str, Kind]
    vague: Mapping[str, Kind] = field(default_factory=dict[str, Kind])
    texts: Sequence[tuple[Kind, re.Pattern[str]]] = ()
    keys: Mapping[str, Kind] = field(default_factory=dict[str, Kind])


def read_failure(
    status: int | None, headers: Headers, body: bytes | str, *, now: float | None = None
) -> Failure:
    """
    The facts of an error reply; HTML, plain text and an empty body are read as well. `now` (seconds
    since the epoch) dates a Retry-After where the headers have no Date.
    """
    text = body if isinstance(body, str) else body.decode("utf-8", "replace")
    low = lowered(headers)
    objects = list(statements(text))
    return _failure(
        objects,
        status=status,
        body=text,
        plain=_plain(text),
        request_id=request_id(low),
        retry_after=retry_after(low, now),
        limits=rate_limits(low),
    )


def failure_in(error: Mapping[str, object], body: str) -> Failure:
    """The facts of an error object in a 2xx body or in a stream's event."""
    return _failure(
        list(_walk(error, 0)), status=200, body=body, plain="an error without a message"
    )


def _failure(
    objects: Sequence[Mapping[str, object]],
    *,
    status: int | None,
    body: str,
    plain: str = "",
    request_id: str | None = None,
    retry_after: float | None = None,
    limits: Mapping[str, object] | None = None,
) -> Failure:
    delay = _first(objects, ("retryDelay",))
    return Failure(
        status=status,
        body=body,
        message=next((text for fields in objects for text in _own_texts(fields)), plain),
        code=_first(objects, ("code", "error_code", "reason")),
        type=_first(objects, ("type", "status", "error_type", "__type"), words=True),
        param=_first(objects, ("param",)),
        request_id=request_id or _first(objects, ("request_id", "requestId")),
        retry_after=retry_after if retry_after is not None else duration(delay or ""),
        metadata={**(limits or {}), **present(**{key: _first(objects, (key,)) for key in _FACTS})},
    )


def classify(failure: Failure, table: Table) -> Verdict:
    """The kind of a failure by one vendor's table, its message, and the facts that were given."""
    objects = list(statements(failure.body))
    message = failure.message
    return (
        _kind(failure, table, objects),
        message,
        present(
            code=failure.code,
            type=failure.type,
            param=failure.param,
            **{key: failure.metadata.get(key) for key in _FACTS},
        ),
    )


def _kind(failure: Failure, table: Table, objects: Sequence[Mapping[str, object]]) -> Kind:
    if failure.timed_out or failure.own_timeout:
        return Kind.TIMEOUT
    if failure.network:
        return Kind.UNAVAILABLE
    if failure.truncated:
        return Kind.STREAM_TRUNCATED
    codes = [code for code in (failure.code, failure.type) if code]
    codes += [code for fields in objects for code in _own_codes(fields)]
    hits = [
        table.keys[key] for fields in objects for key in fields if fields[key] and key in table.keys
    ]
    hits += [table.codes[code.lower()] for code in codes if code.lower() in table.codes]
    if hits:
        # a wrapper may call unavailable what the error inside it calls final
        return next((kind for kind in hits if not KINDS[kind].retry), hits[0])
    status = _status(failure.status, codes)
    if status in _TEXT_STATUSES:
        texts = [failure.message, *(text for fields in objects for text in _own_texts(fields))]
        for kind, pattern in table.texts:
            if any(pattern.search(text[:_SHOWN]) for text in texts):
                return kind
    return _by_status(status, [table.vague[c.lower()] for c in codes if c.lower() in table.vague])


def _by_status(status: int | None, vague: Sequence[Kind]) -> Kind:
    if status is None or status < 400:
        return vague[0] if vague else Kind.BAD_RESPONSE
    return kind_of_status(status)


def _status(status: int | None, codes: Sequence[str]) -> int | None:
    """The HTTP status, or the one a body with status 200 holds as its code."""
    if status is not None and status >= 400:
        return status
    return next((int(c) for c in codes if _STATUS.fullmatch(c)), status)


def statements(body: str) -> Iterator[Mapping[str, object]]:
    """The objects of an error body that may say something, the innermost first."""
    try:
        value = loads(body[:_LIMIT].encode("utf-8", "surrogatepass"))
    except ValueError:
        value = embedded(body[:_LIMIT])
    return _walk(value, 0)


def _walk(value: object, depth: int) -> Iterator[Mapping[str, object]]:
    if depth > _DEPTH:
        return
    if isinstance(value, str):
        if "{" in value:
            yield from _walk(embedded(value), depth + 1)
    elif (fields := as_mapping(value)) is not None:
        for key in _NESTED:
            yield from _walk(fields.get(key), depth + 1)
        yield fields
    else:
        for item in (as_sequence(value) or ())[:20]:
            yield from _walk(item, depth + 1)


def _own_codes(fields: Mapping[str, object]) -> Iterator[str]:
    for key in _CODES:
        value = fields.get(key)
        if isinstance(value, str | int) and str(value).lower() not in _NO_CODE:
            yield str(value)


def _own_texts(fields: Mapping[str, object]) -> Iterator[str]:
    for key in _TEXTS:
        if text := (as_text(fields.get(key)) or "").strip():
            yield text


def _first(
    objects: Sequence[Mapping[str, object]], keys: Sequence[str], *, words: bool = False
) -> str | None:
    for fields in objects:
        for key in keys:
            value = fields.get(key)
            text = str(value) if isinstance(value, str | int) else ""
            if text and text.lower() not in _NO_CODE and not (words and text.isdecimal()):
                return text
    return None


_TITLE = re.compile(r"<title[^>]*>(.*?)</title>", re.IGNORECASE | re.DOTALL)


def _plain(body: str) -> str:
    """What a body that is not JSON says: a page's title, else its text."""
    if body.lstrip()[:1] == "<":
        title = _TITLE.search(body[:_LIMIT])
        return html.unescape(title.group(1)).strip() if title else "an HTML page, no JSON"
    return body.strip()[:_SHOWN]


_WORDS: Mapping[Kind, tuple[str, ...]] = {
    Kind.UNSUPPORTED_API: (
        r"not accessible via the \S+ endpoint",
        r"only (?:be )?supported in v1/",
        r"not support(?:ed)? (?:(?:in|on|by) )?(?:the |this )?['\"`/v1]*(?:chat/completions|responses|API)\b",
        r"use the \w+ API instead",
    ),
    Kind.CONTEXT_LENGTH: (
        r"context[ _](?:length|window|size|limit)|maximum context",
        r"`inputs` .{0,40}must (?:be <=|have less than) \d+",  # text-generation-inference
        r"(?:prompt|input|messages)\b[^.]{0,40} too long",
        r"too many (?:input |prompt )?tokens",
        r"input tokens? exceed|input token count\b.{0,40}exceed",
        r"exceeds? (?:the )?max\w* (?:\w+ ){0,3}tokens",
    ),
    Kind.BILLING: (
        r"insufficient[ _](?:balance|quota|credits?|funds)|credit balance",
        r"(?:out of|no) (?:credits?|funds)|top[ -]up|billing",
    ),
    Kind.AUTHENTICATION: (
        r"(?:invalid|incorrect|missing|expired|unauthori[sz]ed)[^.]{0,20}\bapi[ _-]?key",
        r"\bapi[ _-]?key\b[^.]{0,30}(?:invalid|not (?:found|valid)|incorrect|missing|expired)",
    ),
    Kind.CONTENT_FILTERED: (
        r"content[ _](?:management )?(?:policy|filter)|inappropriate content",
        r"safety (?:system|filter)|flagged (?:as|for|by)",
    ),
    Kind.REQUEST_TOO_LARGE: (r"(?:request|payload|body)\b[^.]{0,20} too large",),
    Kind.NOT_FOUND: (
        r"\bmodel\b[^.]{0,120}(?:does not exist|not (?:be )?found|not available|was retired)",
        r"\bmodel\b[^.]{0,120}(?:decommissioned|deprecated)|\bmodel is not supported",
        r"(?:unknown|no such|invalid) model\b|model identifier is invalid|non-serverless model",
        r"no endpoints found",
    ),
}
TEXTS = tuple((kind, re.compile("|".join(words), re.IGNORECASE)) for kind, words in _WORDS.items())
"""Sentences many vendors share, in order; read under 400, 404, 413 and 422 only."""
