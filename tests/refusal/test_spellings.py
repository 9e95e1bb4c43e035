"""
How a sentence is spelled does not change what it says: the bodies of the tables, spelled otherwise.

Each spelling is one that vendors really use; a body it does not touch is left out.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.refusal.corpus import Row, reported, rows, written
from tests.refusal.test_reported import judged

BODIES = [
    row
    for row in (*rows(), *reported(), *written())
    if row.asked and row.fair and row.status != 405
]
REPRS = {
    "app-detail-addprops-in-context",
    "vllm-literal",
    "lacks-llama-cpp-python-literal-error-loc-body-response-format",
    "status-prefix",
    "lacks-litellm-hosted-vllmexception-object-guided-decoding",
    "lacks-gw-json-schema-supported",
}
"""Bodies with a Python repr in them, which other quotes break."""

SPELLINGS: dict[str, Callable[[str], str]] = {
    "camel case": lambda body: body.replace("response_format", "responseFormat"),
    "back quotes": lambda body: body.replace("'", "`"),
    "a contraction": lambda body: re.sub(r"\b(is|are|do|does|was) not\b", r"\1n't", body),
    "no contraction": lambda body: re.sub(r"\b(is|are|do|does|was)n't\b", r"\1 not", body),
    "currently": lambda body: body.replace("not supported", "not currently supported"),
    "yet": lambda body: body.replace("not supported", "not supported yet"),
    "an endpoint": lambda body: body.replace("this model", "this endpoint"),
    "a line that is wrapped": lambda body: (
        body.replace(" is not ", " is\\n not ") if body.startswith("{") else body
    ),
    "where": lambda body: body.replace("not supported", "not supported with this API version"),
}
REFUSES = (
    *("unsupported", "unavailable", "not available", "not enabled", "not allowed", "disabled"),
    *("not implemented", "not permitted", "not accepted", "not recognized", "not offered"),
    *("no longer supported", "only supported on newer models", "not compatible"),
)
CANNOT = (
    *("doesn't support", "cannot handle", "lacks support for", "can't use", "does not accept"),
    *("does not implement", "can not honor", "has no support for", "does not work with"),
    *("is not compatible with", "is unable to support", "won't accept"),
)


def changed(spell: Callable[[str], str], bodies: list[Row]) -> set[str]:
    told = {row.id: (row, spell(row.body)) for row in bodies}
    return {
        row.id
        for row, body in told.values()
        if body != row.body and judged(replace(row, body=body)) != judged(row)
    }


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_another_spelling_says_the_same(spelling: str) -> None:
    assert changed(SPELLINGS[spelling], BODIES) <= REPRS


@pytest.mark.parametrize("words", REFUSES)
def test_another_refusal_says_the_same(words: str) -> None:
    bodies = [row for row in BODIES if row.want != "schema"]
    assert not changed(lambda body: body.replace("is not supported", f"is {words}"), bodies)


@pytest.mark.parametrize("words", CANNOT)
def test_another_lack_says_the_same(words: str) -> None:
    assert not changed(lambda body: body.replace("does not support", words), BODIES)
