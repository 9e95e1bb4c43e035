"""Any function that takes response_format: sync or async, plain or bound, signature kept."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import pytest
from pydantic import BaseModel

import structguard as sg
from structguard.memo import Memo, open_memo
from structguard.types import Completion


class Answer(BaseModel):
    city: str


class StatusError(Exception):
    """What an SDK raises for an HTTP status: duck-typed, as the detector sees it."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status_code = status
        self.response = self
        self.text = text


REFUSED = StatusError(400, '{"error":{"message":"response_format is not supported"}}')
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}}
MISSING = "left out"


@dataclass
class Endpoint:
    """Refuses whatever carries a format; keeps what it was called with."""

    result: Any = "prose"
    refusal: Exception = REFUSED
    retry: Exception | None = None
    calls: list[dict[str, Any]] = field(default_factory=list)

    def __call__(self, **call: Any) -> Any:
        self.calls.append(call)
        if call["response_format"] not in (None, MISSING):
            raise self.refusal
        if self.retry is not None:
            raise self.retry
        return self.result


@pytest.fixture
def endpoint() -> Endpoint:
    return Endpoint()


@pytest.fixture
def memo() -> Memo:
    return open_memo("memory:")


def test_a_refused_call_is_made_once_more_without_the_argument(
    endpoint: Endpoint, memo: Memo
) -> None:
    @sg.guarded("openrouter", memo=memo)
    def ask(messages: list[str], *, model: str, response_format: Any = MISSING) -> str:
        return str(endpoint(model=model, response_format=response_format))

    assert ask(["hi"], model="m", response_format=Answer) == "prose"
    assert [call["response_format"] for call in endpoint.calls] == [Answer, MISSING]
    assert ask(["hi"], model="m", response_format=SCHEMA) == "prose"
    assert len(endpoint.calls) == 3
    (entry,) = memo.entries()
    assert (entry.provider, entry.model, entry.base_url) == ("openrouter", "m", "")


async def test_an_async_function_too(endpoint: Endpoint, memo: Memo) -> None:
    @sg.guarded("openrouter", memo=memo)
    async def ask(messages: list[str], *, model: str, response_format: Any = MISSING) -> str:
        return str(endpoint(model=model, response_format=response_format))

    assert await ask(["hi"], model="m", response_format=Answer) == "prose"
    assert len(endpoint.calls) == 2
    assert inspect.iscoroutinefunction(ask)


def test_an_argument_without_a_default_becomes_none(endpoint: Endpoint, memo: Memo) -> None:
    @sg.guarded("p", memo=memo)
    def ask(model: str, response_format: Any) -> str:
        return str(endpoint(model=model, response_format=response_format))

    ask("m", Answer)
    assert [call["response_format"] for call in endpoint.calls] == [Answer, None]


def test_a_positional_format_in_the_middle_is_left_out(endpoint: Endpoint, memo: Memo) -> None:
    @sg.guarded("p", memo=memo)
    def ask(model: str, response_format: Any = MISSING, tail: int = 0) -> str:
        return str(endpoint(model=model, response_format=response_format, tail=tail))

    ask("m", Answer, 7)
    assert endpoint.calls[1] == {"model": "m", "response_format": MISSING, "tail": 7}


def test_other_names_and_a_callable_model(endpoint: Endpoint, memo: Memo) -> None:
    def deployment(_prompt: str, **_kwargs: Any) -> str:
        return "deployment-7"

    @sg.guarded("p", model=deployment, format="shape", memo=memo)
    def ask(prompt: str, **kwargs: Any) -> str:
        return str(endpoint(prompt=prompt, response_format=kwargs.get("shape")))

    assert ask("hi", shape=Answer) == "prose"
    assert memo.entries()[0].model == "deployment-7"


def test_a_method_and_a_bound_method_are_guarded(endpoint: Endpoint, memo: Memo) -> None:
    class Provider:
        @sg.guarded("p", memo=memo)
        def ask(self, *, model: str, response_format: Any = None) -> str:
            return str(endpoint(model=model, response_format=response_format))

        def complete(self, *, model: str, response_format: Any = None) -> str:
            return str(endpoint(model=model, response_format=response_format))

    provider = Provider()
    assert provider.ask(model="m", response_format=Answer) == "prose"
    complete = sg.guarded("q", memo=memo)(provider.complete)
    assert complete(model="m", response_format=Answer) == "prose"
    assert len(endpoint.calls) == 4


