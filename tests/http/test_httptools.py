"""The gateway's own HTTP/1.1 client: every way a reply can be put on the wire, and its pool."""

from __future__ import annotations

import gzip
import shutil
import ssl
import subprocess
import zlib
from collections.abc import AsyncIterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from pytest_httpserver import HTTPServer

from structguard.http import ExchangeFailed, Limits
from structguard.http.gunzip import Unpack
from structguard.http.h1.reply import HIGH
from structguard.http.via_httptools import HttptoolsTransport
from structguard.types import Failure
from tests.http.raw import Play, RawServer, chunked, raw_server, reply

LOOPS = ["asyncio", ("asyncio", {"use_uvloop": True})]
pytestmark = pytest.mark.parametrize("anyio_backend", LOOPS, ids=["asyncio", "uvloop"])
BODY = b'{"a": "\xc3\xa4\xc3\xb6"}' * 20
PACKED = gzip.compress(BODY[:100]) + gzip.compress(BODY[100:])
WAYS = {
    "length": reply(BODY),
    "chunked": chunked(BODY[:7], BODY[7:]),
    "chunked-with-trailer": chunked(BODY, end=False) + b"0\r\ncontent-encoding: br\r\n\r\n",
    "until-the-end": b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n" + BODY,
    "http-1.0": b"HTTP/1.0 200 OK\r\n\r\n" + BODY,
    "after-interim-ones": b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n"
    + reply(BODY),
    "packed-in-two-members": reply(PACKED, headers="content-encoding: gzip\r\n"),
}


@pytest.fixture
async def transport() -> AsyncIterator[HttptoolsTransport]:
    opened = HttptoolsTransport()
    yield opened
    await opened.aclose()


async def fetched(
    transport: HttptoolsTransport, url: str, *, body: bytes = b"{}", stream: bool = False
) -> bytes:
    got = await transport.send("POST", url, headers={}, body=body, budget=10, stream=stream)
    assert "link" not in got.headers
    try:
        return b"".join([piece async for piece in got.aiter()])
    finally:
        await got.aclose()


async def failure(transport: HttptoolsTransport, url: str) -> Failure:
    with pytest.raises(ExchangeFailed) as caught:
        await fetched(transport, url)
    return caught.value.failure


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("way", WAYS)
async def test_a_body_arrives_however_it_is_framed(
    transport: HttptoolsTransport, way: str, *, stream: bool
) -> None:
    with raw_server(Play([WAYS[way]])) as server:
        assert await fetched(transport, server.url, stream=stream) == BODY


@pytest.mark.parametrize("way", WAYS)
@given(cuts=st.lists(st.integers(1, 700), max_size=4))
@settings(
    max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
async def test_it_arrives_in_whatever_pieces_it_comes(way: str, cuts: list[int]) -> None:
    data, at = WAYS[way], 0
    steps: list[bytes | float] = []
    for cut in sorted({cut for cut in cuts if cut < len(data)}):
        steps += [data[at:cut], 0.002]
        at = cut
    transport = HttptoolsTransport()
    with raw_server(Play([*steps, data[at:]])) as server:
        assert await fetched(transport, server.url, stream=True) == BODY
    await transport.aclose()


@pytest.mark.parametrize(
    ("play", "why"),
    [
        (Play([b"SMTP ready\r\n\r\n"], hold=True), "not HTTP"),
        (Play([b"HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\nx"]),
         "not HTTP"),
        (Play([b"HTTP/1.1 200 OK\r\n" + b"x: yyyyyyyy\r\n" * 7000], hold=True), "head is larger"),
    ],
    ids=["another protocol", "an upgrade", "an endless head"],
)  # fmt: skip
async def test_what_is_no_reply_is_a_network_fault(
    transport: HttptoolsTransport, play: Play, why: str
) -> None:
    with raw_server(play) as server:
        found = await failure(transport, server.url)
    assert (found.status, found.network) == (None, True)
    assert why in found.message


@pytest.mark.parametrize(
    ("sent", "truncated"),
    [
        (chunked(b"one", end=False) + b"zzz\r\n", True),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 3\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n",
         False),
    ],
    ids=["a chunk without a size", "two lengths at once"],
)  # fmt: skip
async def test_a_badly_framed_body_is_a_fault(
    transport: HttptoolsTransport, sent: bytes, *, truncated: bool
) -> None:
    with raw_server(Play([sent], hold=True)) as server:
        found = await failure(transport, server.url)
    assert found.network
    assert found.truncated == truncated


