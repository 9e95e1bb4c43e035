"""parse(): the steps one by one, the options, the errors."""

from __future__ import annotations

import json
import pickle
from dataclasses import dataclass

import pytest
from pydantic import BaseModel, field_validator
from typing_extensions import TypedDict

from structguard.reading import LIMIT, ParseError, parse
from structguard.types import Completion

ANSWER = {"type": "object", "properties": {"answer": {"type": "string"}}, "required": ["answer"]}
NUMBERS = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
LIST = {"type": "array", "items": NUMBERS}


class Person(BaseModel):
    name: str
    age: int = 7

    @field_validator("name")
    @classmethod
    def _not_empty(cls, value: str) -> str:
        if not value:
            raise ValueError("a name is needed")
        return value


class Movie(TypedDict):
    title: str


@dataclass
class Point:
    x: int
    y: int


def test_a_completion_is_read_by_its_text() -> None:
    assert parse(Completion(text='{"a": 1}')).value == {"a": 1}


def test_anything_but_text_or_a_completion_is_a_type_error() -> None:
    with pytest.raises(TypeError, match="bytes"):
        parse(b"{}")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def test_a_broken_schema_is_a_value_error_before_anything_is_read() -> None:
    with pytest.raises(ValueError, match="JSON Schema"):
        parse("{}", {"type": "objekt"})


@pytest.mark.parametrize(
    ("schema", "text", "value"),
    [
        (Person, '{"name": "Ada"}', Person(name="Ada", age=7)),
        (Movie, '```json\n{"title": "Brazil"}\n```', {"title": "Brazil"}),
        (Point, 'p = {"x": 1, "y": 2}', Point(1, 2)),
        (list[int], "[1, 2]", [1, 2]),
    ],
)
def test_a_type_gives_an_instance(schema: object, text: str, value: object) -> None:
    assert parse(text, schema).value == value


def test_a_value_the_types_own_validator_refuses_is_no_answer() -> None:
    with pytest.raises(ParseError) as caught:
        parse('{"name": ""}', Person)
    assert caught.value.reason == "misfit"
    assert parse('{"name": ""} {"name": "Bo"}', Person).value == Person(name="Bo")


def test_json_object_mode_takes_any_object_and_nothing_else() -> None:
    assert parse('x [1] {"a": 1}', {"type": "json_object"}).value == {"a": 1}


@pytest.mark.parametrize(
    ("text", "source"),
    [
        ('{"answer": "x"}', "json"),
        ('So: {"answer": "x"}.', "embedded"),
        ('```json\n{"answer": "x"}\n```', "fenced"),
        ("{'answer': 'x'}", "repaired"),
        ('```json\n{"answer": "x",}\n```', "repaired"),
        ('{"answer": "x"', "truncated"),
    ],
)
def test_the_source_says_how_the_value_stood_in_the_text(text: str, source: str) -> None:
    found = parse(text, ANSWER)
    assert (found.source, found.value) == (source, {"answer": "x"})
    assert found.complete is (source != "truncated")


def test_the_span_is_where_the_value_stood() -> None:
    text = 'So: {"answer": "x"}.'
    start, end = parse(text, ANSWER).span
    assert text[start:end] == '{"answer": "x"}'


def test_several_objects_become_the_list_the_schema_wants() -> None:
    found = parse('{"n": 1}\n{"n": 2}', LIST)
    assert (found.source, found.value) == ("concatenated", [{"n": 1}, {"n": 2}])


def test_a_list_never_leaves_one_out_that_does_not_fit() -> None:
    for text in ('{"n": 1}\n{"n": "x"}\n{"n": 3}', '{"n": 1}\n{"x": 2}', '{"x": 1}\n' * 300):
        with pytest.raises(ParseError):
            parse(text, LIST)


def test_more_objects_than_are_kept_make_no_list() -> None:
    text = '{"n": 1}\n' * 20_000
    listed = {"type": "array", "items": NUMBERS}
    assert len(parse(text, listed).value) == 20_000  # type: ignore[arg-type]
    with pytest.raises(ParseError):
        parse(text + '{"n": 2}\n{"n": 3}', listed)


