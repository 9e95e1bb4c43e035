"""
What has been counted, as frozen values that the status page draws.

Source: spec gateway, issue "Observability".
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Histogram:
    """Durations: `counts[i]` fell into the bucket up to `bounds[i]` seconds, the last above all."""

    bounds: tuple[float, ...]  # seconds, rising
    counts: tuple[int, ...]  # one more than bounds

    @property
    def total(self) -> int:
        """How many there were."""
        return sum(self.counts)

    def quantile(self, share: float) -> float | None:
        """
        The duration that `share` of all stay below, by linear interpolation in its bucket; None
        without any, the last bound for what lies above it.
        """
        rank, below = share * self.total, 0
        if not self.total:
            return None
        for (low, high), count in zip(self._edges(), self.counts, strict=False):
            if count and below + count >= rank:
                return low + (high - low) * max(0.0, rank - below) / count
            below += count
        return self.bounds[-1]

    def _edges(self) -> Iterator[tuple[float, float]]:
        yield from zip((0.0, *self.bounds), self.bounds, strict=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Traffic:
    """The last minutes, oldest first, one number a step."""

    step: float  # seconds
    requests: tuple[int, ...]
    failed: tuple[int, ...]  # those answered with 5xx


@dataclass(frozen=True, slots=True, kw_only=True)
class Numbers:
    """
    Counts since the start, over all workers that share their metrics; `traffic` is this worker's.

    `enforced_ratio` is None before the first reply to a request that carried a format.
    """

    requests: int
    failed: int  # answered with 5xx
    in_flight: int
    refusals: int
    saved: int
    recovered: int
    provider_errors: int
    enforced_ratio: float | None
    latency: Histogram
    first_byte: Histogram
    upstream: Histogram
    traffic: Traffic
