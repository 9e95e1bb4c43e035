"""A socket server that plays scripted bytes, for what no well-behaved server sends."""

from __future__ import annotations

import re
import socket
import struct
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

_LENGTH = re.compile(rb"content-length: *(\d+)", re.IGNORECASE)


@dataclass
class Play:
    """What the server does with one connection, request by request."""

    replies: Sequence[bytes | float]  # bytes are sent, a number is slept (seconds)
    read_request: bool = True  # False: close without reading
    reset: bool = False  # end with RST instead of FIN
    hold: bool = False  # keep the socket open until the client closes it
    again: bool = False  # serve further requests on the same connection


@dataclass
class RawServer:
    """The address, and what arrived."""

    port: int
    requests: list[bytes] = field(default_factory=list)
    arrived: threading.Event = field(default_factory=threading.Event)
    closed_by_client: threading.Event = field(default_factory=threading.Event)
    connections: list[socket.socket] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"


@contextmanager
def raw_server(*plays: Play) -> Iterator[RawServer]:
    """Serve one play a connection, the last one again and again."""
    listener = socket.create_server(("127.0.0.1", 0))
    listener.settimeout(0.05)
    server = RawServer(listener.getsockname()[1])
    stop = threading.Event()
    threads: list[threading.Thread] = []

    def accept() -> None:
        number = 0
        while not stop.is_set():
            try:
                connection, _ = listener.accept()
            except TimeoutError:
                continue
            except OSError:
                return
            server.connections.append(connection)
            play = plays[min(number, len(plays) - 1)]
            number += 1
            thread = threading.Thread(
                target=_serve, args=(connection, play, server, stop), daemon=True
            )
            thread.start()
            threads.append(thread)

    accepting = threading.Thread(target=accept, daemon=True)
    accepting.start()
    try:
        yield server
    finally:
        stop.set()
        accepting.join()
        listener.close()
        for connection in server.connections:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        for thread in threads:
            thread.join(2)


def _serve(connection: socket.socket, play: Play, server: RawServer, stop: threading.Event) -> None:
    with connection:
        connection.settimeout(5)
        try:
            while _play(connection, play, server) and play.again:
                pass
            if play.hold:
                _await_close(connection, server, stop)
        except OSError:
            server.closed_by_client.set()
        finally:
            if play.reset:
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def _play(connection: socket.socket, play: Play, server: RawServer) -> bool:
    if play.read_request and not _read_request(connection, server):
        return False
    for step in play.replies:
        if isinstance(step, bytes):
            connection.sendall(step)
        else:
            time.sleep(step)  # noqa: TID251  a thread of the test's own
    return True


def _read_request(connection: socket.socket, server: RawServer) -> bool:
    data = b""
    while b"\r\n\r\n" not in data:
        piece = connection.recv(65536)
        if not piece:
            return False
        data += piece
    head, _, body = data.partition(b"\r\n\r\n")
    found = _LENGTH.search(head)
    missing = int(found[1]) - len(body) if found else 0
    while missing > 0:
        piece = connection.recv(65536)
        data += piece
        missing -= len(piece)
        if not piece:
            return False
    server.requests.append(data)
    server.arrived.set()
    return True


def _await_close(connection: socket.socket, server: RawServer, stop: threading.Event) -> None:
    connection.settimeout(0.05)
    while not stop.is_set():
        try:
            if connection.recv(65536) == b"":
                server.closed_by_client.set()
                return
        except TimeoutError:
            continue


def reply(
    body: bytes = b"{}", *, status: str = "200 OK", headers: str = "", length: int | None = None
) -> bytes:
    """A whole HTTP reply; `length` lies about the body."""
    size = len(body) if length is None else length
    head = f"HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {size}\r\n"
    return (head + headers + "\r\n").encode() + body


def chunked(*pieces: bytes, end: bool = True, close: bool = False) -> bytes:
    """A chunked event stream; without its end when `end` is False."""
    head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n"
    head += "connection: close\r\n\r\n" if close else "\r\n"
    body = b"".join(f"{len(piece):x}\r\n".encode() + piece + b"\r\n" for piece in pieces)
    return head.encode() + body + (b"0\r\n\r\n" if end else b"")
