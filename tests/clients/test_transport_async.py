"""The async transport on asyncio and trio, and the openai client over both transports."""

from __future__ import annotations

import gc
from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any

import anyio
import httpx2
import openai
import pytest
from openai import AsyncOpenAI, OpenAI
from pytest_httpserver import HTTPServer

import structguard as sg
from structguard.clients.http_reply import REFUSED
from structguard.memo import Memo
from tests.clients.endpoint import (
    FENCED,
    FORMAT,
    MESSAGES,
    REFUSED as NO_FORMAT,
    VALUE,
    Answer,
    Json,
    chat,
    chat_chunks,
    response,
    response_events,
    sse,
)
from tests.clients.test_http_stream import texts_of
from tests.clients.test_transport import pieces_of
from tests.clients.vendors import Vendor
from tests.http.raw import Play, raw_server

CHAT = "/v1/chat/completions"
ASKED: Json = {"model": "m", "messages": MESSAGES, "response_format": FORMAT}
PIECES = [FENCED[at : at + 7] for at in range(0, len(FENCED), 7)]


@dataclass
class Kept(httpx2.AsyncBaseTransport):
    """The real transport; keeps what went through it."""

    inner: httpx2.AsyncHTTPTransport = field(default_factory=httpx2.AsyncHTTPTransport)
    responses: list[httpx2.Response] = field(default_factory=list[httpx2.Response])
    closed: bool = False

    @property
    def busy(self) -> int:
        """How many connections wait for somebody to read or close a reply."""
        connections: Any = vars(self.inner)["_pool"].connections
        return sum(not (one.is_idle() or one.is_closed()) for one in connections)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        response = await self.inner.handle_async_request(request)
        self.responses.append(response)
        return response

    async def aclose(self) -> None:
        self.closed = True
        await self.inner.aclose()


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def kept() -> Kept:
    return Kept()


@pytest.fixture
async def client(
    vendor: Vendor, memo: Memo, kept: Kept, anyio_backend: str
) -> AsyncIterator[httpx2.AsyncClient]:
    transport = sg.Guard(memo=memo).async_transport(kept)
    async with httpx2.AsyncClient(transport=transport, base_url=vendor.host_url) as made:
        yield made


@pytest.fixture
def sdk(vendor: Vendor, memo: Memo) -> Iterator[OpenAI]:
    transport = sg.Guard(memo=memo).transport()
    with OpenAI(
        base_url=vendor.base_url,
        api_key="k",
        max_retries=0,
        http_client=httpx2.Client(transport=transport),
    ) as made:
        yield made


@pytest.fixture
async def asdk(vendor: Vendor, memo: Memo, anyio_backend: str) -> AsyncIterator[AsyncOpenAI]:
    transport = sg.Guard(memo=memo).async_transport()
    async with AsyncOpenAI(
        base_url=vendor.base_url,
        api_key="k",
        max_retries=0,
        http_client=httpx2.AsyncClient(transport=transport),
    ) as made:
        yield made


def parse(sdk: Any, **more: Any) -> Any:
    return sdk.chat.completions.parse(model="m", messages=MESSAGES, response_format=Answer, **more)


# httpx2 itself


async def test_a_refused_call_is_rescued(
    client: httpx2.AsyncClient, vendor: Vendor, memo: Memo, kept: Kept
) -> None:
    vendor.refuses(NO_FORMAT, chat(FENCED))
    with sg.watch() as calls:
        reply = await client.post(CHAT, json=ASKED)
    assert reply.json() == chat(VALUE)
    assert [(told.enforced, told.requests, told.source) for told in calls] == [(False, 2, "fenced")]
    assert len(memo.entries()) == 1
    assert (len(kept.responses), kept.busy) == (2, 0)


async def test_what_is_no_guarded_call_passes(
    client: httpx2.AsyncClient, vendor: Vendor, httpserver: HTTPServer
) -> None:
    vendor.answers(chat(FENCED))
    httpserver.expect_request("/v1/models").respond_with_json({"data": []})
    with sg.watch() as calls:
        listed = await client.get("/v1/models")
        plain = await client.post(CHAT, json={"model": "m", "messages": MESSAGES})
    assert (listed.json(), plain.json()) == ({"data": []}, chat(FENCED))
    assert [(told.enforced, told.requests) for told in calls] == [(None, 1)]


async def test_a_failed_retry_gives_its_own_response(
    client: httpx2.AsyncClient, vendor: Vendor
) -> None:
    vendor.plays(lambda body: (400, NO_FORMAT) if "response_format" in body else (503, {}))
    reply = await client.post(CHAT, json=ASKED)
    assert (reply.status_code, reply.extensions[REFUSED].json()) == (503, NO_FORMAT)


