"""A sample fits its schema, and is always the same."""

from __future__ import annotations

import pytest
from pydantic import BaseModel

from structguard.schema import as_format, validator
from structguard.testing import sample
from structguard.types import JsonSchema


class Node(BaseModel):
    name: str
    left: Node | None = None
    tags: list[str] = []


@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"type": "object"},
        {"type": "object", "properties": {"a": {"type": "integer", "minimum": 7}}},
        {"type": "object", "required": ["b"]},
        {"type": "array", "items": {"type": "string"}, "minItems": 3},
        {"type": "array", "prefixItems": [{"type": "null"}, {"type": "boolean"}], "maxItems": 2},
        {"type": "array", "items": {"type": "number"}, "maxItems": 0},
        {"type": "string", "minLength": 20},
        {"type": "string", "maxLength": 3},
        {"type": "string", "format": "date"},
        {"type": "number", "exclusiveMinimum": 4, "maximum": 4.6},
        {"type": "integer", "maximum": -3},
        {"type": "integer", "exclusiveMaximum": 0},
        {"type": "integer", "minimum": 3, "multipleOf": 5},
        {"type": ["null", "string"]},
        {"enum": ["x", "y"]},
        {"const": {"a": 1}},
        {"properties": {"a": True}},
        {"minimum": 3},
        {"items": {"type": "boolean"}},
        {"anyOf": [{"type": "null"}, {"type": "integer"}]},
        {"oneOf": [{"type": "string"}, {"type": "integer"}]},
        {"examples": ["seen"], "type": "string"},
        {
            "allOf": [
                {"type": "object", "properties": {"a": {"const": 1}}, "required": ["a"]},
                {"$ref": "#/$defs/more"},
            ],
            "$defs": {"more": {"properties": {"b": {"const": 2}}, "required": ["b"]}},
        },
        {"$ref": "#/$defs/a~1b", "$defs": {"a/b": {"type": "boolean"}}},
    ],
)
def test_the_value_fits(schema: dict[str, object]) -> None:
    value = sample(schema)
    assert validator(schema).errors(value) == ()
    assert sample(schema) == value


def test_a_recursive_model_ends() -> None:
    made = as_format(Node)
    assert isinstance(made, JsonSchema)
    value = sample(made.schema)
    assert validator(made.schema).is_valid(value)


def test_a_schema_without_a_finite_value_ends_too() -> None:
    endless = {"type": "object", "properties": {"a": {"$ref": "#"}}, "required": ["a"]}
    assert not validator(endless).is_valid(sample(endless))


def test_a_later_candidate_is_taken_when_the_first_does_not_fit() -> None:
    assert (
        sample({"anyOf": [{"type": "string"}, {"type": "integer"}], "not": {"type": "string"}}) == 1
    )


def test_a_broken_schema_is_a_value_error() -> None:
    with pytest.raises(ValueError, match="broken at /type"):
        sample({"type": "strin"})
