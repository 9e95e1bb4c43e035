"""
How well and how fast are refusals told apart? Rules by vendors caught, the bars, time per body.

    python -m benchmarks.refusals

CPU time of this thread, the best of several runs a body: other load on the machine is left out.
"""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Mapping

from structguard.refusal import detect_refusal
from structguard.refusal.rules import OTHER_RULES, RULES
from structguard.refusal.statements import CAP
from structguard.types import Refusal
from tests.refusal.corpus import Row, reported, rows
from tests.refusal.test_hostile import HOSTILE

RUNS = 7
BODY_TARGET, HOSTILE_TARGET = 0.5, 5.0  # ms


def judge(row: Row) -> Refusal | None:
    return detect_refusal(row.status, row.body, **row.arguments)  # type: ignore[arg-type]


def best(status: int, body: str, arguments: Mapping[str, object], runs: int = RUNS) -> float:
    """Milliseconds of CPU for one body."""
    times: list[float] = []
    for _ in range(runs):
        start = time.thread_time()
        detect_refusal(status, body, **arguments)  # type: ignore[arg-type]
        times.append(time.thread_time() - start)
    return min(times) * 1e3


def print_rules(asked: list[Row]) -> None:
    caught: dict[str, list[str]] = {}
    for row in asked:
        refusal = judge(row)
        if refusal is not None:
            caught.setdefault(refusal.rule, []).append(row.provider.split(" (")[0])
    print(f"{'rule':<24}{'scope':<13}{'rows':>5}{'vendors':>9}   why it stays with one vendor")
    for rule in (*RULES, *OTHER_RULES):
        vendors = caught.get(rule.name, [])
        reason = rule.one_vendor if len(set(vendors)) == 1 else ""
        print(
            f"{rule.name:<24}{rule.scope.value:<13}{len(vendors):>5}{len(set(vendors)):>9}   {reason}"
        )
    alone = sum(len(set(vendors)) == 1 for vendors in caught.values())
    print(f"rules that catch one vendor only: {alone} (bar: at most 4)\n")


def print_bars(asked: list[Row]) -> None:
    fair = [(row.want, _kind(judge(row))) for row in asked if row.fair]
    unfair = [(row.want, _kind(judge(row))) for row in asked if not row.fair]
    print(f"{'detectable, unambiguous rows':<40}{'found':>10}{'bar':>24}")
    for kind in ("capability", "schema"):
        wanted = [got for want, got in fair if want == kind]
        missed = sum(got is None for got in wanted)
        print(f"{kind + ' missed':<40}{f'{missed} of {len(wanted)}':>10}{'at most 1':>24}")
    others = [got for want, got in fair if want is None]
    print(
        f"{'false positives':<40}{f'{sum(g is not None for g in others)} of {len(others)}':>10}{'0':>24}"
    )
    print(f"{'schema rows as capability':<40}{fair.count(('schema', 'capability')):>10}{'0':>24}")
    print(f"{'capability rows as schema':<40}{fair.count(('capability', 'schema')):>10}")
    right = sum(want == got for want, got in unfair)
    print(f"{'ambiguous or without a cue, as labelled':<40}{f'{right} of {len(unfair)}':>10}\n")


def _kind(refusal: Refusal | None) -> str | None:
    if refusal is None:
        return None
    return "capability" if refusal.scope.value == "combination" else refusal.scope.value


def print_times(asked: list[Row]) -> None:
    bodies = sorted((best(row.status, row.body, row.arguments), row.id) for row in asked)
    hostile = sorted(
        (best(400, body[:CAP], {"sent": "json_schema"}, 3), name) for name, body in HOSTILE.items()
    )
    print(f"{'time (ms of CPU)':<28}{'median':>8}{'p95':>8}{'max':>8}{'target':>8}   slowest")
    for title, times, target in (
        ("real body", bodies, BODY_TARGET),
        ("hostile 64 KiB", hostile, HOSTILE_TARGET),
    ):
        values = [value for value, _ in times]
        p95 = values[int(len(values) * 0.95)]
        print(
            f"{title:<28}{statistics.median(values):>8.3f}{p95:>8.3f}{values[-1]:>8.3f}"
            f"{target:>8}   {times[-1][1]}"
        )
    floor = best(400, json.dumps({"error": {"message": "Bad Request"}}), {"sent": "json_schema"})
    print(f"{'an error about nothing':<28}{floor:>8.3f}")


def main() -> None:
    asked, more = [row for row in rows() if row.asked], list(reported())
    print_rules([*asked, *more])
    for title, table in (("the table of the rules", asked), ("bodies reported since", more)):
        print(f"{title}: {len(table)} rows")
        print_bars(table)
    print_times([*asked, *more])


if __name__ == "__main__":
    main()
