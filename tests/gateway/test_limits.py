"""Who may call, how much, and in which order it is checked."""

from __future__ import annotations

import gzip
import hashlib
import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.gateway.support import Running, chat, running, settings
from tests.gateway.upstream import Upstream

HASH = hashlib.sha256(b"right").hexdigest()


@pytest.fixture
def gateway(chat_upstream: Upstream) -> Iterator[Running]:
    config = settings(
        chat_upstream.base_url,
        auth={"token_hashes": [HASH], "failures": 3},
        limits={"body": 2000, "body_seconds": 0.3, "concurrent": 2, "headers": 40},
    )
    with running(config) as made:
        made.client.headers["authorization"] = "Bearer right"
        yield made


def raw(url: str, data: bytes) -> bytes:
    """What comes back for these bytes."""
    host, port = url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=5) as connection:
        connection.sendall(data)
        return connection.recv(65536)


def test_no_token_is_a_401_and_a_wrong_one_too(gateway: Running) -> None:
    gateway.client.headers.pop("authorization")
    reply = gateway.post("/v1/chat/completions", chat("text"))
    assert (reply.status_code, reply.json()["error"]["type"]) == (401, "authentication_error")
    assert reply.headers["www-authenticate"].startswith("Bearer")
    wrong = gateway.post("/v1/chat/completions", chat("text"), authorization="Bearer wrong")
    assert wrong.status_code == 401
    for path in ("/v1/models", "/metrics"):
        assert gateway.get(path).status_code == 401
    for path in ("/healthz", "/readyz"):
        assert gateway.get(path).status_code == 200


def test_too_many_wrong_tokens_are_a_429_with_retry_after(gateway: Running) -> None:
    for _ in range(3):
        gateway.get("/v1/models", authorization="Bearer wrong")
    reply = gateway.post("/v1/chat/completions", chat("text"), authorization="Bearer wrong")
    assert reply.status_code == 429
    assert int(reply.headers["retry-after"]) > 0


@pytest.mark.parametrize("credential", ["own", "client"])
def test_our_token_never_goes_upstream(chat_upstream: Upstream, credential: str) -> None:
    up = {"base_url": chat_upstream.base_url, "credential": credential}
    config = settings(chat_upstream.base_url, providers={"up": up}, auth={"token_hashes": [HASH]})
    with running(config) as made:
        reply = made.post("/v1/chat/completions", chat("text"), authorization="Bearer right")
    assert reply.status_code == 200
    assert "authorization" not in chat_upstream.headers[-1]


def test_path_comes_before_method_and_method_before_auth(gateway: Running) -> None:
    gateway.client.headers.pop("authorization")
    assert gateway.get("/v1/nothing").status_code == 404
    reply = gateway.get("/v1/chat/completions")
    assert (reply.status_code, reply.headers["allow"]) == (405, "POST")


@pytest.mark.parametrize("path", ["/v1/responses", "/v1/chat/completions", "/v1/embeddings"])
def test_a_compressed_body_is_told_as_what_it_is(gateway: Running, path: str) -> None:
    packed = gzip.compress(b'{"model": "text", "input": "hi", "messages": [{"role": "user"}]}')
    reply = gateway.client.post(path, content=packed, headers={"content-encoding": "gzip"})
    assert (reply.status_code, reply.headers["accept-encoding"]) == (415, "identity")
    assert "gzip" in reply.json()["error"]["message"]
    plain = {"content-encoding": "identity"}
    assert gateway.client.post(path, content=b"{}", headers=plain).status_code == 400


def test_a_large_body_is_a_413_before_it_is_read(gateway: Running) -> None:
    head = (
        "POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer right\r\n"
        "content-length: 99999999\r\n\r\n"
    )
    assert b" 413 " in raw(gateway.url, head.encode()).split(b"\r\n")[0]
    big = gateway.post("/v1/chat/completions", chat("text", user="x" * 3000))
    assert big.status_code == 413


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/embeddings"])
def test_a_body_that_does_not_come_is_a_408(gateway: Running, path: str) -> None:
    head = (
        f"POST {path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer right\r\n"
        "content-length: 100\r\n\r\n{"
    )
    assert b" 408 " in raw(gateway.url, head.encode()).split(b"\r\n")[0]


def test_too_many_headers_are_a_431(gateway: Running) -> None:
    many = {f"x_h{at}": "v" for at in range(60)}
    assert gateway.post("/v1/chat/completions", chat("text"), **many).status_code == 431


@pytest.mark.parametrize(
    ("content", "param"),
    [
        (b"{", None),
        (b"[]", None),
        (b'"\xff\xfe"', None),
        (b"", None),
        (b'{"model": "text"}', "messages"),
        (b'{"model": "text", "messages": [{"role": "x"}]}', "messages[0].role"),
        (b'{"messages": [{"role": "user", "content": "x"}]}', "model"),
        (b'{"model": "text", "messages": [{"role": "user", "content": 1}]}', "messages[0].content"),
    ],
)
def test_a_body_that_is_wrong_is_a_400_with_the_place(
    gateway: Running, content: bytes, param: str | None
) -> None:
    reply = gateway.client.post("/v1/chat/completions", content=content)
    assert (reply.status_code, reply.json()["error"]["param"]) == (400, param)


def test_more_requests_than_allowed_are_a_429_and_others_are_served(gateway: Running) -> None:
    def hang() -> int:
        body = chat("hangs")
        return gateway.post("/v1/chat/completions", body, x_request_timeout="1").status_code

    with ThreadPoolExecutor(2) as pool:
        hanging = [pool.submit(hang) for _ in range(2)]
        until = time.monotonic() + 0.8
        while gateway.app.core.busy < 2 and time.monotonic() < until:
            time.sleep(0.01)  # noqa: TID251  other threads' requests
        reply = gateway.post("/v1/chat/completions", chat("text"))
        assert (reply.status_code, reply.headers["retry-after"]) == (429, "1")
        assert gateway.get("/healthz").status_code == 200
        assert [one.result() for one in hanging] == [504, 504]
    assert gateway.post("/v1/chat/completions", chat("text")).status_code == 200


def test_nothing_of_bodies_and_keys_is_logged(
    gateway: Running, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level("DEBUG"):
        body = chat("text", user="very-private")
        gateway.post("/v1/chat/completions", body, authorization="Bearer right")
        gateway.post("/v1/chat/completions", {**body, "n": "x"}, authorization="Bearer wrong-key")
    assert "POST /v1/chat/completions 200" in caplog.text
    for secret in ("very-private", "right", "wrong-key", "Where?", "Good morning"):
        assert secret not in "\n".join(
            record.getMessage() for record in caplog.records if "structguard" in record.name
        )