async def test_a_format_that_holds_no_schema_passes(
    client: httpx2.AsyncClient, vendor: Vendor
) -> None:
    vendor.refuses(NO_FORMAT, chat(VALUE))
    await client.post(CHAT, json=ASKED)
    reply = await client.post(CHAT, json={**ASKED, "response_format": {"type": "json_schema"}})
    assert (reply.status_code, len(vendor.bodies)) == (400, 3)


async def test_streams_are_rescued_healed_and_closed(
    client: httpx2.AsyncClient, vendor: Vendor, kept: Kept
) -> None:
    vendor.refuses(NO_FORMAT, sse(chat_chunks(PIECES)))
    async with client.stream("POST", CHAT, json={**ASKED, "stream": True}) as reply:
        text = "".join([piece async for piece in reply.aiter_text()])
    assert text.count('"content":"{') == 1
    assert (len(kept.responses), kept.busy) == (2, 0)


async def test_an_error_as_the_first_event_is_a_status_and_its_stream_is_closed(
    client: httpx2.AsyncClient, vendor: Vendor, kept: Kept
) -> None:
    event = {"error": {"message": "overloaded", "code": 503}}
    vendor.answers(sse([event]))
    reply = await client.post(CHAT, json={**ASKED, "stream": True})
    assert (reply.status_code, reply.json()) == (503, event)
    assert kept.busy == 0


async def test_a_stream_in_other_clothes_is_handed_on_unread(
    client: httpx2.AsyncClient, httpserver: HTTPServer, kept: Kept
) -> None:
    httpserver.expect_request(CHAT).respond_with_data("{}\n{}\n", content_type="text/plain")
    async with client.stream("POST", CHAT, json={**ASKED, "stream": True}) as reply:
        assert not kept.responses[0].is_stream_consumed
        assert await reply.aread() == b"{}\n{}\n"


async def test_a_stream_that_breaks_gives_what_it_held_and_its_error(
    client: httpx2.AsyncClient,
) -> None:
    body = sse(chat_chunks(["Sure: "], finish=None), done=False).encode()
    head = f"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: {len(body) + 9}"
    got: list[str] = []

    async def read(url: str) -> None:
        async with client.stream("POST", url, json={**ASKED, "stream": True}) as reply:
            async for piece in reply.aiter_text():
                got.append(piece)  # noqa: PERF401  what came before the error counts

    with (
        raw_server(Play([head.encode() + b"\r\n\r\n", body])) as server,
        pytest.raises(httpx2.RemoteProtocolError),
    ):
        await read(server.url + CHAT)
    assert "Sure: " in "".join(got)


async def test_pieces_are_handed_on_or_held_as_they_come(client: httpx2.AsyncClient) -> None:
    for text in ([VALUE[:4], VALUE[4:]], [FENCED[:9], FENCED[9:]]):
        with raw_server(Play(pieces_of(text))) as server:
            url = server.url + CHAT
            async with client.stream("POST", url, json={**ASKED, "stream": True}) as reply:
                parts = [part async for part in reply.aiter_raw()]
        assert "".join(texts_of(b"".join(parts), "chat")) == VALUE


async def test_an_error_event_counts_even_if_its_stream_then_breaks(
    client: httpx2.AsyncClient, kept: Kept
) -> None:
    event = sse([{"error": {"message": "slow", "code": 429}}], done=False).encode()
    head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: 999\r\n\r\n"
    with raw_server(Play([head + event])) as server:
        reply = await client.post(server.url + CHAT, json={**ASKED, "stream": True})
    assert reply.status_code == 429
    assert kept.busy == 0


