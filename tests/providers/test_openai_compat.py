"""OpenAICompat puts exact bytes on the wire and brings back neutral values."""

from __future__ import annotations

import base64
import json
import struct
from collections.abc import AsyncIterator
from dataclasses import replace

import openai
import pytest
from pytest_httpserver import HTTPServer
from werkzeug import Response as Answer

from structguard.errors import ProviderError
from structguard.memo import endpoint_id
from structguard.providers import ModelOptions, OpenAICompat
from structguard.refusal import RequestFacts
from structguard.service import Provider
from structguard.types import Finished, Kind, Request, TextDelta
from structguard.wire.base import WireOptions
from tests.doubles import EventRecorder
from tests.providers.payloads import (
    ANSWER,
    CHAT,
    FORMAT,
    MESSAGES,
    RESPONSE,
    SCHEMA,
    chat_stream,
    responses_stream,
)
from tests.providers.support import ask, collect, script, text_of


@pytest.fixture
def base(httpserver: HTTPServer) -> str:
    return httpserver.url_for("/v1")


@pytest.fixture
async def provider(base: str) -> AsyncIterator[OpenAICompat]:
    async with OpenAICompat(base, api_key="sk-test", observer=EventRecorder()) as opened:
        yield opened


async def test_chat_carries_the_format_and_gives_the_reply(
    provider: OpenAICompat, httpserver: HTTPServer
) -> None:
    served = script(httpserver, "/v1/chat/completions", (200, CHAT, {"x-request-id": "req_9"}))
    reply = await provider.complete(ask(response_format=FORMAT, temperature=0.5, max_tokens=9))
    assert served.bodies == [
        {
            "model": "m",
            "messages": MESSAGES,
            "temperature": 0.5,
            "max_tokens": 9,
            "response_format": FORMAT,
        }
    ]
    assert (reply.text, reply.enforced, reply.requests) == (ANSWER, True, 1)
    assert (reply.provider, reply.model, reply.id) == (provider.id, "m-1", "chatcmpl-1")
    assert reply.metadata["request_id"] == "req_9"
    headers = served.received[0].headers
    assert headers["Authorization"] == "Bearer sk-test"
    assert headers["Content-Type"] == "application/json"
    assert headers["Accept"] == "application/json"


async def test_without_a_format_none_is_sent(
    provider: OpenAICompat, httpserver: HTTPServer
) -> None:
    served = script(httpserver, "/v1/chat/completions", CHAT)
    reply = await provider.complete(ask())
    assert served.bodies == [{"model": "m", "messages": MESSAGES}]
    assert reply.enforced is None


async def test_responses_by_option_carries_text_format(base: str, httpserver: HTTPServer) -> None:
    served = script(httpserver, "/v1/responses", RESPONSE)
    async with OpenAICompat(base, api="responses") as provider:
        reply = await provider.complete(ask(response_format=FORMAT))
        assert provider.api_for("m") == "responses"
    (body,) = served.bodies
    assert isinstance(body, dict)
    assert body["text"] == {
        "format": {"type": "json_schema", "name": "Answer", "strict": True, "schema": SCHEMA}
    }
    assert "response_format" not in body
    assert (reply.text, reply.enforced) == (ANSWER, True)


async def test_no_key_means_no_authorization_header(base: str, httpserver: HTTPServer) -> None:
    served = script(httpserver, "/v1/chat/completions", CHAT)
    async with OpenAICompat(base, headers={"X-Title": "app"}) as provider:
        await provider.complete(ask())
    assert "Authorization" not in served.received[0].headers
    assert served.received[0].headers["X-Title"] == "app"


