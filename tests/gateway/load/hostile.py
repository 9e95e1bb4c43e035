"""Clients that mean no good, on bare sockets; and a friendly one that must be served meanwhile."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress

from tests.gateway.load.mix import CHAT, Kind
from tests.gateway.load.size import size
from tests.gateway.load.wire import Connection, Got

FRIEND = Kind(name="friend", path=CHAT, format=True)
HEAD = "POST {path} HTTP/1.1\r\nhost: x\r\n{headers}content-length: {length}\r\n\r\n"
UPGRADE = (
    "GET {path} HTTP/1.1\r\nhost: x\r\nupgrade: websocket\r\nconnection: upgrade\r\n"
    "sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\nsec-websocket-version: 13\r\n{headers}\r\n"
)


def post(
    body: bytes = b"", path: str = CHAT, headers: str = "", length: int | None = None
) -> bytes:
    """A request's bytes; `length` may say another length than there is."""
    told = len(body) if length is None else length
    return HEAD.format(path=path, headers=headers, length=told).encode("latin-1") + body


def chat_body(marker: str, **fields: object) -> bytes:
    """A sound body."""
    return json.dumps({**FRIEND.body(marker), **fields}).encode()


def opened(port: int) -> socket.socket:
    """A connection that waits a while for anything, not for ever."""
    return socket.create_connection(("127.0.0.1", port), timeout=size(20, 60))


def answer(
    connection: socket.socket, data: bytes = b"", *, hears_all: bool = False
) -> tuple[int, bytes]:
    """
    What comes for these bytes until the gateway closes: (status, everything). `hears_all`: it must
    take all of them, for many systems drop an answer that was not read when a connection is reset.
    """
    came = b""
    with connection:
        with nullcontext() if hears_all else suppress(ConnectionError):
            connection.sendall(data)
        with suppress(ConnectionError):
            while piece := connection.recv(65536):
                came += piece
    return int(came[9:12] or 0), came


def ask(port: int, data: bytes, *, hears_all: bool = False) -> tuple[int, bytes]:
    """The same on a connection of its own."""
    return answer(opened(port), data, hears_all=hears_all)


def error_in(came: bytes) -> dict[str, object]:
    """The error object of an answer."""
    found = json.loads(came.partition(b"\r\n\r\n")[2])["error"]
    assert isinstance(found, dict)
    assert set(found) == {"message", "type", "param", "code"}
    return found


@contextmanager
def crowd(port: int, number: int, data: bytes = b"") -> Iterator[list[socket.socket]]:
    """Many connections that have sent these bytes and wait."""
    made: list[socket.socket] = []
    try:
        for _ in range(number):
            made.append(opened(port))
            if data:
                made[-1].sendall(data)
        yield made
    finally:
        for one in made:
            one.close()


async def is_served(port: int, times: int = 5) -> Got:
    """A friendly client, served; the last reply."""
    connection, got = Connection(port), Got()
    for number in range(times):
        got = await connection.ask("POST", CHAT, FRIEND.body(f"friend-{number}"), seconds=20)
        assert FRIEND.judge(f"friend-{number}", got) == "answered", (got.status, got.reason)
    await connection.aclose()
    return got
