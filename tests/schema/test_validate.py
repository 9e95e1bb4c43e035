"""Compiled validators: drafts, references, faults, depth, differences of the engines."""

from __future__ import annotations

import socket
import subprocess
import sys
import threading

import pytest
from hypothesis import assume, given, strategies as st

from structguard.schema import Violation, engines as engines_module, validator
from structguard.schema.engines import compile_fast, compile_slow

RECURSIVE = {
    "$ref": "#/$defs/node",
    "$defs": {"node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}}},
}
PERSON = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "tags": {"items": {"type": "string"}}},
    "required": ["name"],
}


def nested(levels: int) -> object:
    value: object = {}
    for _ in range(levels):
        value = {"next": value}
    return value


@pytest.fixture(params=["both engines", "jsonschema alone"])
def engines(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Each rule holds with and without the extra `fast`."""
    from structguard.schema import validate  # noqa: PLC0415

    clear(validate)
    if request.param == "jsonschema alone":
        monkeypatch.setitem(sys.modules, "jsonschema_rs", None)
        monkeypatch.setattr(engines_module, "find_spec", lambda _name: None)
    request.addfinalizer(lambda: clear(validate))  # noqa: PT021
    return str(request.param)


def clear(validate: object) -> None:
    for name in ("_of_packed", "_of_text"):
        getattr(validate, name).cache_clear()


@pytest.mark.usefixtures("engines")
def test_violations_name_the_place_the_keyword_and_the_fault() -> None:
    assert validator(PERSON).errors({"name": "a", "tags": ["x", 5]}) == (
        Violation(("tags", 1), "type", "5 is not of type 'string'"),
    )
    assert validator(PERSON).errors({"name": "a"}) == ()
    assert str(validator(PERSON).errors({})[0]) == ("the top level: 'name' is a required property")


@pytest.mark.usefixtures("engines")
def test_the_closest_alternative_is_named() -> None:
    schema = {"anyOf": [{"type": "null"}, {"properties": {"a": {"type": "integer"}}}]}
    (violation,) = validator(schema).errors({"a": "x"})
    assert violation.path == ()
    assert violation.keyword == "anyOf"
    assert "closest at /a: 'x' is not of type 'integer'" in violation.message


@pytest.mark.usefixtures("engines")
def test_at_most_limit_violations_are_told() -> None:
    many = validator({"items": {"type": "string"}}).errors(list(range(50)))
    assert len(many) == 20
    assert len(validator({"items": {"type": "string"}}).errors(list(range(50)), limit=3)) == 3


@pytest.mark.usefixtures("engines")
def test_a_message_holds_neither_a_huge_value_nor_a_secret() -> None:
    secret = "sk-" + "a1" * 30
    for value in ("x" * 1_000_000, secret, secret + "x" * 5_000, [secret] * 1_000):
        (violation,) = validator({"type": "integer"}).errors(value)
        assert len(violation.message) <= 200
        assert "a1a1a1" not in violation.message
        assert "is not of type 'integer'" in violation.message


@pytest.mark.parametrize("levels", [1_000, 5_000, 100_000])
@pytest.mark.usefixtures("engines")
def test_a_value_nested_very_deeply_is_a_verdict_not_a_crash(levels: int) -> None:
    made, value = validator(RECURSIVE), nested(levels)
    if not made.is_valid(value):
        assert made.errors(value) == (
            Violation((), "depth", "the value is nested too deeply to be checked"),
        )
    else:
        assert levels == 1_000


@pytest.mark.usefixtures("engines")
def test_depth_that_an_answer_may_have_is_checked() -> None:
    made = validator(RECURSIVE)
    assert made.is_valid(nested(100))
    assert not made.is_valid({"next": {"next": 5}})


@pytest.mark.usefixtures("engines")
def test_values_the_engines_choke_on_get_a_verdict() -> None:
    assert validator({"type": "string"}).is_valid("\ud800")
    assert not validator({"maxLength": 0}).is_valid("\ud800")
    assert validator({"type": "integer"}).is_valid(10**400)
    assert not validator({"type": "integer", "maximum": 10**400}).is_valid(10**400 + 1)


def test_a_fault_inside_an_engine_is_a_violation_that_says_so() -> None:
    made = validator(
        {
            "$schema": "https://json-schema.org/draft/2019-09/schema",
            "items": False,
            "unevaluatedItems": {},
            "pattern": r"\d",
        }
    )
    assert made.engine == "jsonschema"
    assert not made.is_valid([])
    (violation,) = made.errors([])
    assert violation.keyword == "error"
    assert violation.message.startswith("the value cannot be checked: TypeError")


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({"type": "strin"}, "broken at /type"),
        ({"properties": {"a/b": {"minimum": "1"}}}, "broken at /properties/a~1b/minimum"),
        ({"properties": {"a": {"pattern": "("}}}, "broken at /properties/a/pattern"),
        ({"$schema": "urn:mine"}, "unknown dialect at /\\$schema: 'urn:mine'"),
        ({"$schema": 7}, "unknown dialect at /\\$schema: 7"),
        ({"items": {"$ref": "#/$defs/x"}}, "'#/\\$defs/x' at /items/\\$ref, and nothing is there"),
        ({"$ref": "#nowhere"}, "'#nowhere' at /\\$ref"),
        ({"not": {"$ref": "other.json"}}, "'other.json' at /not/\\$ref; nothing is fetched"),
        ({"$dynamicRef": "https://e.org/x"}, "at /\\$dynamicRef; nothing is fetched"),
        ({"$ref": "#"}, "the top level refers back to itself"),
        (
            {
                "$defs": {
                    "a": {"anyOf": [{"$ref": "#/$defs/b"}]},
                    "b": {"not": {"$ref": "#/$defs/a"}},
                }
            },
            "/\\$defs/(a|b).* refers back to itself",
        ),
        ({"enum": [float("inf")]}, "inf at /enum/0"),
    ],
)
@pytest.mark.usefixtures("engines")
def test_a_broken_schema_names_its_place(schema: dict[str, object], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        validator(schema)


@pytest.mark.usefixtures("engines")
def test_a_schema_nested_too_deeply_is_refused() -> None:
    schema: dict[str, object] = {}
    for _ in range(5_000):
        schema = {"not": schema}
    with pytest.raises(ValueError, match="nested more than 200 levels deep"):
        validator(schema)


@pytest.mark.usefixtures("engines")
def test_no_schema_makes_a_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_args: object) -> None:
        raise AssertionError("a connection was opened")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    for address in (
        "http://127.0.0.1:9/a.json",
        "https://json-schema.org/nothing",
        "file:///etc/x",
    ):
        with pytest.raises(ValueError, match="nothing is fetched"):
            validator({"properties": {"a": {"$ref": address}}})
    assert validator({"$ref": "https://json-schema.org/draft/2020-12/schema"}).is_valid({})


@pytest.mark.parametrize(
    ("named", "draft"),
    [
        (None, "2020-12"),
        ("https://json-schema.org/draft/2020-12/schema", "2020-12"),
        ("http://json-schema.org/draft/2019-09/schema#", "2019-09"),
        ("http://json-schema.org/draft-07/schema#", "7"),
        ("https://json-schema.org/draft-07/schema", "7"),
        ("http://json-schema.org/draft-06/schema", "6"),
        ("http://json-schema.org/draft-04/schema#", "4"),
        ("http://json-schema.org/draft-03/schema#", "3"),
        ("http://json-schema.org/schema#", "2020-12"),
    ],
)
def test_the_draft_is_the_one_the_schema_names(named: str | None, draft: str) -> None:
    schema = {} if named is None else {"$schema": named}
    assert validator(schema).draft == draft


def test_drafts_differ_where_they_should() -> None:
    tuple_form = {"items": [{"type": "integer"}]}
    draft_7 = {"$schema": "http://json-schema.org/draft-07/schema#", **tuple_form}
    assert not validator(draft_7).is_valid(["x"])
    with pytest.raises(ValueError, match="broken at /items"):
        validator(tuple_form)


def test_an_equal_schema_is_compiled_once() -> None:
    one = validator({"type": "object", "minProperties": 1})
    assert validator({"minProperties": 1, "type": "object"}) is one
    assert validator({"type": "object", "minProperties": 1}, formats=True) is not one


def test_a_schema_changed_in_place_is_compiled_anew() -> None:
    schema: dict[str, object] = {"const": 1}
    assert validator(schema).is_valid(1)
    schema["const"] = True
    assert not validator(schema).is_valid(1)
    assert validator(schema).is_valid(True)


def test_the_number_of_kept_validators_is_bounded() -> None:
    from structguard.schema import validate  # noqa: PLC0415

    for number in range(300):
        validator({"const": number})
    assert validate._of_text.cache_info().currsize <= 256
    assert validate._of_packed.cache_info().currsize <= 256


def test_formats_are_asserted_only_when_asked() -> None:
    schema = {"type": "string", "format": "date"}
    assert validator(schema).is_valid("not a date")
    checked = validator(schema, formats=True)
    assert checked.engine == "jsonschema"
    assert not checked.is_valid("not a date")
    assert checked.errors("not a date")[0].keyword == "format"


@pytest.mark.parametrize(
    "schema",
    [
        {"pattern": r"^\d+$"},
        {"pattern": "a.c"},
        {"pattern": "a$"},
        {"patternProperties": {r"\w": {}}},
        {"multipleOf": 0.1},
        {"contentEncoding": "base64"},
        {"dependencies": {"a": ["b"]}},
        {"unevaluatedProperties": False},
        {"unevaluatedItems": {"type": "string"}},
        {"items": {"$schema": "http://json-schema.org/draft-07/schema#"}},
        {"$schema": "http://json-schema.org/draft-04/schema#"},
        {"$defs": {"a": {"$dynamicAnchor": "x"}}, "$dynamicRef": "#x"},
    ],
)
def test_what_the_engines_judge_differently_stays_with_jsonschema(
    schema: dict[str, object],
) -> None:
    assert validator(schema).engine == "jsonschema"


@pytest.mark.parametrize(
    "schema",
    [
        {"pattern": "^[a-z]+"},
        {"multipleOf": 3},
        {"properties": {"pattern": {"type": "string"}, "dependencies": {}, "multipleOf": {}}},
        PERSON,
        RECURSIVE,
    ],
)
def test_all_else_is_answered_by_the_fast_engine_where_it_is(schema: dict[str, object]) -> None:
    pytest.importorskip("jsonschema_rs")
    assert validator(schema).engine == "jsonschema-rs"


def test_a_pattern_only_the_fast_engine_reads_is_used() -> None:
    pytest.importorskip("jsonschema_rs")
    made = validator({"properties": {"a": {"pattern": r"^\p{L}+$"}}})
    assert made.engine == "jsonschema-rs"
    assert made.is_valid({"a": "é"})
    assert [(v.path, v.keyword) for v in made.errors({"a": "1"})] == [(("a",), "pattern")]
    assert not made.is_valid({"a": "\ud800"})  # neither engine can tell


@pytest.mark.parametrize("draft", ["draft/2020-12/schema", "draft-07/schema#", "draft-04/schema#"])
@pytest.mark.parametrize(
    ("schema", "path"),
    [
        ({"properties": {"x": {"pattern": "^(a+)+$"}}}, ("x",)),
        ({"properties": {"x": {"pattern": "(?:(?:a|a))*b"}}}, ("x",)),
        ({"properties": {"x": {"pattern": "^(a{1,9}){4,}b"}}}, ("x",)),
        ({"patternProperties": {"^(a+)+$": {}, "^x$": {"type": "null"}}}, ("x",)),
    ],
)
def test_a_pattern_that_could_run_for_ever_is_left_to_the_engine_with_bounded_time(
    draft: str, schema: dict[str, object], path: tuple[str, ...]
) -> None:
    pytest.importorskip("jsonschema_rs")
    made = validator({"$schema": f"http://json-schema.org/{draft}", **schema})
    assert made.engine == "jsonschema-rs"  # before the value: the other one would take a minute
    assert [found.path for found in made.errors({"x": "a" * 40 + "!", "a" * 40 + "!": 1})] == [path]


@pytest.mark.parametrize(
    "pattern", [r"^(ab)+\d$", r"\(a+\)+\d", r"[(a+)]+\d", r"(a)+|(b)+\d", r"(a+)?\d"]
)
def test_a_pattern_that_repeats_once_is_judged_as_jsonschema_does(pattern: str) -> None:
    assert validator({"pattern": pattern}).engine == "jsonschema"


def test_a_value_too_deep_for_the_engine_that_answers_alone_is_a_violation() -> None:
    """It would overflow the engine's stack, and end the process."""
    pytest.importorskip("jsonschema_rs")
    script = (
        "from structguard.schema import validator\n"
        "made = validator({'properties': {'a': {'$ref': '#'}, 'b': {'pattern': '(a+)+'}}})\n"
        "value = inner = {}\n"
        "for _ in range(200_000): inner['a'] = {}; inner = inner['a']\n"
        "print(made.is_valid(value), len(made.errors(value)), flush=True)\n"
        "import os; os._exit(0)"
    )
    command = [sys.executable, "-c", script]
    run = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    assert (run.stdout, run.returncode) == ("False 1\n", 0)


def test_without_the_fast_engine_such_a_pattern_is_refused_with_advice() -> None:
    script = (
        "import sys; sys.modules['jsonschema_rs'] = None\n"
        "import importlib.util as u; find = u.find_spec\n"
        "u.find_spec = lambda n, *a: None if n == 'jsonschema_rs' else find(n, *a)\n"
        "from structguard.schema import validator\n"
        r"validator({'pattern': '\\p{L}'})"
    )
    command = [sys.executable, "-c", script]
    run = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    assert "broken at /pattern" in run.stderr
    assert "pip install 'structguard[fast]'" in run.stderr


def test_threads_share_one_validator() -> None:
    found: list[object] = []

    def look() -> None:
        made = validator({"type": "object", "required": ["shared"]})
        found.append((made.is_valid({}), len(made.errors({}))))

    threads = [threading.Thread(target=look) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [(False, 1)] * 8


NUMBERS = st.sampled_from(
    [
        0,
        1,
        True,
        1.0,
        -0.0,
        1.5,
        2**53,
        2**53 + 1,
        float(2**53),
        2**64,
        10**20,
        1e20,
        10**400,
        1e308,
    ]
)
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["a", "b", "é"]), inner, max_size=3)
    ),
    max_leaves=6,
)
TYPES = ["null", "boolean", "integer", "number", "string", "array", "object"]


