"""Whatever stands in a body, the detector answers; every gate of a pattern is implied by it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from importlib import import_module
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from structguard.refusal import detect_refusal, exclusions, features, lists, schema_words, words
from structguard.refusal.statements import CAP, read
from structguard.refusal.text import Words

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                ["error", "message", "detail", "loc", "param", "code", "metadata", "raw"]
            )
            | st.text(max_size=5),
            inner,
            max_size=4,
        )
    ),
    max_leaves=20,
)
STATUS = st.sampled_from([200, 400, 404, 405, 422, 500])
SCRAPS = st.lists(
    st.sampled_from(
        [
            *(
                "response_format",
                "json_schema",
                " is not ",
                "supported",
                "{",
                "}",
                "[",
                "]",
                '"',
                "'",
            ),
            *(
                "\\",
                ":",
                ",",
                '"message": ',
                '"loc": [',
                "data: ",
                "\n",
                "<p>",
                "</",
                "-> ",
                "schema",
            ),
            *(
                "No endpoints found",
                "requested parameters",
                "Filter by Parameters",
                "must be one of",
            ),
            *("text", "tools[0]", ".", "\x00", "\ud800", "不支持", "'param': 'response_format'"),
        ]
    ),
    max_size=60,
).map("".join)


@given(body=st.binary(max_size=400), status=STATUS)
def test_no_bytes_raise(body: bytes, status: int) -> None:
    detect_refusal(status, body, sent="json_schema", unnamed=True, also_statuses={500})


@given(value=JSON, status=STATUS)
def test_no_json_raises(value: object, status: int) -> None:
    detect_refusal(status, json.dumps(value), sent="json_object", unnamed=True, also_statuses={500})


@settings(max_examples=300)
@given(body=SCRAPS, status=STATUS)
def test_no_mixture_of_telling_words_raises(body: str, status: int) -> None:
    refusal = detect_refusal(status, body, sent="json_schema", tools=True, also_statuses={500})
    assert refusal is None or len(refusal.evidence) <= 200


@given(body=SCRAPS)
def test_the_same_body_gets_the_same_verdict(body: str) -> None:
    first = detect_refusal(400, body, sent="json_schema")
    assert first == detect_refusal(400, body, sent="json_schema")


HOSTILE = {
    "open brackets": "[" * CAP,
    "open objects": '{"error":' * (CAP // 9),
    "nested objects": '{"message":' * 6000 + "1" + "}" * 6000,
    "quotes": '"' * CAP,
    "escaped quotes": '\\"' * (CAP // 2),
    "backslashes behind a brace": "{" + "\\" * CAP,
    "closers": "} " * (CAP // 2),
    "pairs": '{"message":"a",' * 4000,
    "python reprs": "{'message':'not supported response_format'," * 1500,
    "scripts": "<html><script>" + "<script>" * 8000,
    "tags": "<a " * (CAP // 3),
    "frames": 'data: {"error":\n' * 4000,
    "arrows": " -> ".join(["body"] * 9000),
    "regex bait": json.dumps({"message": "response_format not " * 3200}),
    "dots": json.dumps({"message": "response_format" + ".a" * (CAP // 2)}),
    "lines": json.dumps({"message": "response_format is not\n" * 2800}),
    "statements": json.dumps({"errors": [{"message": f"format {n}"} for n in range(1400)]}),
    "blobs": json.dumps({"message": "json schema {:" * 4000}),
    "spaces": '{"message"' + " " * 60000,
    "huge number": '{"code":' + "9" * 60000 + "}",
    "strings in strings": "",
    "surrogates": '"\\ud800' * 8000,
}
_nested = "response_format is not supported"
for _ in range(11):
    _nested = json.dumps({"message": _nested})
HOSTILE["strings in strings"] = _nested[:CAP]


@pytest.mark.parametrize("body", HOSTILE.values(), ids=HOSTILE)
@pytest.mark.timeout(5)
def test_a_hostile_body_is_answered(body: str) -> None:
    detect_refusal(400, body, sent="json_schema", unnamed=True)
    detect_refusal(404, body.encode("utf-8", "replace"), sent="json_object")


def test_a_body_of_ten_megabytes_is_read_to_the_cap() -> None:
    body = b'{"error": {"message": "response_format is not supported", "pad": "' + b"x" * 10**7
    assert detect_refusal(400, body, sent="json_schema") is not None


def test_what_stands_behind_the_cap_is_not_read() -> None:
    body = " x" * CAP + "response_format is not supported"
    assert detect_refusal(400, body, sent="json_schema") is None


def test_six_levels_of_strings_are_unwrapped() -> None:
    text = "response_format is not supported"
    for _ in range(5):
        text = json.dumps({"message": text})
    assert [statement.text for statement in read(text).statements] == [
        "response_format is not supported"
    ]


TABLES = {
    **{f"feature {name}": table for name, table in features.FEATURES},
    **{f"never {name}": table for name, table in exclusions.NEVER},
    **{
        f"{module.__name__.rsplit('.', 1)[-1]}.{name}": table
        for module in (words, schema_words, lists)
        for name, table in vars(module).items()
        if isinstance(table, Words)
    },
}


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_every_match_of_a_pattern_holds_one_of_its_literals(table: Words) -> None:
    """Else the literals in front of a pattern would hide a match."""
    for literals, pattern in table.alternatives:
        assert all(literals), pattern
        assert implied(parser.parse(pattern), literals), pattern


parser: Any = import_module("re._parser")  # the parser of patterns has no public name
constants: Any = import_module("re._constants")


def implied(items: Iterable[tuple[object, Any]], literals: tuple[str, ...]) -> bool:
    """Whether whatever these parsed items match holds one of the literals."""
    run = ""
    for kind, value in items:
        if kind is constants.LITERAL:
            run += chr(value)
            if any(literal in run for literal in literals):
                return True
            continue
        run = run if kind in {constants.AT, constants.ASSERT, constants.ASSERT_NOT} else ""
        if kind is constants.BRANCH and all(implied(branch, literals) for branch in value[1]):
            return True
        if kind is constants.SUBPATTERN and implied(value[3], literals):
            return True
        repeated = {constants.MAX_REPEAT, constants.MIN_REPEAT, constants.POSSESSIVE_REPEAT}
        if kind in repeated and value[0] >= 1 and implied(value[2], literals):
            return True
    return False
