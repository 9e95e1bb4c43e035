"""Each repair by its name: what is read, what is noted, what is left alone."""

from __future__ import annotations

import pytest

from structguard.reading import ParseError, parse
from structguard.reading.cursor import NOTES


@pytest.mark.parametrize(
    ("text", "value", "note"),
    [
        ("{'a': 'x'}", {"a": "x"}, "quotes"),
        ("{\u201ca\u201d: \u201cx\u201d}", {"a": "x"}, "quotes"),
        ('{"a"\uff1a"x"\uff0c"b"\uff1a1}', {"a": "x", "b": 1}, "comma"),
        ("{a: 1}", {"a": 1}, "unquoted key"),
        ('{"a": word}', {"a": "word"}, "missing quotes"),
        ('{"a": 1 "b": 2}', {"a": 1, "b": 2}, "missing comma"),
        ('{"a": 1,}', {"a": 1}, "trailing comma"),
        ('{"a": 1,, "b": 2}', {"a": 1, "b": 2}, "stray comma"),
        ('{"a": True}', {"a": True}, "literal"),
        ('{"a": undefined}', {"a": None}, "not a JSON value"),
        ('{"a": "x "y" z"}', {"a": 'x "y" z'}, "unescaped quotes"),
        ('{"a": "x\ny"}', {"a": "x\ny"}, "raw newline"),
        ('{"a": """x "y\nz"""}', {"a": 'x "y\nz'}, "triple quotes"),
        ('{"a": "x, "b": 1}', {"a": "x", "b": 1}, "missing end quote"),
        ('{"a": x", "b": 1}', {"a": "x", "b": 1}, "missing start quote"),
        ('{"a": [1, 2}', {"a": [1, 2]}, "missing closer"),
        ('[{"a": [1}]', [{"a": [1]}], "swapped closers"),
        ('{"a": [1, 2}, "b": 3}', {"a": [1, 2], "b": 3}, "wrong closer"),
        ('{"a": 1}, "b": 2}', {"a": 1, "b": 2}, "surplus closer"),
        ('[{"a": 1}, "b": 2}]', [{"a": 1, "b": 2}], "surplus closer"),
        ('{"a": 1)}', {"a": 1}, "stray closer"),
        ('{{"a": 1}}', {"a": 1}, "doubled brace"),
        ('[{"a": 1, {"a": 2}]', [{"a": 1}, {"a": 2}], "missing closer"),
        ('{"a": ["x", "b": 1}', {"a": ["x"], "b": 1}, "missing closer"),
        ("[1, 2, ...]", [1, 2], "ellipsis"),
        ('{"a": 1, ...}', {"a": 1}, "ellipsis"),
        ('{"a": .5}', {"a": 0.5}, "number spelling"),
        ('{"a": 1_000}', {"a": 1000}, "number spelling"),
        ('{"a": ObjectId("x")}', {"a": "x"}, "call"),
        ('{"a": (1, 2)}', {"a": [1, 2]}, "brackets"),
        ('{"a": (1)}', {"a": 1}, "brackets"),
        ('{"a" 1}', {"a": 1}, "missing colon"),
        ('{"a": "x" + "y"}', {"a": "xy"}, "joined strings"),
        ('["x" + "y", 1]', ["xy", 1], "joined strings"),
        ('{"a": ;, "b": 1}', {"b": 1}, "missing value"),
        ('{"a": \\"x\\", "b": 1}', {"a": "x", "b": 1}, "escaped quotes"),
        ('[{"a": "x", {"a": "y"}]', [{"a": "x"}, {"a": "y"}], "missing closer"),
        ('{"a": "\\d"}', {"a": "\\d"}, "invalid escape"),
        ('{"a": "it\\\'s"}', {"a": "it's"}, "invalid escape"),
        ("{'a': '\\ud800'}", {"a": "\\ud800"}, "lone surrogate"),
        ('{"a": "x"\\, "b": 1}', {"a": "x", "b": 1}, "stray backslash"),
        ('{"a": , "b": 1}', {"b": 1}, "missing value"),
        ('{"a": "12" USD}', {"a": "12"}, "words left out"),
        ('{"a": ["x", ... (and so on)]}', {"a": ["x"]}, "words left out"),
        ('{"a": ["x")}', {"a": ["x"]}, "stray closer"),
        ('{"a": "Match:\\n\\d+ Q:\\nNo"}', {"a": "Match:\n\\d+ Q:\nNo"}, "invalid escape"),
        ('{"a": ("x",), b: 1}', {"a": ["x"], "b": 1}, "brackets"),
        ("{'a': r'C:\\temp'}", {"a": "C:\\temp"}, "string prefix"),
        (
            '{"a": "C:\\Users\\new\\report.txt\\nEnd"}',
            {"a": "C:\\Users\\new\\report.txt\nEnd"},
            "invalid escape",
        ),
        ('{"a": 1, COMMENT "b": 2}', {"a": 1, "b": 2}, "words left out"),
        ('{\\"a\\": \\"x\\"}', {"a": "x"}, "escaped quotes"),
        ('{"a": [["x"], "y", "z"], ["w"]]}', {"a": [["x"], ["y", "z"], ["w"]]}, "missing opener"),
        ('{"a": "{\\\\"b\\\\": 1}"}', {"a": '{"b": 1}'}, "escaped twice"),
        ('{"a": ""x", "b": 1}', {"a": "x", "b": 1}, "doubled quote"),
        ('{"a": 1, """" "b": 2}', {"a": 1, "b": 2}, "stray quotes"),
        ('{"a": 1}, "": 2}', {"a": 1, "": 2}, "surplus closer"),
        ('["x,"y"]', ["x", "y"], "missing end quote"),
        ('{"a": "x"", "b": 1}', {"a": "x", "b": 1}, "doubled quote"),
        ('{"a"": 1}', {"a": 1}, "doubled quote"),
        ('{""a": 1}', {"a": 1}, "stray quotes"),
        ('{"a: 1, "b": [2]}', {"a": 1, "b": [2]}, "missing end quote"),
        ('{"a": {"t": "x\n}, "b": 1}', {"a": {"t": "x"}, "b": 1}, "missing end quote"),
        ('{"a" ["x"], "b" {"c": 1}}', {"a": ["x"], "b": {"c": 1}}, "missing colon"),
        ('{"a": "x",\n"b" true}', {"a": "x", "b": True}, "missing colon"),
        ('{"a": "x"]', {"a": "x"}, "wrong closer"),
        ('{"a": {"b": "x"], "c": 1}', {"a": {"b": "x"}, "c": 1}, "wrong closer"),
        ('{"l": [{"a": 1}}, {"a": 2}]}', {"l": [{"a": 1}, {"a": 2}]}, "surplus closer"),
        ('{"a": "x", "y"], "b": 1}', {"a": ["x", "y"], "b": 1}, "missing opener"),
        ('{"a": 1], "b": 1}', {"a": [1], "b": 1}, "missing opener"),
        ('[{"a": 1}, "a": 2}]', [{"a": 1}, {"a": 2}], "missing opener"),
        ('["x",\n y, z",\n "w"]', ["x", "y, z", "w"], "missing start quote"),
        ('{"a": say \\"x\\"", "b": 1}', {"a": 'say "x"', "b": 1}, "missing start quote"),
        ("{u'a': b'x'}", {"a": "x"}, "string prefix"),
        ('{"a": "x",\n"b: "y"}', {"a": "x", "b": "y"}, "missing end quote"),
        ('{"l": [{"a": 1], {"a": 2}]}', {"l": [{"a": 1}, {"a": 2}]}, "wrong closer"),
        ('{"l": [{"a": 1]], "b": 2}', {"l": [{"a": 1}], "b": 2}, "wrong closer"),
        ('{"a": "C:\\file\\dir"}', {"a": "C:\\file\\dir"}, "invalid escape"),
        ('["x,"y","z"]', ["x", "y", "z"], "missing end quote"),
    ],
)
def test_a_repair_is_noted(text: str, value: object, note: str) -> None:
    found = parse(text)
    assert found.value == value
    assert note in [kind for kind, _ in found.repairs]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": 1, // one\n # two\n "b": 2 /* three */}', {"a": 1, "b": 2}),
        ('{"a": 1 // the last }\n}', {"a": 1}),
        ('{ "a": { "b": 1 // c }, "d": 2 }', {"a": {"b": 1}, "d": 2}),
        ('{"a": 1 /* never closed', {"a": 1}),
        ('{"a": "x", /', {"a": "x"}),
        ('{"a": "x", \u2190 a guess\n "b": 1 <-- one\n}', {"a": "x", "b": 1}),
        ('{"a": 1, -- one\n "b": 2 -- two\n}', {"a": 1, "b": 2}),
        ('{"a": "x", \'b\': --1}', {"a": "x", "b": "--1"}),
        ('{"a": "say "x" -- twice",\n "b": 1}', {"a": 'say "x" -- twice', "b": 1}),
        ('{"a":\u0120"x",\u010a"b": 1}', {"a": "x", "b": 1}),  # a byte-level blank is one
        ("{<!-- x -->'a': 1}", {"a": 1}),
        ('{"a": "no // comment", \'b\': 1}', {"a": "no // comment", "b": 1}),
    ],
)
def test_comments_are_passed_over(text: str, value: object) -> None:
    assert parse(text, partial=True).value == value


