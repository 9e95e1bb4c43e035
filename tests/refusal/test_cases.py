"""Every rule on bodies of its own, from both sides."""

from __future__ import annotations

import pytest

from structguard.refusal import detect_refusal
from structguard.refusal.rules import OTHER_RULES, RULES
from tests.refusal.cases import CASES, Case


@pytest.mark.parametrize(
    "case",
    [pytest.param(case, id=f"{group}-{case.name}".replace(" ", "_")) for group, case in CASES],
)
def test_a_body_is_judged_rightly(case: Case) -> None:
    refusal = detect_refusal(case.status, case.body, sent=case.sent, api=case.api, **case.also)  # type: ignore[arg-type]
    assert (None if refusal is None else refusal.scope.value) == case.want


def test_every_rule_is_met_by_some_case() -> None:
    met = {"unnamed"}
    for _, case in CASES:
        refusal = detect_refusal(case.status, case.body, sent=case.sent, api=case.api, **case.also)  # type: ignore[arg-type]
        if refusal is not None:
            met.add(refusal.rule)
    assert {rule.name for rule in (*RULES, *OTHER_RULES)} == met


def test_names_of_cases_are_unique() -> None:
    assert len({(group, case.name) for group, case in CASES}) == len(CASES)