def test_without_a_format_the_function_is_simply_called(endpoint: Endpoint, memo: Memo) -> None:
    @sg.guarded("p", memo=memo)
    def ask(model: str, response_format: Any = None) -> str:
        return str(endpoint(model=model, response_format=response_format))

    assert ask("m") == ask("m", None) == "prose"
    with pytest.raises(StatusError):
        ask("m", {"type": "text"})
    assert len(endpoint.calls) == 3
    assert sg.info("prose") is None


def test_result_and_prompt_are_left_alone(endpoint: Endpoint, memo: Memo) -> None:
    endpoint.result = Completion(text="```json\n{}\n```")

    @sg.guarded("p", memo=memo)
    def ask(messages: tuple[str, ...], model: str, response_format: Any = None) -> Any:
        return endpoint(messages=messages, model=model, response_format=response_format)

    with sg.watch() as calls:
        result = ask(("hi",), "m", Answer)
    assert result is endpoint.result
    assert endpoint.calls[0]["messages"] is endpoint.calls[1]["messages"]
    assert sg.info(result) == calls[0]
    assert (calls[0].enforced, calls[0].requests) == (False, 2)


def test_a_failed_retry_raises_its_own_error_from_the_first(endpoint: Endpoint, memo: Memo) -> None:
    endpoint.retry = StatusError(503, "down")

    @sg.guarded("p", memo=memo)
    def ask(model: str, response_format: Any = None) -> str:
        return str(endpoint(model=model, response_format=response_format))

    with pytest.raises(StatusError, match="down") as caught:
        ask("m", Answer)
    assert caught.value.__cause__ is REFUSED
    assert memo.entries() == []


def test_an_error_that_is_no_refusal_is_untouched(endpoint: Endpoint, memo: Memo) -> None:
    endpoint.refusal = KeyError("a programming error")

    @sg.guarded("p", memo=memo)
    def ask(model: str, response_format: Any = None) -> str:
        return str(endpoint(model=model, response_format=response_format))

    with pytest.raises(KeyError) as caught:
        ask("m", Answer)
    assert caught.value is endpoint.refusal
    assert len(endpoint.calls) == 1


def test_its_timeout_argument_is_the_budget_of_both_calls(memo: Memo) -> None:
    now = [0.0]
    given: list[float] = []
    guard = sg.Guard(memo=memo, clock=lambda: now[0])

    @guard.guarded("p")
    def ask(model: str, response_format: Any = None, timeout: float = 10.0) -> str:
        given.append(timeout)
        now[0] += 4.0
        if response_format is not None:
            raise REFUSED
        return "prose"

    ask("m", Answer, timeout=6.0)
    assert given == [6.0, 2.0]
    with pytest.raises(StatusError):
        ask("n", Answer, timeout=4.1)
    assert given == [6.0, 2.0, 4.1]


@pytest.mark.parametrize(
    ("result", "remembered"),
    [
        ("", False),
        (None, False),
        (iter("ab"), False),
        ({"error": {"message": "x"}}, False),
        ({"choices": [{"message": {"content": ""}}]}, False),
        ({"choices": [{"message": {"content": "x"}}]}, True),
        (Completion(text=" "), False),
        (Completion(text="x", finish="length"), False),
        (Completion(text="no", finish="declined"), True),
        (b"x", True),
        ({"city": "Bonn"}, True),
    ],
)
def test_only_a_result_that_can_be_seen_to_answer_is_remembered(
    endpoint: Endpoint, memo: Memo, result: Any, *, remembered: bool
) -> None:
    endpoint.result = result

    @sg.guarded("p", memo=memo)
    def ask(model: str, response_format: Any = None) -> Any:
        return endpoint(model=model, response_format=response_format)

    assert ask("m", Answer) is result
    assert bool(memo.entries()) is remembered


def test_tools_make_another_key(endpoint: Endpoint, memo: Memo) -> None:
    endpoint.refusal = StatusError(
        400, '{"error":{"message":"json mode cannot be combined with tool calling"}}'
    )

    @sg.guarded("p", memo=memo)
    def ask(model: str, response_format: Any = None, tools: Any = None) -> str:
        return str(endpoint(model=model, response_format=response_format, tools=tools))

    ask("m", {"type": "json_object"}, tools=[{"type": "function"}])
    (entry,) = memo.entries()
    assert (entry.scope, entry.flag) == ("combination", "tools")


