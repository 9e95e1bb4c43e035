"""
Bodies written in the manner of vendors, frameworks and servers: each is judged as its row says.

Half of them only sound like a refusal. Nothing is counted here: every row holds.
"""

from __future__ import annotations

import pytest

from tests.refusal.corpus import Row, reported, rows, written
from tests.refusal.test_reported import judged


@pytest.mark.parametrize("row", written(), ids=lambda row: row.id)
def test_a_written_body_is_judged_as_its_row_says(row: Row) -> None:
    assert judged(row) == (row.want, row.flag)


def test_the_written_bodies_are_of_every_kind_and_new() -> None:
    wants = [row.want for row in written()]
    assert min(map(wants.count, ("capability", "schema", None))) >= 60
    assert {row.flag for row in written()} == {None, "tools", "stream", "reasoning"}
    known = {row.body for row in (*rows(), *reported())}
    assert not [row.id for row in written() if row.body in known]
    assert len({row.id for row in written()}) == len(written())