async def test_a_body_without_a_length_that_is_reset_is_cut(transport: HttptoolsTransport) -> None:
    with raw_server(Play([WAYS["until-the-end"], 0.1], reset=True)) as server:
        found = await failure(transport, server.url)
    assert found.truncated


@pytest.mark.parametrize("coding", ["br", "deflate", "gzip"])
async def test_a_coding_that_was_not_offered_or_is_cut_is_unreadable(
    transport: HttptoolsTransport, coding: str
) -> None:
    sent = reply(PACKED[:-20], headers=f"content-encoding: {coding}\r\n")
    with raw_server(Play([sent])) as server:
        found = await failure(transport, server.url)
    assert "content-encoding" in found.message
    assert (found.status, found.network) == (200, False)


async def test_a_bomb_is_not_unpacked() -> None:
    bomb = gzip.compress(b"0" * 50_000_000)
    transport = HttptoolsTransport(limits=Limits(max_body=10_000))
    with raw_server(Play([reply(bomb, headers="content-encoding: gzip\r\n")])) as server:
        found = await failure(transport, server.url)
    assert "larger than 10000 bytes" in found.message
    assert len(Unpack()(bomb, 10_001)) == 10_001
    await transport.aclose()


async def test_what_is_no_gzip_is_no_gzip() -> None:
    with pytest.raises(zlib.error):
        Unpack()(b"junk", 10)


ODD = {
    "closed by its own word": reply(headers="connection: close\r\n"),
    "two replies to one request": reply() + reply(b"another's"),
    "bytes behind the reply": reply() + b"x",
    "as long as the connection": WAYS["until-the-end"],
}


@pytest.mark.parametrize("sent", ODD.values(), ids=ODD)
async def test_a_connection_that_is_odd_is_not_used_again(
    transport: HttptoolsTransport, sent: bytes
) -> None:
    with raw_server(Play([sent]), Play([reply(b"two")], again=True)) as server:
        await fetched(transport, server.url)
        assert await fetched(transport, server.url) == b"two"
        assert len(server.connections) == 2


async def test_bytes_nobody_asked_for_end_the_connection(transport: HttptoolsTransport) -> None:
    play = Play([reply(b"one"), 0.05, reply(b"planted")], hold=True)
    with raw_server(play, Play([reply(b"two")])) as server:
        assert await fetched(transport, server.url) == b"one"
        assert await anyio.to_thread.run_sync(server.closed_by_client.wait, 2)
        assert await fetched(transport, server.url) == b"two"


async def test_a_reply_before_the_request_was_out_is_read_and_the_connection_closed(
    transport: HttptoolsTransport,
) -> None:
    early = reply(b"too much", status="413 Content Too Large")
    with raw_server(Play([0.2, early, 0.2], read_request=False, hold=True)) as server:
        body = b"x" * 30_000_000
        got = await transport.send("POST", server.url, headers={}, body=body, budget=10)
        assert (got.status, await got.aread()) == (413, b"too much")
        assert await anyio.to_thread.run_sync(server.closed_by_client.wait, 5)


async def test_a_large_request_arrives_whole(
    transport: HttptoolsTransport, httpserver: HTTPServer
) -> None:
    httpserver.expect_request("/x").respond_with_data(b"{}")
    body = b"0123456789" * 500_000
    await fetched(transport, httpserver.url_for("/x"), body=body)
    assert httpserver.log[0][0].get_data() == body


class Pouring(Sequence[bytes]):
    """A long body in pieces; `begun` says how many of them are on their way."""

    def __init__(self, size: int, piece: bytes) -> None:
        self.pieces = [chunked(end=False), *[b"f4240\r\n" + piece + b"\r\n"] * size, b"0\r\n\r\n"]
        self.begun = 0

    def __len__(self) -> int:
        return len(self.pieces)

    def __getitem__(self, at: Any) -> Any:
        self.begun = max(self.begun, at)
        return self.pieces[at]


