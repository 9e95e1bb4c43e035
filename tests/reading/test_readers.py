"""Text readers: the ready-made ones, and the two places where parse asks one."""

from __future__ import annotations

import re

import pytest

from structguard.reading import ABSTAIN, NOTHING, ParseError, Read, parse, readers

QUERY = {
    "type": "object",
    "properties": {"rewritten_query": {"type": "string"}},
    "required": ["rewritten_query"],
}


def test_a_tag_gives_the_text_between_its_last_pair() -> None:
    read = readers.tag("rewritten_query")
    text = "<rewritten_query>a</rewritten_query> or <rewritten_query> b </rewritten_query>"
    assert read(text) == Read({"rewritten_query": "b"})
    assert read("<rewritten_query>cut") is NOTHING
    assert read("<rewritten_query> NONE </rewritten_query>") is ABSTAIN
    assert read("nothing") is NOTHING


def test_a_tags_name_is_a_word() -> None:
    with pytest.raises(ValueError, match="a b"):
        readers.tag("a b")


def test_lines_give_items_and_what_they_would_not_take() -> None:
    read = readers.lines(r"- (\w+)")
    assert read("- a\nhm\n\n- b") == Read(["a", "b"], ("hm",))
    assert readers.lines(r"(?P<a>\w)=(?P<b>\w)")("x=y") == Read([{"a": "x", "b": "y"}], ())
    assert readers.lines(r"\d")("1\n2") == Read(["1", "2"], ())
    assert read("prose") is NOTHING
    assert read("None.") is ABSTAIN


@pytest.mark.parametrize("text", ["B", "b.", "**B**", "Answer: B", "The answer is B.", '"b"'])
def test_a_choice_is_the_whole_text(text: str) -> None:
    assert readers.choice(["A", "B"])(text) == Read("B")


@pytest.mark.parametrize("text", ["A or B", "B is better than A", "C", ""])
def test_no_choice_is_read_into_a_sentence(text: str) -> None:
    assert readers.choice(["A", "B"])(text) is NOTHING


def test_a_choice_abstains_unless_none_is_an_option() -> None:
    assert readers.choice(["A"])("NONE") is ABSTAIN
    assert readers.choice(["A", "none"])("NONE") == Read("none")
    with pytest.raises(ValueError, match="at least one"):
        readers.choice([])
    with pytest.raises(ValueError, match="case"):
        readers.choice(["a", "A"])


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (int, "42", 42),
        (int, "Answer: -7.", -7),
        (float, "**3.5**", 3.5),
        (bool, "True", True),
        (bool, "answer: false", False),
        (str, " two words\n", "two words"),
    ],
)
def test_a_scalar_is_the_whole_text(kind: type, text: str, value: object) -> None:
    assert readers.scalar(kind)(text) == Read(value)


def test_a_scalar_is_not_read_into_a_sentence() -> None:
    assert readers.scalar(int)("about 12") is NOTHING
    assert readers.scalar(float)("1e999") is NOTHING
    assert readers.scalar(bool)("true or false") is NOTHING
    assert readers.scalar(int)("n/a") is ABSTAIN
    with pytest.raises(TypeError, match="list"):
        readers.scalar(list)


def test_a_marked_reader_is_asked_before_json_is_searched() -> None:
    text = '{"rewritten_query": "fragment", then <rewritten_query>whole</rewritten_query>'
    found = parse(text, QUERY, reader=readers.tag("rewritten_query"))
    assert (found.value, found.source) == ({"rewritten_query": "whole"}, "text")


def test_strict_json_comes_before_a_marked_reader() -> None:
    text = '{"rewritten_query": "<rewritten_query>x</rewritten_query>"}'
    assert parse(text, QUERY, reader=readers.tag("rewritten_query")).source == "json"


def test_a_reader_does_not_see_the_reasoning() -> None:
    text = (
        "<think><rewritten_query>no</rewritten_query></think><rewritten_query>yes</rewritten_query>"
    )
    found = parse(text, QUERY, reader=readers.tag("rewritten_query"))
    assert found.value == {"rewritten_query": "yes"}
    late = "a</think><rewritten_query>yes</rewritten_query>"
    assert parse(late, QUERY, reader=readers.tag("rewritten_query")).value == found.value
    with pytest.raises(ParseError):
        parse(
            "<think><rewritten_query>no</rewritten_query>",
            QUERY,
            reader=readers.tag("rewritten_query"),
        )


def test_a_reader_without_a_marker_is_asked_last() -> None:
    number = {"type": "integer"}
    assert parse("42!", number, reader=readers.scalar(int)).source == "text"
    assert parse('{"value": 7} 42', reader=readers.scalar(int)).value == {"value": 7}


def test_an_abstaining_reader_is_not_checked_against_the_schema() -> None:
    found = parse("NONE", {"type": "integer"}, reader=readers.scalar(int))
    assert found.value is ABSTAIN
    assert found.source == "text"
    assert repr(found.value) == "ABSTAIN"


def test_a_readers_value_passes_the_same_check() -> None:
    def read(text: str) -> object:
        return {"rewritten_query": 5}

    with pytest.raises(ParseError):
        parse("x", QUERY, reader=read)
    assert parse("x", QUERY, reader=read, coerce=True).value == {"rewritten_query": "5"}


def test_what_a_reader_would_not_take_is_handed_on() -> None:
    found = parse("- a\nhm", {"type": "array"}, reader=readers.lines(r"- (\w)"))
    assert found.rejected == ("hm",)


def test_any_callable_with_a_marker_is_a_marked_reader() -> None:
    class Envelope:
        marker = re.compile("RESULT")

        def __call__(self, text: str, /) -> object:
            return text.partition("RESULT ")[2]

    assert parse('{"a": 1} RESULT ok', reader=Envelope()).value == "ok"
