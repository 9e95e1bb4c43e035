"""A schema is made to fit OpenAI's strict mode, or told by path why it cannot."""

from __future__ import annotations

from typing import Annotated, Literal

import pytest
from hypothesis import given
from pydantic import BaseModel, Field

from structguard.schema import advise, as_format, strictify, validator
from structguard.types import JsonSchema
from tests.schema.test_validate import schemas

FITS: dict[str, object] = {
    "type": "object",
    "properties": {
        "a": {"type": "string", "pattern": "^x", "format": "date", "description": "d"},
        "b": {"type": ["integer", "null"], "minimum": 1},
        "c": {"type": "array", "items": {"$ref": "#/$defs/k"}, "maxItems": 3},
        "e": {"anyOf": [{"type": "string", "enum": ["x"]}, {"type": "null"}]},
    },
    "required": ["a", "b", "c", "e"],
    "additionalProperties": False,
    "$defs": {
        "k": {"type": "object", "properties": {}, "required": [], "additionalProperties": False}
    },
}


class Cat(BaseModel):
    kind: Literal["cat"]


class Dog(BaseModel):
    kind: Literal["dog"]


class Model(BaseModel):
    name: str = Field(min_length=1)
    pet: Annotated[Cat | Dog, Field(discriminator="kind")]
    note: str | None = None
    best: Cat = Field(Cat(kind="cat"), description="the best")


def obj(**properties: object) -> dict[str, object]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def told(schema: dict[str, object]) -> list[str]:
    return [str(problem) for problem in strictify(schema).problems]


def test_a_schema_that_fits_comes_back_unchanged() -> None:
    result = strictify(FITS)
    assert result.fits
    assert result.schema == FITS
    assert result.changes == ()
    assert advise(FITS) == ""


def test_a_model_is_made_to_fit_and_every_change_is_listed() -> None:
    made = as_format(Model)
    assert isinstance(made, JsonSchema)
    result = strictify(made.schema)
    assert result.fits
    assert result.schema["required"] == ["name", "pet", "note", "best"]
    assert result.schema["additionalProperties"] is False
    properties = result.schema["properties"]
    assert properties == {
        "name": {"title": "Name", "type": "string"},
        "pet": {"title": "Pet", "anyOf": [{"$ref": "#/$defs/Cat"}, {"$ref": "#/$defs/Dog"}]},
        "note": {"title": "Note", "anyOf": [{"type": "string"}, {"type": "null"}]},
        "best": {"description": "the best", "anyOf": [{"$ref": "#/$defs/Cat"}, {"type": "null"}]},
    }
    changes = [str(change) for change in result.changes]
    assert "/properties/name: leave out 'minLength'" in changes
    assert "/properties/pet: use 'anyOf' instead of 'oneOf'" in changes
    assert "/properties/note: list it in 'required' and let it be null" in changes
    assert "/$defs/Cat: set 'additionalProperties' to false" in changes
    assert strictify(result.schema).changes == ()


@pytest.mark.parametrize(
    ("optional", "nullable"),
    [
        ({"type": "string"}, {"type": ["string", "null"]}),
        ({"type": ["string", "null"]}, {"type": ["string", "null"]}),
        ({"type": "string", "enum": ["a"]}, {"type": ["string", "null"], "enum": ["a", None]}),
        ({"enum": [1, "a", None]}, {"type": ["integer", "string", "null"], "enum": [1, "a", None]}),
        ({"const": 1.5}, {"anyOf": [{"type": "number", "const": 1.5}, {"type": "null"}]}),
        ({"$ref": "#/$defs/k"}, {"anyOf": [{"$ref": "#/$defs/k"}, {"type": "null"}]}),
        (
            {"anyOf": [{"type": "string"}, {"type": "null"}]},
            {"anyOf": [{"type": "string"}, {"type": "null"}]},
        ),
    ],
)
def test_an_optional_key_becomes_one_that_may_be_null(
    optional: dict[str, object], nullable: dict[str, object]
) -> None:
    schema = {"type": "object", "properties": {"a": optional}, "$defs": {"k": obj()}}
    result = strictify(schema)
    assert result.fits
    assert result.schema["properties"] == {"a": nullable}
    assert result.schema["required"] == ["a"]


def test_a_top_level_reference_is_written_out() -> None:
    tree = obj(kids={"type": "array", "items": {"$ref": "#/$defs/tree"}})
    result = strictify({"$ref": "#/$defs/tree", "$defs": {"tree": tree}})
    assert result.fits
    assert result.schema == {**tree, "$defs": {"tree": tree}}


def test_an_allof_of_one_part_is_merged() -> None:
    result = strictify(obj(a={"allOf": [{"type": "string"}], "description": "d"}))
    assert result.fits
    assert result.schema["properties"] == {"a": {"type": "string", "description": "d"}}