@pytest.mark.parametrize(
    "text",
    [
        "{x -> y}",
        "{invalid}",
        "The set {x : x > 0} is infinite.",
        "{'a', 'b'}",
        '["a": 1]',
        '{"a": ["f(x")}',
        '{"a": "x" "y" "z}',
        '{"a": foo {"b": 1}}',
        "f(a, b) { return [a, b]; }",
        "- [ ] open\n- [x] done",
        '{"a": 1e999, b: 2}',
    ],
)
def test_what_cannot_be_told_is_not_taken(text: str) -> None:
    with pytest.raises(ParseError):
        parse(text, {"type": "object", "properties": {"z": {}}, "required": ["z"]}, partial=True)


@pytest.mark.parametrize("text", ["{x -> y}", "{'a', 'b'}", '["a": 1]'])
def test_no_part_of_broken_json_is_an_answer(text: str) -> None:
    with pytest.raises(ParseError):
        parse(text)


TEXTS = {"type": "object", "additionalProperties": {"type": "string"}}
MAP = {"type": "object", "properties": {"m": TEXTS, "n": {"type": "integer"}}}


@pytest.mark.parametrize(
    ("inside", "value"),
    [
        ('"k": "a "b" or "c", d.", "l": "5" pipe"', {"k": 'a "b" or "c", d.', "l": '5" pipe'}),
        ('"k": "a, "l": "b"', {"k": "a", "l": "b"}),
        ('"k": "a", "l" "b c"', {"k": "a", "l": "b c"}),
        ('"k": "a", "l: "b c"', {"k": "a", "l": "b c"}),
        ('"k": "\\"a\\",\n "l": "b"', {"k": '"a"', "l": "b"}),
    ],
)
def test_a_map_has_keys_the_schema_does_not_name(inside: str, value: object) -> None:
    assert parse(f'{{"m": {{{inside}}}, "n": 1}}', MAP).value == {"m": value, "n": 1}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('["a", b, c, and d", "e"]', ["a", "b, c, and d", "e"]),
        ('["12",\n b, c",\n "d"]', ["12", "b, c", "d"]),
        ('["a", \\"b\\" of it", "c"]', ["a", '"b" of it', "c"]),
        ('["a", "print(\\"b\\")\n]\n', ["a", 'print("b")']),
        ('["a", "{\\"b\\": [1]}\n]', ["a", '{"b": [1]}']),
        ('["a]\n', ["a"]),
    ],
)
def test_a_string_in_a_list_that_lost_a_quote_is_one_item(text: str, value: object) -> None:
    assert parse(text, {"type": "array", "items": {"type": "string"}}).value == value


