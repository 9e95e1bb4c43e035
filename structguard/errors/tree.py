"""The exceptions; the tree is drawn in the package's docstring. Source: spec errors."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, TypeAlias

from structguard.errors.kinds import KindRule, rule_for
from structguard.errors.redaction import redact
from structguard.types import Failure, Kind, Operation, Refusal

Details: TypeAlias = Mapping[str, object]


class StructguardError(Exception):
    """The root of all exceptions of this package, except for mistakes in a call or a setting."""


class ProviderError(StructguardError):
    """
    A call to a provider failed.

    `kind` says how, and decides what happens next. `failure` holds the facts, including the whole
    body, and `details` what else is known, such as the `param` at fault. `refusal` is set if the
    format was refused. `requests` counts the HTTP requests that the call took. If a whole chain
    failed, `attempts` holds (link, error) pairs. For `except` clauses there are subclasses, such as
    `RateLimited` and `Timeout`.
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
        """What retries, chain, breaker and gateway do about this error."""
        return rule_for(self.kind, self.failure)

    @property
    def retryable(self) -> bool:
        """Whether the same call may be sent again to the same provider."""
        return self.rule.retry

    @property
    def retry_after(self) -> float | None:
        """Seconds that the endpoint asked to wait, or None."""
        return self.failure.retry_after

    @property
    def request_id(self) -> str | None:
        """The vendor's request id, or None."""
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
        attempts = tuple((link, _portable(error)) for link, error in self.attempts)
        return _rebuild, (type(self), self.message, facts), {"attempts": attempts}


def _portable(error: Exception) -> Exception:
    """The exception if it can travel; many an SDK's cannot be rebuilt, its name and words can."""
    if isinstance(error, StructguardError):
        return error
    try:
        pickle.loads(pickle.dumps(error))  # noqa: S301  our own bytes
    except Exception:  # noqa: BLE001  whatever its own code raises
        return StructguardError(redact(f"{type(error).__name__}: {error}"))
    return error


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
    """
    An answer contains no usable value.

    `reason` is one word (`no_json`, `misfit`, …); `attempts` lists every candidate and why it was
    rejected.
    """

    def __init__(self, reason: ParseReason, attempts: Sequence[Attempt] = ()) -> None:
        self.reason: ParseReason = reason
        self.attempts: tuple[Attempt, ...] = tuple(attempts)
        faults = "; ".join(f"{a.source} at {a.span[0]}: {a.why}" for a in self.attempts[:3])
        more = f" (+{len(self.attempts) - 3} more)" if len(self.attempts) > 3 else ""
        super().__init__(f"{_REASONS[reason]}{': ' + faults if faults else ''}{more}")

    def __reduce__(self) -> tuple[type[ParseError], tuple[ParseReason, tuple[Attempt, ...]]]:
        return type(self), (self.reason, self.attempts)


_REASONS: Mapping[ParseReason, str] = MappingProxyType(
    {
        "no_json": "the answer contains no JSON",
        "reasoning_only": "the answer contains only reasoning, nothing after it",
        "schema_echo": "the answer is the schema itself, not a value for it",
        "placeholder": "the answer contains only placeholders",
        "misfit": "no value in the answer matches the schema",
        "over_budget": "the answer is larger than the limit",
        "too_deep": "the answer is nested too deeply",
    }
)


class MissingExtra(StructguardError, ImportError):
    """An optional package is not installed; the message contains the `pip install` command."""

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(f"{what} needs an optional package: pip install 'structguard[{extra}]'")
        self.what: str = what
        self.extra: str = extra

    def __reduce__(self) -> tuple[type[MissingExtra], tuple[str, str]]:
        return type(self), (self.what, self.extra)
