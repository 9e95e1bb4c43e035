"""Every rule on bodies of its own, from both sides."""

from __future__ import annotations

import json

import pytest

from structguard.refusal import detect_refusal
from structguard.refusal.rules import OTHER_RULES, RULES
from tests.refusal.cases import CASES, Case
from tests.refusal.paraphrases import PARAPHRASES
from tests.refusal.sentences import SENTENCES


@pytest.mark.parametrize(
    "case",
    [pytest.param(case, id=f"{group}-{case.name}".replace(" ", "_")) for group, case in CASES],
)
def test_a_body_is_judged_rightly(case: Case) -> None:
    refusal = detect_refusal(case.status, case.body, sent=case.sent, api=case.api, **case.also)  # type: ignore[arg-type]
    assert (None if refusal is None else refusal.scope.value) == case.want


@pytest.mark.parametrize(("want", "body", "more"), PARAPHRASES)
def test_a_paraphrase_is_judged_rightly(
    want: str | None, body: str, more: dict[str, object]
) -> None:
    refusal = detect_refusal(400, body, **{"sent": "json_schema", **more})  # type: ignore[arg-type]
    assert (None if refusal is None else refusal.scope.value) == want


@pytest.mark.parametrize(("want", "message", "more", "call"), SENTENCES)
def test_a_sentence_of_an_error_object_is_judged_rightly(
    want: str | None, message: str, more: dict[str, object], call: dict[str, object]
) -> None:
    body = json.dumps({"error": {"message": message, **more}})
    known = {"status": 400, "sent": "json_schema", **call}
    refusal = detect_refusal(body=body, **known)  # type: ignore[arg-type]
    assert (None if refusal is None else refusal.scope.value) == want


def test_every_rule_is_met_by_some_case() -> None:
    met = {"unnamed"}
    for _, case in CASES:
        refusal = detect_refusal(case.status, case.body, sent=case.sent, api=case.api, **case.also)  # type: ignore[arg-type]
        if refusal is not None:
            met.add(refusal.rule)
    assert {rule.name for rule in (*RULES, *OTHER_RULES)} == met


def test_names_of_cases_are_unique() -> None:
    assert len({(group, case.name) for group, case in CASES}) == len(CASES)