@pytest.mark.parametrize(
    ("schema", "problem"),
    [
        ({"type": "array", "items": {"type": "string"}}, "the top level: make it an object"),
        ({"anyOf": [obj(), obj()]}, "the top level: make it an object"),
        ({"$ref": "#/$defs/none"}, "the top level: make it an object"),
        ({"$ref": "#/properties/a"}, "the top level: make it an object"),
        (obj(a={}), "/properties/a: anything goes here"),
        (obj(a=True), "/properties/a: anything goes here"),
        (obj(a=False), "/properties/a: nothing can fit here"),
        (obj(a={"description": "x"}), "/properties/a: name a type"),
        (obj(a={"type": "array"}), "/properties/a: a list needs 'items'"),
        (obj(a={"type": "object"}), "/properties/a: free keys"),
        (obj(a={"type": "object", "additionalProperties": {"type": "string"}}), "free keys"),
        (
            {**obj(a={"type": "string"}), "additionalProperties": {"type": "string"}},
            "the top level: keys beside the named ones",
        ),
        (obj(a={"type": "array", "prefixItems": [{}]}), "/properties/a: positions of a list"),
        (obj(a={"type": "string", "not": {"const": "x"}}), "/properties/a: 'not'"),
        (obj(a={"type": "string", "if": {}, "then": {}}), "/properties/a: conditions"),
        (obj(a={"type": "string", "allOf": [{"pattern": "a"}, {"pattern": "b"}]}), "'allOf'"),
        (obj(a={**obj(b={"type": "string"}), "patternProperties": {"x": {}}}), "keys by pattern"),
    ],
)
def test_what_cannot_fit_is_told_with_its_place(schema: dict[str, object], problem: str) -> None:
    assert not strictify(schema).fits
    assert any(problem in line for line in told(schema)), told(schema)


@pytest.mark.parametrize(
    ("schema", "problem"),
    [
        (
            obj(**{f"k{n}": {"type": "string"} for n in range(5_001)}),
            "5,001 properties; at most 5,000",
        ),
        (
            obj(a={"type": "integer", "enum": list(range(1_001))}),
            "1,001 enum values; at most 1,000",
        ),
        (
            obj(a={"type": "string", "enum": ["x" * 100 + str(n) for n in range(251)]}),
            "/properties/a: 251 values may hold 15,000 characters",
        ),
        (obj(**{"x" * 120_001: {"type": "string"}}), "120,001 characters"),
    ],
    ids=["properties", "enum values", "long enum", "characters"],
)
def test_the_documented_sizes_are_kept(schema: dict[str, object], problem: str) -> None:
    assert any(problem in line for line in told(schema)), told(schema)


@pytest.mark.parametrize(("levels", "fits"), [(10, True), (11, False)])
def test_objects_nest_ten_levels_deep(levels: int, fits: bool) -> None:  # noqa: FBT001
    schema = obj(a={"type": "string"})
    for _ in range(levels - 1):
        schema = obj(a=schema)
    result = strictify(schema)
    assert result.fits is fits
    assert [p.path for p in result.problems] == ([] if fits else [("properties", "a") * 10])


def test_advice_is_one_line_with_the_first_places() -> None:
    line = advise({"type": "object", "properties": {"a": {"type": "string", "minLength": 1}}})
    assert line == (
        "For strict mode: leave out 'minLength' (/properties/a); "
        "set 'additionalProperties' to false (the top level); "
        "list it in 'required' and let it be null (/properties/a)."
    )
    many = advise(obj(**{name: {} for name in "abcde"}))
    assert many.endswith("(+2 more).")
    assert "\n" not in many


def test_the_given_schema_is_left_alone_and_its_order_is_kept() -> None:
    given_schema = {
        "type": "object",
        "properties": {"z": {"type": "string"}, "a": {"type": "string"}},
    }
    before = repr(given_schema)
    assert strictify(given_schema).schema["required"] == ["z", "a"]
    assert repr(given_schema) == before


def test_silent_annotations_go_without_a_word() -> None:
    schema = {**FITS, "$schema": "https://json-schema.org/draft/2020-12/schema", "$id": "urn:x"}
    assert strictify(schema).schema == FITS
    assert advise(schema) == ""


@given(schemas())
def test_whatever_comes_in_the_outcome_is_a_valid_schema_and_stable(
    schema: dict[str, object],
) -> None:
    result = strictify(schema)
    validator(result.schema)
    if result.fits:
        again = strictify(result.schema)
        assert (again.schema, again.changes, again.problems) == (result.schema, (), ())


@pytest.mark.parametrize("name", ["B", "a/b~c"])
def test_a_top_level_that_refers_through_several_definitions_is_written_out(name: str) -> None:
    escaped = name.replace("~", "~0").replace("/", "~1")
    definitions = {"A": {"$ref": f"#/$defs/{escaped}"}, name: {**FITS, "$defs": {}}}
    result = strictify({"$ref": "#/$defs/A", "$defs": definitions})
    assert result.schema["type"] == "object"
    assert "$ref" not in result.schema
    assert len(result.changes) == 1


def test_a_top_level_that_only_refers_to_itself_is_a_problem_not_a_loop() -> None:
    assert not strictify({"$ref": "#/$defs/A", "$defs": {"A": {"$ref": "#/$defs/A"}}}).fits


def test_a_reference_that_leads_out_is_a_problem() -> None:
    """An endpoint in strict mode fetches nothing; it was said to fit."""
    (problem,) = strictify(obj(a={"$ref": "https://host.example/a"})).problems
    assert str(problem).startswith("/properties/a: '$ref' leads out to 'https://host.example/a'")


def test_positions_of_a_list_are_told_as_such_in_any_draft() -> None:
    """Before 2020-12 they stand under `items`; it was said that nothing can fit there."""
    for keyword in ("items", "prefixItems"):
        (problem,) = strictify(obj(a={"type": "array", keyword: [{"type": "string"}]})).problems
        assert str(problem).startswith("/properties/a: positions of a list are not known")
