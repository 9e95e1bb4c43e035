"""The real `anthropic` client over the transport, sync and async."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx2
import pytest

import structguard as sg
from structguard.memo import Memo
from tests.clients.endpoint import FENCED, SCHEMA, VALUE, Answer, sse
from tests.clients.vendors import NO_OUTPUT_CONFIG, Vendor, message, message_stream

anthropic: Any = pytest.importorskip("anthropic", reason="anthropic is not installed")

PIECES = [FENCED[at : at + 7] for at in range(0, len(FENCED), 7)]
ASKED: dict[str, Any] = {
    "model": "claude-x",
    "max_tokens": 64,
    "messages": [{"role": "user", "content": "Where?"}],
}
FORMAT: dict[str, Any] = {"format": {"type": "json_schema", "schema": SCHEMA}}


@pytest.fixture
def client(vendor: Vendor, memo: Memo) -> Iterator[Any]:
    transport = sg.Guard(memo=memo).transport()
    with anthropic.Anthropic(
        base_url=vendor.host_url,
        api_key="k",
        max_retries=0,
        http_client=httpx2.Client(transport=transport),
    ) as made:
        yield made


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
async def aclient(vendor: Vendor, memo: Memo, anyio_backend: str) -> AsyncIterator[Any]:
    transport = sg.Guard(memo=memo).async_transport()
    async with anthropic.AsyncAnthropic(
        base_url=vendor.host_url,
        api_key="k",
        max_retries=0,
        http_client=httpx2.AsyncClient(transport=transport),
    ) as made:
        yield made


def test_a_refused_create_is_rescued_and_remembered(
    client: Any, vendor: Vendor, memo: Memo
) -> None:
    vendor.refuses(NO_OUTPUT_CONFIG, message(FENCED))
    with sg.watch() as calls:
        answer = client.messages.create(**ASKED, system="Be brief.", output_config=FORMAT)
    assert answer.content[0].text == VALUE
    first, second = vendor.bodies
    assert first["output_config"] == FORMAT
    assert second["system"].startswith("Be brief.\n\nAnswer with one JSON value")
    assert {**second, "system": 0} == {
        **{key: value for key, value in first.items() if key != "output_config"},
        "system": 0,
    }
    (told,) = calls
    assert (told.provider, told.model) == (vendor.host, "claude-x")
    assert (told.enforced, told.requests, told.source) == (False, 2, "fenced")
    assert [entry.api for entry in memo.entries()] == ["messages"]
    client.messages.create(**ASKED, output_config=FORMAT)
    assert len(vendor.bodies) == 3


def test_parse_gives_the_parsed_value_over_an_endpoint_that_refuses(
    client: Any, vendor: Vendor
) -> None:
    vendor.refuses(NO_OUTPUT_CONFIG, message(FENCED))
    parsed = client.messages.parse(**ASKED, output_format=Answer)
    assert parsed.parsed_output == Answer(city="Bonn", n=3)


def test_parse_gives_the_parsed_value_over_an_endpoint_that_ignores_the_format(
    client: Any, vendor: Vendor
) -> None:
    vendor.answers(message(FENCED), paths=["/v1/messages"])
    with sg.watch() as calls:
        parsed = client.messages.parse(**ASKED, output_format=Answer)
    assert parsed.parsed_output == Answer(city="Bonn", n=3)
    assert [(told.enforced, told.requests) for told in calls] == [(True, 1)]


def test_the_stream_helper_ends_with_the_parsed_value(client: Any, vendor: Vendor) -> None:
    vendor.refuses(NO_OUTPUT_CONFIG, message_stream(PIECES))
    with (
        sg.watch() as calls,
        client.messages.stream(**ASKED, output_format=Answer) as stream,
    ):
        texts = list(stream.text_stream)
        final = stream.get_final_message()
    assert "".join(texts) == VALUE
    assert final.parsed_output == Answer(city="Bonn", n=3)
    assert final.usage.output_tokens == 9
    assert [(told.enforced, told.requests, told.source) for told in calls] == [(False, 2, "fenced")]


def test_a_streamed_create_over_an_endpoint_that_ignores_the_format_is_healed(
    client: Any, vendor: Vendor
) -> None:
    vendor.answers(message_stream(PIECES), paths=["/v1/messages"])
    events = list(client.messages.create(**ASKED, stream=True, output_config=FORMAT))
    deltas = [event.delta.text for event in events if event.type == "content_block_delta"]
    assert "".join(deltas) == VALUE
    assert [event.type for event in events][-3:] == [
        "content_block_stop",
        "message_delta",
        "message_stop",
    ]


def test_other_errors_reach_the_caller_as_the_sdks_own(client: Any, vendor: Vendor) -> None:
    overloaded = {"type": "error", "error": {"type": "overloaded_error", "message": "later"}}
    vendor.answers((529, overloaded), paths=["/v1/messages"])
    with pytest.raises(anthropic.APIStatusError, match="later") as caught:
        client.messages.create(**ASKED, output_config=FORMAT)
    assert caught.value.status_code == 529
    assert len(vendor.bodies) == 1


def test_an_error_event_before_any_answer_is_raised_as_a_status_error(
    client: Any, vendor: Vendor
) -> None:
    event = {"type": "error", "error": {"type": "rate_limit_error", "message": "slow down"}}
    vendor.answers(sse([event], named=True, done=False), paths=["/v1/messages"])
    with pytest.raises(anthropic.RateLimitError, match="slow down"):
        client.messages.create(**ASKED, stream=True, output_config=FORMAT)


async def test_the_async_client_is_rescued_too(aclient: Any, vendor: Vendor, memo: Memo) -> None:
    vendor.refuses(NO_OUTPUT_CONFIG, message(FENCED))
    with sg.watch() as calls:
        parsed = await aclient.messages.parse(**ASKED, output_format=Answer)
    assert parsed.parsed_output == Answer(city="Bonn", n=3)
    assert [told.requests for told in calls] == [2]
    assert len(memo.entries()) == 1


async def test_the_async_stream_helper_is_rescued_too(aclient: Any, vendor: Vendor) -> None:
    vendor.refuses(NO_OUTPUT_CONFIG, message_stream(PIECES))
    async with aclient.messages.stream(**ASKED, output_format=Answer) as stream:
        texts = [text async for text in stream.text_stream]
        final = await stream.get_final_message()
    assert "".join(texts) == VALUE
    assert final.parsed_output == Answer(city="Bonn", n=3)
