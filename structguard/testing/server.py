"""
The HTTP under the loopback endpoint: one thread a connection, keep-alive, quiet, ended from outside.

It only carries what `decide` gives it.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TypeAlias, cast

from structguard.testing.behaviours import Transport


@dataclass(frozen=True, slots=True)
class Reply:
    """What goes over the wire: one body, or events one by one."""

    status: int
    content_type: str
    pieces: tuple[str, ...]
    streamed: bool = False
    transport: Transport = ""
    headers: tuple[tuple[str, str], ...] = ()


Decide: TypeAlias = Callable[[str, Iterable[tuple[str, str]], bytes | None], Reply]


class Server(ThreadingHTTPServer):
    """One thread a connection; every connection can be cut from outside."""

    daemon_threads = False  # so that server_close waits for them
    request_queue_size = 128

    def __init__(self, decide: Decide) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.decide = decide
        self._open: set[socket.socket] = set()
        self._guard = threading.Lock()

    def opened(self, connection: socket.socket) -> None:
        with self._guard:
            self._open.add(connection)

    def closed(self, connection: socket.socket) -> None:
        with self._guard:
            self._open.discard(connection)

    def cut_connections(self) -> None:
        with self._guard:
            for connection in self._open:
                with suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)


class _Handler(BaseHTTPRequestHandler):
    """Reads requests of one connection and writes the endpoint's replies."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1  # head and body leave in one write
    timeout = 60  # seconds an idle connection is kept

    @property
    def _home(self) -> Server:
        return cast("Server", self.server)

    def setup(self) -> None:
        super().setup()
        self._home.opened(self.request)

    def finish(self) -> None:
        with suppress(OSError):
            super().finish()
        self._home.closed(self.request)

    def handle(self) -> None:
        with suppress(ConnectionError, TimeoutError):  # the client went away, or was cut off
            super().handle()

    def do_GET(self) -> None:
        self._write(self._home.decide(self.path, self.headers.items(), None))

    def do_POST(self) -> None:
        length = self.headers.get("content-length")
        if length is None:
            self.close_connection = True
            self.send_error(411)
            return
        content = self.rfile.read(int(length))
        self._write(self._home.decide(self.path, self.headers.items(), content))

    def _write(self, reply: Reply) -> None:
        if reply.transport == "hang_up":
            self.close_connection = True
            return
        pieces = [chunk.encode() for chunk in reply.pieces]
        self.send_response(reply.status)
        self.send_header("content-type", reply.content_type)
        for name, value in reply.headers:
            self.send_header(name, value)
        if reply.streamed:
            self.send_header("transfer-encoding", "chunked")
        else:
            self.send_header("content-length", str(sum(map(len, pieces))))
        self.end_headers()
        if reply.transport == "cut":
            pieces = _half(pieces)
            self.close_connection = True
        for chunk in pieces:
            self.wfile.write(b"%x\r\n%b\r\n" % (len(chunk), chunk) if reply.streamed else chunk)
            self.wfile.flush()
        if reply.streamed and not self.close_connection:
            self.wfile.write(b"0\r\n\r\n")
        self.wfile.flush()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Keep quiet; `requests` tells what happened."""


def _half(pieces: list[bytes]) -> list[bytes]:
    """The first half of a reply: of its events, or of its bytes."""
    if len(pieces) > 1:
        return pieces[: len(pieces) // 2]
    return [piece[: len(piece) // 2] for piece in pieces]
