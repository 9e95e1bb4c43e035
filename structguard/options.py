"""
Validated, frozen options; each is made once and handed down. Units stand in the comments.

Source: DESIGN "Public face", spec guard §2, spec chain C1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from structguard.types import as_iterable

Mode = Literal["guard", "observe", "off"]
PromptMode = Literal["auto", "never", "always"]
Unusable = Literal["text", "error"]


LONGEST_EXPIRY = 1e11  # seconds, 3,000 years: no store gives an entry back that ends much later


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """
    What the guard may do.

    Args:
        mode: `guard` acts, `observe` only reports what it would do, `off` does nothing.
        require_enforced: Raise a refusal instead of sending without the format.
        expiry: Seconds for which a refusal is remembered, ± 10 %. None is forever.
        unnamed: Also rescue a 400 or 422 that gives no reason.
        also_statuses: Further statuses that may be refusals, such as 500 and 501 of local servers.
        ignored_after: Number of prose answers in a row after which the schema is added to the
            prompt too. 0 is never.
        prompt: Whether a send without the format gets the schema in its prompt: `auto` (with
            `wrap`, the transport and the gateway only), `always` or `never`.
        retry_floor: The least time, in seconds, that must be left for a second send.
        on_unusable: What to do with a complete reply without a usable value: `text` passes it on as
            it came, `error` raises (`wrap` and the transport only).

    Raises:
        ValueError, TypeError: A value outside its range; the message names it.
    """

    mode: Mode = "guard"
    require_enforced: bool = False
    expiry: float | None = 86400.0  # seconds an entry lives, ± 10 %; None for ever
    unnamed: bool = False
    also_statuses: frozenset[int] = frozenset()
    ignored_after: int = 0  # answers
    prompt: PromptMode = "auto"
    retry_floor: float = 0.25  # seconds
    on_unusable: Unusable = "text"

    def __post_init__(self) -> None:
        _one_of("mode", self.mode, get_args(Mode))
        _one_of("prompt", self.prompt, get_args(PromptMode))
        _one_of("on_unusable", self.on_unusable, get_args(Unusable))
        for name in ("require_enforced", "unnamed"):
            value = getattr(self, name)
            if not isinstance(value, bool):
                raise TypeError(f"{name} must be True or False, got {value!r}")
        if self.expiry is not None:
            _number("expiry", self.expiry, more_than=0.0, at_most=LONGEST_EXPIRY)
        _number("retry_floor", self.retry_floor, at_least=0.0)
        _count("ignored_after", self.ignored_after, at_least=0)
        object.__setattr__(self, "also_statuses", _statuses(self.also_statuses))


@dataclass(frozen=True, slots=True, kw_only=True)
class BreakerOptions:
    """When the breaker of a chain's link opens, and for how long (spec chain C1)."""

    threshold: int = 3  # failures in a row that open the breaker
    cooldowns: tuple[float, ...] = (30.0, 60.0, 300.0)  # seconds; the last is the cap
    probe_interval: float = 300.0  # seconds between probes of the primary
    window: float = 86400.0  # seconds after which an old failure no longer counts
    partitions: int = 10_000  # the least recently used go first

    def __post_init__(self) -> None:
        _count("threshold", self.threshold, at_least=1)
        _count("partitions", self.partitions, at_least=1)
        if not self.cooldowns:
            raise ValueError("cooldowns must name at least one duration in seconds")
        for seconds in self.cooldowns:
            _number("cooldowns", seconds, at_least=0.0)
        _number("probe_interval", self.probe_interval, at_least=0.0)
        _number("window", self.window, more_than=0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryOptions:
    """Transport retries of structguard's providers, for errors that may be temporary."""

    attempts: int = 3  # in all, the first included
    backoff: float = 0.5  # seconds before the second attempt; doubles
    backoff_cap: float = 8.0  # seconds
    retry_after_cap: float = 60.0  # seconds; a longer Retry-After ends the attempts

    def __post_init__(self) -> None:
        _count("attempts", self.attempts, at_least=1)
        for name in ("backoff", "backoff_cap", "retry_after_cap"):
            _number(name, getattr(self, name), at_least=0.0)


def _one_of(name: str, value: object, words: tuple[str, ...]) -> None:
    if value not in words:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, words))}, got {value!r}")


def _number(
    name: str,
    value: object,
    *,
    at_least: float | None = None,
    more_than: float | None = None,
    at_most: float | None = None,
) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{name} must be a number of seconds, got {value!r}")
    if at_least is not None and not value >= at_least:
        raise ValueError(f"{name} must be at least {at_least:g}, got {value!r}")
    if more_than is not None and not value > more_than:
        raise ValueError(f"{name} must be more than {more_than:g}, got {value!r}")
    if at_most is not None and not value <= at_most:
        raise ValueError(f"{name} must be at most {at_most:g}, got {value!r}")


def _count(name: str, value: object, *, at_least: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{name} must be a whole number, got {value!r}")
    if value < at_least:
        raise ValueError(f"{name} must be at least {at_least}, got {value!r}")


NEVER_REFUSALS = frozenset({401, 402, 403, 408, 409, 413, 429})
"""Statuses that are never a refusal, whatever a policy says (spec guard §1.2)."""


def _statuses(given: object) -> frozenset[int]:
    items = as_iterable(given)
    if items is None:
        raise TypeError(f"also_statuses must be a set of HTTP statuses, got {given!r}")
    statuses: set[int] = set()
    for status in items:
        if isinstance(status, bool) or not isinstance(status, int) or not 400 <= status <= 599:
            raise ValueError(f"also_statuses holds HTTP error statuses, got {status!r}")
        if status in NEVER_REFUSALS:
            raise ValueError(f"also_statuses cannot hold {status}: it is never a refusal")
        statuses.add(status)
    return frozenset(statuses)
