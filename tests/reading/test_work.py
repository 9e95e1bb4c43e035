"""Hostile texts: the work grows with the text, counted in calls, so that no clock is asked."""

from __future__ import annotations

import sys
from types import FrameType

import pytest

from structguard.reading import ParseError, PartialParser, parse

SMALL, TIMES = 3_000, 3
MOST = 4.5  # times the work for three times the text; quadratic would be 9
SCHEMA = {"type": "object", "properties": {"answer": {"type": "string"}}, "required": ["answer"]}
PLAIN = (
    "[", "{", '{"a":', '{"a": "', '"', "\\", "\x00", "\ud800", "{foo: [}", '{"a": 1 ', '{"a", ',
    '{"a" "b" ', "{a b ", "```json\n{", "```", "<think>", "</think>", "<|channel|>final<|message|>",
    '<|channel|>final<|message|>{"a":"', "<tool_call>{", "<parameter=a>", "{/*", "{# ", "[1, ...",
    "{...", "(1, ", '{"a": f(', '{"a": """', "{“a”: “", "The set {x : x > 0} is ", "[1}", "[1, 2}, ",
    '{"a": [1, 2}, "b": ', '[["a"], "b"], ', '{"k": "v, "k": ', '["a": 1, ', '["a" + ', '{\\"a\\": ',
    '{"a": 1}, "b": 2, ', "{u'a': ", '{"a": x", ', '""a": 1, ',
)  # fmt: skip
INSIDE = (
    '"', 'x" ', 'x", ', '": "', '","', '"" ', '{"a": 1}', '{"type": "text", "text": "', '{"a": "b": ',
    '"a": 1\n', "\\n", "\\", '\\"', "```\n", "<|im_end|>", "{", '{"', "[x] ", '", "b": {', "x,\n",
    '"]}, ', '"}', '"]', '[{["a" + <parameter=a>', '{\\"', '{\\"a\\": {"a": 0x', '{"a": """//"" {foo: [}',
    '[["a"], "b"], {\\"{"a": "say "x", ', '}}{}{"a": 1 /* (',
)  # fmt: skip


def work(text: str, schema: object) -> int:
    """How many calls a parse makes, whole and as a stream."""
    calls = 0

    def count(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    stream = PartialParser(schema)
    sys.setprofile(count)
    try:
        for at in range(0, len(text), 50):
            stream.feed(text[at : at + 50])
        parse(text, schema, coerce=True, partial=True, markup=True)
    except ParseError:
        pass
    finally:
        sys.setprofile(None)
    return calls


def texts(piece: str, before: str, after: str) -> tuple[str, str]:
    """A text of pieces, and one three times as long."""
    number = SMALL // len(piece)
    return before + piece * number + after, before + piece * number * TIMES + after


@pytest.mark.parametrize("piece", PLAIN)
@pytest.mark.parametrize("schema", [None, SCHEMA], ids=["free", "schema"])
def test_work_grows_with_the_text(piece: str, schema: object) -> None:
    small, large = texts(piece, "", "")
    assert work(large, schema) <= MOST * work(small, schema)


@pytest.mark.parametrize("piece", INSIDE)
@pytest.mark.parametrize(
    ("before", "after"), [('{"answer": "', ""), ('{"a": "', '"}'), ('["', '"]'), ("{'a': '", "'}")]
)
def test_work_grows_with_a_string(piece: str, before: str, after: str) -> None:
    small, large = texts(piece, before, after)
    assert work(large, SCHEMA) <= MOST * work(small, SCHEMA)
