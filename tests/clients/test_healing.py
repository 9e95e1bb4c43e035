"""One text reduced to bare JSON: what is right stays, what is wrapped comes out, the rest is left."""

from __future__ import annotations

from typing import Any

import pytest

from structguard.clients.healing import Healed, heal
from structguard.types import Format, JsonObject, JsonSchema

OBJECT = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
LIST = {"type": "array", "items": {"type": "integer"}}


@pytest.mark.parametrize(
    ("text", "schema", "healed"),
    [
        ('{ "n": 1 }', OBJECT, Healed('{ "n": 1 }', "json")),
        ('\ufeff{ "n": 1 }', OBJECT, Healed('{ "n": 1 }', "json")),
        ('\ufeff{"n": 1}', {"type": "objekt"}, Healed('{"n": 1}', "json")),
        ('{"answer": {"n": 1}}', OBJECT, Healed('{"n":1}', "json")),
        ("[ 1 ]", LIST, Healed("[ 1 ]", "json")),
        ('{"items": [1]}', LIST, Healed("[1]", "json")),
        ('"a"', {"type": "string"}, Healed('"a"', "json")),
        ("no idea", OBJECT, Healed("no idea", None)),
        ('{"n": 1}', {"type": "objekt"}, Healed('{"n": 1}', "json")),
        ("```json\n{'n': 1}\n```", {"type": "objekt"}, Healed("```json\n{'n': 1}\n```", None)),
    ],
)
def test_a_degraded_answer_is_reduced_to_what_fits(text: str, schema: Any, healed: Healed) -> None:
    assert heal(text, lambda: JsonSchema(schema=schema), degraded=True) == healed


@pytest.mark.parametrize("asked", [JsonObject(), None])
def test_without_a_schema_any_json_is_right(asked: Format | None) -> None:
    assert heal("[1]", lambda: asked, degraded=True) == Healed("[1]", "json")
    assert heal("```\n{'a': 1}\n```", lambda: asked, degraded=False).text == '{"a":1}'


@pytest.mark.parametrize("degraded", [True, False])
@pytest.mark.parametrize(
    ("text", "healed"),
    [
        ("[1, 2, 3", Healed("[1, 2, 3", None)),
        ("So: [1, 2", Healed("So: [1, 2", None)),
        ("[1, 2]", Healed("[1, 2]", "json")),
        ("```json\n[1, 2]\n``` The second is", Healed("[1,2]", "fenced")),
    ],
)
def test_a_value_that_the_token_limit_cuts_is_not_closed(
    text: str, healed: Healed, *, degraded: bool
) -> None:
    """Closed it would pass for all of it: a list that lacks its end is a list."""
    assert heal(text, lambda: JsonSchema(schema=LIST), degraded=degraded, cut=True) == healed


def test_strict_json_under_an_accepted_format_asks_for_nothing() -> None:
    def asked() -> Format:
        raise AssertionError("not needed")

    assert heal('{"any": 1}', asked, degraded=False) == Healed('{"any": 1}', "json")