async def test_cancelled_while_its_reply_is_read_the_connection_is_given_back(
    client: httpx2.AsyncClient, kept: Kept, memo: Memo
) -> None:
    head = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 9\r\n\r\n{"
    with raw_server(Play([head], hold=True)) as server:
        with anyio.move_on_after(0.5) as scope:
            await client.post(server.url + CHAT, json=ASKED)
        assert scope.cancelled_caught
        assert kept.busy == 0
    assert memo.entries() == []


@pytest.mark.parametrize("read", [0, 1])
async def test_a_stream_that_is_left_early_leaves_nothing_to_the_collector(
    client: httpx2.AsyncClient, vendor: Vendor, memo: Memo, kept: Kept, read: int
) -> None:
    """A generator of httpx2's that is not ended is an error under trio."""
    vendor.refuses(NO_FORMAT, sse(chat_chunks(PIECES)))
    async with (
        client.stream("POST", CHAT, json={**ASKED, "stream": True}) as reply,
        aclosing(reply.aiter_raw()) as pieces,
    ):
        for _ in range(read):
            await anext(pieces)
    assert kept.busy == 0
    gc.collect()
    assert len(memo.entries()) == 1


async def test_what_fails_before_a_reply_is_raised_unchanged(client: httpx2.AsyncClient) -> None:
    with pytest.raises(httpx2.ConnectError):
        await client.post(f"http://127.0.0.1:1{CHAT}", json=ASKED)


async def test_closing_closes_the_transport_below(
    client: httpx2.AsyncClient, vendor: Vendor, memo: Memo, kept: Kept
) -> None:
    vendor.answers(chat(VALUE))
    await client.post(CHAT, json=ASKED)
    await client.aclose()
    assert kept.closed
    await sg.Guard(memo=memo).async_transport().aclose()


# openai over the transport


def test_openai_parse_is_rescued_and_shares_its_memory_with_wrap(
    sdk: OpenAI, vendor: Vendor, memo: Memo
) -> None:
    vendor.refuses(NO_FORMAT, chat(FENCED))
    assert parse(sdk).choices[0].message.parsed == Answer(city="Bonn", n=3)
    assert len(vendor.bodies) == 2
    with OpenAI(base_url=vendor.base_url, api_key="k") as plain:
        wrapped = sg.wrap(plain, memo=memo)
        assert parse(wrapped).choices[0].message.parsed == Answer(city="Bonn", n=3)
    assert len(vendor.bodies) == 3


def test_openai_responses_parse_is_rescued(sdk: OpenAI, vendor: Vendor) -> None:
    vendor.refuses(NO_FORMAT, response(FENCED))
    reply = sdk.responses.parse(model="m", input="Where?", text_format=Answer)
    assert reply.output_parsed == Answer(city="Bonn", n=3)


def test_openai_stream_helpers_end_with_the_parsed_value(sdk: OpenAI, vendor: Vendor) -> None:
    vendor.refuses(NO_FORMAT, sse(chat_chunks(PIECES)))
    with sdk.chat.completions.stream(
        model="m", messages=MESSAGES, response_format=Answer
    ) as stream:
        final = stream.get_final_completion()
    assert final.choices[0].message.parsed == Answer(city="Bonn", n=3)
    vendor.refuses(NO_FORMAT, sse(response_events(PIECES), named=True, done=False))
    with sdk.responses.stream(model="m", input="Where?", text_format=Answer) as events:
        assert events.get_final_response().output_parsed == Answer(city="Bonn", n=3)


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        ((401, {"error": {"message": "who?"}}), openai.AuthenticationError),
        ((200, {"error": {"message": "slow", "code": 429}}), openai.RateLimitError),
        ((200, sse([{"error": {"message": "slow", "code": 429}}])), openai.RateLimitError),
    ],
)
def test_openai_raises_its_own_exceptions(
    sdk: OpenAI, vendor: Vendor, answer: tuple[int, Json | str], error: type[Exception]
) -> None:
    vendor.answers(answer)
    with pytest.raises(error):
        sdk.chat.completions.create(
            model="m", messages=MESSAGES, response_format=FORMAT, stream=isinstance(answer[1], str)
        )
    assert len(vendor.bodies) == 1


def test_a_deployment_in_the_address_is_the_model(vendor: Vendor, memo: Memo) -> None:
    path = "/openai/deployments/mine/chat/completions"
    vendor.answers(chat(VALUE), paths=[path])
    transport = sg.Guard(memo=memo).transport()
    with httpx2.Client(transport=transport) as client, sg.watch() as calls:
        client.post(f"{vendor.host_url}{path}?api-version=7&x=1", json={**ASKED, "model": "gpt"})
    assert [(told.provider, told.model) for told in calls] == [
        (f"{vendor.host}/openai?api-version=7", "mine")
    ]


async def test_the_async_openai_client_is_rescued(asdk: AsyncOpenAI, vendor: Vendor) -> None:
    vendor.refuses(NO_FORMAT, chat(FENCED))
    reply = await parse(asdk)
    assert reply.choices[0].message.parsed == Answer(city="Bonn", n=3)


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_the_async_openai_stream_helper_is_rescued(asdk: AsyncOpenAI, vendor: Vendor) -> None:
    """On asyncio only: the SDK leaves at [DONE], and trio warns of what httpx2 leaves then."""
    vendor.refuses(NO_FORMAT, sse(chat_chunks(PIECES)))
    async with asdk.chat.completions.stream(
        model="m", messages=MESSAGES, response_format=Answer
    ) as stream:
        final = await stream.get_final_completion()
    assert final.choices[0].message.parsed == Answer(city="Bonn", n=3)
