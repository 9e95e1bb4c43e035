"""
One table per kind, one tree of exceptions, one place that builds them.

    StructguardError
    ├── ProviderError            a call failed; `.kind` says how
    │   ├── RateLimited          rate_limited
    │   ├── ContextLengthExceeded  context_length
    │   ├── ContentFiltered      content_filtered
    │   ├── AuthenticationFailed authentication
    │   ├── Timeout              timeout
    │   └── Unavailable          unavailable
    ├── ParseError (ValueError)  an answer holds no usable value
    └── MissingExtra (ImportError)  an optional package is not installed

Programmers' mistakes are plain ValueError or TypeError. Wording is not API, attributes are.
Source: spec errors.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, TypeAlias

from structguard.types import Failure, Kind, Operation, Refusal, Request

if TYPE_CHECKING:
    from structguard.events import Observer

Details: TypeAlias = Mapping[str, object]
Classify: TypeAlias = Callable[[Failure], tuple[Kind, str, Details]]


@dataclass(frozen=True, slots=True)
class KindRule:
    """What a kind means to retries, chain, breaker and gateway."""

    retry: bool
    advance: bool
    breaker: Literal["none", "threshold", "immediate"]
    http: int
    type: str


_INVALID, _UPSTREAM = "invalid_request_error", "upstream_error"
KINDS: Mapping[Kind, KindRule] = MappingProxyType(
    {
        Kind.INVALID_REQUEST: KindRule(False, False, "none", 400, _INVALID),
        Kind.FORMAT_REFUSED: KindRule(False, True, "none", 400, _INVALID),
        Kind.CONTEXT_LENGTH: KindRule(False, False, "none", 400, _INVALID),
        Kind.REQUEST_TOO_LARGE: KindRule(False, False, "none", 413, _INVALID),
        Kind.CONTENT_FILTERED: KindRule(False, False, "none", 400, _INVALID),
        Kind.DECLINED: KindRule(False, False, "none", 400, _INVALID),
        Kind.AUTHENTICATION: KindRule(False, True, "threshold", 502, _UPSTREAM),
        Kind.BILLING: KindRule(False, True, "immediate", 502, _UPSTREAM),
        Kind.NOT_FOUND: KindRule(False, True, "threshold", 404, "model_not_found"),
        Kind.UNSUPPORTED_API: KindRule(False, True, "none", 400, _INVALID),
        Kind.RATE_LIMITED: KindRule(True, True, "immediate", 429, "rate_limit_error"),
        Kind.UNAVAILABLE: KindRule(True, True, "immediate", 503, _UPSTREAM),
        Kind.TIMEOUT: KindRule(True, True, "immediate", 504, "timeout_error"),
        Kind.STREAM_TRUNCATED: KindRule(True, True, "threshold", 502, _UPSTREAM),
        Kind.BAD_RESPONSE: KindRule(True, True, "threshold", 502, _UPSTREAM),
        Kind.CANCELLED: KindRule(False, False, "none", 499, "cancelled"),
    }
)
"""One row a kind (spec errors, the table). `rule_for` adds what depends on the failure itself."""


def rule_for(kind: Kind, failure: Failure) -> KindRule:
    """
    The row of a kind, narrowed by the failure: an own time-out is not retried on the same link and
    counts only at the threshold; nothing is retried once a stream gave its first event.
    """
    rule = KINDS[kind]
    if kind is Kind.TIMEOUT and failure.own_timeout:
        rule = replace(rule, retry=False, breaker="threshold")
    if failure.yielded and rule.retry:
        rule = replace(rule, retry=False)
    return rule


class StructguardError(Exception):
    """The root of what this package raises for the world's faults."""