async def test_a_slow_reader_holds_the_upstream_up(transport: HttptoolsTransport) -> None:
    size, piece = 60, b"x" * 1_000_000
    pouring = Pouring(size, piece)
    with raw_server(Play(pouring)) as server:
        got = await transport.send("POST", server.url, headers={}, budget=20, stream=True)
        await anyio.sleep(0.5)
        assert pouring.begun < size / 2  # sockets hold some, we hold little
        largest = whole = 0
        async for block in got.aiter():
            largest, whole = max(largest, len(block)), whole + len(block)
    assert whole == size * len(piece)
    assert largest <= HIGH * 4


async def test_requests_beyond_the_limit_wait_for_room() -> None:
    transport = HttptoolsTransport(limits=Limits(connections=2))
    with raw_server(Play([0.1, reply()], again=True)) as server:
        async with anyio.create_task_group() as group:
            for _ in range(6):
                group.start_soon(fetched, transport, server.url)
        assert len(server.connections) == 2
        assert len(server.requests) == 6
    await transport.aclose()


async def test_waiting_for_room_counts_as_time() -> None:
    transport = HttptoolsTransport(limits=Limits(connections=1))
    with raw_server(Play([], hold=True)) as server:
        async with anyio.create_task_group() as group:
            send = partial(transport.send, "POST", server.url, headers={})
            group.start_soon(partial(send, body=b"", budget=None))
            await anyio.to_thread.run_sync(server.arrived.wait, 2)
            with pytest.raises(ExchangeFailed) as caught:
                await send(body=b"", budget=0.1)
            assert caught.value.failure.own_timeout
            group.cancel_scope.cancel()
        with pytest.raises(ExchangeFailed, match="time allowed"):  # the room is free again
            await send(body=b"", budget=0.1)
        assert len(server.connections) == 2
    await transport.aclose()


async def test_room_is_given_back_whatever_happens(transport: HttptoolsTransport) -> None:
    transport = HttptoolsTransport(limits=Limits(connections=1, connect_timeout=2))
    with raw_server(Play([])) as gone:
        pass
    plays = [Play([]), Play([b"junk\r\n\r\n"]), Play([reply(b"ok")])]
    with raw_server(*plays) as server:
        for url in (gone.url, gone.url, server.url, server.url):
            assert (await failure(transport, url)).network
        assert await fetched(transport, server.url) == b"ok"
    await transport.aclose()


async def test_idle_connections_are_closed_in_time() -> None:
    transport = HttptoolsTransport(limits=Limits(idle_seconds=0.1))
    with raw_server(Play([reply()], again=True)) as server:
        await fetched(transport, server.url)
        assert await closed_soon(server)
        await fetched(transport, server.url)
        assert len(server.connections) == 2
    await transport.aclose()


async def closed_soon(server: RawServer) -> bool:
    """Whether the client closes; the server's thread sees the end of its reading."""
    for _ in range(100):
        await anyio.sleep(0.02)
        if server.connections[-1].fileno() < 0:
            return True
    return False


async def test_a_connection_that_was_idle_for_too_long_is_not_used_though_still_open() -> None:
    transport = HttptoolsTransport(limits=Limits(idle_seconds=0.4))
    with raw_server(Play([reply()], again=True)) as server:
        for pause in (0.2, 0.5):  # the second look for old ones comes after 0.8 s
            await fetched(transport, server.url)
            await anyio.sleep(pause)
        await fetched(transport, server.url)
        assert len(server.connections) == 2
    await transport.aclose()


async def test_without_a_budget_room_is_waited_for_as_long_as_it_takes() -> None:
    transport = HttptoolsTransport(limits=Limits(connections=1))
    got: list[bytes] = []

    async def fetch() -> None:
        sent = await transport.send("POST", server.url, headers={}, body=b"")
        got.append(await sent.aread())

    with raw_server(Play([0.05, reply(b"ok")], again=True)) as server:
        async with anyio.create_task_group() as group:
            for _ in range(3):
                group.start_soon(fetch)
    assert got == [b"ok"] * 3
    await transport.aclose()


@pytest.mark.parametrize("limits", [Limits(idle=0), Limits(idle_seconds=0)])
async def test_nothing_is_kept_where_nothing_may_be(limits: Limits) -> None:
    transport = HttptoolsTransport(limits=limits)
    with raw_server(Play([reply()], again=True)) as server:
        for _ in range(2):
            await fetched(transport, server.url)
        assert len(server.connections) == 2
    await transport.aclose()


