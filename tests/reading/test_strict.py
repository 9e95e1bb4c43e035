"""Strict JSON: what comes back is exactly what was written."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings, strategies as st

from structguard.reading import ParseError, parse, strict_json
from structguard.reading.strict import DUPLICATE, NotStrict, strict

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner, max_size=5),
    max_leaves=20,
)  # fmt: skip


def typed(value: object) -> object:
    """The value with the types written out: 1, 1.0 and true are different answers."""
    match value:
        case dict():
            return {key: typed(item) for key, item in value.items()}
        case list():
            return [typed(item) for item in value]
        case _:
            return (type(value).__name__, repr(value))


@given(JSON, st.booleans())
@settings(max_examples=200, deadline=None)
def test_strict_json_round_trips_exactly(value: object, plain: bool) -> None:  # noqa: FBT001
    found = parse(json.dumps(value, ensure_ascii=plain))
    assert typed(found.value) == typed(value)
    assert found.source == "json"
    assert found.complete


def test_integers_are_exact_up_to_4300_digits() -> None:
    digits = "7" * 4300
    value = parse(f'{{"n": {digits}}}').value
    assert isinstance(value, dict)
    assert value["n"] == int(digits)


@pytest.mark.parametrize("number", ["1e400", "-1e999", "9" * 400 + ".5", "1E+400"])
def test_a_number_that_overflows_is_refused(number: str) -> None:
    with pytest.raises(NotStrict, match="too large"):
        strict(f"[{number}]")
    with pytest.raises(ParseError):
        parse(f'{{"v": {number}}}', {"type": "object", "required": ["v"]})


LARGE = {
    "short strings": '["k", "v"], ' * 2_000,
    "more than one piece": '["k", "v"], ' * 8_332 + " ",
    "numbers": "[1, 4294967040, 0.1], " * 2_000,
    "one long string": json.dumps("1e400 and words " * 2_000) + ", ",
    "digits in a string": json.dumps("7" * 500) + ", " + '"a", ' * 2_000,
}


@pytest.mark.parametrize("number", ["1e400", "-1e0400", "9" * 309 + ".5", "8" * 210 + "e99"])
@pytest.mark.parametrize("before", LARGE.values(), ids=LARGE)
def test_an_overflow_in_a_large_text_is_refused(before: str, number: str) -> None:
    with pytest.raises(NotStrict, match="too large"):
        strict(f'[{before}{{"n": {number}}}]')


@pytest.mark.parametrize("number", ["1e308", "1e-400", "7" * 400, "0.5e+00001"])
@pytest.mark.parametrize("before", LARGE.values(), ids=LARGE)
def test_what_only_looks_like_an_overflow_in_a_large_text_is_taken(
    before: str, number: str
) -> None:
    value, _ = strict(f'[{before}{{"n": {number}}}]')
    assert value == json.loads(f'[{before}{{"n": {number}}}]')


def test_an_infinity_is_found_among_many_numbers_whose_bytes_look_like_one() -> None:
    many = "[" + "496, " * 4_000  # 0x01f0
    assert strict(many + "1]")[0] == [496] * 4_000 + [1]
    with pytest.raises(NotStrict, match="too large"):
        strict(many + "-1e999]")


@pytest.mark.parametrize("word", ["NaN", "Infinity", "-Infinity"])
def test_nan_and_infinity_are_not_strict(word: str) -> None:
    with pytest.raises(NotStrict):
        strict(f"[{word}]")


def test_the_last_of_duplicate_keys_wins_with_a_warning() -> None:
    found = parse('{"a": 1, "a": 2}')
    assert found.value == {"a": 2}
    assert found.warnings == (DUPLICATE,)


def test_duplicate_keys_of_a_large_text_are_reported_when_asked_for() -> None:
    filler = json.dumps("x" * 70_000)
    twice = parse(f'{{"a": {filler}, "b": 1, "b": 2}}')
    assert list(twice.warnings) == [DUPLICATE]
    assert twice.warnings == (DUPLICATE,)
    assert twice.warnings[0] == DUPLICATE
    assert hash(twice.warnings) == hash((DUPLICATE,))
    assert repr(twice.warnings) == repr((DUPLICATE,))
    once = parse(f'{{"a": {filler}, "b": 1}}')
    assert len(once.warnings) == 0
    marked = parse(f'\ufeff{{"a": {filler}, "b": 1, "b": 2}}')
    assert list(marked.warnings) == [DUPLICATE]


def test_a_byte_order_mark_is_skipped() -> None:
    assert parse('\ufeff{"a": 1}').source == "json"


def test_lone_surrogates_do_not_encode_and_are_read_another_way() -> None:
    found = parse('{"a": "x\ud800"}')
    assert found.source in {"repaired", "embedded"}


def test_tags_inside_a_strict_answer_are_content() -> None:
    assert parse('{"x": "a <think>b</think> c"}').value == {"x": "a <think>b</think> c"}


@pytest.mark.parametrize(
    ("text", "bare"), [('{"a": 1}', True), (" [1] ", True), ("{'a': 1}", False), ("x", False)]
)
def test_strict_json_says_whether_a_text_can_be_handed_on(text: str, bare: bool) -> None:  # noqa: FBT001
    assert strict_json(text) is bare


def test_duplicate_keys_beside_another_fault_are_not_strict() -> None:
    with pytest.raises(NotStrict):
        strict('{"a": 1, "a": 2')
