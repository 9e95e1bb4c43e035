"""A checked value becomes an instance, strictly, as JSON writes things."""

from __future__ import annotations

import dataclasses
import datetime as dt
import decimal
import enum
import pickle
import uuid
from typing import Annotated

import pytest
from pydantic import AfterValidator, BaseModel, Field, field_validator
from typing_extensions import TypedDict

from structguard.schema import Misbuilt, as_format, build
from structguard.types import JsonSchema


class Colour(enum.Enum):
    RED = "red"


class Order(BaseModel):
    day: dt.date
    colour: Colour
    pair: tuple[int, str]
    tags: set[str]
    id: uuid.UUID
    price: decimal.Decimal
    weight: float
    note: str = Field("none", alias="remark")


class Fussy(BaseModel):
    a: int

    @field_validator("a")
    @classmethod
    def check(cls, value: int) -> int:
        if value == 3:
            raise ValueError("not three, sk-" + "a" * 40)
        if value == 4:
            raise KeyError(value)
        return value


class Point(TypedDict):
    x: int


@dataclasses.dataclass
class Size:
    width: int


GOOD = {
    "day": "2026-11-29", "colour": "red", "pair": [1, "x"], "tags": ["a"], "price": "1.50",
    "id": "12345678-1234-5678-1234-567812345678", "weight": 1, "remark": "hello",
}  # fmt: skip


def form(given: object) -> JsonSchema:
    made = as_format(given)
    assert isinstance(made, JsonSchema)
    return made


def test_what_json_writes_as_text_or_list_becomes_the_type() -> None:
    assert build(form(Order), GOOD) == Order(
        day=dt.date(2026, 11, 29),
        colour=Colour.RED,
        pair=(1, "x"),
        tags={"a"},
        id=uuid.UUID(GOOD["id"]),  # type: ignore[arg-type]
        price=decimal.Decimal("1.50"),
        weight=1.0,
        remark="hello",
    )


@pytest.mark.parametrize(
    ("given", "value", "built"),
    [
        (Size, {"width": 2}, Size(2)),
        (Point, {"x": 1}, {"x": 1}),
        (list[int], [1, 2], [1, 2]),
        (tuple[int, ...], [1, 2], (1, 2)),
        (int | None, None, None),
        (Annotated[int, Field(gt=1)], 2, 2),
        (int, 10**30, 10**30),
        (str, "é\u2028", "é\u2028"),
    ],
)
def test_every_kind_of_type_is_built(given: object, value: object, built: object) -> None:
    made = build(form(given), value)
    assert made == built
    assert type(made) is type(built)


def test_without_a_source_the_value_itself_comes_back() -> None:
    value = {"a": object()}
    assert build(JsonSchema(schema={}), value) is value


@pytest.mark.parametrize(
    ("change", "path", "keyword"),
    [
        ({"weight": "1"}, ("weight",), "float_type"),
        ({"day": 5}, ("day",), "date_type"),
        ({"colour": "green"}, ("colour",), "enum"),
        ({"pair": ["1", "x"]}, ("pair", 0), "int_type"),
    ],
)
def test_nothing_is_converted_that_json_could_have_written(
    change: dict[str, object], path: tuple[str | int, ...], keyword: str
) -> None:
    with pytest.raises(Misbuilt) as caught:
        build(form(Order), {**GOOD, **change})
    assert [(v.path, v.keyword) for v in caught.value.violations] == [(path, keyword)]


def test_a_types_own_rule_is_told_without_secrets() -> None:
    with pytest.raises(Misbuilt, match=r"^/a: Value error, not three, \*\*\*$"):
        build(form(Fussy), {"a": 3})


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ({"a": 4}, "KeyError: 4"),
        ({"a": object()}, "TypeError"),
        ({"a": float("nan")}, "ValueError"),
    ],
)
def test_whatever_goes_wrong_is_misbuilt_with_its_cause(value: object, why: str) -> None:
    with pytest.raises(Misbuilt, match=why) as caught:
        build(form(Fussy), value)
    assert caught.value.__cause__ is not None
    assert caught.value.violations[0].keyword == "build"


def test_a_value_nested_too_deeply_is_misbuilt() -> None:
    value: object = 1
    for _ in range(100_000):
        value = [value]
    with pytest.raises(Misbuilt, match="RecursionError"):
        build(form(list[object]), value)


def test_misbuilt_survives_pickling() -> None:
    with pytest.raises(Misbuilt) as caught:
        build(form(int), "1")
    again = pickle.loads(pickle.dumps(caught.value))  # noqa: S301
    assert again.violations == caught.value.violations


def test_an_annotated_rule_runs() -> None:
    def even(value: int) -> int:
        if value % 2:
            raise ValueError("odd")
        return value

    with pytest.raises(Misbuilt, match="odd"):
        build(form(Annotated[int, AfterValidator(even)]), 3)
