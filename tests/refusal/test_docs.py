"""The docs page explains every rule with a body that this rule takes, and every exclusion."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from structguard.refusal import detect_refusal
from structguard.refusal.exclusions import NEVER
from structguard.refusal.rules import OTHER_RULES, RULES

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "refusals.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"### (\w+)\n(.*?)(?=\n##|\Z)", PAGE, re.DOTALL))
BODIES = [
    (rule, body)
    for rule, text in SECTIONS.items()
    for body in re.findall(r"```json\n(.*?)\n```", text, re.DOTALL)
]


def test_every_rule_has_its_section() -> None:
    assert set(SECTIONS) == {rule.name for rule in (*RULES, *OTHER_RULES)}
    assert {rule for rule, _ in BODIES} == set(SECTIONS)


@pytest.mark.parametrize(("rule", "body"), BODIES)
def test_a_body_on_the_page_is_taken_by_its_rule(rule: str, body: str) -> None:
    json.loads(body)
    status = 404 if rule == "no_route" else 400
    refusal = detect_refusal(status, body, sent="json_schema", unnamed=True)
    assert refusal is not None
    assert refusal.rule == rule


def test_every_exclusion_is_on_the_page_with_a_sentence_that_is_none() -> None:
    rows = dict(re.findall(r"^\| `(\w+)` \| (.*?) \| [^|]*\|$", PAGE, re.MULTILINE))
    assert {name for name, _ in NEVER} <= set(rows)
    for name, _ in NEVER:
        body = json.dumps({"error": {"message": rows[name]}})
        assert detect_refusal(400, body, sent="json_object") is None, name
        assert detect_refusal(400, body, sent="json_schema") is None, name