def test_other_values_that_fit_are_reported() -> None:
    found = parse('{"n": 1} or {"n": 2} or {"n": 1}', NUMBERS)
    assert found.value == {"n": 1}
    assert found.alternatives == ({"n": 2},)


def test_a_fenced_value_is_preferred_to_one_in_a_sentence() -> None:
    assert parse('As in {"n": 1}:\n```json\n{"n": 2}\n```', NUMBERS).value == {"n": 2}


def test_a_fenced_value_is_preferred_to_one_on_its_own_line() -> None:
    assert parse('{"n": 1}\n```json\n{"n": 2}\n```', NUMBERS).value == {"n": 2}


def test_a_value_without_unknown_keys_is_preferred() -> None:
    assert parse('{"n": 1, "draft": true} {"n": 2}', NUMBERS).value == {"n": 2}


def test_a_fence_inside_a_string_does_not_split_it() -> None:
    text = '```json\n{"answer": "use ```py\\nx\\n``` here"}\n```'
    assert parse(text, ANSWER).value == {"answer": "use ```py\nx\n``` here"}


@pytest.mark.parametrize(
    ("text", "partial", "value"),
    [
        ('{"a": "x", "b": "y', True, {"a": "x", "b": "y"}),
        ('{"a": "x", "b": "y', False, {"a": "x"}),
        ('{"a": 1, "b": 12', True, {"a": 1, "b": 12}),
        ('{"a": 1, "b": 12', False, {"a": 1}),
        ('{"a": 1, "b": 1.', True, {"a": 1}),
        ('{"a": 1, "b": 2e', True, {"a": 1}),
        ('{"a": 1, "b": tru', True, {"a": 1}),
        ('{"a": 1, "b', True, {"a": 1}),
        ('{"a": 1, "b":', True, {"a": 1}),
        ('{"a": "x\\u00', True, {"a": "x"}),
        ("{'a': 'x', 'b': 'y", True, {"a": "x", "b": "y"}),
        ("{'a': 'x', 'b': 'y", False, {"a": "x"}),
        ("{'a': 1, 'b': 12", False, {"a": 1}),
        ("{'a': 1, 'b': nul", True, {"a": 1}),
        ("{'a': 1, 'b': wor", True, {"a": 1, "b": "wor"}),
        ("{'a': 1, 'b': wor", False, {"a": 1}),
        ("{'a': 'x\\", True, {"a": "x"}),
        ("{'a': 1, b", True, {"a": 1}),
    ],
)
def test_only_what_is_certain_stands_before_a_cut(
    text: str,
    partial: bool,  # noqa: FBT001
    value: object,
) -> None:
    found = parse(text, partial=partial)
    assert found.value == value
    assert found.source == "truncated"
    assert not found.complete


def test_what_stands_before_a_cut_must_fit() -> None:
    with pytest.raises(ParseError, match="matches the schema"):
        parse('{"n": 4', NUMBERS)
    assert parse('{"n": 4', NUMBERS, partial=True).value == {"n": 4}


def test_apples_are_no_number() -> None:
    with pytest.raises(ParseError):
        parse("12 apples", {"type": "integer"}, partial=True)


@pytest.mark.parametrize(
    "text",
    [
        '<think>Maybe {"answer": "no"}</think>{"answer": "yes"}',
        '<reasoning>{"answer": "no"}</think>{"answer": "yes"}',
        'First {"answer": "no"}, then.\n</think>\n{"answer": "yes"}',
        '{"answer": "no"}\n</think>\n{"answer": "yes"}',
        '[THINK]{"answer": "no"}[/THINK]{"answer": "yes"}',
        (
            '<|channel|>analysis<|message|>{"answer": "no"}<|end|><|start|>assistant'
            '<|channel|>final<|message|>{"answer": "yes"}<|return|>'
        ),
        'analysisI could say {"answer": "no"}.assistantfinal{"answer": "yes"}',
        '<|START_THINKING|>\n{"answer": "no"}\n<|END_THINKING|>{"answer": "yes"}',
        '<|begin_of_thought|>{"answer": "no"}<|end_of_thought|>{"answer": "yes"}',
        '<|inner_prefix|>{"answer": "no"}<|inner_suffix|>{"answer": "yes"}',
        '<unused94>thought\n{"answer": "no"}<unused95>{"answer": "yes"}',
        '<scratch_pad>{"answer": "no"}</scratch_pad>{"answer": "yes"}',
    ],
)
def test_reasoning_is_never_the_answer(text: str) -> None:
    assert parse(text, ANSWER).value == {"answer": "yes"}


