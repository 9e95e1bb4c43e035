"""PartialParser: what is shown while an answer streams, and what it ends as."""

from __future__ import annotations

import json

import pytest

from structguard.reading import ParseError, PartialParser, readers

SCHEMA = {
    "type": "object",
    "properties": {"text": {"type": "string"}, "n": {"type": "integer"}},
    "required": ["text"],
}


def shown(text: str, *, step: int = 1, schema: object = None) -> list[object]:
    """The snapshots of a text that is fed in pieces."""
    stream = PartialParser(schema)
    pieces = [text[at : at + step] for at in range(0, len(text), step)]
    return [found for piece in pieces if (found := stream.feed(piece)) is not None]


def test_a_string_is_shown_as_it_grows_and_a_number_when_its_end_is_seen() -> None:
    assert shown('{"t": "ab", "n": 12}') == [
        {},
        {"t": ""},
        {"t": "a"},
        {"t": "ab"},
        {"t": "ab", "n": 12},
    ]


def test_escapes_are_shown_when_they_are_whole() -> None:
    values = [found["t"] for found in shown('{"t": "\\u00e9\\ud83d\\ude00\\n"}') if found]  # type: ignore[index]
    assert values == ["", "\u00e9", "\u00e9\U0001f600", "\u00e9\U0001f600\n"]


@pytest.mark.parametrize(
    "before",
    ["", "  \n", "```json\n", "Here it is:\n", '<think>{"a": 1}</think>', "[TOOL_CALLS]\n",
     '<|channel|>analysis<|message|>{"a": 1}<|end|><|start|>assistant<|channel|>final<|message|>'],
)  # fmt: skip
@pytest.mark.parametrize("step", [1, 7])
def test_the_value_is_found_behind_what_is_not_the_answer(before: str, step: int) -> None:
    assert shown(before + '{"b": [1, {}, true]}', step=step)[-1] == {"b": [1, {}, True]}


@pytest.mark.parametrize(
    "text",
    [
        'a set {"x": 1} in a sentence',
        "see [1] first",
        "no brackets",
        '<think>{"a": 1}',
        "[a, b]",
        "[",
    ],
)
def test_what_may_not_be_the_answer_is_not_shown(text: str) -> None:
    assert [found for found in shown(text) if found] == []


@pytest.mark.parametrize(
    "text",
    [
        '{"text": 5}',  # another type: a coercion may change it at the end
        '{"other": "x"}',  # perhaps a wrapper
        '[{"text": "x"}]',
    ],
)
def test_what_the_schema_does_not_have_is_not_shown(text: str) -> None:
    assert [found for found in shown(text, schema=SCHEMA) if found] == []


@pytest.mark.parametrize(
    ("text", "last"),
    [
        ('{"a": "x", b: 1}', {"a": "x"}),
        ('{"a": 1, "a": 2}', {"a": 1}),
        ('{"a": "x\\q"}', {"a": "x"}),
        ('{"a": "\\ud800x"}', {"a": ""}),
        ('{"a": "\\uZZZZ"}', {"a": ""}),
        ('{"a": tru}', {}),
        ('{"a": 1e999}', {}),
        ('{"a": [1}', {"a": []}),
        ('{"a" 1}', {}),
        ('{"a": 1 "b": 2}', {}),
        ('{"a": 1, "n": 3 kg}', {"a": 1}),
        ("[1, 1 000]", [1]),
        ('{"a": ?', {}),
        ("[" * 300, None),
    ],
)
def test_showing_stops_where_strict_json_does(text: str, last: object) -> None:
    found = shown(text)
    assert last is None or found[-1] == last


def test_a_name_the_schema_does_not_have_is_not_shown() -> None:
    level = {"type": "object", "properties": {"level": {"enum": ["low", "high"]}, "n": {}}}
    assert shown('{"level": "high", "n": 1}', schema=level)[-1] == {"level": "high", "n": 1}
    assert shown('{"level": "HIGH", "n": 1}', schema=level)[-1] == {"level": ""}
    free = {"properties": {"level": {"anyOf": [{"const": "low"}, {"type": "string"}]}}}
    assert shown('{"level": "HIGH"}', schema=free)[-1] == {"level": "HIGH"}


def test_an_example_of_the_form_is_not_shown() -> None:
    assert shown('Example:\n{"text": "a"}\nAnswer:\n{"text": "b"}') == []
    assert shown('The form is clear. Answer:\n{"text": "b"}')[-1] == {"text": "b"}


def test_items_are_shown_by_what_the_schema_says_of_each_place() -> None:
    pair = {"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}]}
    words = {"type": "array", "items": {"type": "string"}}
    schema = {"type": "object", "properties": {"pair": pair, "words": words, "any": {}}}
    text = '{"pair": ["x", 5], "words": ["a", "b"], "any": {"c": [1]}}'
    assert shown(text, schema=schema)[-1] == json.loads(text)


def test_the_final_value_comes_from_all_the_steps() -> None:
    stream = PartialParser(SCHEMA, coerce=True)
    for piece in ("```json\n{'text': 'x', ", "'n': '4'}\n```"):
        stream.feed(piece)
    found = stream.close()
    assert found.value == {"text": "x", "n": 4}
    assert found.source == "repaired"
    assert stream.close() is found


def test_a_closed_stream_takes_nothing_more() -> None:
    stream = PartialParser()
    stream.feed("{}")
    stream.close()
    with pytest.raises(ValueError, match="closed"):
        stream.feed("x")


def test_a_stream_without_a_value_ends_in_a_parse_error() -> None:
    stream = PartialParser(SCHEMA)
    stream.feed("no")
    with pytest.raises(ParseError):
        stream.close()


def test_the_options_of_parse_hold_at_the_end() -> None:
    stream = PartialParser(reader=readers.scalar(int), limit=10)
    stream.feed("42")
    assert stream.close().value == 42
    long = PartialParser(limit=10)
    assert long.feed('{"a": "xxxxxxxxxxxx"}') is None
    with pytest.raises(ParseError, match="limit"):
        long.close()


def test_an_earlier_snapshot_is_not_changed_by_a_later_one() -> None:
    stream = PartialParser()
    first = stream.feed('{"a": [1, ')
    second = stream.feed("2, 3")
    assert first == {"a": [1]}
    assert second == {"a": [1, 2]}


def test_a_long_stream_is_shown_in_growing_steps_and_whole_at_the_end() -> None:
    text = json.dumps({"text": "word " * 4000, "n": 5})
    found = shown(text, step=16, schema=SCHEMA)
    assert found[-1] == json.loads(text)
    assert 256 < len(found) < 1000
