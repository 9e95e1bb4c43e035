"""Equal schemas have equal names, different ones do not."""

from __future__ import annotations

from types import MappingProxyType

import pytest
from hypothesis import given, strategies as st

from structguard.schema import canonical, digest, schema_name
from structguard.schema.identity import FINGERPRINT_LIMIT, fingerprint, plain_copy, pointer
from structguard.types import JsonSchema

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)  # fmt: skip
OBJECTS = st.dictionaries(st.text(), JSON, max_size=4)


def test_the_order_of_keys_does_not_show() -> None:
    assert canonical({"b": 1, "a": 2}) == '{"a":2,"b":1}'
    assert digest({"b": 1, "a": 2}) == digest({"a": 2, "b": 1})


@given(OBJECTS, OBJECTS)
def test_digests_are_equal_exactly_when_the_canonical_texts_are(
    one: dict[str, object], other: dict[str, object]
) -> None:
    assert (digest(one) == digest(other)) == (canonical(one) == canonical(other))


@given(OBJECTS)
def test_a_copy_is_equal_and_independent(schema: dict[str, object]) -> None:
    copied = plain_copy(schema)
    assert copied == schema
    assert list(copied) == list(schema)
    assert copied is not schema


def test_one_true_and_one_point_zero_are_three_schemas() -> None:
    assert len({digest({"const": value}) for value in (1, True, 1.0)}) == 3


def test_a_schema_that_is_changed_in_place_gets_another_digest() -> None:
    schema: dict[str, object] = {"enum": [1]}
    before = digest(schema)
    schema["enum"] = [True]
    assert digest(schema) != before


def test_views_and_tuples_count_as_the_json_they_stand_for() -> None:
    assert digest(MappingProxyType({"a": MappingProxyType({"b": (1,)})})) == digest(
        {"a": {"b": [1]}}
    )


def test_a_huge_schema_is_not_kept_as_a_key() -> None:
    huge = {"enum": ["x" * FINGERPRINT_LIMIT]}
    assert fingerprint(huge) is None
    assert digest(huge) == digest(dict(huge))


def test_a_schema_that_holds_itself_is_refused() -> None:
    schema: dict[str, object] = {}
    schema["not"] = schema
    with pytest.raises(ValueError, match="holds itself"):
        digest(schema)


@pytest.mark.parametrize(
    ("name", "expected"),
    [("Answer", "Answer"), ("Box[int]", "Box_int_"), ("é x", "__x"), ("a" * 99, "a" * 64)],
)
def test_a_name_is_made_valid_for_every_vendor(name: str, expected: str) -> None:
    assert schema_name(JsonSchema(schema={}, name=name)) == expected


@pytest.mark.parametrize("name", [None, "", "__", "éé"])
def test_no_usable_name_gives_one_from_the_digest(name: str | None) -> None:
    assert schema_name(JsonSchema(schema={}, name=name)) == f"schema_{digest({})[:16]}"


def test_pointers_escape_as_the_rfc_says() -> None:
    assert pointer(("a/b", "~", 0)) == "/a~1b/~0/0"
    assert pointer(()) == "the top level"