def schemas() -> st.SearchStrategy[dict[str, object]]:
    def keywords(inner: st.SearchStrategy[object]) -> st.SearchStrategy[dict[str, object]]:
        some = st.lists(inner, min_size=1, max_size=2)
        count = st.integers(0, 3)
        plain = NUMBERS.filter(lambda n: not isinstance(n, bool))
        return st.fixed_dictionaries(
            {},
            optional={
                "type": st.sampled_from(TYPES), "enum": st.lists(VALUES, min_size=1, max_size=3),
                "const": VALUES, "minimum": plain, "exclusiveMaximum": plain, "anyOf": some,
                "oneOf": some, "not": inner, "items": inner, "prefixItems": some,
                "uniqueItems": st.booleans(), "maxItems": count, "minLength": count,
                "properties": st.dictionaries(st.sampled_from(["a", "b"]), inner, max_size=2),
                "required": st.lists(st.sampled_from(["a", "é"]), unique=True),
                "additionalProperties": inner, "propertyNames": inner, "contains": inner,
                "multipleOf": st.sampled_from([1, 3, 10**20]), "if": inner, "then": inner,
            },
        )  # fmt: skip

    return st.recursive(st.booleans() | keywords(st.booleans()), keywords, max_leaves=4).filter(
        lambda schema: isinstance(schema, dict)
    )  # type: ignore[return-value]


