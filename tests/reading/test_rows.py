"""Every row of the corpus, of our own table and of the other parsers' tables, by its id."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from functools import cache

import pytest

from tests.reading.reasons import reason_for
from tests.reading.rows import (
    DATA,
    TABLES,
    Row,
    answer,
    outputs,
    own,
    verdict,
    yardstick,
)


def rows() -> Iterator[Row]:
    yield from outputs()
    yield from own()


@pytest.mark.parametrize("row", list(rows()), ids=lambda row: row.id)
def test_a_row_is_answered_right_or_otherwise_for_a_reason_and_not_both(row: Row) -> None:
    assert (verdict(row, answer(row)) == "right") is (reason_for(row.id) is None)


def test_the_corpus_is_right_in_95_of_100_and_silently_wrong_in_at_most_2() -> None:
    counts = Counter(verdict(row, answer(row)) for row in outputs())
    total = counts.total()
    assert counts["right"] >= 0.95 * total
    assert counts["silent"] <= 0.02 * total


@cache
def recorded() -> dict[str, dict[str, str]]:
    """The results of the last release, per table."""
    text = (DATA / "yardstick" / "results.json").read_text(encoding="utf-8")
    found: dict[str, dict[str, str]] = json.loads(text)
    return found


@pytest.mark.parametrize(
    ("table", "row"),
    [(table, row) for table in TABLES for row in yardstick(table)],
    ids=lambda value: value.id if isinstance(value, Row) else value,
)
def test_a_yardstick_row_is_right_or_has_a_reason_and_not_both(table: str, row: Row) -> None:
    try:
        now = verdict(row, answer(row))
    except ValueError as broken:  # a schema that is broken on purpose
        assert "JSON Schema" in str(broken)  # noqa: PT017
        now = "miss"
    reasoned = reason_for(row.id) is not None
    assert (now == "right") is not reasoned, f"{row.id} was {recorded()[table][row.id]}, is {now}"
