"""A request as one route sends it: its bytes, and what in them matters to a refusal."""

from __future__ import annotations

import json
from collections.abc import Mapping

from structguard.providers.call import Call, Route
from structguard.refusal import RequestFacts
from structguard.schema import as_format
from structguard.types import Api, Format, FormatKind, JsonSchema, Kind, Request
from structguard.wire.base import Unencodable, WireOptions, is_reasoning, sendable_format

_encode = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode


def encoded(call: Call, route: Route) -> tuple[Format | None, bytes]:
    """
    The format that is sent, None where it is left out for tools, and the body.

    Raises:
        ProviderError: the wire cannot carry the request.
    """
    try:
        sent_format = sendable_format(call.request, call.format, route.options)
        body = route.wire.encode_request(
            call.request, format=sent_format, stream=call.stream, options=route.options
        )
    except Unencodable as error:
        raise call.inline(Kind.INVALID_REQUEST, error.message, {"param": error.param}) from error
    return sent_format, written(call, body)


def facts_of(request: Request, api: Api, options: WireOptions, *, stream: bool) -> RequestFacts:
    """What a request carries as it is sent; a format that is left out for tools it does not."""
    format_ = as_format(request.response_format)
    try:
        sent_format = sendable_format(request, format_, options)
    except Unencodable:  # the call itself will say so
        sent_format = format_
    kind: FormatKind = "json_schema" if isinstance(sent_format, JsonSchema) else "json_object"
    return RequestFacts(
        sent=None if sent_format is None else kind,
        tools=bool(request.tools),
        stream=stream,
        reasoning=is_reasoning(request, options),
        api=api,
    )


def written(call: Call, content: Mapping[str, object]) -> bytes:
    """The body as JSON. Raises ProviderError for what no JSON can hold."""
    try:
        return _quickly(content) or _encode(content).encode()
    except (TypeError, ValueError, RecursionError) as error:
        message = f"the request cannot be written as JSON: {error}"
        raise call.inline(Kind.INVALID_REQUEST, message) from error


def _quickly(content: Mapping[str, object]) -> bytes | None:
    """The body by a quarter of json's time; None for what json must judge, NaN among it."""
    from pydantic_core import to_json  # noqa: PLC0415  costs 20 ms, of the first call

    try:
        raw = to_json(content)
    except (TypeError, ValueError, RecursionError):
        return None
    return None if b"NaN" in raw or b"Infinity" in raw else raw