@pytest.mark.parametrize("api", ["chat", "responses"])
async def test_a_stream_gives_its_events_and_the_whole_reply(
    base: str, httpserver: HTTPServer, api: str
) -> None:
    path = "/v1/chat/completions" if api == "chat" else "/v1/responses"
    parts = chat_stream() if api == "chat" else responses_stream()
    httpserver.expect_request(path).respond_with_handler(
        lambda _: Answer(iter(parts), content_type="text/event-stream")
    )
    async with OpenAICompat(base, api=api) as provider:  # type: ignore[arg-type]
        events = await collect(provider, ask(response_format=FORMAT))
    assert text_of(events) == ANSWER
    last = events[-1]
    assert isinstance(last, Finished)
    assert (last.completion.enforced, last.completion.requests) == (True, 1)
    assert last.completion.provider == provider.id
    sent = httpserver.log[0][0]
    assert sent.get_json()["stream"] is True
    assert sent.headers["Accept"] == "text/event-stream"


async def test_a_server_that_ignores_stream_is_understood(
    provider: OpenAICompat, httpserver: HTTPServer
) -> None:
    script(httpserver, "/v1/chat/completions", CHAT)
    events = await collect(provider, ask())
    assert text_of(events) == ANSWER


async def test_tools_first_leaves_the_format_out_and_says_so(
    base: str, httpserver: HTTPServer
) -> None:
    served = script(httpserver, "/v1/chat/completions", CHAT)
    tool = {"name": "look", "parameters": {"type": "object", "properties": {}}}
    options = WireOptions(format_with_tools=False)
    async with OpenAICompat(base, options=options) as provider:
        request = ask(response_format=FORMAT, tools=[tool], tools_first=True)
        reply = await provider.complete(request)
        assert "response_format" not in str(served.bodies)
        assert reply.enforced is False
        with pytest.raises(ProviderError, match="tools_first") as caught:
            await provider.complete(ask(response_format=FORMAT, tools=[tool]))
    assert caught.value.kind is Kind.INVALID_REQUEST
    assert caught.value.requests == 0
    assert len(served.received) == 1


async def test_what_a_request_carries_as_it_is_sent_is_told_beforehand() -> None:
    tool = {"name": "look", "parameters": {"type": "object", "properties": {}}}
    models = {
        "apart": ModelOptions(options=WireOptions(format_with_tools=False)),
        "thinker": ModelOptions(api="responses", options=WireOptions(reasoning=True)),
    }
    both = ask(response_format=FORMAT, tools=[tool])
    async with OpenAICompat("http://127.0.0.1:9/v1", models=models) as provider:

        def facts(request: Request, *, stream: bool = False) -> RequestFacts:
            return provider.facts_of(request, stream=stream)

        assert facts(ask()) == RequestFacts(sent=None)
        assert facts(both, stream=True) == RequestFacts(sent="json_schema", tools=True, stream=True)
        apart = replace(both, model="apart")
        assert facts(apart).sent == "json_schema"  # the call itself will be refused
        assert facts(replace(apart, tools_first=True)).sent is None
        thinker = facts(ask(model="thinker", response_format={"type": "json_object"}))
        assert thinker == RequestFacts(sent="json_object", reasoning=True, api="responses")


async def test_a_models_own_dialect_wins(base: str, httpserver: HTTPServer) -> None:
    served = script(httpserver, "/v1/chat/completions", CHAT)
    models = {"thinker": ModelOptions(options=WireOptions(reasoning=True))}
    async with OpenAICompat(base, models=models) as provider:
        await provider.complete(ask(model="thinker", max_tokens=7, temperature=1.0))
        await provider.complete(ask(model="plain", max_tokens=7))
    thinker, plain = served.bodies
    assert isinstance(thinker, dict)
    assert isinstance(plain, dict)
    assert thinker["max_completion_tokens"] == plain["max_tokens"] == 7
    assert "temperature" not in thinker


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"model": None}, "model"),
        ({"previous_response_id": "resp_1"}, "previous_response_id"),
    ],
)
async def test_what_the_wire_cannot_carry_is_an_error_and_nothing_is_sent(
    provider: OpenAICompat, fields: dict[str, object], param: str, httpserver: HTTPServer
) -> None:
    with pytest.raises(ProviderError) as caught:
        await provider.complete(ask(**fields))
    error = caught.value
    assert (error.kind, error.requests, error.retryable) == (Kind.INVALID_REQUEST, 0, False)
    assert error.details["param"] == param
    assert httpserver.log == []


