"""Requests that are too slow, too large, too many or no HTTP: the specified answer, others served meanwhile."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import anyio
import pytest

from tests.gateway.load.hostile import (
    UPGRADE,
    answer,
    ask,
    chat_body,
    crowd,
    error_in,
    is_served,
    opened,
    post,
)
from tests.gateway.load.mix import CHAT, RESPONSES
from tests.gateway.load.process import CONFIG, Process, echo, gateway
from tests.gateway.load.run import quiet
from tests.gateway.load.size import anyio_backend, patient, size

__all__ = ["anyio_backend"]

BOUNDS = """
[limits]
head_seconds = 1.0
body_seconds = 1.0
write_seconds = 1.5
"""
MIB = 1024 * 1024
BIG = b"x" * (25 * MIB)
CLOSE = "connection: close\r\n"
MANY = "".join(f"x-{at}: v\r\n" for at in range(10_000))


@pytest.fixture(scope="module")
def upstream() -> Iterator[Process]:
    with echo() as made:
        yield made


@pytest.fixture(scope="module")
def served(upstream: Process, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    home = tmp_path_factory.mktemp("gateway")
    with gateway(home, upstream.url, config=CONFIG + BOUNDS) as made:
        yield made
        assert "Traceback" not in made.written()


@patient
async def test_heads_that_dribble_are_a_408_and_others_are_served(served: Process) -> None:
    with crowd(served.port, size(100, 2000), post()[:40]) as slow:
        await is_served(served.port)
        slow[0].sendall(b"x-more: 1\r\n")  # which buys no time
        with ThreadPoolExecutor(8) as threads:
            found = list(threads.map(answer, slow))
    assert {status for status, _ in found} == {408}
    assert error_in(found[0][1])["message"] == "the request did not arrive within 1 s"


@patient
async def test_bodies_that_dribble_are_a_408_and_others_are_served(served: Process) -> None:
    with crowd(served.port, size(100, 900), post(b'{"model": ', length=1000)) as slow:
        await is_served(served.port)
        with ThreadPoolExecutor(8) as threads:
            found = list(threads.map(answer, slow))
    assert {status for status, _ in found} == {408}


async def test_a_connection_that_says_nothing_is_closed(served: Process) -> None:
    with crowd(served.port, 20) as silent:
        assert {answer(one) for one in silent} == {(0, b"")}


async def test_the_rest_of_a_body_that_has_its_answer_is_not_waited_for_long(
    served: Process,
) -> None:
    data = post(b"{", headers="x-structguard-mode: none\r\n", path="/v1/nothing", length=1000)
    status, _ = ask(served.port, data)  # ends only once the gateway has closed
    assert status == 404


@patient
@pytest.mark.parametrize(
    "data",
    [
        pytest.param(post(BIG), id="announced"),
        pytest.param(post(BIG, headers=CLOSE), id="closing"),
        pytest.param(post(BIG).replace(b"HTTP/1.1", b"HTTP/1.0", 1), id="1.0"),
        pytest.param(post(BIG, path="/v1/embeddings"), id="embeddings"),
        pytest.param(
            post().replace(b"content-length: 0", b"transfer-encoding: chunked")
            + (b"100000\r\n" + BIG[:MIB] + b"\r\n") * 25
            + b"0\r\n\r\n",
            id="chunked",
        ),
    ],
)
async def test_25_mib_are_a_413_that_is_read_by_whoever_sends_all_of_it_first(
    served: Process, data: bytes
) -> None:
    before = served.memory("RssAnon")
    with ThreadPoolExecutor(4) as threads:
        asked = [threads.submit(ask, served.port, data, hears_all=True) for _ in range(4)]
        await is_served(served.port)
        found = [await anyio.to_thread.run_sync(one.result) for one in asked]
    assert {status for status, _ in found} == {413}
    assert "larger than 20971520 bytes" in str(error_in(found[0][1])["message"])
    assert served.memory("RssAnon") - before < 4 * 22 + 10


def test_a_client_that_asks_first_sends_no_body(served: Process) -> None:
    status, came = ask(served.port, post(headers="expect: 100-continue\r\n", length=len(BIG)))
    assert (status, came.count(b"HTTP/1.1")) == (413, 1)
    body = chat_body("m-1")
    with opened(served.port) as connection:
        connection.sendall(post(headers="expect: 100-continue\r\n", length=len(body)))
        assert connection.recv(65536).startswith(b"HTTP/1.1 100 ")
        connection.sendall(body)
        assert connection.recv(65536).startswith(b"HTTP/1.1 200 ")


@patient
@pytest.mark.parametrize(
    "data",
    [
        pytest.param(post(chat_body("m"), headers=MANY + CLOSE), id="lines"),
        pytest.param(UPGRADE.format(path="/v1/responses", headers=MANY).encode(), id="websocket"),
        pytest.param(b"POST / HTTP/1.1\r\nx: " + b"a" * (3 * MIB), id="endless line"),
        pytest.param(b"POST /" + b"a" * (3 * MIB), id="endless path"),
        pytest.param(post(chat_body("m"), headers=f"x: {'a' * 40_000}\r\n{CLOSE}"), id="bytes"),
    ],
)
async def test_headers_too_many_or_too_large_are_a_431(served: Process, data: bytes) -> None:
    before = served.memory("RssAnon")
    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(lambda _: ask(served.port, data + b"\r\n\r\n"), range(8)))
    await is_served(served.port, 1)
    assert {status for status, _ in found} == {431}
    assert error_in(found[0][1])["message"] == "the request's headers are too large"
    assert served.memory("RssAnon") - before < 10


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", 400),  # TLS
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400),
        (post().replace(b" /v1", b" /\xff\xfe"), 400),
        (post(headers="transfer-encoding: chunked\r\n", length=5) + b"0\r\n\r\n", 400),
        (post(headers="content-length: 3\r\n", length=5) + b"0\r\n\r\n", 400),
        (post(length=-5), 400),
        (post(path="/v1/%ff%fe%00%0a", headers=CLOSE), 404),
        (post(path="//v1/chat/completions", headers=CLOSE), 404),
        (post(path="/v1/../metrics", headers=CLOSE), 404),
        (UPGRADE.format(path="/v1/nothing", headers="").encode(), 404),
    ],
)
def test_what_is_no_request_is_told_in_the_one_form(
    served: Process, data: bytes, status: int
) -> None:
    found, came = ask(served.port, data)
    assert (found, bool(error_in(came)["message"])) == (status, True)


@pytest.mark.parametrize(
    "body",
    [
        chat_body("m").replace(b"<<m>>", b"\xff\xfe"),
        chat_body("m").replace(b"<<m>>", b"\\ud800"),
        b"\xef\xbb\xbf" + chat_body("m"),
        b'{"model":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        chat_body("m", user="").replace(b'"user": ""', b'"x": ' + b"[" * 500 + b"]" * 500),
        b'{"x": ' + b"[" * 500 + b"]" * 500 + b"}",
        chat_body("m").replace(b'"stream": false', b'"stream": false, "temperature": NaN'),
    ],
)
async def test_bodies_of_bad_text_or_endless_depth_are_a_400(served: Process, body: bytes) -> None:
    for path in (CHAT, RESPONSES, "/v1/embeddings", "/v1/responses/compact"):
        status, came = ask(served.port, post(body, path=path, headers=CLOSE))
        assert status == 400, (path, came)
        assert error_in(came)["code"] == "invalid_json" or path != CHAT
    await is_served(served.port, 1)


@pytest.mark.parametrize("path", [CHAT, RESPONSES, "/v1/embeddings"])
async def test_a_body_of_a_hundred_thousand_faults_holds_nobody_up(
    served: Process, path: str
) -> None:
    many: list[object] = [{"role": "user", "content": 5}] * 150_000
    body = json.dumps({"model": "up:x/echo", "messages": many, "input": many}).encode()
    with ThreadPoolExecutor(1) as threads:
        asked = threads.submit(ask, served.port, post(body, path=path, headers=CLOSE))
        await is_served(served.port, 3)
        status, came = await anyio.to_thread.run_sync(asked.result)
    assert (status, str(error_in(came)["param"])[:8]) in {(400, "messages"), (400, "input[0]")}


def test_headers_in_bad_text_are_a_400_or_do_no_harm(served: Process) -> None:
    headers = "x-structguard-mode: \xff\xfe\r\nconnection: close\r\n"
    assert ask(served.port, post(chat_body("m"), headers=headers))[0] == 400
    harmless = "authorization: Bearer \xff\xfe\r\ntraceparent: \xff\r\nconnection: close\r\n"
    assert ask(served.port, post(chat_body("m"), headers=harmless))[0] == 200


def test_an_offer_of_http_2_loses_no_body(served: Process) -> None:
    """Java's own client offers h2c with every request."""
    offer = "connection: Upgrade, HTTP2-Settings\r\nupgrade: h2c\r\nhttp2-settings: AAMAAABk\r\n"
    with opened(served.port) as connection:
        for marker in ("m-1", "m-2"):
            connection.sendall(post(chat_body(marker), headers=offer))
            came = b""
            while not came.endswith(b"}"):
                came += connection.recv(65536)
            assert came.startswith(b"HTTP/1.1 200 ")
            assert marker.encode() in came


