"""Whatever the text, there is an answer from the text or a ParseError."""

from __future__ import annotations

import itertools
import json
import re

from hypothesis import example, given, settings, strategies as st

from structguard.reading import ParseError, PartialParser, parse

# Texts whose characters stand in JSON as they are, so that a leaf can be looked for in the text.
PLAIN = st.text("abz AZ09_.,:;'!?()[]{}<>#/-\u00e9\u6f22", max_size=12)
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**20), 10**20)
    | st.floats(-1e9, 1e9, allow_nan=False).map(lambda number: round(number, 3))
    | PLAIN,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(PLAIN, inner, max_size=4),
    max_leaves=12,
)
NUMBER = re.compile(r"[-+]?(?:\d[\d_]*)?\.?\d[\d_]*(?:[eE][-+]?\d+)?|[-+]?\d[\d_]*\.")


def leaves(value: object) -> list[object]:
    """Every leaf and every key."""
    found: list[object] = []
    waiting = [value]
    while waiting:
        match waiting.pop():
            case dict() as members:
                found += members
                waiting += members.values()
            case list() as items:
                waiting += items
            case leaf:
                found.append(leaf)
    return found


def stands_in(leaf: object, text: str) -> bool:
    """Whether a leaf occurs in the text (null may stand for undefined and NaN)."""
    match leaf:
        case None:
            return True
        case bool():
            return str(leaf).lower() in text.lower()
        case int() | float():
            return str(leaf) in text or any(
                float(token.replace("_", "")) == leaf for token in numbers(text)
            )
        case _:
            return str(leaf) in text or str(leaf) in text.replace("\\", "")


def numbers(text: str) -> list[str]:
    """Every number that can be read from any place in the text."""
    return [found.group() for at in range(len(text)) if (found := NUMBER.match(text, at))]


def check(text: str, *, partial: bool) -> None:
    """Parse the text; every leaf of a value must stand in it."""
    try:
        found = parse(text, coerce=True, markup=True, partial=partial)
    except ParseError:
        return
    for leaf in leaves(found.value):
        assert stands_in(leaf, text), (leaf, text, found)


@given(VALUES, st.data())
@settings(max_examples=300, deadline=None)
def test_any_prefix_of_json_gives_its_own_leaves_or_nothing(
    value: object, data: st.DataObject
) -> None:
    text = json.dumps(value, ensure_ascii=False)
    cut = text[: data.draw(st.integers(0, len(text)))]
    check(cut, partial=True)
    check(cut, partial=False)


@given(VALUES, st.lists(st.tuples(st.integers(0, 10**6), st.sampled_from("dds")), max_size=4))
@settings(max_examples=400, deadline=None)
def test_any_mutation_of_json_gives_its_own_leaves_or_nothing(
    value: object, changes: list[tuple[int, str]]
) -> None:
    text = json.dumps(value, ensure_ascii=False)
    for place, change in changes:
        at = place % max(1, len(text))
        one = text[at : at + 1]
        match change:
            case "d" if place % 2:
                text = text[:at] + text[at + 1 :]
            case "d":
                text = text[:at] + one + text[at:]
            case _:
                text = text[:at] + text[at + 1 : at + 2] + one + text[at + 2 :]
    check(text, partial=True)


@given(st.text("{}[]\"':,\\/*#` \n<>|tfn01a-.e+\u201c\u201d\uff1a", max_size=60))
@example('{"a": "\\ud83d')
@example("[" * 500)
@settings(max_examples=500, deadline=None)
def test_no_text_raises_anything_but_parse_error(text: str) -> None:
    schema = {"type": "object", "properties": {"a": {"type": "array"}}}
    for wanted in (None, schema):
        try:
            parse(text, wanted, coerce=True, partial=True, markup=True, latex=True)
        except ParseError as error:
            assert error.reason  # noqa: PT017


def grows(before: object, after: object) -> bool:
    """Whether one snapshot only adds to the other."""
    match before, after:
        case dict(), dict():
            return all(key in after and grows(item, after[key]) for key, item in before.items())
        case list(), list():
            return len(before) <= len(after) and all(map(grows, before, after))
        case str(), str():
            return after.startswith(before)
        case _:
            return before == after and type(before) is type(after)


# Strings that mean something outside of a value, and nothing inside of one.
MEANT = st.sampled_from(
    ["...", "<name>", "{{x}}", "string", "```", "\n```\n", "<think>", "</think>", "<|im_end|>",
     "<|channel|>final<|message|>", "<tool_call>", "[TOOL_CALLS]", "[", "{", '"', "\\", "\n"]
)  # fmt: skip


@given(
    st.one_of(VALUES, MEANT, st.lists(MEANT), st.dictionaries(MEANT, VALUES)),
    st.integers(1, 9),
    st.sampled_from(["", "```json\n", "<think>a {b} </think>\n"]),
)
@example("...", 1, "```json\n")
@settings(max_examples=300, deadline=None)
def test_a_shown_value_only_grows_and_ends_as_the_whole(
    value: object, step: int, before: str
) -> None:
    text = before + json.dumps({"w": "word", "v": value}, ensure_ascii=False)
    stream, shown = PartialParser(), []
    for at in range(0, len(text), step):
        snapshot = stream.feed(text[at : at + step])
        if snapshot is not None:
            shown.append(snapshot)
    assert all(grows(one, two) for one, two in itertools.pairwise(shown))
    final = stream.close().value
    assert final == {"w": "word", "v": value}
    assert shown[-1] == final
