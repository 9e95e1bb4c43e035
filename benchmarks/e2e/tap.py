"""A tap on the wire: forwards every request to a real server and keeps what went past."""

from __future__ import annotations

import http.client
import json
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from structguard.refusal import request_facts
from structguard.testing.server import Reply, Server

_OWN = frozenset({"host", "content-length", "connection", "transfer-encoding", "accept-encoding"})


@dataclass(frozen=True, slots=True)
class Seen:
    """One request as it went past, and what it was answered with."""

    path: str
    body: Mapping[str, Any]
    status: int
    reply: str

    @property
    def had_format(self) -> bool:
        """Whether it carried a JSON format."""
        api = "responses" if self.path.endswith("/responses") else "chat"
        return request_facts(self.body, api).sent is not None

    def __str__(self) -> str:
        return f"{'with' if self.had_format else 'without'} the format: {self.status}"


@dataclass(slots=True)
class Tap:
    """Where to send requests so that they are seen; `seen` in order, `take` empties it."""

    target: str  # the server's base URL, with its /v1
    url: str = ""
    seen: list[Seen] = field(default_factory=list[Seen])

    def take(self) -> list[Seen]:
        """What went past since the last time."""
        taken, self.seen = self.seen, []
        return taken

    def forward(
        self, path: str, headers: Iterable[tuple[str, str]], content: bytes | None
    ) -> Reply:
        """The real server's reply; a stream comes whole, event by event."""
        server = urlsplit(self.target)
        connection = http.client.HTTPConnection(server.netloc, timeout=60)
        sent = {name: value for name, value in headers if name.lower() not in _OWN}
        try:
            connection.request("GET" if content is None else "POST", path, content, sent)
            response = connection.getresponse()
            text = response.read().decode()
            kind = response.headers.get("content-type", "application/json")
        finally:
            connection.close()
        if content is not None:
            self.seen.append(Seen(path, json.loads(content), response.status, text))
        streamed = kind.startswith("text/event-stream")
        pieces = tuple(f"{one}\n\n" for one in text.split("\n\n") if one) if streamed else (text,)
        return Reply(response.status, kind, pieces, streamed=streamed)


@contextmanager
def tapped(target: str) -> Iterator[Tap]:
    """A tap in front of `target`, as long as the context."""
    tap = Tap(target)
    server = Server(tap.forward)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    tap.url = f"http://127.0.0.1:{server.server_port}/v1"
    try:
        yield tap
    finally:
        server.shutdown()
        server.cut_connections()
        server.server_close()
        thread.join()