@pytest.mark.parametrize("value", ["NaN", "Infinity ≥ 1", "\ud800", {"é": [1.5, None, True]}])
async def test_any_json_value_is_written_as_it_is(
    provider: OpenAICompat, value: object, httpserver: HTTPServer
) -> None:
    served = script(httpserver, "/v1/chat/completions", CHAT)
    await provider.complete(ask(extra_body={"x": value}))
    (body,) = served.bodies
    assert isinstance(body, dict)
    assert body["x"] == value


@pytest.mark.parametrize("value", [object(), float("nan"), float("-inf"), {1, object()}])
async def test_a_body_that_is_no_json_is_an_error_and_nothing_is_sent(
    provider: OpenAICompat, value: object, httpserver: HTTPServer
) -> None:
    with pytest.raises(ProviderError, match="cannot be written as JSON") as caught:
        await provider.complete(ask(extra_body={"x": value}))
    assert caught.value.kind is Kind.INVALID_REQUEST
    assert httpserver.log == []


async def test_a_format_that_is_none_is_the_programmers_error(provider: OpenAICompat) -> None:
    with pytest.raises(TypeError, match="response_format"):
        await provider.complete(ask(response_format=7))
    with pytest.raises(TypeError, match="response_format"):
        async with provider.stream(ask(response_format=7)):
            pass


@pytest.mark.parametrize("encoding", ["float", "base64"])
async def test_embeddings_come_in_the_order_of_their_index(
    provider: OpenAICompat, httpserver: HTTPServer, encoding: str
) -> None:
    def vector(*numbers: float) -> object:
        packed = struct.pack(f"<{len(numbers)}f", *numbers)
        return base64.b64encode(packed).decode() if encoding == "base64" else list(numbers)

    reply = {
        "data": [
            {"index": 1, "embedding": vector(3.0, 4.0)},
            {"index": 0, "embedding": vector(1.0, 2.0)},
        ],
        "model": "e-1",
        "usage": {"prompt_tokens": 4, "total_tokens": 4},
    }
    served = script(httpserver, "/v1/embeddings", reply)
    got = await provider.embed(
        ["a", "b"],
        model="e",
        dimensions=2,
        user="u",
        encoding=encoding,  # type: ignore[arg-type]
    )
    assert served.bodies == [
        {
            "model": "e",
            "input": ["a", "b"],
            "encoding_format": encoding,
            "dimensions": 2,
            "user": "u",
        }
    ]
    assert got.vectors == ((1.0, 2.0), (3.0, 4.0))
    assert (got.model, got.provider, got.requests) == ("e-1", provider.id, 1)
    assert got.usage is not None
    assert got.usage.input == 4


@pytest.mark.parametrize(
    "reply",
    [
        {"data": []},
        {},
        [],
        "no json",
        {"error": {"message": "no"}},
        {"data": [{"embedding": []}]},
        {"data": [{"embedding": ["x"]}]},
        {"data": [{"embedding": "%%%"}]},
        {"data": [7]},
    ],
    ids=str,
)
async def test_embeddings_that_are_none_are_a_bad_response(
    base: str, reply: object, httpserver: HTTPServer
) -> None:
    script(httpserver, "/v1/embeddings", reply)
    async with OpenAICompat(base, observer=EventRecorder(), sleep=_no_sleep) as provider:
        with pytest.raises(ProviderError) as caught:
            await provider.embed("a", model="e")
    assert (caught.value.kind, caught.value.operation) == (Kind.BAD_RESPONSE, "embed")
    assert caught.value.requests == 3


async def _no_sleep(seconds: float) -> None:
    assert seconds >= 0