@given(schemas(), VALUES)
def test_both_engines_agree_on_schemas_nobody_wrote(
    schema: dict[str, object], value: object
) -> None:
    pytest.importorskip("jsonschema_rs")
    made = validator(schema)
    fast = compile_fast(made.schema, made.draft)
    assume(fast is not None)  # an older one cannot hold big integers
    assert fast is not None
    slow = compile_slow(made.schema, made.draft, formats=False)
    assert fast.is_valid(value) == slow.is_valid(value) == made.is_valid(value)


@pytest.mark.parametrize("keyword", ["allOf", "anyOf", "oneOf"])
def test_references_that_multiply_are_refused_with_their_place(keyword: str) -> None:
    """Thirty definitions that each name the next one twice: a billion checks of one value."""

    def doubling(levels: int) -> dict[str, object]:
        named: dict[str, object] = {
            f"a{n}": {keyword: [{"$ref": f"#/$defs/a{n + 1}"}, {"$ref": f"#/$defs/a{n + 1}"}]}
            for n in range(levels)
        }
        return {"$ref": "#/$defs/a0", "$defs": {**named, f"a{levels}": {"type": "integer"}}}

    assert not validator(doubling(8)).is_valid("x")
    with pytest.raises(ValueError, match=r"at /\$defs/a\d+\S* multiplies by its references"):
        validator(doubling(60))
