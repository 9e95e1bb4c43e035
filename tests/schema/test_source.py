"""What a caller may pass as a format, and what is refused with which words."""

from __future__ import annotations

import dataclasses
import enum
import subprocess
import sys
import types
from typing import Annotated, Any, Generic, Literal, TypeVar

import pytest
from pydantic import BaseModel, ConfigDict, Field, RootModel
from typing_extensions import TypedDict

from structguard.schema import as_format
from structguard.types import JsonObject, JsonSchema

T = TypeVar("T")


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Person(BaseModel):
    name: str
    age: int | None = None


class Box(BaseModel, Generic[T]):
    content: T


class Words(RootModel[list[str]]):
    pass


class Tree(BaseModel):
    value: int
    children: list[Tree] = []


class Point(TypedDict):
    x: int


@dataclasses.dataclass
class Size:
    width: int


class Broken(BaseModel):
    """Its annotation names something that does not exist."""

    model_config = ConfigDict(defer_build=True)
    nothing: Missing  # type: ignore[name-defined]  # noqa: F821


SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}}


@pytest.mark.parametrize(
    ("given", "name", "part"),
    [
        (Person, "Person", ("required", ["name"])),
        (Box[int], "Box[int]", ("required", ["content"])),
        (Words, "Words", ("items", {"type": "string"})),
        (Tree, "Tree", ("$ref", "#/$defs/Tree")),
        (Point, "Point", ("required", ["x"])),
        (Size, "Size", ("required", ["width"])),
        (Colour, "Colour", ("enum", ["red", "blue"])),
        (list[int], None, ("items", {"type": "integer"})),
        (int | None, None, ("anyOf", [{"type": "integer"}, {"type": "null"}])),
        (Literal["a", "b"], None, ("enum", ["a", "b"])),
        (Annotated[int, Field(gt=1)], None, ("exclusiveMinimum", 1)),
        (tuple[int, str], None, ("minItems", 2)),
    ],
)
def test_a_type_gives_its_schema_its_name_and_itself_as_source(
    given: object, name: str | None, part: tuple[str, object]
) -> None:
    made = as_format(given)
    assert isinstance(made, JsonSchema)
    assert made.schema[part[0]] == part[1]
    assert made.source == given
    assert made.name == name


def test_any_accepts_all() -> None:
    made = as_format(Any)
    assert isinstance(made, JsonSchema)
    assert made.schema == {}


@pytest.mark.parametrize("given", [Person, list[int], Annotated[int, Field(gt=1)]])
def test_a_type_is_worked_out_once(given: object) -> None:
    assert as_format(given) is as_format(given)


def test_formats_and_none_come_back_as_they_are() -> None:
    schema = JsonSchema(schema=SCHEMA)
    assert as_format(None) is None
    assert as_format(schema) is schema
    assert as_format(JsonObject()) == JsonObject()


@pytest.mark.parametrize(
    "given",
    [
        {"type": "json_schema", "json_schema": {"name": "n", "strict": True, "schema": SCHEMA}},
        {"type": "json_schema", "name": "n", "strict": True, "schema": SCHEMA},
    ],
    ids=["response_format", "text.format"],
)
def test_both_openai_forms_give_the_same_format(given: dict[str, object]) -> None:
    assert as_format(given) == JsonSchema(schema=SCHEMA, name="n", strict=True)


def test_the_other_openai_types() -> None:
    assert as_format({"type": "json_object"}) == JsonObject()
    assert as_format({"type": "text"}) is None


def test_a_bare_schema_is_taken_with_its_title() -> None:
    assert as_format({**SCHEMA, "title": "Thing"}) == JsonSchema(
        schema={**SCHEMA, "title": "Thing"}, name="Thing"
    )
    assert as_format({}) == JsonSchema(schema={})
    assert as_format(types.MappingProxyType(SCHEMA)) == JsonSchema(schema=SCHEMA)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"type": "json_schema"}, "needs an object at 'schema'"),
        ({"type": "json_schema", "json_schema": {"name": "n"}}, "needs an object at 'schema'"),
        ({"type": "json_schema", "json_schema": {"schema": True}}, "needs an object at 'schema'"),
        ({"kind": "object", 3: 4}, "its keys are 'kind', 3"),
        ({"type": "strin"}, "broken at /type"),
        ({"properties": {"a/b": {"required": True}}}, "broken at /properties/a~1b/required"),
        ({"enum": [float("nan")]}, "nan at /enum/0, which is not JSON"),
        ({"const": b"x"}, "a bytes at /const, which is not JSON"),
        ({"properties": {1: {}}}, "no string at /properties: 1"),
        (JsonSchema(schema={"type": 5}), "broken at /type"),
        ({"$ref": "https://example.com/x.json"}, "'https://example.com/x.json' at /\\$ref"),
    ],
)
def test_a_wrong_dict_is_a_value_error_that_names_the_place(given: object, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        as_format(given)


@pytest.mark.parametrize(
    "given",
    [True, False, 3, 1.5, "Person", b"x", [int], (int,), {int}, Person(name="a"), object(), len,
     lambda x: x, Person.model_dump, Broken, Size(1), ..., list["Nowhere"]],  # type: ignore[name-defined]  # noqa: F821
)  # fmt: skip
def test_what_has_no_schema_is_a_type_error(given: object) -> None:
    with pytest.raises(TypeError, match=r"response_format must be|no JSON Schema can be made"):
        as_format(given)


def test_a_long_repr_does_not_flood_the_message() -> None:
    with pytest.raises(TypeError) as caught:
        as_format(Person(name="x" * 100_000))
    assert len(str(caught.value)) < 1_000


def test_importing_the_room_loads_no_heavy_package() -> None:
    heavy = "pydantic", "jsonschema", "jsonschema_rs", "referencing"
    script = f"import sys, structguard.schema; print([m for m in {heavy} if m in sys.modules])"
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)  # noqa: S603
    assert run.stdout.strip() == "[]"


@pytest.mark.parametrize(
    "schema", [{"pattern": "^a"}, {"minimum": 1}, {"minItems": 2}, {"definitions": {}}]
)
def test_a_schema_of_one_keyword_without_a_type_is_a_schema(schema: dict[str, object]) -> None:
    assert as_format(schema) == JsonSchema(schema=schema)
