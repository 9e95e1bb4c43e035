"""Growing prefixes of bare JSON: what is shown is never taken back."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, strategies as st

from structguard.clients.growing import AnswerChanged, Growing, open_prefix
from structguard.clients.streams import StreamHealer
from structguard.types import JsonObject, JsonSchema

SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "n": {"type": "integer"}},
    "required": ["city", "n"],
    "additionalProperties": False,
}
VALUE = '{"city":"Bonn am Rhein","n":3}'


def play(text: str, *, step: int = 4, schema: Any = SCHEMA) -> list[str]:
    growing = Growing(lambda: JsonSchema(schema=schema), degraded=True)
    shown = [growing.feed(text[at : at + step]) for at in range(0, len(text), step)]
    return [*filter(None, shown), growing.finish().text]


@pytest.mark.parametrize(
    "text",
    [
        VALUE,
        f"```json\n{VALUE}\n```\nThat is it.",
        "<think>hm {</think>\n" + VALUE,
        "{'city': 'Bonn am Rhein', 'n': 3,}",
    ],
)
def test_the_pieces_make_the_value(text: str) -> None:
    pieces = play(text)
    assert "".join(pieces) == VALUE


def test_a_plain_answer_grows() -> None:
    assert len([piece for piece in play(VALUE) if piece]) > 3


def test_an_unknown_first_key_waits_for_the_end() -> None:
    assert play('{"answer": ' + VALUE + "}") == [VALUE]


def test_prose_without_a_value_comes_whole_at_the_end() -> None:
    assert play("I do not know.") == ["I do not know."]


def test_a_value_that_was_only_the_first_of_two_is_finished() -> None:
    first, second = VALUE, '{"city":"Ulm","n":1}'
    assert "".join(play(f"{first}\n\nOr rather:\n{second}")) in (first, second)


def test_a_beginning_that_is_no_answer_fails_loudly() -> None:
    """Such a stream shows the draft's city before it can know better."""
    draft = {"city": "draft", "n": "later"}
    with pytest.raises(AnswerChanged, match="ask again without"):
        play(json.dumps(draft) + "\nFinal:\n" + VALUE, step=1)


def test_an_array_schema_and_an_object_mode_grow_too() -> None:
    items = {"type": "array", "items": {"type": "integer"}}
    assert "".join(play("[1, 2, 3]", schema=items)) == "[1,2,3]"
    growing = Growing(JsonObject, degraded=True)
    shown = [growing.feed(piece) for piece in ('{"a": "b', 'c", ', '"d": 1}')]
    assert "".join(shown) + growing.finish().text == '{"a":"bc","d":1}'


@pytest.mark.parametrize(
    ("value", "prefix"),
    [
        ({}, "{"),
        ({"a": "x}"}, '{"a":"x}'),
        ({"a": [1, {"b": ""}]}, '{"a":[1,{"b":"'),
        ({"a": [1, 2]}, '{"a":[1,2'),
        ([], "["),
        ("te", '"te'),
        (7, "7"),
    ],
)
def test_the_open_prefix_leaves_out_what_closes(value: object, prefix: str) -> None:
    assert open_prefix(value) == prefix


values = st.recursive(
    st.text() | st.integers() | st.booleans() | st.none(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


@given(st.dictionaries(st.text(), values, max_size=4), st.integers(1, 9))
def test_any_object_arrives_whole_in_any_steps(value: dict[str, Any], step: int) -> None:
    text = json.dumps(value)
    assert json.loads("".join(play(text, step=step, schema={"type": "object"}))) == value


@pytest.mark.parametrize(
    ("reason", "handed"), [("max_tokens", '{"numbers":[1,2'), ("end_turn", '{"numbers":[1,2]}')]
)
def test_whether_anthropics_text_was_cut_is_told_after_its_block(reason: str, handed: str) -> None:
    pieces: list[dict[str, Any]] = [
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}}
        for text in ('So: {"numbers": [1', ", 2, 3")
    ]
    stop = {"type": "content_block_stop", "index": 0}
    told = {"type": "message_delta", "delta": {"stop_reason": reason}}
    healer = StreamHealer("messages", JsonObject, degraded=True)
    out: Any = [made for event in (*pieces, stop, told) for made in healer.feed(event)]
    texts = [event["delta"]["text"] for event in out if event["type"] == "content_block_delta"]
    assert "".join(texts) == handed
    assert out[-2:] == [stop, told]