def test_pipelined_requests_are_answered_in_their_order(served: Process) -> None:
    number = size(50, 1000)
    requests = [post(chat_body(f"m-{at}-")) for at in range(number)]
    last = post(chat_body(f"m-{number}-"), headers=CLOSE)
    with opened(served.port) as connection, ThreadPoolExecutor(1) as sender:
        sent = sender.submit(connection.sendall, b"".join([*requests, last]))
        came = b""
        while piece := connection.recv(65536):
            came += piece
        sent.result()
    replies = came.split(b"HTTP/1.1 200 OK")[1:]
    assert len(replies) == number + 1
    assert all(f"m-{at}-".encode() in reply for at, reply in enumerate(replies))


@patient
async def test_a_reader_that_stops_is_cut_off_and_its_stream_held_no_memory(
    served: Process, upstream: Process
) -> None:
    before, body = served.memory("RssAnon"), chat_body("m", model="up:x/flood", stream=True)
    body = json.dumps({**json.loads(body), "response_format": None}).encode()
    with crowd(served.port, size(10, 40), post(body)) as stuck:
        await is_served(served.port)
        assert served.memory("RssAnon") - before < len(stuck) * 2 + 10
        seen = await quiet(upstream, 15)
    assert seen["busy"] == 0  # they are gone, and nobody waits upstream
    assert isinstance(stuck[0], socket.socket)


async def test_a_reader_that_is_slow_gets_all_of_it(served: Process) -> None:
    body = chat_body("m", model="up:x/flood", stream=True)
    body = json.dumps({**json.loads(body), "response_format": None}).encode()
    with opened(served.port) as connection:
        connection.sendall(post(body, headers=CLOSE))
        size_, tail = 0, b""
        while piece := connection.recv(256 * 1024):
            size_, tail = size_ + len(piece), (tail + piece)[-40:]
            if size_ % 7 == 0:
                await anyio.sleep(0.005)
    assert size_ > 32 * MIB
    assert tail.endswith(b"data: [DONE]\n\n\r\n0\r\n\r\n")


async def test_a_closed_path_stays_closed_for_every_method(served: Process) -> None:
    for method in (b"PUT", b"PATCH", b"TRACE", b"DELETE", b"HEAD"):
        data = post(headers=CLOSE, path=CHAT).replace(b"POST", method, 1)
        assert ask(served.port, data)[0] == 405
