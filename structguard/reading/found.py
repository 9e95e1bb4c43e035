"""
What a scan of an answer found: candidates, reads that failed, and why there may be no value.

Pure data. Source: spec parse, step 6.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from structguard.errors import Attempt
from structguard.reading.values import Candidate

_ATTEMPTS: Final = 50


@dataclass(slots=True)
class Found:
    """What a scan found: candidates, failed reads, and why there may be none."""

    candidates: list[Candidate] = field(default_factory=list[Candidate])
    attempts: list[Attempt] = field(default_factory=list[Attempt])
    broken: int = -1  # where the last read failed of what was meant as JSON
    refused: int = 0  # values that cannot be the answer and were not kept
    reasoned: bool = False
    too_deep: bool = False
    over_budget: bool = False

    def fail(self, source: str, start: int, end: int, why: str) -> None:
        """Remember a read that came to nothing."""
        if len(self.attempts) < _ATTEMPTS:
            self.attempts.append(Attempt(source=source, span=(start, end), why=why))
