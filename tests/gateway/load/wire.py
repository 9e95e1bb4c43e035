"""
A bare HTTP/1.1 client that hides nothing: what came, whether it was whole, whether more came than was asked.

Source: RFC 9112.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import anyio
import anyio.abc
import httptools


@dataclass(slots=True)
class Got:
    """One reply as far as it came; `status` 0: not even its head. `extra`: replies nobody asked for."""

    status: int = 0
    headers: dict[str, str] = field(default_factory=dict[str, str])
    body: bytearray = field(default_factory=bytearray)
    whole: bool = False
    extra: int = 0
    reason: str = ""

    @property
    def text(self) -> str:
        """The body as text."""
        return self.body.decode("utf-8", "replace")

    def json(self) -> dict[str, object]:
        """The body as an object; {} where it is none."""
        try:
            value = json.loads(self.body)
        except ValueError:
            return {}
        return value if isinstance(value, dict) else {}


class Connection:
    """One kept connection to the gateway; made anew when the last reply closed it."""

    def __init__(self, port: int, host: str = "127.0.0.1") -> None:
        self._address = host, port
        self._stream: anyio.abc.SocketStream | None = None
        self._parser: httptools.HttpResponseParser | None = None
        self._got = Got()

    async def ask(
        self,
        method: str,
        path: str,
        value: object = None,
        headers: Mapping[str, str] | None = None,
        *,
        stop: Callable[[Got], bool] | None = None,
        seconds: float = 30.0,
    ) -> Got:
        """
        One request and what came of it; never an exception. `stop` ends the reading early, by
        closing the connection, as a client does that goes away.
        """
        got = self._got = Got()
        body = b"" if value is None else json.dumps(value).encode()
        lines = "".join(f"{name}: {text}\r\n" for name, text in (headers or {}).items())
        head = f"{method} {path} HTTP/1.1\r\nhost: x\r\ncontent-length: {len(body)}\r\n{lines}\r\n"
        try:
            with anyio.fail_after(seconds):
                await self._exchange(head.encode("latin-1") + body, got, stop)
        except TimeoutError:
            got.reason = "nothing came in time"
        except (OSError, anyio.EndOfStream, anyio.BrokenResourceError) as error:
            got.reason = got.reason or f"{type(error).__name__} {error}"
        if not got.whole or got.headers.get("connection") == "close":
            await self.aclose()
        return got

    async def _exchange(self, data: bytes, got: Got, stop: Callable[[Got], bool] | None) -> None:
        if self._stream is None:
            self._stream = await anyio.connect_tcp(*self._address)
            self._parser = httptools.HttpResponseParser(self)
        stream, parser = self._stream, self._parser
        assert parser is not None
        await stream.send(data)
        while not got.whole:
            parser.feed_data(await stream.receive(256 * 1024))
            if stop is not None and stop(got):
                got.reason = "left"
                return

    async def aclose(self) -> None:
        """Close it; the next request opens another one."""
        stream, self._stream = self._stream, None
        if stream is not None:
            with anyio.CancelScope(shield=True):
                await anyio.aclose_forcefully(stream)

    # --- what the parser tells -----------------------------------------------------------------

    def on_message_begin(self) -> None:
        if self._got.whole:
            self._got.extra += 1

    def on_header(self, name: bytes, value: bytes) -> None:
        self._got.headers[name.decode("latin-1").lower()] = value.decode("latin-1")

    def on_headers_complete(self) -> None:
        assert self._parser is not None
        self._got.status = self._parser.get_status_code()

    def on_body(self, data: bytes) -> None:
        self._got.body += data

    def on_message_complete(self) -> None:
        self._got.whole = self._got.status >= 200
