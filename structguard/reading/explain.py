"""
Why parse() answered as it did: every candidate with its verdict.

Source: spec parse, steps 6 and 7; issue 3, `structguard parse --explain`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from structguard.errors import Attempt
from structguard.reading.choose import why_lost
from structguard.reading.finding import Job, decided, weighed
from structguard.reading.found import Found
from structguard.reading.strict import NotStrict, strict
from structguard.reading.values import Candidate


@dataclass(frozen=True, slots=True)
class Judged:
    """A candidate: where and how it stood, its value (None where reading failed), the verdict."""

    source: str
    span: tuple[int, int]
    value: object
    verdict: Literal["taken", "lost", "refused"]
    why: str


def explain(job: Job) -> tuple[Judged, ...]:
    """The candidates of one answer in the order of preference, then what was refused and why."""
    try:
        value, warnings = strict(job.text)
    except NotStrict as error:
        found, choice = weighed(job, str(error))
    else:
        span = (0, len(job.text))
        found = Found(candidates=[Candidate(value, span, "json", warnings=warnings, whole=True)])
        choice = decided(job, found)
    judged: list[Judged] = []
    for candidate in choice.fitting:
        first = candidate is choice.fitting[0]
        why = (
            "it is the best of what fits"
            if first
            else why_lost(candidate, choice.fitting[0], job.target, job.text)
        )
        verdict: Literal["taken", "lost"] = "taken" if first else "lost"
        judged.append(Judged(candidate.source, candidate.span, candidate.value, verdict, why))
    refused: list[Attempt] = [*choice.attempts, *found.attempts]
    judged += [Judged(a.source, a.span, None, "refused", a.why) for a in refused]
    return tuple(judged)
