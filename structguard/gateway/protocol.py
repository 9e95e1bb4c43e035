"""
The connection under the app: uvicorn's, with bounds on what a client that sends or reads slowly may hold.

uvicorn waits for ever for the rest of a head and for a client that does not read, takes a head of any
size, and cuts a client off that still sends when its answer is there. Source: RFC 9112 §9.6 (a close in
stages); spec gateway "Requests", "Scale and faults".
"""

from __future__ import annotations

import asyncio  # noqa: TID251  a protocol is asyncio's own
import re
from collections.abc import Sequence
from typing import Any, Protocol, cast

from uvicorn import Config
from uvicorn._types import ASGISendEvent
from uvicorn.protocols.http.httptools_impl import (
    STATUS_LINE,
    HttpToolsProtocol,
    RequestResponseCycle,
)
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from uvicorn.server import ServerState

from structguard.gateway.asgi import WHOLE
from structguard.gateway.config import LimitsConfig
from structguard.gateway.faults import ApiError

_LINGER = 10.0  # seconds in which a client that still sends may go on, and read its answer
_SLACK = 16 * 1024  # bytes of a head beside its headers' names and values
_WEBSOCKETS = 128, 8190  # headers, and bytes of one, that the WebSocket library takes
_ONE_WRITE = 64 * 1024  # bytes of a body that are copied behind the head
_CONTROLS = bytes({*range(0x20), 0x7F} - {0x09})
_OFFERED = re.compile(rb"\r\nupgrade:(?!\s*websocket\s*\r\n)", re.IGNORECASE)


class App(Protocol):
    """What a connection asks of the app it serves."""

    @property
    def limits(self) -> LimitsConfig:
        """What a client may cost."""
        ...

    def stop(self) -> None:
        """The server is stopping: what is under way may end, nothing new begins. Asked often."""
        ...


