"""httpx2 responses built anew: with a healed body, or with the status an error inside a 200 should have had."""

from __future__ import annotations

import json
from collections.abc import Mapping

import httpx2

from structguard.errors import KINDS
from structguard.types import Api, Kind
from structguard.wire.table import WIRES

_ENCODED = ("content-encoding", "content-length", "transfer-encoding")
_STATUSES: Mapping[Kind, int] = {Kind.AUTHENTICATION: 401, Kind.BILLING: 402}
"""Where a client must see another status than a gateway's: these are final, a 5xx is sent again."""


def with_body(
    response: httpx2.Response, headers: httpx2.Headers, raw: bytes, *, status: int | None = None
) -> httpx2.Response:
    """A response with this body, not read yet."""
    return httpx2.Response(
        status or response.status_code,
        headers=headers,
        stream=httpx2.ByteStream(raw),
        extensions=response.extensions,
    )


def rewritten(response: httpx2.Response, reply: Mapping[str, object]) -> httpx2.Response:
    """The reply with its healed text, and headers that tell the truth about it."""
    raw = json.dumps(reply, separators=(",", ":")).encode()
    headers = without_encoding(response.headers)
    headers["content-length"] = str(len(raw))
    return with_body(response, headers, raw)


def instead_of(
    response: httpx2.Response, raw: bytes, *, status: int | None = None
) -> httpx2.Response:
    """The error that a 200 hid, as JSON, with the status it should have had (None: the 200's)."""
    headers = without_encoding(response.headers)
    headers["content-type"] = "application/json"
    headers["content-length"] = str(len(raw))
    error = with_body(response, headers, raw, status=status)
    if status is not None:
        error.extensions.pop("reason_phrase", None)  # it was the 200's
    return error


def without_encoding(headers: httpx2.Headers) -> httpx2.Headers:
    """The headers of the same reply with another body, decoded and of another length."""
    remaining = headers.copy()
    for name in _ENCODED:
        remaining.pop(name, None)
    return remaining


def status_of(raw: bytes, api: Api) -> int:
    """The status an error object would have had, by the kind its words tell."""
    wire = WIRES[api]
    kind, _, _ = wire.classify(wire.failure(200, {}, raw))
    return _STATUSES.get(kind, KINDS[kind].http)