HEADER = "<|channel|>final<|message|>"


@pytest.mark.parametrize(
    "text",
    [
        f'```json\n{{"answer": "say {HEADER}[1]"}}',
        f'Sure: {{"answer": "say {HEADER}[1]"}} and no more',
        f'a {{"b": "{HEADER}"}} c {{"answer": "say {HEADER}[1]"}} and no more',
        f'<|channel|>analysis<|message|>{{ x<|end|>{HEADER}{{"answer": "say {HEADER}[1]"}}',
        f'{{b: "<|"}} {{"answer": "say {HEADER}[1]"}} and no more',
    ],
)
def test_a_channel_header_inside_a_string_is_content(text: str) -> None:
    assert parse(text, ANSWER).value == {"answer": f"say {HEADER}[1]"}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("No JSON here.", "no_json"),
        ("", "no_json"),
        ('<think>{"answer": "no"}', "reasoning_only"),
        ('<|channel|>analysis<|message|>{"answer": "no"}', "reasoning_only"),
        ('{"type": "object", "properties": {"answer": {"type": "string"}}}', "schema_echo"),
        ('Like {"answer": "<string>"}', "placeholder"),
        ('{"answer": "..."}', "placeholder"),
        ("<think>x</think> 12 apples", "no_json"),
        ("```\n1.2.3\n```", "no_json"),
        ('{"question": "x"}', "misfit"),
        ("[" * 300, "too_deep"),
    ],
)
def test_nothing_usable_says_why(text: str, reason: str) -> None:
    with pytest.raises(ParseError) as caught:
        parse(text, ANSWER)
    assert caught.value.reason == reason
    assert pickle.loads(pickle.dumps(caught.value)).reason == reason  # noqa: S301


def test_a_schema_that_fits_itself_is_still_an_echo() -> None:
    with pytest.raises(ParseError) as caught:
        parse('{"type": "object"}', {"type": "object"})
    assert caught.value.reason == "schema_echo"


def test_a_long_list_of_ellipses_is_not_taken_for_a_template() -> None:
    assert parse(json.dumps(["..."] * 300), {"type": "array"}).value == ["..."] * 300


def test_the_name_of_a_type_for_every_text_is_no_answer_unless_types_are_told() -> None:
    specimen = '{"name": "string", "tags": ["string"], "n": 0}'
    with pytest.raises(ParseError) as caught:
        parse(specimen, {"type": "object"})
    assert caught.value.reason == "placeholder"
    for told in ('{"name": "string"}', '{"type": "string", "n": 0}', '{"a": "string", "b": "x"}'):
        assert parse(told, {"type": "object"}).value == json.loads(told)


def test_every_candidate_that_lost_says_why() -> None:
    with pytest.raises(ParseError) as caught:
        parse('{"n": "x"} and {"m": 1} and {y -> z}', NUMBERS)
    whys = [attempt.why for attempt in caught.value.attempts]
    assert any("integer" in why for why in whys)
    assert any("required" in why for why in whys)


def test_a_text_over_the_limit_is_not_read() -> None:
    with pytest.raises(ParseError) as caught:
        parse("[" + "1," * LIMIT + "1]")
    assert caught.value.reason == "over_budget"
    with pytest.raises(ParseError):
        parse('{"a": "\u6f22\u6f22\u6f22\u6f22"}', limit=20)
    assert parse('{"a": "\u6f22"}', limit=20).value == {"a": "\u6f22"}