def test_what_is_left_of_a_broken_list_is_not_the_list() -> None:
    item = {"type": "object", "properties": {"n": {"type": "integer"}, "t": {"type": "string"}},
            "required": ["n", "t"]}  # fmt: skip
    listed = {"type": "array", "items": item}
    crew = {"type": "object", "properties": {"crew": listed}, "required": ["crew"]}
    one = '{"n": 1, "t": {\\"a\\": [1]}"}'
    rest = '{"n": 2, "t": "x"}, {"n": 3, "t": "y"}'
    for text, schema in (
        (f'[{one}, {{"n": 2, "t": "x"}}]', listed),
        (f"[{one}, {rest}]", listed),
        (f'{{"crew": [{one}, {rest}]}}', crew),
    ):
        with pytest.raises(ParseError):
            parse(text, schema, coerce=True)
    assert parse(f"[{one}]\n\nAgain:\n{rest}", listed).value == [
        {"n": 2, "t": "x"}, {"n": 3, "t": "y"},
    ]  # fmt: skip


@pytest.mark.parametrize(
    "text", ['"x", "{\\"a\\": [1, 2]}", "y"]', '"fix [urgent]", "then", "go"]']
)
def test_a_bracket_inside_a_string_is_no_list(text: str) -> None:
    words = {"type": "array", "items": {"type": "string"}}
    with pytest.raises(ParseError):
        parse(text, words, coerce=True)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('["he said, "stop"]', "one item"),
        ('{"a": ["x, "y", "z"], "b": 1}', "one item"),
        ('{"a": "b": "c"}, "d": 1}', "a key where"),
        ('{"a": # x\n"b": ["c"]}', "a key where"),
    ],
)
def test_what_two_readings_are_equally_good_for_is_not_taken(text: str, why: str) -> None:
    with pytest.raises(ParseError, match=why):
        parse(text)


