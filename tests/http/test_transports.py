"""Every transport sends once and tells what went wrong with the same facts."""

from __future__ import annotations

import gzip
import time
from collections.abc import AsyncIterator, Callable

import anyio
import openai
import pytest
from pytest_httpserver import HTTPServer

from structguard.http import ExchangeFailed, Limits, Transport
from structguard.http.via_aiohttp import AiohttpTransport
from structguard.http.via_httptools import HttptoolsTransport
from structguard.http.via_httpx2 import Httpx2Transport
from structguard.http.via_openai import OpenAITransport
from tests.http.raw import Play, RawServer, chunked, raw_server, reply

Make = Callable[..., Transport]
HEADERS = {"content-type": "application/json", "authorization": "Bearer secret-key-1234567890"}


def _openai(limits: Limits | None = None) -> Transport:
    client = openai.AsyncOpenAI(base_url="http://unused.invalid/v1", api_key="k", max_retries=5)
    return OpenAITransport(client, limits=limits)


MATRIX = [
    pytest.param(Httpx2Transport, "asyncio", id="httpx2-asyncio"),
    pytest.param(Httpx2Transport, "trio", id="httpx2-trio"),
    pytest.param(AiohttpTransport, "asyncio", id="aiohttp"),
    pytest.param(HttptoolsTransport, "asyncio", id="httptools"),
    pytest.param(HttptoolsTransport, ("asyncio", {"use_uvloop": True}), id="httptools-uvloop"),
    pytest.param(_openai, "asyncio", id="openai-client"),
]
pytestmark = pytest.mark.parametrize(("make", "anyio_backend"), MATRIX)


@pytest.fixture
async def transport(make: Make, anyio_backend: str) -> AsyncIterator[Transport]:
    opened = make()
    yield opened
    await opened.aclose()
    client = getattr(opened, "_client", None)
    if client is not None:
        await client.close()


async def closed(server: RawServer) -> bool:
    return await anyio.to_thread.run_sync(server.closed_by_client.wait, 2)


async def drained(transport: Transport, url: str, *, stream: bool, budget: float = 5) -> bytes:
    got = await transport.send(
        "POST", url, headers=HEADERS, body=b"{}", budget=budget, stream=stream
    )
    try:
        return b"".join([piece async for piece in got.aiter()])
    finally:
        await got.aclose()


async def test_a_request_goes_out_once_with_its_bytes_and_headers(
    transport: Transport, httpserver: HTTPServer
) -> None:
    httpserver.expect_request("/v1/x", method="POST").respond_with_data(
        b'{"a": 1}', headers={"X-Request-Id": "req_1"}
    )
    got = await transport.send(
        "POST", httpserver.url_for("/v1/x"), headers=HEADERS, body=b'{"q":1}', budget=5
    )
    assert (got.status, await got.aread()) == (200, b'{"a": 1}')
    assert got.headers["x-request-id"] == "req_1"
    (request, _), *more = httpserver.log
    assert more == []
    assert request.get_data() == b'{"q":1}'
    assert request.headers["Authorization"] == HEADERS["authorization"]
    assert request.headers["Content-Type"] == "application/json"
    await got.aclose()


@pytest.mark.parametrize("status", [301, 307, 400, 429, 500, 503])
async def test_any_status_is_a_reply_and_nothing_is_sent_again(
    transport: Transport, httpserver: HTTPServer, status: int
) -> None:
    httpserver.expect_request("/x").respond_with_data(
        b"no", status=status, headers={"Location": httpserver.url_for("/y"), "Retry-After": "0"}
    )
    got = await transport.send(
        "POST", httpserver.url_for("/x"), headers=HEADERS, body=b"{}", budget=5
    )
    assert (got.status, await got.aread()) == (status, b"no")
    assert len(httpserver.log) == 1


async def test_connections_are_reused(transport: Transport) -> None:
    with raw_server(Play([reply()], again=True), Play([], read_request=False)) as server:
        for _ in range(3):
            got = await transport.send("POST", server.url, headers=HEADERS, body=b"{}", budget=5)
            assert got.status == 200
    assert len(server.requests) == 3


