"""
What a client is told when a request fails: one error object with all four keys, one status.

Source: spec errors (column "gateway"), spec gateway "Replies", row "Errors".
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from structguard.clients.growing import AnswerChanged
from structguard.errors import ProviderError, redact
from structguard.gateway.writing import TOO_DEEP, packed
from structguard.types import Api, Failure, Kind

INVALID = "invalid_request_error"


@dataclass(eq=False)
class ApiError(Exception):
    """A request that ends in an error reply; `headers` go with it."""

    status: int
    message: str
    type: str = INVALID
    param: str | None = None
    code: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict[str, str])

    def __post_init__(self) -> None:
        super().__init__(self.message)

    @property
    def error(self) -> dict[str, object]:
        """The error object: four keys, always."""
        return {
            "message": self.message,
            "type": self.type,
            "param": self.param,
            "code": self.code,
        }

    @property
    def body(self) -> bytes:
        """The reply's body."""
        return packed({"error": self.error})


_PARAMS: Mapping[Api, str] = {"chat": "response_format", "responses": "text.format"}


def of_provider(error: ProviderError, api: Api, *, own_key: bool) -> ApiError:
    """The client's error for an upstream's; `own_key`: the upstream was called with the client's key."""
    rule, failure = error.rule, error.failure
    status, type_, code, param = rule.http, rule.type, _said(failure.code), failure.param
    match error.kind:
        case Kind.AUTHENTICATION if own_key:
            status, type_ = 401, "authentication_error"
        case Kind.NOT_FOUND if _is_model(failure):
            code, type_ = "model_not_found", INVALID  # whatever its vendor calls it
        case Kind.NOT_FOUND:
            status, type_ = 502, "upstream_error"
        case Kind.FORMAT_REFUSED:
            param = _PARAMS.get(api)
        case Kind.UNAVAILABLE:
            status = 503 if failure.status in {429, 503, 529} else 502
        case _:
            param = _clients(param or _own_param(error), api)
    after = error.retry_after
    headers = {} if after is None else {"retry-after": str(math.ceil(after))}
    message = _message(error)
    return ApiError(status, message, type_, param, code or _code(error.kind), headers)


_CONVERSATION: Mapping[Api, str] = {"chat": "messages", "responses": "input"}


def _clients(param: str | None, api: Api) -> str | None:
    """A field by the client's name for it: over another wire the conversation has another."""
    head = re.split(r"[.\[]", param or "", maxsplit=1)[0]
    own = _CONVERSATION.get(api, head)
    return own if head in _CONVERSATION.values() and head != own else param


def _own_param(error: ProviderError) -> str | None:
    param = error.details.get("param")
    return param if isinstance(param, str) else None


def _is_model(failure: Failure) -> bool:
    return failure.code == "model_not_found" or "model" in failure.message.lower()


def _said(code: str | None) -> str | None:
    """The vendor's code; a number only says the status again."""
    return None if code is None or code.isdecimal() else code


def _code(kind: Kind) -> str | None:
    return None if kind is Kind.INVALID_REQUEST else kind.value


def _message(error: ProviderError) -> str:
    """What happened, without an address of ours: errors of the network and redirects name some."""
    if error.failure.network:
        return f"{error.provider}: the upstream cannot be reached, or the connection to it broke"
    if 300 <= (error.failure.status or 0) < 400:
        return f"{error.provider}: the upstream redirects, which is not followed: its base_url is wrong"
    return redact(error.message)


def unusable() -> ApiError:
    """The error of a reply that holds no value for its format."""
    text = "the upstream's reply holds no value that fits the format"
    return ApiError(502, text, "upstream_error", code="unusable_answer")


def failed(error: Exception, api: Api, *, own_key: bool) -> ApiError:
    """The client's error for whatever a request ended in; a bug says nothing of itself."""
    match error:
        case ApiError():
            return error
        case ProviderError():
            return of_provider(error, api, own_key=own_key)
        case AnswerChanged():
            return unusable()
        case TypeError() | ValueError() if str(error) == TOO_DEEP:
            text = "the body is nested too deeply: 250 levels are read"
            return ApiError(400, text, code="invalid_json")
        case _:
            return ApiError(500, "the gateway failed; its log says why", "server_error", code="bug")