class HttpConnection(HttpToolsProtocol):
    """
    One client's connection. A head that is not whole in `limits.head_seconds` is a 408, one that is
    too large a 431; a client that reads nothing for `limits.write_seconds` is cut off.
    """

    _raw: asyncio.Transport
    transport: asyncio.Transport

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._served = cast("App", self.app)  # pyright: ignore[reportUnknownMemberType]
        self._limits = self._served.limits
        self._head = 0  # bytes of a head that is not whole
        self._in_head = True
        self._deaf = False  # what comes is not looked at any more
        self.lingers: bool = False  # answered, and waiting for the client to end what it sends
        self._late: asyncio.TimerHandle | None = None  # for what the client must send
        self._stuck: asyncio.TimerHandle | None = None  # for what it must read

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """A client has come; it must say something."""
        self._raw = cast("asyncio.Transport", transport)
        super().connection_made(self._raw)
        self.transport = cast("asyncio.Transport", _Lingering(self._raw, self))
        self._late = self.loop.call_later(self._limits.head_seconds, self._is_late)

    def connection_lost(self, exc: Exception | None) -> None:
        """The client has gone."""
        self._stop_waiting()
        self.resume_writing()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """More of a request."""
        if self._deaf or self._raw.is_closing():
            return
        if self._in_head:
            if self._head > self._limits.header_bytes + _SLACK:
                self._refuse(_large())
                return
            if not self._head and b"pgrade:" in data:
                data = _without_offers(data)
            self._head += len(data)
        super().data_received(data)
        if self._late is None and self._must_send():
            self._late = self.loop.call_later(self._limits.head_seconds, self._is_late)

    def handle_websocket_upgrade(self) -> None:
        """From here on the other protocol has the connection."""
        most, longest = _WEBSOCKETS
        if len(self.headers) > most or any(len(n) + len(v) > longest for n, v in self.headers):
            self._refuse(_large())
            return
        self._stop_waiting()
        self._deaf = True  # nor is anything more waited for here
        self.transport = self._raw
        super().handle_websocket_upgrade()

    def on_headers_complete(self) -> None:
        """The head is whole: the rest is the app's to wait for."""
        self._in_head = False
        self._head = 0
        self._stop_waiting()
        super().on_headers_complete()
        cast("dict[str, object]", self.scope)[WHOLE] = self.whole

    def on_message_complete(self) -> None:
        """The request is whole."""
        self._in_head = True
        if self._late is not None:
            self._stop_waiting()  # for the rest of a body that had its answer already
        if self.lingers:
            self._raw.close()
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """The reply is whole; the rest of a request that it did not wait for must come soon."""
        super().on_response_complete()
        cycle = self.cycle
        if cycle.more_body and cycle.response_complete and self._late is None:
            self._late = self.loop.call_later(self._limits.head_seconds, self._is_late)

    def whole(
        self, scope: object, status: int, headers: Sequence[tuple[bytes, bytes]], body: bytes
    ) -> bool:
        """
        A whole reply in one write: a packet and a call to the kernel less than uvicorn's two, and one
        check for all headers. False, and nothing is done, where there is more to see to: it does.
        """
        cycle = self.cycle
        if (
            cycle.scope is not scope  # pipelined: another request is read already
            or cycle.response_started
            or cycle.disconnected
            or cycle.flow.write_paused
            or not cycle.keep_alive
            or cycle.scope["method"] == "HEAD"
            or len(body) > _ONE_WRITE
        ):
            return False
        lines, ends = [STATUS_LINE[status]], 1
        for name, value in (*cycle.default_headers, *headers):
            if name == b"connection":
                return False
            lines += (name, b": ", value, b"\r\n")
            ends += 1
        head = b"".join(lines)
        if len(head.translate(None, _CONTROLS)) != len(head) - 2 * ends:
            return False
        cycle.response_started = cycle.response_complete = True
        cycle.waiting_for_100_continue = False
        cycle.transport.write(b"%b\r\n%b" % (head, body))
        cycle.message_event.set()
        cycle.on_response()
        return True

    def send_400_response(self, msg: str) -> None:
        """What is no HTTP, told in the one form."""
        self._refuse(ApiError(400, msg, code="invalid_http"))

    def shutdown(self) -> None:
        """The server stops."""
        self._served.stop()
        super().shutdown()

    def pause_writing(self) -> None:
        """The client reads slower than its reply comes."""
        super().pause_writing()
        self._stuck = self.loop.call_later(self._limits.write_seconds, self._raw.abort)

    def resume_writing(self) -> None:
        """It has read."""
        if self._stuck is not None:
            self._stuck.cancel()
            self._stuck = None
        super().resume_writing()

    def _must_send(self) -> bool:
        """Whether it is the client's turn: no request of its is being answered."""
        cycle = cast("RequestResponseCycle | None", self.cycle)
        return not self._deaf and (cycle is None or cycle.response_complete)

    def _stop_waiting(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None

    def _is_late(self) -> None:
        """The client has not sent what it must."""
        self._late = None
        if self._in_head and self._head and not self.lingers:
            seconds = self._limits.head_seconds
            self._refuse(ApiError(408, f"the request did not arrive within {seconds:g} s"))
        else:
            self._raw.close()

    def _refuse(self, error: ApiError) -> None:
        """Answer for the app, which never hears of the request; then close in stages."""
        if self.lingers or self._raw.is_closing():
            return
        self._deaf = True
        body = error.body
        head = b"content-type: application/json\r\ncontent-length: %d\r\nconnection: close\r\n\r\n"
        self._raw.write(b"".join((STATUS_LINE[error.status], head % len(body), body)))
        self._linger()

    def close(self) -> None:
        """Close; in stages where the client still sends: else it would lose its answer."""
        cycle = cast("RequestResponseCycle | None", self.cycle)
        if self.lingers:
            return
        if cycle is not None and cycle.response_complete and cycle.more_body:
            self._linger()
        else:
            self._raw.close()

    def _linger(self) -> None:
        self.lingers = True
        self.flow.resume_reading()
        if self._raw.can_write_eof():
            self._raw.write_eof()
        self._stop_waiting()
        self._late = self.loop.call_later(_LINGER, self._raw.close)


class SocketConnection(WebSocketsSansIOProtocol):
    """One client's WebSocket; at a stop the app ends it, after the response that is under way."""

    def shutdown(self) -> None:
        """The server stops."""
        cast("App", self.app).stop()  # pyright: ignore[reportUnknownMemberType]
        if not self.handshake_complete or self.close_sent:
            super().shutdown()

    async def send(self, message: ASGISendEvent) -> None:
        """A handshake that was refused is over too: uvicorn would call that an error of the app."""
        await super().send(message)
        if message["type"] == "websocket.http.response.body":
            self.handshake_complete = True


class _Lingering:
    """A transport whose `close` is its connection's."""

    __slots__ = ("_connection", "_raw", "close", "write")

    def __init__(self, raw: asyncio.Transport, connection: HttpConnection) -> None:
        self._raw = raw
        self._connection = connection
        self.write = raw.write
        self.close = connection.close

    def is_closing(self) -> bool:
        """As the transport; answered and waiting is closing too."""
        return self._connection.lingers or self._raw.is_closing()


def _without_offers(data: bytes) -> bytes:
    """
    A head without the offer of another protocol, such as HTTP/2 from Java's client: nobody has to take
    it (RFC 9110 §7.8), but the parser would take the body for that protocol's.
    """
    head, end, body = data.partition(b"\r\n\r\n")
    return _OFFERED.sub(b"\r\nx-upgrade:", head + end) + body


def _large() -> ApiError:
    return ApiError(431, "the request's headers are too large")