def test_a_variable_of_its_keys_name_is_code_and_no_value() -> None:
    answer = {"type": "object", "properties": {"answer": {"type": "string"}}}
    assert parse('data = {"answer": word}', answer).value == {"answer": "word"}
    with pytest.raises(ParseError, match="variable"):
        parse('data = {"answer": answer}', answer)


@pytest.mark.parametrize("half", ["", "k", "key", "k: ", "my key"])
def test_half_a_key_without_quotes_goes_with_the_cut(half: str) -> None:
    text = '{a: "x, y", b: {c: "z"}, ' + half
    assert parse(text, partial=True).value == {"a": "x, y", "b": {"c": "z"}}
    assert parse('{a: "x", ' + half, partial=True).value == {"a": "x"}


def test_an_index_behind_a_word_is_no_list() -> None:
    words = {"type": "array", "items": {"type": "string"}}
    assert parse('Words: ["k"]', words).value == ["k"]
    with pytest.raises(ParseError):
        parse('Use `m["k"]` and f()["k"].', words)


def test_quoted_words_of_a_sentence_are_no_items() -> None:
    assert parse('["likes "A", "B", and "C"", "ok"]').value == ['likes "A", "B", and "C"', "ok"]
    assert parse('["a "b"", "c", true, "d"]').value == ['a "b"', "c", True, "d"]
    assert parse("[\"a\", b, 'c']").value == ["a", "b", "c"]


def test_a_string_closes_only_where_structure_follows() -> None:
    text = '{"a": "say "x", then "y"", "b": ["1" "2", "the "3"", "4"]}'
    assert parse(text).value == {"a": 'say "x", then "y"', "b": ["1", "2", 'the "3"', "4"]}


