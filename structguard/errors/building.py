"""The one place that makes a ProviderError, and tells its one event. Source: spec errors §3."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeAlias

from structguard.errors.redaction import redact
from structguard.errors.tree import (
    AuthenticationFailed,
    ContentFiltered,
    ContextLengthExceeded,
    Details,
    ProviderError,
    RateLimited,
    Timeout,
    Unavailable,
)
from structguard.types import Failure, Kind, Operation, Refusal, Request

if TYPE_CHECKING:
    from structguard.events import Observer

Classify: TypeAlias = Callable[[Failure], tuple[Kind, str, Details]]

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
