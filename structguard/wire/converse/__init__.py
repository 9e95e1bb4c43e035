"""
Converse: Amazon Bedrock's wire. Signing and the binary event stream are the provider's.

Source: Amazon Bedrock Runtime API reference, Converse, ConverseStream and Common Errors; spec wire.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final
from urllib.parse import quote

from structguard.types import Api, Failure, Kind
from structguard.wire.base import Headers, Verdict
from structguard.wire.converse.decode import decode_request as decode_request
from structguard.wire.converse.reply import decode_reply as decode_reply
from structguard.wire.converse.request import encode_request as encode_request
from structguard.wire.converse.stream import open_stream as open_stream
from structguard.wire.faults import TEXTS, Table, classify as _classify, read_failure
from structguard.wire.headers import lowered

API: Final[Api] = "converse"
_TABLE = Table(
    codes={
        "accessdeniedexception": Kind.AUTHENTICATION,
        "unrecognizedclientexception": Kind.AUTHENTICATION,
        "invalidsignatureexception": Kind.AUTHENTICATION,
        "incompletesignature": Kind.AUTHENTICATION,
        "expiredtokenexception": Kind.AUTHENTICATION,
        "expiredtoken": Kind.AUTHENTICATION,
        "missingauthenticationtokenexception": Kind.AUTHENTICATION,
        "resourcenotfoundexception": Kind.NOT_FOUND,
        "throttlingexception": Kind.RATE_LIMITED,
        "toomanyrequestsexception": Kind.RATE_LIMITED,
        "servicequotaexceededexception": Kind.RATE_LIMITED,
        "modelnotreadyexception": Kind.UNAVAILABLE,
        "serviceunavailableexception": Kind.UNAVAILABLE,
        "internalserverexception": Kind.UNAVAILABLE,
        "internalfailure": Kind.UNAVAILABLE,
        "modelerrorexception": Kind.UNAVAILABLE,
        "modelstreamerrorexception": Kind.UNAVAILABLE,
        "modeltimeoutexception": Kind.TIMEOUT,
    },
    texts=TEXTS,
)


def path(model: str, *, stream: bool = False) -> str:
    """The model's own path; an ARN is percent-encoded."""
    return f"/model/{quote(model, safe='')}/converse{'-stream' if stream else ''}"


def failure(
    status: int | None, headers: Headers, body: bytes | str, *, now: float | None = None
) -> Failure:
    """The facts of an error reply; the exception's name is its code."""
    facts = read_failure(status, headers, body, now=now)
    error_type = lowered(headers).get("x-amzn-errortype") or facts.code or facts.type or ""
    code = error_type.partition(":")[0].rpartition("#")[2]
    return replace(facts, code=code or None)


def classify(failure: Failure) -> Verdict:
    """Kind, message and details by the exception's name."""
    return _classify(failure, _TABLE)