@pytest.mark.parametrize(
    ("text", "schema", "value"),
    [
        ('"{\\"answer\\": \\"x\\"}"', ANSWER, {"answer": "x"}),
        ('{"result": {"answer": "x"}}', ANSWER, {"answer": "x"}),
        ('{"name": "f", "arguments": {"answer": "x"}}', ANSWER, {"answer": "x"}),
        ('{"name": "f", "arguments": "{\\"answer\\": \\"x\\"}"}', ANSWER, {"answer": "x"}),
        ('{"function": {"name": "f", "arguments": {"answer": "x"}}}', ANSWER, {"answer": "x"}),
        ('[{"answer": "x"}]', ANSWER, {"answer": "x"}),
        ('[{"type": "text", "text": "{\\"answer\\": \\"x\\"}"}]', ANSWER, {"answer": "x"}),
        (
            '[{"type": "thinking", "thinking": "?"}, {"type": "text", "text": "{\\"answer\\": \\"x\\"}"}]',
            ANSWER,
            {"answer": "x"},
        ),
        ('{"action": "f", "action_input": {"answer": "x"}}', ANSWER, {"answer": "x"}),
        ('{"type": "object", "properties": {"answer": "x"}}', ANSWER, {"answer": "x"}),
        ("{&quot;answer&quot;: &quot;x &amp; &copy y&quot;}", ANSWER, {"answer": "x & &copy y"}),
        ('{"role": "assistant", "content": "{\\"answer\\": \\"x\\"}"}', ANSWER, {"answer": "x"}),
        ('{"answer": 42}', {"type": "integer"}, 42),
        (
            '{"list": "[1, 2]"}',
            {"properties": {"list": {"type": "array", "items": {"type": "integer"}}}},
            {"list": [1, 2]},
        ),
        (
            '["a", "b"]',
            {
                "type": "object",
                "properties": {"tags": {"type": "array", "items": {"type": "string"}}},
                "required": ["tags"],
            },
            {"tags": ["a", "b"]},
        ),
    ],
)
def test_another_shape_of_the_answer_is_accepted(text: str, schema: object, value: object) -> None:
    assert parse(text, schema).value == value


def test_a_footnote_is_not_wrapped_into_a_list_property() -> None:
    tags = {"properties": {"tags": {"type": "array"}}, "required": ["tags"], "type": "object"}
    with pytest.raises(ParseError):
        parse("As shown in [1].", tags, coerce=True)


def test_a_scalar_is_not_unwrapped_from_an_object_in_a_sentence() -> None:
    with pytest.raises(ParseError):
        parse('The output is: {"hello": "world"}', {"type": "string"}, coerce=True)


@pytest.mark.parametrize(
    ("given", "schema", "wanted"),
    [
        ('"42"', {"type": "integer"}, 42),
        ('"4.5"', {"type": "number"}, 4.5),
        ('"true"', {"type": "boolean"}, True),
        ('"False"', {"type": "boolean"}, False),
        ("42", {"type": "string"}, "42"),
        ("4.5", {"type": "string"}, "4.5"),
        ("true", {"type": "string"}, "true"),
        ('"x"', {"type": "array", "items": {"type": "string"}}, ["x"]),
        ('"HIGH"', {"enum": ["low", "high"]}, "high"),
        ('"7"', {"anyOf": [{"type": "integer"}, {"type": "null"}]}, 7),
    ],
)
def test_exact_coercions_are_made_where_asked_for(
    given: str, schema: dict[str, object], wanted: object
) -> None:
    whole = {"type": "object", "properties": {"v": schema}, "required": ["v"]}
    found = parse(f'{{"v": {given}}}', whole, coerce=True)
    assert found.value == {"v": wanted}
    assert found.coercions[0][0] == ("v",)
    assert found.coercions[0][2] == wanted
    with pytest.raises(ParseError):
        parse(f'{{"v": {given}}}', whole)


