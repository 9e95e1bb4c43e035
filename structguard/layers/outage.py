"""
What an exception means to retries, chain and breaker: ours by its rule, a foreign one as its
vendor's wire would judge the same answer: by code, status and text.

No SDK is imported; foreign exceptions are duck-typed. Source: spec errors "the table", spec chain.
"""

from __future__ import annotations

import json
import re

from structguard.errors import KINDS, KindRule, ProviderError, kind_of_status, rule_for
from structguard.types import Failure, Kind, as_mapping

_TIMED_OUT = re.compile(r"time(?:d_?)?_?out|deadline", re.IGNORECASE)
_NETWORK = re.compile(
    r"connect|network|gaierror|ssl|(?:read|write|remoteprotocol|proxy|payload|url|httpclient)error$"
    r"|incompleteread|chunkedencoding|maxretry|responsestreaming",
    re.IGNORECASE,
)


def rule_of(error: BaseException) -> KindRule:
    """
    What this exception means. One that nothing is known about (a programming error) neither
    retries, advances nor counts.
    """
    if isinstance(error, ProviderError):
        return error.rule
    kind = kind_of(error)
    if kind is None:
        return KINDS[Kind.INVALID_REQUEST]
    own = kind is Kind.TIMEOUT and _status(error) is None
    return rule_for(kind, Failure(own_timeout=own))


def kind_of(error: BaseException) -> Kind | None:
    """
    The kind of an exception; None when it is neither ours, nor carries a response, nor is named
    like a network error or a time-out.
    """
    if isinstance(error, ProviderError):
        return error.kind
    if not isinstance(error, Exception):
        return None
    status = _status(error)
    if status is None:
        return _kind_in_reply(error) or _kind_by_name(error)
    if _refuses_format(error):
        return Kind.FORMAT_REFUSED
    return _kind_of_answer(error, status)


def is_outage(error: BaseException, /) -> bool:
    """
    Judge whether another provider should be asked, because a chain would move on for this error.

    It is meant for `retry_if_exception`, `stamina.retry(on=…)`, `FallbackModel(fallback_on=…)` and
    the like, and accepts exceptions of any SDK. An SDK's exception that refuses the format is not an
    outage: the endpoint works, and the guard deals with it.
    """
    if isinstance(error, ProviderError):
        return error.rule.advance
    return kind_of(error) is not Kind.FORMAT_REFUSED and rule_of(error).advance


def _refuses_format(error: Exception) -> bool:
    from structguard.refusal import is_refusal  # noqa: PLC0415  tables built at the first need

    return is_refusal(error)


def _status(error: BaseException) -> int | None:
    """The HTTP status of an SDK's exception, wherever it keeps it."""
    response = getattr(error, "response", None)
    botocore = as_mapping((as_mapping(response) or {}).get("ResponseMetadata")) or {}
    for value in (
        getattr(error, "status_code", None),
        getattr(response, "status_code", None),
        botocore.get("HTTPStatusCode"),
        getattr(error, "status", None),
        getattr(error, "code", None),
    ):
        if isinstance(value, int) and not isinstance(value, bool) and 400 <= value <= 599:
            return value
    return None


def _kind_of_answer(error: Exception, status: int) -> Kind:
    """As our own provider would judge it: a 400 may say that the account is out of credit."""
    from structguard.refusal import body_of  # noqa: PLC0415  tables built at the first need
    from structguard.wire.table import WIRES  # noqa: PLC0415

    found = body_of(error)
    if found is None:
        return kind_of_status(status)
    body, api = found
    wire = WIRES[api]
    return wire.classify(wire.failure(status, {}, body))[0]


def _kind_in_reply(error: Exception) -> Kind | None:
    """The kind of an exception about a 2xx: an error told inside a stream, or no readable reply."""
    response = getattr(error, "response", None)
    status = getattr(response, "status_code", None)
    good = isinstance(status, int) and 200 <= status <= 299
    body = as_mapping(getattr(error, "body", None))
    if body is not None and (good or response is None):  # openai's and anthropic's APIError
        return Kind.FORMAT_REFUSED if _refuses_format(error) else _kind_in(dict(body))
    aws = as_mapping((as_mapping(response) or {}).get("Error"))
    if aws is not None:  # botocore's EventStreamError
        return _kind_in({"code": aws.get("Code")})
    return Kind.BAD_RESPONSE if good else None


def _kind_in(body: dict[str, object]) -> Kind:
    """The kind of an error object, by the vendors' own codes."""
    from structguard.wire import chat, converse  # noqa: PLC0415  tables built at the first need
    from structguard.wire.base import Wire  # noqa: PLC0415

    text = json.dumps({"error": body}, default=str)
    wire: Wire = chat if body.keys() - {"code"} else converse
    return wire.classify(wire.failure(None, {}, text))[0]


def _kind_by_name(error: Exception) -> Kind | None:
    names = [cls.__name__ for cls in type(error).__mro__]
    if any(_TIMED_OUT.search(name) for name in names):
        return Kind.TIMEOUT
    if any(_NETWORK.search(name) for name in names):
        return Kind.UNAVAILABLE
    return None