def test_a_key_without_its_brace_makes_an_object_where_there_is_a_schema_to_judge_it() -> None:
    inner = {"type": "object", "properties": {"b": {"type": "integer"}}, "required": ["b"]}
    schema = {"type": "object", "properties": {"a": inner}, "required": ["a"]}
    found = parse('{"a": ["b": 1]}', schema)
    assert found.value == {"a": {"b": 1}}
    assert found.repairs == (("wrong opener", 6),)
    listed = {"type": "array", "items": inner}
    assert parse('["b": 1}, {"b": 2}]', listed).value == [{"b": 1}, {"b": 2}]
    found = parse('{"a": "b": 1}, "c": 2}', schema)
    assert found.value == {"a": {"b": 1}, "c": 2}
    assert found.repairs == (("missing opener", 6),)
    nested = {"type": "object", "properties": {"a": listed}, "required": ["a"]}
    assert parse('{"a": {"b": 1}, {"b": 2}]}', nested).value == {"a": [{"b": 1}, {"b": 2}]}
    with pytest.raises(ParseError):
        parse('{"a": ["c": 1]}', schema)


def test_a_key_the_schema_names_ends_a_string_that_lost_its_quote() -> None:
    schema = {"properties": {"title": {"type": "string"}, "rating": {"type": "integer"}}}
    text = '{"title": "The end of the lin"rating": 4}'
    assert parse(text, schema).value == {"title": "The end of the lin", "rating": 4}


def test_prose_behind_an_open_container_ends_it() -> None:
    assert parse('{"a": ["x", "y"\n\nThat is all.').value == {"a": ["x", "y"]}
    assert parse('{"a": 1\n\nNote: that is all.').value == {"a": 1}


def test_a_special_token_ends_what_is_open() -> None:
    assert parse('{"a": "x"<|im_end|>').value == {"a": "x"}
    assert parse('{"a": "x<|im_end|>', partial=True).value == {"a": "x"}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("{'a': 1, \"b\"", {"a": 1}),
        ('{"b": 1, "a": "x" + "y', {"b": 1}),
        ('[1, "x" + "y', [1]),
        ("{'a': 1, 'b': \"x\\u12", {"a": 1}),
        ("{'a': 1, 'b': \"x\\ud83d", {"a": 1}),
    ],
)
def test_half_a_member_goes_where_repairs_were_needed_too(text: str, value: object) -> None:
    found = parse(text)
    assert found.value == value
    assert not found.complete


@pytest.mark.parametrize(
    ("text", "value"),
    [("{'b': \"x\\u12", {"b": "x"}), ("{'b': \"x\\ud83d", {"b": "x"}), ("{'b': 'x", {"b": "x"})],
)
def test_half_an_escape_goes_where_the_string_stays(text: str, value: object) -> None:
    assert parse(text, partial=True).value == value


def test_members_that_the_schema_does_not_name_go_on_with_nothing() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
    for text in ('{"a": 1, {"b": 2}', '{"a": "see "b": 5, "c": 6}'):
        with pytest.raises(ParseError):
            parse(text, schema)


def test_repairs_of_one_value_are_counted_up_to_a_cap() -> None:
    found = parse("[" + "'x'," * (NOTES + 100) + "]")
    assert found.repairs[-1][0] == "more repairs"
    assert len(found.repairs) == NOTES + 1


@pytest.mark.parametrize(
    "text",
    [
        "[" * 20_000,
        '{"a":' * 4_000,
        "[" * 10_000 + "]" * 10_000,
        '{"a": "' + '"' * 20_000,
        '{"a": "' + 'x" ' * 7_000 + '"}',
        "prose {x : x > 0} " * 1_100,
        "```json\n" * 2_500,
        "\\" * 20_000,
        "{foo: [}" * 2_500,
        '{"a": 1 ' * 2_500,
        '{"k": "v, ' * 2_000,
        '{\\"' * 6_667,
        "{/*" * 6_667,
        "[{" * 10_000,
        "<think>" * 3_000,
        "{" + "'a':'b' " * 2_500,
    ],
    ids=lambda text: repr(text[:10] + text[-5:]),
)
def test_a_hostile_text_is_read_or_refused(text: str) -> None:
    schema = {
        "type": "object",
        "properties": {"answer": {"type": "string"}},
        "required": ["answer"],
    }
    with pytest.raises(ParseError):
        parse(text, schema, coerce=True, partial=True, markup=True)


