"""The type of a sub-call's value follows its schema; read by mypy and pyright, run by pytest."""

from __future__ import annotations

from typing import assert_type

from pydantic import BaseModel

from structguard.subcalls import Outcome, Skip, subcall
from structguard.testing import Script

Messages = list[dict[str, str]]


class Rewrite(BaseModel):
    """A model as a schema."""

    query: str


@subcall(schema=Rewrite)
def rewrite(history: list[str], message: str = "m") -> Messages | Skip:
    return [{"role": "user", "content": message}]


@subcall(schema=Rewrite, otherwise=Rewrite(query="as it was"))
def rewrite_or_keep(message: str) -> Messages:
    return [{"role": "user", "content": message}]


@subcall(schema=list[Rewrite], timeout=1.0, otherwise=False)
async def rows() -> Messages:
    return [{"role": "user", "content": "rows"}]


@subcall(schema={"type": "object"})
def untyped(number: int) -> Messages:
    return [{"role": "user", "content": str(number)}]


def script() -> Script:
    """One answer that fits."""
    return Script(['{"query": "a"}'])


async def test_without_otherwise_the_value_is_of_the_schema_or_none() -> None:
    outcome = await rewrite(script(), ["a"], "b", session="7")
    assert_type(outcome, Outcome[Rewrite])
    assert_type(outcome.value, Rewrite | None)
    assert_type(outcome.require(), Rewrite)
    assert_type(await rewrite(script(), ["a"], message="b"), Outcome[Rewrite])
    assert_type(await rewrite.in_session("7")(script(), ["a"]), Outcome[Rewrite])


async def test_with_otherwise_it_is_of_the_schema_or_of_that() -> None:
    kept = await rewrite_or_keep(script(), "m", session="7")
    assert_type(kept, Outcome[Rewrite, Rewrite])
    assert_type(kept.value, Rewrite)
    found = await rows(Script(['[{"query": "a"}]']))
    assert_type(found.value, list[Rewrite] | bool)
    assert found.value == [Rewrite(query="a")]


async def test_a_json_schema_gives_an_object() -> None:
    outcome = await untyped(script(), 3)
    value: object = outcome.value
    assert value == {"query": "a"}


async def test_wrong_arguments_are_seen() -> None:
    await rewrite(script(), 3)  # type: ignore[call-overload]
    await rewrite.in_session("7")(script(), 3)  # type: ignore[arg-type]
