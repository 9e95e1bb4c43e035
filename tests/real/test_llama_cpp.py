"""A real endpoint: chat and responses, a format enforced, ignored and refused, real faults."""

from __future__ import annotations

import json

import openai
import pytest

from structguard.cli import main
from structguard.errors import ProviderError
from structguard.guard import Guard
from structguard.options import RetryOptions
from structguard.providers import OpenAICompat
from structguard.types import Finished, Kind, Request, Scope, TextDelta
from tests.doubles import EventRecorder
from tests.providers.support import collect, text_of

SCHEMA = {
    "type": "object",
    "properties": {"answer": {"type": "string"}, "n": {"type": "integer"}},
    "required": ["answer", "n"],
    "additionalProperties": False,
}
FORMAT = {"type": "json_schema", "json_schema": {"name": "Answer", "schema": SCHEMA}}
UNTAKEN = {  # a valid schema that llama.cpp's grammar maker refuses
    "type": "json_schema",
    "json_schema": {
        "name": "Anchored",
        "schema": {"$ref": "#word", "$defs": {"word": {"$anchor": "word", "type": "string"}}},
    },
}
HELLO = "Hello from a tiny real model."
ONCE = RetryOptions(attempts=1)


def ask(content: object = "hello", **fields: object) -> Request:
    given = {"model": "tiny", "max_tokens": 80, **fields}
    return Request(messages=[{"role": "user", "content": content}], **given)  # type: ignore[arg-type]


def provider(url: str, **options: object) -> OpenAICompat:
    return OpenAICompat(url, **{"retry": ONCE, "observer": EventRecorder(), **options})  # type: ignore[arg-type]


@pytest.mark.parametrize("api", ["chat", "responses"])
async def test_a_plain_answer_comes_over_both_apis(llama: str, api: str) -> None:
    async with provider(llama, api=api) as opened:
        reply = await opened.complete(ask())
        assert (reply.text, reply.finish, reply.enforced) == (HELLO, "stop", None)
        assert reply.usage is not None
        assert reply.usage.output == 8
        assert text_of(await collect(opened, ask())) == HELLO


async def test_chat_enforces_a_schema_whole_and_streamed(llama: str) -> None:
    async with provider(llama) as opened:
        reply = await opened.complete(ask(response_format=FORMAT))
        assert set(json.loads(reply.text)) == {"answer", "n"}
        assert reply.enforced is True
        events = await collect(opened, ask(response_format=FORMAT))
        assert json.loads(text_of(events)) == json.loads(reply.text)
        assert sum(isinstance(event, TextDelta) for event in events) > 1


async def test_chat_enforces_an_object(llama: str) -> None:
    async with provider(llama) as opened:
        reply = await opened.complete(ask(response_format={"type": "json_object"}))
    assert isinstance(json.loads(reply.text), dict)


async def test_responses_ignores_the_format(llama: str) -> None:
    """It was on the wire and accepted, so it counts as enforced; the text says otherwise."""
    async with provider(llama, api="responses") as opened:
        reply = await opened.complete(ask(response_format=FORMAT))
    assert (reply.text, reply.enforced) == (HELLO, True)


@pytest.mark.parametrize("streaming", [False, True])
async def test_a_schema_it_cannot_take_is_a_refusal_of_that_schema(
    llama: str, *, streaming: bool
) -> None:
    async with provider(llama) as opened:
        request = ask(response_format=UNTAKEN)
        with pytest.raises(ProviderError) as caught:
            await (collect(opened, request) if streaming else opened.complete(request))
    assert caught.value.kind is Kind.FORMAT_REFUSED
    assert caught.value.refusal is not None
    assert caught.value.refusal.scope is Scope.SCHEMA


async def test_the_guard_rescues_it_and_remembers_it(llama: str) -> None:
    async with Guard(memo="memory:", observer=EventRecorder()) as guard, provider(llama) as opened:
        safe = guard.protect(opened)
        first = await safe.complete(ask(response_format=UNTAKEN))
        second = await safe.complete(ask(response_format=UNTAKEN))
        other = await safe.complete(ask(response_format=FORMAT))
    assert (first.text, first.enforced, first.requests) == (HELLO, False, 2)
    assert (second.text, second.enforced, second.requests) == (HELLO, False, 1)
    assert (other.enforced, other.requests) == (True, 1)


async def test_a_tool_call_comes_over_both_apis(llama: str) -> None:
    tool = {
        "name": "look",
        "parameters": {
            "type": "object",
            "properties": {"q": {"type": "string"}},
            "required": ["q"],
        },
    }
    for api in ("chat", "responses"):
        async with provider(llama, api=api) as opened:
            reply = await opened.complete(ask(tools=[tool]))
            last = (await collect(opened, ask(tools=[tool])))[-1]
        assert isinstance(last, Finished)
        for got in (reply, last.completion):
            assert (got.finish, [call.name for call in got.tool_calls]) == ("tool_calls", ["look"])
            assert set(json.loads(got.tool_calls[0].arguments)) == {"q"}


async def test_a_cut_answer_says_so(llama: str) -> None:
    async with provider(llama) as opened:
        reply = await opened.complete(ask("#long", max_tokens=8))
    assert reply.finish == "length"


async def test_a_long_prompt_is_a_context_length(llama: str) -> None:
    async with provider(llama) as opened:
        with pytest.raises(ProviderError) as caught:
            await opened.complete(ask("a " * 40_000, response_format=FORMAT))
    assert (caught.value.kind, caught.value.refusal) == (Kind.CONTEXT_LENGTH, None)


async def test_an_unknown_format_type_is_the_callers_fault(llama: str) -> None:
    async with provider(llama) as opened:
        with pytest.raises(ProviderError) as caught:
            await opened.complete(ask(extra_body={"response_format": {"type": "strange"}}))
    assert caught.value.kind is Kind.INVALID_REQUEST


async def test_an_image_to_a_text_model_is_its_500(llama: str) -> None:
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    async with provider(llama) as opened:
        with pytest.raises(ProviderError) as caught:
            await opened.complete(ask([image]))
    assert caught.value.kind is Kind.UNAVAILABLE


async def test_its_model_list_says_nothing_of_apis(llama: str) -> None:
    seen = EventRecorder()
    async with provider(llama, discover=True, observer=seen) as opened:
        assert (await opened.complete(ask())).requests == 2
        assert (await opened.complete(ask())).requests == 1
        assert opened.api_for("tiny") == "chat"
        assert (await opened.status()).health == "healthy"
    assert seen.events == []


async def test_a_callers_own_client_and_aiohttp_carry_it_too(
    llama: str, anyio_backend: str
) -> None:
    client = openai.AsyncOpenAI(base_url=llama, api_key="none")
    async with client, OpenAICompat(client=client) as opened:
        assert (await opened.complete(ask())).text == HELLO
        assert text_of(await collect(opened, ask())) == HELLO
    if anyio_backend == "asyncio":
        async with provider(llama, transport="aiohttp") as fast:
            assert (await fast.complete(ask())).text == HELLO
            assert text_of(await collect(fast, ask())) == HELLO


def test_the_probe_tells_what_it_can_do(llama: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["probe", llama, "--model", "tiny", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    found = {one["name"]: one["verdict"] for one in told["results"]}
    assert found.pop("json_schema on responses") == "ignored"
    assert set(found.values()) == {"yes"}
    assert told["cost"]["requests"] == 10
