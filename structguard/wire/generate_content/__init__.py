"""
generateContent: Google's wire, the same for the Gemini API and Vertex.

Source: Gemini API reference, generateContent; Google Cloud API design guide, Errors; spec wire.
"""

from __future__ import annotations

from typing import Final
from urllib.parse import quote

from structguard.types import Api, Failure, Kind
from structguard.wire.base import Verdict
from structguard.wire.faults import TEXTS, Table, classify as _classify, read_failure
from structguard.wire.generate_content.decode import decode_request as decode_request
from structguard.wire.generate_content.reply import decode_reply as decode_reply
from structguard.wire.generate_content.request import encode_request as encode_request
from structguard.wire.generate_content.stream import open_stream as open_stream

API: Final[Api] = "generate_content"
_TABLE = Table(
    codes={
        "api_key_invalid": Kind.AUTHENTICATION,
        "api_key_service_blocked": Kind.AUTHENTICATION,
        "access_token_expired": Kind.AUTHENTICATION,
        "unauthenticated": Kind.AUTHENTICATION,
        "permission_denied": Kind.AUTHENTICATION,
        "billing_disabled": Kind.BILLING,
        "not_found": Kind.NOT_FOUND,
        "resource_exhausted": Kind.RATE_LIMITED,
        "unavailable": Kind.UNAVAILABLE,
        "internal": Kind.UNAVAILABLE,
        "deadline_exceeded": Kind.TIMEOUT,
        "prompt_blocked": Kind.CONTENT_FILTERED,
    },
    texts=TEXTS,
)
failure = read_failure


def path(model: str, *, stream: bool = False) -> str:
    """The model's own path; a stream is asked for as server-sent events."""
    verb = "streamGenerateContent?alt=sse" if stream else "generateContent"
    return f"/models/{quote(model.removeprefix('models/'), safe='')}:{verb}"


def classify(failure: Failure) -> Verdict:
    """Kind, message and details by Google's status and reason."""
    return _classify(failure, _TABLE)
