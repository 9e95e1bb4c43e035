"""A scripted chat upstream over real HTTP: tools, reasoning, declines, cuts; it keeps what it was asked."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, cast

Json = dict[str, Any]


def reply(message: Json, finish: str = "stop") -> Json:
    """A chat completion."""
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1_700_000_000,
        "model": "served",
        "choices": [
            {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish}
        ],
        "usage": {"prompt_tokens": 5, "completion_tokens": 7, "total_tokens": 12},
    }


def call(
    name: str = "get_weather", arguments: str = '{"city":"Bonn"}', id_: str = "call_1"
) -> Json:
    """A tool call."""
    return {"id": id_, "type": "function", "function": {"name": name, "arguments": arguments}}


SAYS: dict[str, tuple[Json, str]] = {
    "text": ({"content": "Good morning."}, "stop"),
    "tools": ({"content": None, "tool_calls": [call()]}, "tool_calls"),
    "both": (
        {"content": "Let me look.", "tool_calls": [call(), call("get_time", "{}", "call_2")]},
        "tool_calls",
    ),
    "cut": (
        {
            "content": "Let me look.",
            "tool_calls": [call(), call("get_time", '{"zone":"E', "call_2")],
        },
        "length",
    ),
    "thinks": ({"content": "Bonn.", "reasoning_content": "They ask where."}, "stop"),
    "declines": ({"content": None, "refusal": "I would rather not."}, "stop"),
    "long": ({"content": "and so on and so"}, "length"),
    "filtered": ({"content": "half"}, "content_filter"),
    "nothing": ({"content": ""}, "stop"),
    "json": ({"content": '{"city":"Bonn","n":3}'}, "stop"),
    "prose": ({"content": 'Here:\n```json\n{"city":"Bonn","n":3}\n```\nOK?'}, "stop"),
}


def chunks(message: Json, finish: str) -> Iterator[Json]:
    """The same as chunks."""

    def chunk(delta: Json, reason: str | None = None) -> Json:
        return {
            "id": "chatcmpl-1",
            "object": "chat.completion.chunk",
            "created": 1_700_000_000,
            "model": "served",
            "choices": [{"index": 0, "delta": delta, "finish_reason": reason}],
        }

    yield chunk({"role": "assistant", "content": ""})
    for key in ("reasoning_content", "content", "refusal"):
        text = message.get(key) or ""
        for start in range(0, len(text), 5):
            yield chunk({key: text[start : start + 5]})
    for at, one in enumerate(message.get("tool_calls") or ()):
        arguments = one["function"]["arguments"]
        opened = {**one, "index": at, "function": {**one["function"], "arguments": ""}}
        yield chunk({"tool_calls": [opened]})
        yield chunk({"tool_calls": [{"index": at, "function": {"arguments": arguments}}]})
    yield chunk({}, finish)
    usage = {"prompt_tokens": 5, "completion_tokens": 7, "total_tokens": 12}
    yield {**chunk({}), "choices": [], "usage": usage}


class Upstream(ThreadingHTTPServer):
    """Answers as the model's name says; a name it does not know is a 404 with a body of its own."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.asked: list[Json] = []
        self.headers: list[dict[str, str]] = []
        self.left = threading.Event()
        self.errors: dict[str, tuple[int, Json, dict[str, str]]] = {}

    @property
    def base_url(self) -> str:
        """Its base URL."""
        return f"http://127.0.0.1:{self.server_port}/v1"


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        home = cast("Upstream", self.server)
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        home.asked.append(body)
        home.headers.append({k.lower(): v for k, v in self.headers.items()})
        model = str(body.get("model"))
        if not self.path.endswith("/chat/completions"):
            self._send(404, {"detail": "Not Found"})
        elif model in home.errors:
            status, value, headers = home.errors[model]
            self._send(status, value, headers)
        elif model in {"hangs", "breaks"}:
            self._begin(model)
        elif body.get("stream"):
            self._stream([f"data: {json.dumps(one)}\n\n" for one in chunks(*SAYS[model])])
        else:
            self._send(200, reply(*SAYS[model]))

    def _send(self, status: int, value: Json, headers: dict[str, str] | None = None) -> None:
        raw = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(raw)))
        for name, text in (headers or {}).items():
            self.send_header(name, text)
        self.end_headers()
        self.wfile.write(raw)

    def _stream(self, pieces: list[str], end: str = "data: [DONE]\n\n") -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        for piece in (*pieces, end):
            raw = piece.encode()
            if raw:
                self.wfile.write(b"%x\r\n%b\r\n" % (len(raw), raw))
        if end:
            self.wfile.write(b"0\r\n\r\n")
        self.wfile.flush()

    def _begin(self, model: str) -> None:
        """Two chunks, then silence until the reader leaves (hangs), or a cut (breaks)."""
        made = [f"data: {json.dumps(one)}\n\n" for one in chunks(*SAYS["text"])][:2]
        self.close_connection = True
        self._stream(made, end="")
        if model == "hangs":
            self.connection.settimeout(10)
            try:
                while self.connection.recv(1):
                    pass
            except OSError:
                pass
            cast("Upstream", self.server).left.set()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Keep quiet."""


@contextmanager
def upstream() -> Iterator[Upstream]:
    """A running one."""
    server = Upstream()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
