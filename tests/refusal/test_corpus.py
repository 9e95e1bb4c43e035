"""Every real body that carried a format is judged as its label says; the bars hold over all of them."""

from __future__ import annotations

import pytest

from structguard.refusal import detect_refusal
from structguard.refusal.rules import OTHER_RULES, RULES
from tests.refusal.corpus import Row, rows

ASKED = [row for row in rows() if row.asked]
FAIR = [row for row in ASKED if row.fair]
# Read either way or without a cue: what we answer is fixed here, so that a change is seen.
UNFAIR = {
    "azureai-mistral-invalid-input-error": None,
    "bedrock-invoke-invalid-beta-flag": None,
    "kilo-anonymous-provider-returned-error": None,
    "minimax-invalid-params-output-config": None,
    "opencode-go-empty": None,
    "opencode-go-model-echo": None,
    "openai-unknown-parameter-response-schema-in-format": "capability",
}


def judged(row: Row) -> str | None:
    refusal = detect_refusal(row.status, row.body, **row.arguments)  # type: ignore[arg-type]
    if refusal is None:
        return None
    return "capability" if refusal.scope == "combination" else refusal.scope.value


@pytest.mark.parametrize("row", FAIR, ids=lambda row: row.id)
def test_a_real_body_is_judged_as_its_label_says(row: Row) -> None:
    assert judged(row) == row.want


@pytest.mark.parametrize("row", [row for row in ASKED if not row.fair], ids=lambda row: row.id)
def test_a_body_that_may_be_read_either_way_is_read_the_same_way_always(row: Row) -> None:
    assert judged(row) == UNFAIR.get(row.id, row.want)


def test_the_table_is_asked_about_enough() -> None:
    """The bars mean something: most rows are put to the detector, of every kind."""
    assert len(rows()) >= 160
    assert len(FAIR) >= 100
    for kind in ("capability", "schema", None):
        assert sum(row.want == kind for row in FAIR) >= 10


def test_the_bars_of_detection_hold() -> None:
    verdicts = [(row.want, judged(row)) for row in FAIR]
    assert sum(want == "capability" and got is None for want, got in verdicts) <= 1
    assert sum(want == "schema" and got is None for want, got in verdicts) <= 1
    assert not [row.id for row in FAIR if row.want is None and judged(row) is not None]
    assert ("schema", "capability") not in verdicts


def test_at_most_four_rules_catch_one_vendor_and_each_has_its_reason() -> None:
    vendors: dict[str, set[str]] = {}
    for row in ASKED:
        refusal = detect_refusal(row.status, row.body, **row.arguments)  # type: ignore[arg-type]
        if refusal is not None:
            vendors.setdefault(refusal.rule, set()).add(row.provider.split(" (")[0])
    reasons = {rule.name: rule.one_vendor for rule in (*RULES, *OTHER_RULES)}
    alone = [name for name, caught in vendors.items() if len(caught) == 1]
    assert len(alone) <= 4
    assert [name for name in alone if not reasons[name]] == []