async def test_closing_ends_what_is_under_way() -> None:
    transport = HttptoolsTransport()
    with raw_server(Play([chunked(b"one", end=False)], hold=True)) as server:
        got = await transport.send("POST", server.url, headers={}, budget=5, stream=True)
        assert await anext(got.aiter()) == b"one"
        await transport.aclose()
        with pytest.raises(ExchangeFailed):
            await anext(got.aiter())
    await transport.aclose()


async def test_a_host_that_answers_on_one_address_only_is_reached(
    transport: HttptoolsTransport,
) -> None:
    with raw_server(Play([reply(b"here")])) as server:
        url = f"http://localhost:{server.port}/"
        assert await fetched(transport, url) == b"here"
    assert b"host: localhost" in server.requests[0].lower()


async def test_a_url_is_put_on_the_wire_as_http_wants_it(transport: HttptoolsTransport) -> None:
    with raw_server(Play([reply()], again=True)) as server:
        for path in ("", "/v1/m%2Fx:go?alt=sse&k=1", "/ü?q=ä"):
            await fetched(transport, server.url + path)
    lines = [one.partition(b"\r\n")[0] for one in server.requests]
    assert lines == [
        b"POST / HTTP/1.1",
        b"POST /v1/m%2Fx:go?alt=sse&k=1 HTTP/1.1",
        b"POST /%C3%BC?q=%C3%A4 HTTP/1.1",
    ]


@pytest.mark.parametrize("url", ["ftp://h/x", "http:///x", "nothing"])
async def test_a_url_of_another_kind_is_refused(transport: HttptoolsTransport, url: str) -> None:
    assert "URL" in (await failure(transport, url)).message


@pytest.mark.parametrize("name", ["x y", "x:", "x\r\ny", "ü", ""])
async def test_a_name_that_is_no_header_is_refused(
    transport: HttptoolsTransport, name: str
) -> None:
    with pytest.raises(ExchangeFailed, match="characters that HTTP does not allow"):
        await transport.send("POST", "http://127.0.0.1:9/", headers={name: "v"}, budget=1)


@pytest.mark.parametrize("host", ["nowhere.invalid", "b\u00fccher.invalid", "[::1]:9"])
async def test_whom_nobody_can_reach_is_a_network_fault(
    transport: HttptoolsTransport, host: str
) -> None:
    assert (await failure(transport, f"http://{host}/")).network


async def test_a_repr_shows_limits_and_no_more(transport: HttptoolsTransport) -> None:
    assert repr(transport).startswith("HttptoolsTransport(Limits(")


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> ssl.SSLContext:
    program = shutil.which("openssl")
    if program is None:
        pytest.skip("openssl is not installed")
    place = tmp_path_factory.mktemp("tls")
    made: tuple[Path, Path] = (place / "cert.pem", place / "key.pem")
    subprocess.run(  # noqa: S603  a key of the test's own
        [program, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj",
         "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-out", made[0], "-keyout",
         made[1]],
        check=True, capture_output=True,
    )  # fmt: skip
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*made)
    return context


async def test_tls_is_spoken_and_certificates_are_checked(certificate: ssl.SSLContext) -> None:
    with HTTPServer(host="localhost", ssl_context=certificate) as server:
        server.expect_request("/x").respond_with_data(BODY)
        strict, lax = HttptoolsTransport(), HttptoolsTransport(verify=False)
        found = await failure(strict, server.url_for("/x"))
        assert found.network
        assert "certificate" in found.message.lower()
        for stream in (False, True):
            assert await fetched(lax, server.url_for("/x"), stream=stream) == BODY
        await strict.aclose()
        await lax.aclose()


async def test_a_server_that_accepts_and_says_nothing_is_given_up() -> None:
    transport = HttptoolsTransport(limits=Limits(connect_timeout=0.2), verify=False)
    with raw_server(Play([], read_request=False, hold=True)) as server:
        for budget in (5, 0.1):
            url = f"https://127.0.0.1:{server.port}/"  # no TLS there: the handshake never ends
            with pytest.raises(ExchangeFailed) as caught:
                await transport.send("POST", url, headers={}, budget=budget)
            assert caught.value.failure.own_timeout == (budget == 0.1)
    await transport.aclose()
