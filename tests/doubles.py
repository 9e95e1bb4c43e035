"""Stand-ins that every room's tests use: a clock moved by hand, an observer that records."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeVar

from structguard.events import Event

E = TypeVar("E")


@dataclass
class ManualClock:
    """Seconds that move only when the test moves them."""

    now: float = 1000.0

    def __call__(self) -> float:
        return self.now

    def advance(self, seconds: float) -> None:
        self.now += seconds


@dataclass(eq=False)
class EventRecorder:
    """An observer that keeps what it is told, in order."""

    events: list[Event] = field(default_factory=list[Event])

    def __call__(self, event: Event, /) -> None:
        self.events.append(event)

    def of(self, kind: type[E]) -> list[E]:
        return [event for event in self.events if isinstance(event, kind)]