def test_guarding_twice_is_guarding_once(endpoint: Endpoint, memo: Memo) -> None:
    def ask(model: str, response_format: Any = None) -> str:
        return str(endpoint(model=model, response_format=response_format))

    once = sg.guarded("p", memo=memo)(ask)
    assert sg.guarded("p", memo=memo)(once) is once
    assert once.__name__ == "ask"
    assert inspect.signature(once) == inspect.signature(ask)


class Models(Enum):
    SMALL = "vendor/small"


class Named:
    name = "vendor/large"


def test_a_model_that_is_no_text_is_told_apart_or_refused(endpoint: Endpoint, memo: Memo) -> None:
    """All models without a name would share what is remembered of one."""

    def ask(*, model: object, response_format: Any = None) -> str:
        return str(endpoint(model=model, response_format=response_format))

    plain = sg.guarded("p", memo=memo)(ask)
    plain(model=Models.SMALL, response_format=Answer)
    assert [made.model for made in memo.entries()] == ["vendor/small"]
    with pytest.raises(TypeError, match=r"the model is a Named, not a name: guarded\(model="):
        plain(model=Named(), response_format=Answer)
    assert plain(model=Named()) == "prose", "without a format it does not matter"
    by_name = sg.guarded("p", model=lambda *, model, **_: model.name, memo=memo)(ask)
    assert by_name(model=Named(), response_format=Answer) == "prose"
    nameless: Any = sg.guarded("p", model=lambda *, model, **_: model, memo=memo)
    with pytest.raises(TypeError, match="not a name"):
        nameless(ask)(model=Named(), response_format=Answer)


def test_programmers_mistakes_are_plain_errors_that_say_what_to_do(memo: Memo) -> None:
    with pytest.raises(ValueError, match=r"no argument 'response_format'.*guarded\(model="):
        sg.guarded("p", memo=memo)(lambda model: model)
    with pytest.raises(ValueError, match="no argument 'model'"):
        sg.guarded("p", memo=memo)(lambda response_format: response_format)
    with pytest.raises(TypeError, match="decorates a function"):
        sg.guarded("p", memo=memo)(7)  # type: ignore[type-var]

    def yields(model: str, response_format: Any = None) -> Iterator[str]:
        yield model

    async def ayields(model: str, response_format: Any = None) -> AsyncIterator[str]:
        yield model

    class Yielder:
        def __call__(self, model: str, response_format: Any = None) -> Iterator[str]:
            yield model

    class AYielder:
        async def __call__(self, model: str, response_format: Any = None) -> AsyncIterator[str]:
            yield model

    for function in (yields, ayields, Yielder(), AYielder(), Yielder().__call__):
        with pytest.raises(TypeError, match="wrap the client instead"):
            sg.guarded("p", memo=memo)(function)
    with pytest.raises(ValueError, match="needs the provider's name"):
        sg.guarded("", memo=memo)
    with pytest.raises(ValueError, match="no host"):
        sg.guarded("https://", memo=memo)


def test_a_base_url_is_named_by_its_endpoint_and_no_secret(endpoint: Endpoint, memo: Memo) -> None:
    """The name stands in the memo, in events and in the log."""

    @sg.guarded("https://user:secret@Host:443/v1/?key=k", memo=memo)
    def ask(model: str, response_format: Any = None) -> str:
        return str(endpoint(model=model, response_format=response_format))

    with sg.watch() as calls:
        ask("m", Answer)
    assert [made.provider for made in memo.entries()] == ["host/v1"]
    assert [told.provider for told in calls] == ["host/v1"]


def test_a_broken_schema_is_a_value_error_before_anything_is_called(
    endpoint: Endpoint, memo: Memo
) -> None:
    @sg.guarded("p", memo=memo)
    def ask(model: str, response_format: Any = None) -> str:
        return str(endpoint(model=model, response_format=response_format))

    with pytest.raises(ValueError, match="type"):
        ask("m", {"type": "json_schema", "json_schema": {"schema": {"type": "objekt"}}})
    with pytest.raises(TypeError):
        ask("m", "json please")
    with pytest.raises(TypeError, match="missing"):
        ask()  # type: ignore[call-arg]
    assert endpoint.calls == []
