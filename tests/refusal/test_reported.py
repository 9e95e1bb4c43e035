"""
Bodies from public reports that the rules were not made with: each is judged as its row says.

A row names its source. What holds no cue, or may be read either way, counts at no bar.
"""

from __future__ import annotations

import json

import pytest

from structguard.refusal import detect_refusal
from tests.refusal.corpus import REPORTED, Row, reported, rows

FAIR = [row for row in reported() if row.fair]
WITHOUT_A_CUE = {"cerebras-type-should-be-text", "vllm-one-kind-of-constraint"}


def judged(row: Row) -> tuple[str | None, str | None]:
    refusal = detect_refusal(row.status, row.body, **row.arguments)  # type: ignore[arg-type]
    if refusal is None:
        return None, None
    return "capability" if refusal.flag else refusal.scope.value, refusal.flag


@pytest.mark.parametrize("row", reported(), ids=lambda row: row.id)
def test_a_reported_body_is_judged_as_its_row_says(row: Row) -> None:
    assert judged(row) == ((None, None) if row.id in WITHOUT_A_CUE else (row.want, row.flag))


def test_the_bars_hold_for_the_reported_bodies() -> None:
    verdicts = [(row.want, judged(row)[0]) for row in FAIR]
    assert verdicts.count(("capability", None)) + verdicts.count(("schema", None)) <= 1
    assert ("schema", "capability") not in verdicts
    assert not [row.id for row in FAIR if row.want is None and judged(row)[0] is not None]


def test_an_admitted_status_is_no_refusal_where_nobody_admits_it() -> None:
    admitted = [row for row in reported() if row.also]
    assert len(admitted) >= 2
    for row in admitted:
        assert detect_refusal(row.status, row.body, sent="json_schema") is None, row.id


def test_the_reported_bodies_are_many_of_many_vendors_and_new() -> None:
    known = {row.body for row in rows()}
    assert len(reported()) >= 175
    assert len({row.provider.split(" (")[0] for row in reported()}) >= 35
    assert not [row.id for row in reported() if row.body in known]
    assert len({row.id for row in (*rows(), *reported())}) == len(rows()) + len(reported())
    with REPORTED.open(encoding="utf-8") as lines:
        assert all(json.loads(line)["source"].startswith("https://github.com/") for line in lines)
