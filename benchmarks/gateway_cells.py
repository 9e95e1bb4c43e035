"""What the gateway's benchmark asks, and what it measured."""

from __future__ import annotations

import statistics
from dataclasses import dataclass, field

from benchmarks.gateway_servers import Burst


@dataclass(frozen=True)
class Cell:
    """One question: the same request to two gateways. `bar` is the ratio that is wanted, 0: none."""

    name: str
    gateway: str
    path: str
    body: str
    bar: float
    base: tuple[str, str, str] = ("reference", "", "")  # gateway, path, body; "": the same
    connections: int = 16


@dataclass(frozen=True)
class Row:
    """A cell and what was measured: bursts of the base and of the gateway, in pairs."""

    cell: Cell
    base: list[Burst] = field(default_factory=list[Burst])
    ours: list[Burst] = field(default_factory=list[Burst])

    def ratio(self) -> float:
        """CPU a request against the base's, the median over the pairs."""
        return statistics.median(
            b["cpu"] / a["cpu"] for a, b in zip(self.base, self.ours, strict=True)
        )
