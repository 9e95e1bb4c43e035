"""Who watches hears of every call made meanwhile, whoever watches beside them and wherever it ends."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextvars import Context, copy_context
from dataclasses import replace

import pytest

from structguard.flow import Info, attach, info, publish, report, watch
from structguard.flow.prompt import instruction
from structguard.schema import as_format
from structguard.types import JsonObject, JsonSchema

ONE = Info(provider="p", model="one", enforced=True, requests=1)
TWO = Info(provider="p", model="two", enforced=False, requests=2)
FULLER = Info(provider="p", model="one", enforced=True, requests=1, source="json")


def test_a_watch_may_end_before_one_that_began_later() -> None:
    first, second = watch(), watch()
    begun = first.__enter__()
    later = second.__enter__()
    publish(ONE)
    first.__exit__(None, None, None)
    publish(TWO)
    second.__exit__(None, None, None)
    publish(TWO)
    assert (begun, later) == ([ONE], [ONE, TWO])


async def test_a_watch_may_end_in_another_task(anyio_backend: str) -> None:
    """A fixture that yields is entered in one task and left in another."""

    async def fixture() -> AsyncGenerator[list[Info]]:
        with watch() as calls:
            yield calls

    opened = fixture()
    calls = await anext(opened)
    context: Context = copy_context()
    with pytest.raises(StopAsyncIteration):
        context.run(anext(opened).send, None)
    assert calls == []


def test_a_fuller_word_takes_the_place_of_the_first_one() -> None:
    with watch() as calls:
        amend = publish(ONE)
        publish(TWO)
        kept = calls
        amend(FULLER)
    assert calls is kept
    assert calls == [FULLER, TWO]


class Answer:
    """What an Info can be attached to."""


def test_an_info_lives_beside_its_answer_and_as_long() -> None:
    answer, other = Answer(), Answer()
    attach(answer, ONE)
    assert (info(answer), info(other)) == (ONE, None)
    key = id(answer)
    del answer
    assert key not in report._attached


@pytest.mark.parametrize("answer", ["text", {"a": 1}, (1,), None])
def test_nothing_is_attached_to_what_cannot_be_referred_to(answer: object) -> None:
    attach(answer, ONE)
    assert info(answer) is None


def test_the_instruction_shows_the_schema_or_asks_for_an_object() -> None:
    shown = instruction(JsonSchema(schema={"type": "object", "title": "Größe"}))
    assert shown.endswith('\n{"type":"object","title":"Größe"}')
    assert "one JSON object" in instruction(JsonObject())


def test_the_instruction_shows_the_schema_as_it_is_now() -> None:
    schema: dict[str, object] = {"type": "object", "title": "one"}
    own, read = JsonSchema(schema=schema), as_format(schema)
    assert isinstance(read, JsonSchema)
    first = instruction(own)
    assert instruction(read) == first
    schema["title"] = "two"
    again = as_format(schema)
    assert isinstance(again, JsonSchema)
    assert instruction(own) == instruction(again) != first
    assert instruction(read) == first  # a copy of what it was read from
    assert instruction(replace(read, schema={"title": "three"})).endswith('{"title":"three"}')
