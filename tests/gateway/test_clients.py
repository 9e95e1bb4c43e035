"""openai-python against the gateway over upstreams that enforce, refuse and ignore formats."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from openai import APIStatusError, AsyncOpenAI, OpenAI
from pydantic import BaseModel

from structguard.testing import RefusingEndpoint
from tests.gateway.support import VALUE, Running, embedded_config, running

UPSTREAMS = ("enforce", "refuse400", "refuse404", "fenced")


class City(BaseModel):
    city: str
    n: int


@pytest.fixture(scope="module")
def gateway() -> Iterator[Running]:
    with (
        RefusingEndpoint("enforce", value=VALUE) as endpoint,
        running(embedded_config(endpoint.base_url)) as made,
    ):
        yield made


@pytest.fixture(scope="module")
def client(gateway: Running) -> Iterator[OpenAI]:
    with OpenAI(base_url=f"{gateway.url}/v1", api_key="k", max_retries=0) as made:
        yield made


@pytest.mark.parametrize("model", UPSTREAMS)
def test_chat_parse(client: OpenAI, model: str) -> None:
    done = client.chat.completions.parse(
        model=model, messages=[{"role": "user", "content": "Where?"}], response_format=City
    )
    assert done.choices[0].message.parsed == City(**VALUE)  # type: ignore[arg-type]


@pytest.mark.parametrize("model", UPSTREAMS)
def test_chat_stream_with_a_format(client: OpenAI, model: str) -> None:
    with client.chat.completions.stream(
        model=model, messages=[{"role": "user", "content": "Where?"}], response_format=City
    ) as stream:
        final = stream.get_final_completion()
    assert final.choices[0].message.parsed == City(**VALUE)  # type: ignore[arg-type]


@pytest.mark.parametrize("model", UPSTREAMS)
def test_responses_parse(client: OpenAI, model: str) -> None:
    done = client.responses.parse(model=model, input="Where?", text_format=City)
    assert done.output_parsed == City(**VALUE)  # type: ignore[arg-type]


@pytest.mark.parametrize("model", UPSTREAMS)
def test_responses_stream_with_a_format(client: OpenAI, model: str) -> None:
    with client.responses.stream(model=model, input="Where?", text_format=City) as stream:
        final = stream.get_final_response()
    assert final.output_parsed == City(**VALUE)  # type: ignore[arg-type]


def test_raw_replies_show_the_honest_headers(client: OpenAI) -> None:
    raw = client.chat.completions.with_raw_response.create(
        model="refuse400",
        messages=[{"role": "user", "content": "Where?"}],
        response_format={"type": "json_object"},
    )
    assert raw.headers["x-structguard-enforced"] == "false"
    assert raw.parse().choices[0].message.content == '{"city":"Bonn","n":3}'


def test_a_conversation_goes_on_by_its_id(client: OpenAI) -> None:
    first = client.responses.create(model="enforce", input="One?")
    second = client.responses.create(model="enforce", input="Two?", previous_response_id=first.id)
    assert client.responses.retrieve(second.id).output_text == second.output_text
    assert len(client.responses.input_items.list(second.id).data) == 3
    client.responses.delete(second.id)
    with pytest.raises(APIStatusError, match="there is no response"):
        client.responses.retrieve(second.id)


def test_plain_streams_and_models(client: OpenAI) -> None:
    events = list(client.responses.create(model="enforce", input="One?", stream=True))
    assert events[-1].type == "response.completed"
    chunks = client.chat.completions.create(
        model="enforce", messages=[{"role": "user", "content": "x"}], stream=True
    )
    assert "".join(c.choices[0].delta.content or "" for c in chunks if c.choices)
    assert "enforce" in {model.id for model in client.models.list()}
    assert client.models.retrieve("enforce").id == "enforce"


@pytest.mark.parametrize("anyio_backend", ["asyncio", "trio"])
async def test_the_async_client(gateway: Running, anyio_backend: str) -> None:
    from openai import DefaultAsyncHttpxClient  # noqa: PLC0415

    del anyio_backend
    async with AsyncOpenAI(
        base_url=f"{gateway.url}/v1",
        api_key="k",
        max_retries=0,
        http_client=DefaultAsyncHttpxClient(),
    ) as client:
        done = await client.responses.parse(model="refuse404", input="x", text_format=City)
        assert done.output_parsed == City(**VALUE)  # type: ignore[arg-type]
