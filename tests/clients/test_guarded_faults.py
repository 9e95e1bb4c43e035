"""Guarded functions of every make: what they are, what they take, what they raise."""

from __future__ import annotations

import functools
import json
import logging
from collections.abc import Callable, Iterator
from typing import Any

import anyio
import httpx2
import pytest

import structguard as sg
from structguard.events import Event, RefusalRemembered
from structguard.memo import Memo
from structguard.testing import Script
from structguard.types import Failure

SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}}
UNSUPPORTED = "response_format is not supported"


def refusal(status: int = 400, message: str = UNSUPPORTED) -> httpx2.HTTPStatusError:
    request = httpx2.Request("POST", "http://test/v1/chat/completions")
    response = httpx2.Response(status, json={"error": {"message": message}}, request=request)
    return httpx2.HTTPStatusError("refused", request=request, response=response)


def answer(response_format: object) -> str:
    if response_format is not None:
        raise refusal()
    return "prose"


async def aanswer(model: str, response_format: Any = None) -> str:
    return answer(response_format)


class Service:
    """Every make of method; `decorate` is `guarded`."""

    def __init__(self, decorate: Callable[[Any], Any]) -> None:
        class Holder:
            @decorate
            @staticmethod
            def static(model: str, response_format: Any = None) -> str:
                return f"{model}: {answer(response_format)}"

            @decorate
            @classmethod
            def of_class(cls, model: str, response_format: Any = None) -> str:
                return f"{cls.__name__} {model}: {answer(response_format)}"

            @decorate
            @staticmethod
            async def later(model: str, response_format: Any = None) -> str:
                return answer(response_format)

        self.holder: Any = Holder()


def test_static_and_class_methods_stay_what_they_are(memo: Memo) -> None:
    holder = Service(sg.guarded("p", memo=memo)).holder
    owners: list[Any] = [holder, type(holder)]
    for owner in owners:
        assert owner.static("m", SCHEMA) == "m: prose"
        assert owner.of_class("m", SCHEMA) == "Holder m: prose"
    assert anyio.run(holder.later, "m", SCHEMA) == "prose"


def test_an_object_whose_call_is_async_is_awaited(memo: Memo) -> None:
    class Asks:
        async def __call__(self, model: str, response_format: Any = None) -> str:
            return answer(response_format)

    assert anyio.run(sg.guarded("p", memo=memo)(Asks()), "m", SCHEMA) == "prose"
    partly = functools.partial(aanswer, response_format=SCHEMA)
    assert anyio.run(sg.guarded("p", memo=memo)(partly), "m") == "prose"


def test_a_result_that_must_still_be_awaited_is_a_type_error(memo: Memo) -> None:
    """It would be handed on unguarded, and nobody would know."""

    def later(model: str, response_format: Any = None) -> Any:
        return aanswer(model, response_format)

    ask = sg.guarded("p", memo=memo)(later)
    with pytest.raises(TypeError, match=r"gave coroutine: decorate the async function"):
        ask("m", SCHEMA)
    ask("m").close()  # without a format it is the function's own business


JSON_OBJECT = {"type": "json_object"}


def asks_by_default(model: str, response_format: Any = JSON_OBJECT) -> str:
    return answer(response_format)


@pytest.mark.parametrize(
    "function", [asks_by_default, functools.partial(asks_by_default, response_format=SCHEMA)]
)
def test_a_default_that_is_itself_a_format_is_refused_and_replaced(
    memo: Memo, function: Any
) -> None:
    ask = sg.guarded("p", memo=memo)(function)
    assert ask("m") == "prose"
    assert ask("m", response_format=SCHEMA) == "prose"


def test_an_unknown_mark_for_not_given_is_no_format(memo: Memo) -> None:
    unset = object()

    def ask(model: str, response_format: Any = unset) -> bool:
        return response_format is unset

    assert sg.guarded("p", memo=memo)(ask)("m")