@pytest.mark.parametrize(
    ("given", "schema"),
    [
        ('"about 12"', {"type": "integer"}),
        ('"$1,234"', {"type": "number"}),
        ('"yes"', {"type": "boolean"}),
        ("1", {"type": "boolean"}),
        ("1.5", {"type": "integer"}),
        ("null", {"type": "array"}),
        ("null", {"type": "string"}),
        ('"1e999"', {"type": "number"}),
        ("1e30", {"type": "string"}),
        ('"highest"', {"enum": ["low", "high"]}),
        ('"ab"', {"enum": ["AB", "aB"]}),
    ],
)
def test_what_is_not_exact_is_not_coerced(given: str, schema: dict[str, object]) -> None:
    whole = {"type": "object", "properties": {"v": schema}, "required": ["v"]}
    with pytest.raises(ParseError):
        parse(f'{{"v": {given}}}', whole, coerce=True)


def test_a_discriminator_decides_which_alternative_is_meant() -> None:
    def kind(name: str, wanted: str) -> dict[str, object]:
        return {
            "type": "object",
            "properties": {"kind": {"const": name}, "v": {"type": wanted}},
            "required": ["kind", "v"],
        }

    schema = {"anyOf": [kind("text", "string"), kind("count", "integer")]}
    assert parse('{"kind": "count", "v": "3"}', schema, coerce=True).value["v"] == 3  # type: ignore[index]
    assert parse('{"kind": "text", "v": "3"}', schema, coerce=True).value["v"] == "3"  # type: ignore[index]


def test_a_channel_header_behind_too_much_that_is_broken_counts() -> None:
    broken = '{b: "<|"} ' * 30
    text = f'{broken}{{"answer": "say {HEADER}"}} {HEADER}{{"answer": "yes"}}'
    assert parse(text, ANSWER).value == {"answer": "yes"}


@pytest.mark.parametrize(
    ("given", "inner", "value"),
    [
        ({"a": "3", "b": [1]}, {}, {"a": 3, "b": [1]}),
        ({"a": "3", "b": 5.0}, {"type": "integer"}, {"a": 3, "b": 5.0}),
        ({"a": "3", "b": "X"}, {"const": "x"}, {"a": 3, "b": "x"}),
        ({"a": "3", "b": {"c": "4"}}, {"required": ["c"]}, {"a": 3, "b": {"c": "4"}}),
        ({"a": "3", "b": ["4"]}, {"items": {"type": "integer"}}, {"a": 3, "b": [4]}),
        ({"a": "3", "b": "4"}, {"$ref": "#/$defs/none"}, None),
        ({"a": "3", "b": 4}, {"$ref": "#anchor"}, {"a": 3, "b": 4}),
        ({"a": "3", "b": {"a": "4"}}, {"$ref": "#"}, {"a": 3, "b": {"a": 4}}),
    ],
)
def test_conversions_know_what_the_schema_says_of_a_place(
    given: object, inner: object, value: object
) -> None:
    schema = {
        "type": "object",
        "properties": {"a": {"type": "integer"}, "b": inner},
        "required": ["a"],
        "$defs": {"n": {"$anchor": "anchor", "type": "integer"}},
    }
    if value is None:
        with pytest.raises(ValueError, match="none"):
            parse(json.dumps(given), schema, coerce=True)
    else:
        assert parse(json.dumps(given), schema, coerce=True).value == value


def test_references_and_tuples_are_followed_by_conversions() -> None:
    schema = {
        "$ref": "#/$defs/Node",
        "$defs": {
            "Node": {
                "type": "object",
                "properties": {
                    "id": {"type": "integer"},
                    "next": {"anyOf": [{"$ref": "#/$defs/Node"}, {"type": "null"}]},
                    "pair": {"type": "array", "prefixItems": [{"type": "integer"}, {"type": "string"}]},
                },
                "required": ["id"],
            }
        },
    }  # fmt: skip
    text = '{"id": "1", "next": {"id": "2", "next": null}, "pair": ["3", 4]}'
    value = {"id": 1, "next": {"id": 2, "next": None}, "pair": [3, "4"]}
    assert parse(text, schema, coerce=True).value == value


CALL = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
    "required": ["city"],
}