def test_a_read_that_fails_late_uses_up_the_budget_of_work() -> None:
    schema = {"type": "object", "properties": {"z": {}}, "required": ["z"]}
    behind = "\n{'z': 'x'}"
    assert parse('{"a", ' * 3 + behind, schema).value == {"z": "x"}
    with pytest.raises(ParseError):
        parse('{"a", ' * 700 + behind, schema)


def test_strict_values_are_still_found_when_the_budget_for_repairs_is_spent() -> None:
    schema = {
        "type": "object",
        "properties": {"answer": {"type": "string"}},
        "required": ["answer"],
    }
    text = '{"a": 1 ' * 12_500 + '\n{"answer": "x"}'
    assert parse(text, schema).value == {"answer": "x"}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"rows": [{"a": 1}, "b": 2}', {"rows": [{"a": 1}], "b": 2}),
        (
            '{"rows": [{"a": 1, "b": 2}, {"a": 3}, "b": 4}]}',
            {"rows": [{"a": 1, "b": 2}, {"a": 3, "b": 4}]},
        ),
        ('[{"a": 1}, "x", "b": 2]', None),
        ('["a" ... "b"]', ["a", "b"]),
        ('{"a": 1 ... }', {"a": 1}),
        ("[1, 2 ...]", [1, 2]),
        ('{"a": "x" + 1}', None),
        ('{"a": ["x"] + ["y"]}', None),
        ('{"""a""", "b": 1}', None),
        ("{'a': " + "7" * 4_301 + "}", None),
        ('{"a": 1, ["b"], "c": 2}', None),
        ('{"a": [["x"]], ["y"]}', None),
        ("[[1]: 2]", None),
        ('{\\"a\\": \\"\\d\\"}', {"a": "\\d"}),
        ('{"a": "say "b": and so", \'c\': 1}', {"a": 'say "b": and so', "c": 1}),
        ("{'p': \"C:\\\\dir\\\\\", 'n': 1}", {"p": "C:\\dir\\", "n": 1}),
        ('{"p": "C:\\dir\\", "n": 1}', {"p": "C:\\dir\\", "n": 1}),
        ('{"a": [[1], "x"], [[2]]}', None),
        ('{"a": ["b": 1]}', None),
        ('{"a": ""x" said", "b": 1}', {"a": '"x" said', "b": 1}),
        ('["say "x", and go","y"]', ['say "x", and go', "y"]),
        ('["he said "stop"]', ['he said "stop']),
        ('["a", b c\n]', ["a", "b c"]),
        ('{"a": "x"# y", "b": 1}', {"a": 'x"# y', "b": 1}),
        ('{"a": "6\'2"", "b": 1}', {"a": "6'2\"", "b": 1}),
        ('{"a": "say "x"", "b": 1}', {"a": 'say "x"', "b": 1}),
        ('["a 65", wide", "b"]', ['a 65", wide', "b"]),
        ('{"10:30": "x", \'b\': 1}', {"10:30": "x", "b": 1}),
        ('[a", b"]', ["a", "b"]),
        ('{"a": "one [x, "y"], two", \'b\': 1}', {"a": 'one [x, "y"], two', "b": 1}),
        ('[{"a": 1 {"a": 2}]', [{"a": 1}, {"a": 2}]),
        ('[{"a": "x" {"a": "y"}]', [{"a": "x"}, {"a": "y"}]),
        ('{"a": "\\"x\\" said", \'b\': 1}', {"a": '"x" said', "b": 1}),
        ("{'a': \"\\\\\\\\x\"}", {"a": "\\\\x"}),
        ("{'a': \"\\ud83d\\ude00\"}", {"a": "\U0001f600"}),
        ("{'a': '" + "\\mathrm \\frac'}", {"a": "\\mathrm \\frac"}),
    ],
)
def test_structure_is_told_by_what_stands_around(text: str, value: object) -> None:
    try:
        found = parse(text).value
    except ParseError:
        found = None
    assert found == value