def test_what_follows_by_place_keeps_its_place(memo: Memo) -> None:
    def rest(model: str, response_format: Any = None, *rest: int) -> tuple[int, ...]:
        answer(response_format)
        return rest

    def only(model: str, response_format: Any = None, n: int = 0, /) -> int:
        answer(response_format)
        return n

    assert sg.guarded("p", memo=memo)(rest)("m", SCHEMA, 1, 2) == (1, 2)
    assert sg.guarded("p", memo=memo)(only)("m", SCHEMA, 3) == 3


def test_a_timeout_that_is_a_default_is_a_budget_too(memo: Memo) -> None:
    def ask(model: str, response_format: Any = None, timeout: float = 0.2) -> str:
        return answer(response_format)

    with pytest.raises(httpx2.HTTPStatusError) as caught:
        sg.guarded("p", memo=memo)(ask)("m", SCHEMA)
    assert caught.value.__cause__ is None


@pytest.mark.parametrize(("status", "entries"), [(400, 1), (500, 0)])
def test_the_status_is_read_from_the_answer_of_any_exception(
    memo: Memo, status: int, entries: int
) -> None:
    """A server error is believed from the second rescue on, whoever raises it."""

    def ask(model: str, response_format: Any = None) -> str:
        if response_format is not None:
            raise refusal(status)
        return "prose"

    policy = sg.Policy(also_statuses=frozenset({500}))
    safe = sg.guarded("p", memo=memo, policy=policy)(ask)
    safe("m", SCHEMA)
    assert len(memo.entries()) == entries
    safe("m", SCHEMA)
    assert [entry.status for entry in memo.entries()] == [status]


def test_one_error_raised_twice_does_not_become_its_own_cause(memo: Memo) -> None:
    error = refusal()

    def ask(model: str, response_format: Any = None) -> str:
        raise error

    with pytest.raises(httpx2.HTTPStatusError) as caught:
        sg.guarded("p", memo=memo)(ask)("m", SCHEMA)
    assert caught.value is error
    assert error.__cause__ is None


@pytest.mark.parametrize(
    ("result", "entries"), [({"city": "Bonn", "error": None}, 1), ({"error": {"message": "x"}}, 0)]
)
def test_an_error_field_counts_only_when_it_says_something(
    memo: Memo, result: dict[str, object], entries: int
) -> None:
    def ask(model: str, response_format: Any = None) -> dict[str, object]:
        answer(response_format)
        return result

    assert sg.guarded("p", memo=memo)(ask)("m", SCHEMA) is result
    assert len(memo.entries()) == entries


def test_an_observers_own_error_is_logged_and_fails_no_call(
    memo: Memo, caplog: pytest.LogCaptureFixture
) -> None:
    def breaks(event: Event) -> None:
        raise RuntimeError(type(event).__name__)

    def ask(model: str, response_format: Any = None) -> str:
        return answer(response_format)

    guard = sg.Guard(memo=memo, observer=breaks)
    with caplog.at_level(logging.ERROR, "structguard"):
        assert guard.guarded("p")(ask)("m", SCHEMA) == "prose"
    assert [record.message for record in caplog.records] == [
        "an observer failed on RefusalRemembered"
    ]


NOBODY: list[str] = []


def test_a_functions_own_stop_iteration_comes_out_as_it_is(memo: Memo) -> None:
    def ask(model: str, response_format: Any = None) -> str:
        return next(iter(NOBODY))

    with pytest.raises(StopIteration) as caught:
        sg.guarded("p", memo=memo)(ask)("m", SCHEMA)
    assert (caught.value.__cause__, caught.value.__context__) == (None, None)


def test_a_retry_that_stops_iterating_has_the_refusal_as_its_cause(memo: Memo) -> None:
    def ask(model: str, response_format: Any = None) -> str:
        return answer(response_format) if response_format else next(iter(NOBODY))

    with pytest.raises(StopIteration) as caught:
        sg.guarded("p", memo=memo)(ask)("m", SCHEMA)
    cause = caught.value.__cause__
    assert cause is not None
    assert sg.is_refusal(cause)
    assert memo.entries() == []


def test_a_functions_own_runtime_error_keeps_its_stop_iteration(memo: Memo) -> None:
    def ask(model: str, response_format: Any = None) -> str:
        return next(text for text in (next(iter(NOBODY)) for _ in "x"))

    with pytest.raises(RuntimeError, match="generator raised StopIteration") as caught:
        sg.guarded("p", memo=memo)(ask)("m", SCHEMA)
    assert isinstance(caught.value.__cause__, StopIteration)