async def test_nothing_to_embed_is_the_programmers_error(provider: OpenAICompat) -> None:
    with pytest.raises(ValueError, match="nothing to embed"):
        await provider.embed([], model="e")


@pytest.mark.parametrize("azure", [False, True])
async def test_a_callers_own_openai_client_carries_the_call(
    base: str, httpserver: HTTPServer, *, azure: bool
) -> None:
    path = "/openai/deployments/m/chat/completions" if azure else "/v1/chat/completions"
    served = script(httpserver, path, (429, {}, {"retry-after": "0"}), CHAT)
    if azure:
        client: openai.AsyncOpenAI = openai.AsyncAzureOpenAI(
            azure_endpoint=httpserver.url_for(""), api_key="az-key", api_version="2024-10-21"
        )
    else:
        client = openai.AsyncOpenAI(base_url=base, api_key="sk-own", max_retries=7)
    async with client, OpenAICompat(client=client, sleep=_no_sleep) as provider:
        reply = await provider.complete(ask(response_format=FORMAT))
    assert (reply.text, reply.requests) == (ANSWER, 2)
    assert len(served.received) == 2
    assert served.bodies[0] == served.bodies[1]
    keys = served.received[0].headers
    assert (keys["Api-Key"] == "az-key") if azure else (keys["Authorization"] == "Bearer sk-own")


async def test_a_callers_own_client_streams(base: str, httpserver: HTTPServer) -> None:
    httpserver.expect_request("/v1/chat/completions").respond_with_handler(
        lambda _: Answer(iter(chat_stream()), content_type="text/event-stream")
    )
    client = openai.AsyncOpenAI(base_url=base, api_key="sk-own")
    async with client, OpenAICompat(client=client) as provider:
        assert text_of(await collect(provider, ask())) == ANSWER


async def test_the_id_is_the_endpoint_unless_given(base: str) -> None:
    async with OpenAICompat(base) as plain, OpenAICompat(base, id="router") as named:
        face: Provider = plain
        assert face.id == plain.id
        assert plain.id == plain.base_url == endpoint_id(base)
        assert (named.id, named.base_url) == ("router", endpoint_id(base))
        assert named.attempts == 3


async def test_a_chat_url_with_a_model_in_it_is_filled_in(httpserver: HTTPServer) -> None:
    served = script(httpserver, "/deployments/a/b/chat/completions", CHAT)
    url = httpserver.url_for("/deployments/{model}/chat/completions") + "?api-version=1"
    async with OpenAICompat(url) as provider:
        await provider.complete(ask(model="a/b"))
    raw = served.received[0].environ["REQUEST_URI"]
    assert raw == "/deployments/a%2Fb/chat/completions?api-version=1"


async def test_streams_and_whole_calls_run_beside_each_other(
    provider: OpenAICompat, httpserver: HTTPServer
) -> None:
    def answer(request: object) -> Answer:
        if b'"stream":true' in request.get_data():  # type: ignore[attr-defined]
            return Answer(iter(chat_stream()), content_type="text/event-stream")
        return Answer(json.dumps(CHAT), content_type="application/json")

    httpserver.expect_request("/v1/chat/completions").respond_with_handler(answer)
    async with provider.stream(ask()) as events:
        assert isinstance(await anext(events), TextDelta)
        assert (await provider.complete(ask())).text == ANSWER
        assert [event async for event in events]


@pytest.mark.parametrize("vectors", [1, 3])
async def test_another_number_of_vectors_than_texts_is_a_bad_response(
    provider: OpenAICompat, httpserver: HTTPServer, vectors: int
) -> None:
    script(httpserver, "/v1/embeddings", {"data": [{"embedding": [1.0]}] * vectors})
    with pytest.raises(ProviderError, match=f"{vectors} embeddings for 2 texts") as caught:
        await provider.embed(["a", "b"], model="e")
    assert caught.value.kind is Kind.BAD_RESPONSE
    await provider.aclose()
