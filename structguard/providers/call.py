"""
One call to a provider: its time, its attempts, what it costs, and what a failed send means.

Nothing here sends; `engine` does. Source: spec errors, spec wire "Providers".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from urllib.parse import parse_qsl, urlsplit

from structguard.errors import (
    Details,
    ErrorBuilder,
    ProviderError,
    redact,
    rule_for,
    secrets_in,
    without,
)
from structguard.http import ExchangeFailed
from structguard.options import RetryOptions
from structguard.service import Clock
from structguard.types import Failure, Format, Kind, Refusal, Request
from structguard.wire.base import BadReply, Wire, WireOptions

Classify = Callable[[Failure], tuple[Kind, str, Details]]


class Unauthorised(Exception):
    """No credential can be put on a request; the message says which one is missing, never its value."""


@dataclass(frozen=True, slots=True)
class Outgoing:
    """One HTTP request, before its credential is on it."""

    method: str
    url: str
    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    body: bytes = field(default=b"", repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """A send that came to nothing, judged: what it was, and the refusal if the format was refused."""

    failure: Failure
    kind: Kind
    classify: Classify = field(repr=False)
    refusal: Refusal | None = None
    cause: BaseException | None = None

    @property
    def retryable(self) -> bool:
        """Whether the same bytes may be sent again."""
        return self.refusal is None and rule_for(self.kind, self.failure).retry


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """Where a call goes and in which dialect."""

    wire: Wire
    url: str
    options: WireOptions


@dataclass(slots=True, kw_only=True)
class Call:
    """
    One call under way. `requests` counts what was sent, `attempts` how often the same bytes may
    still go out after a retryable fault; a switch of the wire API or a renewed credential is no
    attempt. `renewed` is set once a 401 has renewed the credential, `headers` are those last sent, to `url`.
    """

    request: Request
    format: Format | None
    stream: bool
    fail: ErrorBuilder
    clock: Clock
    deadline: float  # on `clock`
    retry: RetryOptions
    attempts: int
    requests: int = 0
    failed: int = 0
    renewed: bool = False
    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    url: str = field(default="", repr=False)

    @property
    def model(self) -> str:
        """The model's name; "" where the request names none, which the wire refuses."""
        return self.request.model or ""

    def left(self) -> float:
        """Seconds that remain; never negative."""
        return max(0.0, self.deadline - self.clock())

    def error(self, fault: Fault) -> ProviderError:
        """The one error of this call, with its one event; its cause tells no credential either."""
        cause = fault.cause
        while isinstance(cause, BadReply | ExchangeFailed):
            cause.failure = self._concealed(cause.failure)
            cause.args = (cause.failure.message,)
            cause = cause.__cause__
        return self.fail.from_failure(
            self._concealed(fault.failure),
            fault.classify,
            kind=None if fault.refusal else fault.kind,
            refusal=fault.refusal,
            requests=self.requests,
        )

    def concealed(self, text: str) -> str:
        """A text without the call's own credential, which some endpoints repeat in any words."""
        query = parse_qsl(urlsplit(self.url).query)
        return without(secrets_in((*self.headers.items(), *query)), text)

    def _concealed(self, failure: Failure) -> Failure:
        return replace(
            failure,
            body=self.concealed(failure.body),
            message=self.concealed(redact(failure.message)),
            code=failure.code and self.concealed(failure.code),
            type=failure.type and self.concealed(failure.type),
            param=failure.param and self.concealed(failure.param),
        )

    def inline(self, kind: Kind, message: str, details: Details | None = None) -> ProviderError:
        """An error of our own finding."""
        return self.fail.inline(kind, message, details=details, requests=self.requests)

    def pause(self, fault: Fault, jitter: float) -> float | None:
        """
        Seconds to wait before the same bytes go out again; None when they must not.

        The backoff doubles from attempt to attempt; `jitter` (0 ≤ x < 1) takes up to half of it
        away. A Retry-After is waited out, one over its cap ends the attempts, and so does a pause
        that the remaining time does not hold.
        """
        self.failed += 1
        if not fault.retryable or self.failed >= self.attempts:
            return None
        retry_after = fault.failure.retry_after
        if retry_after is not None and retry_after > self.retry.retry_after_cap:
            return None
        backoff = min(self.retry.backoff * 2 ** (self.failed - 1), self.retry.backoff_cap)
        pause = max(retry_after or 0.0, backoff * (1.0 - jitter / 2.0))
        return pause if pause < self.left() else None