async def test_a_packed_body_is_unpacked(transport: Transport) -> None:
    packed = gzip.compress(b'{"a": 1}')
    with raw_server(Play([reply(packed, headers="content-encoding: gzip\r\n")])) as server:
        got = await transport.send("POST", server.url, headers=HEADERS, body=b"{}", budget=5)
        assert await got.aread() == b'{"a": 1}'


async def test_a_body_packed_in_two_members_is_unpacked_whole(transport: Transport) -> None:
    packed = gzip.compress(b'{"a": ') + gzip.compress(b"1}")
    with raw_server(Play([reply(packed, headers="content-encoding: gzip\r\n")])) as server:
        assert await drained(transport, server.url, stream=True) == b'{"a": 1}'


@pytest.mark.parametrize("coding", ["gzip", "br", "zstd"])
async def test_a_body_that_cannot_be_unpacked_is_no_network_fault(
    transport: Transport, coding: str
) -> None:
    play = Play([reply(b"junk", headers=f"content-encoding: {coding}\r\n")])
    with raw_server(play) as server:
        url = f"{server.url}?key=secret-in-the-query"
        with pytest.raises(ExchangeFailed) as caught:
            await transport.send("POST", url, headers=HEADERS, body=b"{}", budget=5)
    failure = caught.value.failure
    assert (failure.network, failure.truncated) == (False, False)
    assert failure.message == "the reply's content-encoding cannot be decoded"


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    "play",
    [
        pytest.param(Play([]), id="closed-without-a-reply"),
        pytest.param(Play([], reset=True), id="reset-without-a-reply"),
        pytest.param(Play([b"HTTP/1.1 200 OK\r\ncontent-"]), id="half-a-head"),
        pytest.param(Play([], read_request=False), id="closed-without-reading"),
    ],
)
async def test_no_reply_is_a_network_fault_without_a_status(
    transport: Transport, play: Play, *, stream: bool
) -> None:
    with raw_server(play) as server, pytest.raises(ExchangeFailed) as caught:
        await transport.send(
            "POST", server.url, headers=HEADERS, body=b"{}", budget=5, stream=stream
        )
    failure = caught.value.failure
    assert (failure.status, failure.network, failure.truncated) == (None, True, False)
    assert not failure.own_timeout
    assert len(server.requests) <= 1


async def test_a_get_over_a_dead_connection_is_not_sent_again(transport: Transport) -> None:
    with raw_server(Play([reply(), 0.0], again=False), Play([reply()], again=True)) as server:
        await transport.send("GET", server.url, headers={}, budget=5)
        await anyio.sleep(0.05)  # the server has closed the connection by now
        await transport.send("GET", server.url, headers={}, budget=5)
        assert len(server.requests) == 2


async def test_nobody_listening_is_a_network_fault(transport: Transport) -> None:
    with raw_server(Play([])) as server:
        pass
    with pytest.raises(ExchangeFailed) as caught:
        await transport.send("POST", server.url, headers=HEADERS, body=b"{}", budget=5)
    assert caught.value.failure.network


@pytest.mark.parametrize("stream", [False, True])
async def test_a_cut_body_is_a_network_fault_and_truncated(
    transport: Transport, *, stream: bool
) -> None:
    play = Play([reply(b'{"a"', length=50)])
    with raw_server(play) as server, pytest.raises(ExchangeFailed) as caught:
        await drained(transport, server.url, stream=stream)
    failure = caught.value.failure
    assert (failure.status, failure.network, failure.truncated) == (200, True, True)


@pytest.mark.parametrize(
    "play", [Play([], hold=True), Play([reply(b"{", length=9)], hold=True)], ids=["head", "body"]
)
async def test_the_budget_bounds_head_and_body_together(transport: Transport, play: Play) -> None:
    with raw_server(play) as server:
        before = time.monotonic()
        with pytest.raises(ExchangeFailed) as caught:
            await transport.send("POST", server.url, headers=HEADERS, body=b"{}", budget=0.2)
        assert time.monotonic() - before < 1.5
        assert caught.value.failure.own_timeout
        assert caught.value.failure.timed_out
        assert await closed(server)


async def test_a_trickle_does_not_stretch_the_budget(transport: Transport) -> None:
    trickle: list[bytes | float] = [chunked(b"x", end=False), *(0.1, b"1\r\nx\r\n") * 30]
    with raw_server(Play(trickle)) as server:
        before = time.monotonic()
        with pytest.raises(ExchangeFailed) as caught:
            await drained(transport, server.url, stream=True, budget=0.5)
        assert 0.3 < time.monotonic() - before < 1.0
        assert caught.value.failure.own_timeout