class ProviderError(StructguardError):
    """
    A call to a provider failed.

    `kind` decides what follows (see `KINDS`); `failure` holds the facts, the whole body among them;
    `refusal` is set when the format was refused; `requests` counts the HTTP requests spent;
    `attempts` holds (link, error) when a whole chain failed. `details` are the classifier's.
    """

    def __init__(
        self,
        message: str,
        *,
        kind: Kind,
        failure: Failure,
        provider: str,
        model: str | None,
        operation: Operation,
        details: Details | None = None,
        refusal: Refusal | None = None,
        requests: int = 1,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.kind = kind
        self.failure = failure
        self.provider = provider
        self.model = model
        self.operation: Operation = operation
        self.details: Details = dict(details or {})
        self.refusal = refusal
        self.requests = requests
        self.attempts: tuple[tuple[str, Exception], ...] = ()

    @property
    def rule(self) -> KindRule:
        """What this error means to retries, chain, breaker and gateway."""
        return rule_for(self.kind, self.failure)

    @property
    def retryable(self) -> bool:
        """Whether the same call may be sent again to the same provider."""
        return self.rule.retry

    @property
    def retry_after(self) -> float | None:
        """Seconds the endpoint asked to wait, if it did."""
        return self.failure.retry_after

    @property
    def request_id(self) -> str | None:
        """The vendor's request id, if it gave one."""
        return self.failure.request_id

    def __reduce__(
        self,
    ) -> tuple[Callable[..., ProviderError], tuple[object, ...], dict[str, object]]:
        facts = {
            "kind": self.kind,
            "failure": self.failure,
            "provider": self.provider,
            "model": self.model,
            "operation": self.operation,
            "details": self.details,
            "refusal": self.refusal,
            "requests": self.requests,
        }
        # attempts hold this error too, so they travel as state, set once it exists
        return _rebuild, (type(self), self.message, facts), {"attempts": self.attempts}


def _rebuild(
    cls: type[ProviderError],
    message: str,
    facts: dict[str, object],
) -> ProviderError:
    return cls(message, **facts)  # type: ignore[arg-type]


class RateLimited(ProviderError):
    """429: wait `retry_after` seconds or ask somebody else."""


class ContextLengthExceeded(ProviderError):
    """The prompt is longer than the model's window."""


class ContentFiltered(ProviderError):
    """The endpoint's content filter stopped the call."""


class AuthenticationFailed(ProviderError):
    """The credential is missing, wrong or not allowed."""


class Timeout(ProviderError):
    """A server's time-out or the call's own deadline."""


class Unavailable(ProviderError):
    """The endpoint cannot be reached or is overloaded."""


_CLASSES: Mapping[Kind, type[ProviderError]] = MappingProxyType(
    {
        Kind.RATE_LIMITED: RateLimited,
        Kind.CONTEXT_LENGTH: ContextLengthExceeded,
        Kind.CONTENT_FILTERED: ContentFiltered,
        Kind.AUTHENTICATION: AuthenticationFailed,
        Kind.TIMEOUT: Timeout,
        Kind.UNAVAILABLE: Unavailable,
    }
)


def provider_error(
    *,
    kind: Kind,
    message: str,
    failure: Failure,
    provider: str,
    model: str | None,
    operation: Operation,
    details: Details | None = None,
    refusal: Refusal | None = None,
    requests: int = 1,
    user: str | None = None,
    observer: Observer | None = None,
) -> ProviderError:
    """
    Make the one ProviderError of a failed call and emit its one `ProviderFailed` event.

    The only code that makes a ProviderError. The message is redacted and names the provider.
    """
    text = redact(message or failure.message or _default_message(kind, failure))
    error = _CLASSES.get(kind, ProviderError)(
        f"{provider}: {text}",
        kind=kind,
        failure=failure,
        provider=provider,
        model=model,
        operation=operation,
        details=details,
        refusal=refusal,
        requests=requests,
    )
    if observer is None:
        return error
    from structguard.events import ProviderFailed  # noqa: PLC0415  readers of texts need no events

    observer(
        ProviderFailed(
            kind=kind,
            retryable=error.retryable,
            provider=provider,
            operation=operation,
            model=model,
            request_id=failure.request_id,
            user=user,
            message=text,
            failure=failure,
            refusal=refusal,
        )
    )
    return error


def _default_message(kind: Kind, failure: Failure) -> str:
    where = f"HTTP {failure.status}" if failure.status is not None else "no HTTP response"
    return f"{kind.value.replace('_', ' ')} ({where}, no message in the body)"


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorBuilder:
    """
    A builder bound to one call's arguments: `raise fail.from_failure(failure, classify) from exc`.

    Reusable; it keeps no state between calls. Explicit kind and message win over the classifier's,
    explicit details merge over its details.
    """

    operation: Operation
    provider: str
    model: str | None
    user: str | None = None
    observer: Observer | None = field(default=None, repr=False)

    def from_failure(
        self,
        failure: Failure,
        classify: Classify,
        *,
        kind: Kind | None = None,
        message: str | None = None,
        details: Details | None = None,
        refusal: Refusal | None = None,
        requests: int = 1,
    ) -> ProviderError:
        """The error of a failed exchange. A refusal makes it kind `format_refused`."""
        found, text, facts = classify(failure)
        if refusal is not None:
            found = Kind.FORMAT_REFUSED
        return self._build(
            kind or found,
            text if message is None else message,
            failure,
            {**facts, **(details or {})},
            refusal,
            requests,
        )

    def inline(
        self,
        kind: Kind,
        message: str,
        *,
        failure: Failure | None = None,
        details: Details | None = None,
        requests: int = 0,
    ) -> ProviderError:
        """An error we found ourselves; `requests` is 0 when nothing was sent."""
        return self._build(
            kind, message, failure or Failure(message=message), details, None, requests
        )

    def _build(
        self,
        kind: Kind,
        message: str,
        failure: Failure,
        details: Details | None,
        refusal: Refusal | None,
        requests: int,
    ) -> ProviderError:
        return provider_error(
            kind=kind,
            message=message,
            failure=failure,
            provider=self.provider,
            model=self.model,
            operation=self.operation,
            details=details,
            refusal=refusal,
            requests=requests,
            user=self.user,
            observer=self.observer,
        )


def operation(
    name: Operation, request: Request | None, provider: str, *, observer: Observer | None = None
) -> ErrorBuilder:
    """A builder for the errors of one call: operation, provider, and the request's model and user."""
    return ErrorBuilder(
        operation=name,
        provider=provider,
        model=request.model if request else None,
        user=request.user if request else None,
        observer=observer,
    )


ParseReason: TypeAlias = Literal[
    "no_json", "reasoning_only", "schema_echo", "placeholder", "misfit", "over_budget", "too_deep"
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One candidate the parser looked at, and why it was not taken. Offsets are in characters."""

    source: str
    span: tuple[int, int]
    why: str


class ParseError(StructguardError, ValueError):
    """An answer holds no value that can be used; `attempts` lists every candidate and its fault."""

    def __init__(self, reason: ParseReason, attempts: Sequence[Attempt] = ()) -> None:
        self.reason: ParseReason = reason
        self.attempts = tuple(attempts)
        told = "; ".join(f"{a.source} at {a.span[0]}: {a.why}" for a in self.attempts[:3])
        more = f" (+{len(self.attempts) - 3} more)" if len(self.attempts) > 3 else ""
        super().__init__(f"{_REASONS[reason]}{': ' + told if told else ''}{more}")

    def __reduce__(self) -> tuple[type[ParseError], tuple[ParseReason, tuple[Attempt, ...]]]:
        return type(self), (self.reason, self.attempts)


_REASONS: Mapping[ParseReason, str] = MappingProxyType(
    {
        "no_json": "the answer holds no JSON",
        "reasoning_only": "the answer is reasoning only, nothing follows it",
        "schema_echo": "the answer is the schema itself, not a value for it",
        "placeholder": "the answer holds only placeholders",
        "misfit": "no value in the answer fits the schema",
        "over_budget": "the answer is larger than the limit",
        "too_deep": "the answer is nested too deeply",
    }
)


class MissingExtra(StructguardError, ImportError):
    """An optional package is needed and not installed; the message names the pip line."""

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(f"{what} needs an optional package: pip install 'structguard[{extra}]'")
        self.what, self.extra = what, extra

    def __reduce__(self) -> tuple[type[MissingExtra], tuple[str, str]]:
        return type(self), (self.what, self.extra)


_SECRETS = re.compile(
    r"""(?ix)
    (?P<keep> \b(?:bearer|basic)\s+ ) [A-Za-z0-9._~+/=-]{8,}        # Authorization values
    | (?P<name> \b(?:api[-_ ]?key|x-api-key|authorization|access[-_ ]?token|secret|password|token)\b
        ["']? \s* [:=] \s* ["']? (?:(?:bearer|basic)\s+)? ) (?!(?:bearer|basic)\b) [^\s"',;&}]{6,}  # key=value, "key": "value"
    | \b(?:sk|pk|rk|xai|gsk|hf|key|ghp|gho|github_pat)[-_][A-Za-z0-9][A-Za-z0-9_.-]{15,}
    | \b(?:AIza|ya29\.|AKIA|ASIA)[A-Za-z0-9_.-]{15,}
    | \beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]+)?  # JSON web tokens
    | (?<=://)[^/\s:@]{1,256}:[^/\s@]{1,256}(?=@)                     # user:password@host
    """
)


def redact(text: str) -> str:
    """The text with whatever looks like a credential replaced by ***."""
    return _SECRETS.sub(lambda m: (m.group("keep") or m.group("name") or "") + "***", text)