class Later:
    """What can be awaited and is no coroutine."""

    def __await__(self) -> Iterator[None]:
        yield


def test_a_result_that_is_yet_to_be_awaited_is_the_decorators_misuse(memo: Memo) -> None:
    def ask(model: str, response_format: Any = None) -> Later:
        return Later()

    with pytest.raises(TypeError, match="gave Later: decorate the async function"):
        _ = sg.guarded("p", memo=memo)(ask)("m", SCHEMA)


def test_arguments_by_place_that_are_left_out_stay_left_out(memo: Memo) -> None:
    def ask(model: str, *more: str, response_format: Any = None) -> object:
        return answer(response_format), more

    assert sg.guarded("p", memo=memo)(ask)("m", response_format=SCHEMA) == ("prose", ())


def test_a_refused_schema_comes_with_advice_and_the_prompt_stays_as_it_is(memo: Memo) -> None:
    told: list[Event] = []
    asked: list[str] = []

    def ask(model: str, prompt: str, response_format: Any = None) -> str:
        asked.append(prompt)
        if response_format is None:
            return "prose"
        raise refusal(
            message="Invalid schema for response_format: additionalProperties is required"
        )

    memo.add("p", "other", verdict="ignored")
    guard = sg.Guard(memo=memo, policy=sg.Policy(ignored_after=1), observer=told.append)
    for model in ("m", "other"):
        assert guard.guarded("p")(ask)(model, "hi", SCHEMA) == "prose"
    assert asked == ["hi"] * 4
    first = told[0]
    assert isinstance(first, RefusalRemembered)
    assert "additionalProperties" in first.advice


async def test_a_provider_that_refuses_again_is_not_asked_a_second_time_for_a_while(
    memo: Memo,
) -> None:
    """Its own errors carry a verdict only where a format was sent: the second is judged here."""
    body = json.dumps({"error": {"message": UNSUPPORTED}})
    script = Script([Failure(status=400, body=body)] * 4)

    @sg.guarded("p", memo=memo)
    async def ask(*, model: str, response_format: Any = None) -> sg.Completion:
        request = sg.Request(model=model, messages=[], response_format=response_format)
        return await script.complete(request)

    for _ in range(3):
        with pytest.raises(sg.ProviderError, match=UNSUPPORTED):
            await ask(model="m", response_format=SCHEMA)
    assert [asked.response_format for asked in script.requests] == [SCHEMA, None, SCHEMA, SCHEMA]
    assert memo.entries() == []


async def test_an_async_function_without_a_format_is_simply_awaited(memo: Memo) -> None:
    ask = sg.guarded("p", memo=memo)(aanswer)
    with sg.watch() as calls:
        assert await ask("m") == await ask("m", None) == "prose"
    assert [(told.provider, told.model, told.enforced) for told in calls] == [("p", "m", None)] * 2


def test_a_model_that_is_worked_out_is_not_asked_for_without_need(memo: Memo) -> None:
    def model(*_: object) -> str:
        raise AssertionError("not needed")

    def ask(name: str, response_format: Any = None) -> str:
        return answer(response_format)

    with sg.watch() as calls:
        assert sg.guarded("p", model=model, memo=memo)(ask)("m") == "prose"
    assert [told.model for told in calls] == [""]


def test_what_the_sdk_is_told_beside_its_arguments_narrows_the_entry(memo: Memo) -> None:
    """Reasoning in `extra_body` caused it: calls without it keep their format."""

    @sg.guarded("p", memo=memo)
    def ask(model: str, response_format: Any = None, extra_body: Any = None) -> str:
        if response_format is not None and extra_body is not None:
            raise refusal(message="response_format cannot be combined with reasoning")
        return "prose" if response_format is None else "json"

    assert ask("m", SCHEMA, {"reasoning": {"effort": "low"}}) == "prose"
    (entry,) = memo.entries()
    assert (entry.scope, entry.flag) == ("combination", "reasoning")
    assert ask("m", SCHEMA) == "json"