async def test_a_silent_stream_ends_at_the_budget(transport: Transport) -> None:
    with raw_server(Play([chunked(b"x", end=False), 0.1, b"1\r\nx\r\n"], hold=True)) as server:
        before = time.monotonic()
        with pytest.raises(ExchangeFailed) as caught:
            await drained(transport, server.url, stream=True, budget=0.5)
        assert time.monotonic() - before < 0.9
        assert caught.value.failure.own_timeout


async def test_a_stream_gives_its_pieces_as_they_come(transport: Transport) -> None:
    with raw_server(Play([chunked(b"one", end=False), 0.2, b"3\r\ntwo\r\n0\r\n\r\n"])) as server:
        got = await transport.send(
            "POST", server.url, headers=HEADERS, body=b"{}", budget=5, stream=True
        )
        pieces = [piece async for piece in got.aiter()]
        await got.aclose()
    assert pieces == [b"one", b"two"]


async def test_leaving_a_stream_closes_the_connection(transport: Transport) -> None:
    with raw_server(Play([chunked(b"one", end=False)], hold=True)) as server:
        got = await transport.send(
            "POST", server.url, headers=HEADERS, body=b"{}", budget=5, stream=True
        )
        async for _ in got.aiter():
            break
        await got.aclose()
        assert await closed(server)


async def test_a_cancelled_reader_closes_the_connection(transport: Transport) -> None:
    with raw_server(Play([chunked(b"one", end=False)], hold=True)) as server:
        with anyio.move_on_after(0.2):
            got = await transport.send("POST", server.url, headers=HEADERS, budget=5, stream=True)
            try:
                async for _ in got.aiter():
                    pass
            finally:
                await got.aclose()
        assert await closed(server)


async def test_a_cancelled_call_closes_the_connection(transport: Transport) -> None:
    with raw_server(Play([], hold=True)) as server:
        with anyio.move_on_after(0.2) as scope:
            await transport.send("POST", server.url, headers=HEADERS, body=b"{}", budget=5)
        assert scope.cancelled_caught
        assert await closed(server)


async def test_ten_megabytes_arrive_whole(transport: Transport, httpserver: HTTPServer) -> None:
    body = b"0123456789" * 1_000_000
    httpserver.expect_request("/x").respond_with_data(body)
    got = await transport.send(
        "POST", httpserver.url_for("/x"), headers=HEADERS, body=b"{}", budget=20
    )
    assert await got.aread() == body


async def test_a_body_over_the_limit_is_given_up(make: Make, httpserver: HTTPServer) -> None:
    httpserver.expect_request("/x").respond_with_data(b"0" * 5000)
    transport = make(limits=Limits(max_body=1000))
    with pytest.raises(ExchangeFailed, match="larger than 1000 bytes"):
        await transport.send(
            "POST", httpserver.url_for("/x"), headers=HEADERS, body=b"{}", budget=5
        )
    await transport.aclose()


async def test_a_key_with_a_line_break_is_not_repeated_in_the_error(
    transport: Transport, httpserver: HTTPServer
) -> None:
    headers = {**HEADERS, "authorization": "Bearer sec\nret"}
    with pytest.raises(ExchangeFailed) as caught:
        await transport.send(
            "POST", httpserver.url_for("/x"), headers=headers, body=b"{}", budget=5
        )
    assert "sec" not in str(caught.value)
    assert httpserver.log == []


async def test_a_transport_outlives_its_event_loop(make: Make, httpserver: HTTPServer) -> None:
    if make is _openai:
        pytest.skip("a caller's own client lives in the caller's loop")
    httpserver.expect_request("/x").respond_with_data(b"{}")
    transport = make()

    async def once() -> None:
        got = await transport.send(
            "POST", httpserver.url_for("/x"), headers=HEADERS, body=b"{}", budget=5
        )
        assert got.status == 200
        await transport.aclose()

    await once()
    await anyio.to_thread.run_sync(lambda: anyio.run(once))
    await once()
    assert len(httpserver.log) == 3
    await transport.aclose()
