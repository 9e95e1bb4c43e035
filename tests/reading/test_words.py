"""What the words around a value say of it: examples, drafts that are corrected, texts that decline."""

from __future__ import annotations

import pytest

from structguard.reading import ParseError, parse

PERSON = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
    "required": ["name", "age"],
}
ANN, BOB = '{"name": "Ann", "age": 3}', '{"name": "Bob", "age": 9}'
IS_ANN, IS_BOB = {"name": "Ann", "age": 3}, {"name": "Bob", "age": 9}


@pytest.mark.parametrize(
    "between",
    [
        "\n\nWait, that is not right.\n\n",
        "\n\nActually, she was born later:\n```json\n",
        "\n\nFinal answer:\n",
        "\n\nAfter verification, the corrected JSON is:\n\n",
        "\n\nOn second thought:\n",
        "\n\nKorrektur:\n",
        "\n\n更正\uff1a\n",
    ],
)
def test_a_draft_that_is_corrected_gives_way_to_its_correction(between: str) -> None:
    found = parse(ANN + between + BOB, PERSON)
    assert found.value == IS_BOB
    assert found.alternatives == (IS_ANN,)


@pytest.mark.parametrize("between", ["\n", "\n\nOption B:\n", "\n\nAnother reading would be\n"])
def test_without_words_that_correct_the_first_of_equals_is_taken(between: str) -> None:
    assert parse(ANN + between + BOB, PERSON).value == IS_ANN


@pytest.mark.parametrize(
    "between",
    ["\n\nIf you prefer the other one instead, use ", "\n\nAlternatively, the final answer is:\n"],
)
def test_what_is_offered_stands_beside_the_first_value(between: str) -> None:
    assert parse(ANN + between + BOB, PERSON).value == IS_ANN


def test_an_example_before_one_object_leaves_no_list() -> None:
    people = {"type": "array", "items": PERSON}
    with pytest.raises(ParseError):
        parse(f"Example:\n{ANN}\n{BOB}", people, coerce=True)


def test_a_corrected_object_makes_no_list_with_its_correction() -> None:
    people = {"type": "array", "items": PERSON}
    assert parse(f"{ANN}\n{BOB}", people).value == [IS_ANN, IS_BOB]
    with pytest.raises(ParseError):
        parse(f"{ANN}\nWait, correction:\n{BOB}", people)


@pytest.mark.parametrize(
    "text",
    [
        f"Example: {BOB}\nAnswer: {ANN}",
        f"For instance, the output could look like this:\n```json\n{BOB}\n```\nFor your text:\n{ANN}",
        f"{ANN}\n\nAn example of an invalid answer would be {BOB}.",
        f"Beispiel: {BOB}\nErgebnis: {ANN}",
        f"Input: {BOB}\nOutput: {ANN}",
        f"<example>\n{BOB}\n</example>\n<output>{ANN}</output>",
        f"Incorrect:\n```json\n{BOB}\n```\nCorrect:\n```json\n{ANN}\n```",
        f"My first draft was {BOB}; the answer is {ANN}.",
    ],
)
def test_an_example_gives_way_to_what_is_none(text: str) -> None:
    assert parse(text, PERSON).value == IS_ANN


def test_objects_behind_an_example_are_a_list_without_it() -> None:
    people = {"type": "array", "items": PERSON}
    text = f"Example: {BOB}\nPeople found:\n{ANN}\n{ANN}"
    assert parse(text, people).value == [IS_ANN, IS_ANN]
    assert parse(f"Examples:\n{ANN}\n{BOB}", people).value == [IS_ANN, IS_BOB]


@pytest.mark.parametrize(
    "text",
    [
        f"I'm sorry, I can't extract that. A valid answer would look like this:\n{BOB}",
        f"Could you please provide the text? I will return something like:\n```json\n{BOB}\n```",
        f"For example, I'd answer {BOB}. Please share the document.",
        f"There is no person in the text. A record would look like this: {BOB}",
    ],
)
def test_an_example_in_a_text_that_declines_is_no_answer(text: str) -> None:
    with pytest.raises(ParseError) as caught:
        parse(text, PERSON)
    assert any("example" in attempt.why for attempt in caught.value.attempts)


def test_the_input_of_an_action_is_no_label_of_an_input() -> None:
    text = f"Action: save\nAction Input: {ANN}\nObservation: {BOB}"
    assert parse(text, PERSON).value == IS_ANN


@pytest.mark.parametrize(
    "text",
    [
        f"Here is an example of the JSON for your text:\n{BOB}",  # that is how some answer
        f"I'm sorry for the delay. {BOB}",
        f"I couldn't find more in the input: {BOB}",
    ],
)
def test_an_example_alone_or_a_decline_alone_refuses_nothing(text: str) -> None:
    assert parse(text, PERSON).value == IS_BOB


def test_objects_are_the_list_of_a_one_array_object() -> None:
    crew = {"type": "object", "properties": {"crew": {"type": "array", "items": PERSON}},
            "required": ["crew"]}  # fmt: skip
    found = parse(f'{ANN}\n{{"name": "Bob", "age": "9"}}', crew, coerce=True)
    assert found.value == {"crew": [IS_ANN, IS_BOB]}
    assert found.coercions == ((("crew", 1, "age"), "9", 9),)
    with pytest.raises(ParseError):
        parse(f'{ANN}\n{{"name": "Bob"}}\n{BOB}', crew)
    anything = {"type": "object", "properties": {"crew": {"type": "array"}}, "required": ["crew"]}
    with pytest.raises(ParseError):
        parse('{"plan": 1}\n{"done": true}', anything)
