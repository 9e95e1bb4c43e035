"""
Messages: Anthropic's wire.

Source: Anthropic API reference, Messages and Errors; spec wire.
"""

from __future__ import annotations

from typing import Final

from structguard.types import Api, Failure, Kind
from structguard.wire.base import Verdict
from structguard.wire.faults import TEXTS, Table, classify as _classify, read_failure
from structguard.wire.messages.decode import decode_request as decode_request
from structguard.wire.messages.reply import decode_reply as decode_reply
from structguard.wire.messages.request import encode_request as encode_request
from structguard.wire.messages.stream import open_stream as open_stream

API: Final[Api] = "messages"
_TABLE = Table(
    codes={
        "request_too_large": Kind.REQUEST_TOO_LARGE,
        "authentication_error": Kind.AUTHENTICATION,
        "permission_error": Kind.AUTHENTICATION,
        "billing_error": Kind.BILLING,
        "not_found_error": Kind.NOT_FOUND,
        "model_not_supported": Kind.NOT_FOUND,
        "rate_limit_error": Kind.RATE_LIMITED,
        "overloaded_error": Kind.UNAVAILABLE,
        "timeout_error": Kind.TIMEOUT,
    },
    vague={"api_error": Kind.UNAVAILABLE},
    texts=TEXTS,
)
failure = read_failure


def path(model: str, *, stream: bool = False) -> str:
    """The same for every model, streamed or not."""
    del model, stream
    return "/v1/messages"


def classify(failure: Failure) -> Verdict:
    """Kind, message and details by Anthropic's error types."""
    return _classify(failure, _TABLE)
