"""A whole reply leaves in one write, and as uvicorn would have sent it; a stream's head goes ahead of it."""

from __future__ import annotations

import asyncio  # noqa: TID251  a protocol is asyncio's own
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import anyio
import pytest
from uvicorn.server import ServerState

from structguard.gateway.app import create_app
from structguard.gateway.protocol import HttpConnection
from structguard.gateway.server import server_config
from structguard.testing import RefusingEndpoint
from tests.gateway.load.size import anyio_backend
from tests.gateway.support import VALUE, chat, embedded_config

__all__ = ["anyio_backend"]

CHAT = "/v1/chat/completions"


class Wire(asyncio.Transport):
    """A transport that keeps what is written, write by write."""

    def __init__(self) -> None:
        super().__init__()
        self.writes: list[bytes] = []
        self.closed = False
        self.written = anyio.Event()

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.writes.append(bytes(data))
        self.written.set()

    def is_closing(self) -> bool:
        return self.closed

    def close(self) -> None:
        self.closed = True

    def pause_reading(self) -> None:
        """What was read is there already."""

    def resume_reading(self) -> None:
        """As above."""

    def can_write_eof(self) -> bool:
        return False

    async def until(self, count: int, end: bytes = b"") -> list[bytes]:
        """So many writes, the last with this end."""
        with anyio.fail_after(10):
            while len(self.writes) < count or not self.writes[-1].endswith(end):
                await self.written.wait()
                self.written = anyio.Event()
        return self.writes


@asynccontextmanager
async def connected(model: str = "enforce") -> AsyncGenerator[tuple[HttpConnection, Wire]]:
    """A connection to a gateway in front of an endpoint."""
    with RefusingEndpoint(model, value=VALUE) as endpoint:
        config = embedded_config(endpoint.base_url)
        app = create_app(config)
        made = server_config(config, app)
        made.load()
        state = ServerState()
        state.default_headers = [(b"date", b"today")]
        connection, wire = HttpConnection(made, state, {}), Wire()
        connection.connection_made(wire)
        yield connection, wire
        connection.connection_lost(None)
        await app.aclose()


def request(method: str, body: object = None, *more: str) -> bytes:
    raw = b"" if body is None else json.dumps(body).encode()
    lines = [f"{method} {CHAT} HTTP/1.1", "host: h", f"content-length: {len(raw)}", *more]
    return "\r\n".join([*lines, "", ""]).encode() + raw


def taken_apart(reply: bytes) -> tuple[list[bytes], bytes]:
    """The lines of its head but what differs from one to the next, and its body."""
    head, _, body = reply.partition(b"\r\n\r\n")
    return [line for line in head.split(b"\r\n") if not line.startswith(b"x-request-id")], body


@pytest.mark.parametrize("model", ["enforce", "cut"])
async def test_a_whole_reply_is_one_write_and_as_uvicorn_sends_it(
    model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with connected(model) as (connection, wire):
        connection.data_received(request("POST", chat(model)))
        (reply,) = await wire.until(1)
        monkeypatch.setattr(HttpConnection, "whole", lambda *_: False)
        connection.data_received(request("POST", chat(model)))
        _, *theirs = await wire.until(3)
    assert taken_apart(reply)[0] == taken_apart(theirs[0])[0]
    assert json.loads(taken_apart(reply)[1])
    assert len(taken_apart(reply)[1]) == len(theirs[1])


async def test_the_next_request_on_a_connection_is_served() -> None:
    async with connected() as (connection, wire):
        for count in (1, 2, 3):
            connection.data_received(request("POST", chat("enforce")))
            await wire.until(count)
    assert all(write.startswith(b"HTTP/1.1 200 OK\r\n") for write in wire.writes)


async def test_requests_that_come_together_are_answered_in_their_order() -> None:
    async with connected() as (connection, wire):
        connection.data_received(request("POST", chat("enforce")) + request("PUT", {}))
        written = b"".join(await wire.until(3))
    first, second = written.index(b"HTTP/1.1 200"), written.index(b"HTTP/1.1 405")
    assert first < second


async def test_a_client_that_asks_for_it_has_its_connection_closed() -> None:
    async with connected() as (connection, wire):
        connection.data_received(request("POST", chat("enforce"), "connection: close"))
        head, body = await wire.until(2)
        assert wire.closed
    assert b"\r\nconnection: close\r\n" in head
    assert json.loads(body)


async def test_a_streams_head_does_not_wait_for_its_events() -> None:
    async with connected() as (connection, wire):
        connection.data_received(request("POST", chat("enforce", stream=True)))
        head, *events = await wire.until(2, b"0\r\n\r\n")
    assert head.endswith(b"\r\n\r\n")
    assert b"data: " in events[0]


async def test_a_reply_to_head_has_no_body() -> None:
    async with connected() as (connection, wire):
        connection.data_received(request("HEAD"))
        (head,) = await wire.until(1)
    assert head.startswith(b"HTTP/1.1 405")
    assert head.endswith(b"\r\n\r\n")


@pytest.mark.parametrize("value", [b"a\r\nset-cookie: b", b"a\nb", b"a\0b", b"a\x7fb"])
async def test_a_value_that_would_end_its_header_is_not_sent(value: bytes) -> None:
    async with connected() as (connection, wire):
        connection.data_received(request("POST", chat("enforce")))
        scope = connection.scope
        assert not connection.whole(scope, 200, [(b"x-structguard-warning", value)], b"{}")
        (reply,) = await wire.until(1)
    assert b"warning" not in reply
