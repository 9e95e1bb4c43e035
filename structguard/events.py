"""
What happened, as frozen values; layers emit them to an injected observer, sinks match on them.

No event carries a prompt, an answer or a credential. Source: STYLE "Events, not log calls".
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from structguard.types import Api, Failure, FormatKind, Kind, Operation, Refusal

Verdict: TypeAlias = Literal["refused", "ignored", "use_api"]
Unhandled: TypeAlias = Literal["no_time", "require_enforced", "retry_failed", "retry_paused"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusalRemembered:
    """A new memo entry was written: one warning, the first time only."""

    provider: str
    model: str
    format: FormatKind
    refusal: Refusal
    expires_in: float | None  # seconds; None = never
    advice: str = ""  # what a schema would have to change, if that is known
    store: str = ""  # the URL of the memo that holds it, secrets masked


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusalSkipped:
    """A memo entry spared a refused request: the call was sent degraded at once."""

    provider: str
    model: str
    format: FormatKind
    refusal: Refusal


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusalRenewed:
    """The format was tried again after an entry's expiry and is still refused."""

    provider: str
    model: str
    format: FormatKind
    refusal: Refusal


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusalUnhandled:
    """A refusal that could not be rescued, with the reason."""

    provider: str
    model: str
    format: FormatKind
    refusal: Refusal
    reason: Unhandled


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusalObserved:
    """Mode "observe": what the guard would have done."""

    provider: str
    model: str
    format: FormatKind
    refusal: Refusal
    would: Literal["retry", "skip"]


@dataclass(frozen=True, slots=True, kw_only=True)
class FormatRecovered:
    """The format was tried again and accepted; the entry is cleared."""

    provider: str
    model: str
    format: FormatKind


@dataclass(frozen=True, slots=True, kw_only=True)
class FormatIgnored:
    """An endpoint accepted the format and answered prose, several times in a row."""

    provider: str
    model: str
    format: FormatKind
    times: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiSwitched:
    """A model turned out to be served on another wire API."""

    provider: str
    model: str
    api: Api
    evidence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiLookupFailed:
    """The models of an endpoint could not be listed; chat is used for now."""

    provider: str
    base_url: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoTrouble:
    """The memo's store failed or cannot be written; calls go on, memory is used from now on."""

    store: str
    reason: str
    moved_to: str | None = None  # where a corrupt store was put aside
    benign: bool = False  # a read-only home is no fault


@dataclass(frozen=True, slots=True, kw_only=True)
class OptionIgnored:
    """An option that does nothing where it was set; said once."""

    where: str
    option: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderFailed:
    """One provider error was made: the single observability point of all failures."""

    kind: Kind
    retryable: bool
    provider: str
    operation: Operation
    model: str | None
    request_id: str | None
    user: str | None
    message: str
    failure: Failure
    refusal: Refusal | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkAway:
    """The chain left its primary link for another one."""

    partition: str
    link: str
    to: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkBack:
    """The primary link serves again."""

    partition: str
    link: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BreakerOpened:
    """A link cools down."""

    partition: str
    link: str
    seconds: float
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BreakerHalfOpen:
    """One call probes a link that cooled down."""

    partition: str
    link: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkDropped:
    """A link of a chain cannot be used and was left out when the chain was built."""

    link: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainExhausted:
    """Every link was tried."""

    partition: str
    attempts: tuple[tuple[str, str], ...]  # (link, error in one line)


@dataclass(frozen=True, slots=True, kw_only=True)
class SubcallFailing:
    """A sub-call failed or timed out several times in a row in one session."""

    name: str
    session: str
    times: int
    reason: str


Event: TypeAlias = (
    RefusalRemembered
    | RefusalSkipped
    | RefusalRenewed
    | RefusalUnhandled
    | RefusalObserved
    | FormatRecovered
    | FormatIgnored
    | ApiSwitched
    | ApiLookupFailed
    | MemoTrouble
    | OptionIgnored
    | ProviderFailed
    | LinkAway
    | LinkBack
    | BreakerOpened
    | BreakerHalfOpen
    | LinkDropped
    | ChainExhausted
    | SubcallFailing
)
Observer: TypeAlias = Callable[[Event], None]


def ignore(event: Event, /) -> None:
    """An observer that looks away."""
