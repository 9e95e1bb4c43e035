"""
What went wrong, as facts: refusals, failures and the key under which they are remembered.

Pure data, no judgement: `refusal/` decides what a refusal is, `errors` what a kind means.
Source: spec guard §1 and §3, spec errors.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal, TypeAlias

Api: TypeAlias = Literal["chat", "responses", "messages", "converse", "generate_content"]
FormatKind: TypeAlias = Literal["json_schema", "json_object"]
Flag: TypeAlias = Literal["tools", "stream", "reasoning"]
Operation: TypeAlias = Literal["complete", "stream", "embed", "status"]


class Scope(StrEnum):
    """How far a refusal reaches, and so what must be remembered with it."""

    CAPABILITY = "capability"  # the endpoint or model lacks the format
    SCHEMA = "schema"  # it has the format and rejects this one schema
    COMBINATION = "combination"  # not together with tools, stream or reasoning
    UNNAMED = "unnamed"  # an error body that says nothing


@dataclass(frozen=True, slots=True)
class Refusal:
    """
    The verdict that a response refuses the requested *format*.

    `scope` says what is refused. `rule` names the detector's rule that matched, `feature` is what
    the endpoint calls the format, and `evidence` is the sentence that the verdict is based on (at
    most 200 characters, secrets masked). `flag` is set only if the scope is `combination`.
    """

    scope: Scope
    rule: str
    feature: str
    evidence: str
    flag: Flag | None = None


Place: TypeAlias = tuple[str, Api, FormatKind, str]
"""A look-up's second level: base URL, wire API, kind of format, routing digest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoKey:
    """
    What one call looks like to the memo: the pair (provider, model) and its qualifiers.

    `base_url` is host[:port][/path][?api-version=…], never a user, password or other query;
    `routing` a digest of the router's own `provider` object ("" for none); `flags` what the call
    carries beside the format; `schema` the digest of its JSON Schema ("" for JSON object mode).
    """

    provider: str
    model: str
    base_url: str = ""
    api: Api = "chat"
    format: FormatKind = "json_schema"
    routing: str = ""
    flags: frozenset[Flag] = frozenset()
    schema: str = ""
    strict: bool | None = None

    @property
    def pair(self) -> tuple[str, str]:
        """The first level of every look-up."""
        return (self.provider, self.model)

    @property
    def place(self) -> Place:
        """What every entry that may apply has in common with it."""
        return (self.base_url, self.api, self.format, self.routing)

    @property
    def key(self) -> MemoKey:
        """Itself: a key can stand where a call is asked for."""
        return self


class Kind(StrEnum):
    """The closed list of what can be wrong with a call; `errors.KINDS` says what each means."""

    INVALID_REQUEST = "invalid_request"
    FORMAT_REFUSED = "format_refused"
    CONTEXT_LENGTH = "context_length"
    REQUEST_TOO_LARGE = "request_too_large"
    CONTENT_FILTERED = "content_filtered"
    DECLINED = "declined"
    AUTHENTICATION = "authentication"
    BILLING = "billing"
    NOT_FOUND = "not_found"
    UNSUPPORTED_API = "unsupported_api"
    RATE_LIMITED = "rate_limited"
    UNAVAILABLE = "unavailable"
    TIMEOUT = "timeout"
    STREAM_TRUNCATED = "stream_truncated"
    BAD_RESPONSE = "bad_response"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """
    The facts of one failed exchange, before anybody judges them.

    `status` is None when no HTTP status arrived (network error, own time-out); `body` is the whole
    raw text and never shown in a repr; `retry_after` is in seconds; `own_timeout` tells our own
    deadline from a server's 408 or 504; `yielded` is true once a stream gave its first event.
    """

    status: int | None = None
    body: str = field(default="", repr=False)
    message: str = ""
    code: str | None = None
    type: str | None = None
    param: str | None = None
    request_id: str | None = None
    retry_after: float | None = None
    timed_out: bool = False
    own_timeout: bool = False
    network: bool = False
    truncated: bool = False
    yielded: bool = False
    metadata: Mapping[str, object] = field(default_factory=dict[str, object])