@pytest.mark.parametrize(
    "text",
    [
        (
            "<tool_call>w<arg_key>city</arg_key><arg_value>Rome</arg_value>"
            "<arg_key>days</arg_key><arg_value>2</arg_value></tool_call>"
        ),
        "<function=w>\n<parameter=city>\nRome\n</parameter>\n<parameter=days>\n2\n</parameter>\n",
        (
            '<invoke name="w"><parameter name="city">Rome</parameter>'
            '<parameter name="days">2</parameter></invoke>'
        ),
    ],
)
def test_xml_style_arguments_are_read_only_where_asked_for(text: str) -> None:
    assert parse(text, CALL, markup=True).value == {"city": "Rome", "days": 2}
    with pytest.raises(ParseError):
        parse(text, CALL)


def test_each_call_in_markup_is_an_object_of_its_own() -> None:
    call = '<invoke name="w"><parameter name="city">{}</parameter></invoke>'
    text = call.format("Rome") + call.format("Oslo")
    schema = {"type": "array", "items": CALL}
    assert parse(text, schema, markup=True).value == [{"city": "Rome"}, {"city": "Oslo"}]
    assert parse(text, markup=True).alternatives == ({"city": "Oslo"},)


def test_latex_that_decodes_to_control_characters_is_a_warning_or_restored() -> None:
    text = r'{"answer": "\frac{1}{2} \times \beta"}'
    assert "LaTeX" in parse(text, ANSWER).warnings[0]
    assert parse(text, ANSWER).value == {"answer": "\frac{1}{2} \times \beta"}
    restored = parse(text, ANSWER, latex=True)
    assert restored.value == {"answer": r"\frac{1}{2} \times \beta"}
    assert "restored" in restored.warnings[0]
    nested = parse(r'x {"a": ["\frac12", {"b": "\rho"}], "n": 1}', latex=True)
    assert nested.value == {"a": [r"\frac12", {"b": r"\rho"}], "n": 1}
    assert parse(r'{"answer": "a\tb \\frac"}', ANSWER).warnings == ()
    unasked = parse("Sure: " + text, ANSWER)
    assert unasked.value == {"answer": "\frac{1}{2} \times \beta"}
    assert "LaTeX" in unasked.warnings[0]


@pytest.mark.parametrize("before", ["", "Sure: "])
def test_restored_latex_is_what_the_schema_judges(before: str) -> None:
    schema = {"type": "object", "properties": {"answer": {"enum": [r"\beta"]}}}
    text = before + r'{"answer": "\beta"}'
    assert parse(text, schema, latex=True).value == {"answer": r"\beta"}
    with pytest.raises(ParseError):
        parse(text, schema)


def test_braces_that_are_lost_are_given_back_for_the_schemas_own_keys() -> None:
    found = parse('"answer": "x"', ANSWER)
    assert found.value == {"answer": "x"}
    assert found.repairs[0] == ("missing brace", 0)
    for text in ('"other": "x"', '"answer": "x" and so on', '"answer": ', '"answer": "x"} and so on',
                 '"answer": foo {"b": 1}'):  # fmt: skip
        with pytest.raises(ParseError):
            parse(text, ANSWER)


def test_a_scalar_is_read_from_a_fence_or_behind_reasoning() -> None:
    number = {"type": "integer"}
    assert parse("```json\n42\n```", number).value == 42
    assert parse("<think>hm</think> 42", number).value == 42
    with pytest.raises(ParseError):
        parse("<think>hm</think> about 42", number)


def test_an_escaped_answer_keeps_its_place_in_the_text() -> None:
    text = 'x {\\"answer\\": \\"a \\\\\\"b\\\\\\"\\"} y'
    found = parse(text, ANSWER)
    assert found.value == {"answer": 'a "b"'}
    assert text[slice(*found.span)] == text[2:-2]


def test_what_a_types_own_validator_says_is_why_a_value_does_not_fit() -> None:
    with pytest.raises(ParseError, match="a name is needed") as caught:
        parse('{"name": ""}', Person)
    (attempt,) = caught.value.attempts
    assert attempt.why == "/name: Value error, a name is needed"
