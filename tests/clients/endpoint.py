"""A scripted upstream over real HTTP: it plays canned answers and keeps every request body."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from threading import Event
from typing import Any, cast

from pydantic import BaseModel
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

import structguard
from structguard.flow import Info

Json = dict[str, Any]

REFUSED: dict[str, Any] = {
    "error": {
        "message": "response_format is not supported by this model",
        "type": "invalid_request_error",
        "param": "response_format",
        "code": None,
    }
}
SCHEMA: Json = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "n": {"type": "integer"}},
    "required": ["city", "n"],
    "additionalProperties": False,
}
FORMAT: Any = {
    "type": "json_schema",
    "json_schema": {"name": "answer", "strict": True, "schema": SCHEMA},
}
TEXT_FORMAT: Any = {"type": "json_schema", "name": "answer", "strict": True, "schema": SCHEMA}
MESSAGES: Any = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Where?"},
]
VALUE = '{"city":"Bonn","n":3}'
FENCED = f"Sure, here it is:\n```json\n{VALUE}\n```\nAnything else?"


class Answer(BaseModel):
    """What `SCHEMA` describes, as a type."""

    city: str
    n: int


def info_of(answer: object) -> Info:
    """How an answer was served."""
    info = structguard.info(answer)
    assert info is not None
    return info


def chat(content: str | None, *, finish: str = "stop", **message: object) -> Json:
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [
            {
                "index": 0,
                "finish_reason": finish,
                "message": {"role": "assistant", "content": content, **message},
            }
        ],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
    }


def response(text: str, **fields: object) -> Json:
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "model": "m",
        "status": "completed",
        "error": None,
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "output": [message_item(text)],
        **fields,
    }


def message_item(text: str) -> Json:
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "status": "completed",
        "content": [{"type": "output_text", "text": text, "annotations": []}],
    }


def sse(events: Iterable[Json], *, named: bool = False, done: bool = True) -> str:
    lines = [
        (f"event: {event['type']}\n" if named else "") + f"data: {json.dumps(event)}\n\n"
        for event in events
    ]
    return "".join(lines) + ("data: [DONE]\n\n" if done else "")


def chat_chunks(pieces: Iterable[str], *, finish: str | None = "stop") -> list[Json]:
    def chunk(delta: Json, reason: str | None = None) -> Json:
        return {
            "id": "chatcmpl-1",
            "object": "chat.completion.chunk",
            "created": 1,
            "model": "m",
            "choices": [{"index": 0, "delta": delta, "finish_reason": reason}],
        }

    chunks = [chunk({"role": "assistant", "content": ""})]
    chunks += [chunk({"content": piece}) for piece in pieces]
    return [*chunks, chunk({}, finish)] if finish else chunks


def response_events(pieces: list[str]) -> list[Json]:
    text = "".join(pieces)
    at: Json = {"item_id": "msg_1", "output_index": 0, "content_index": 0}
    empty: Json = {"type": "output_text", "text": "", "annotations": []}
    part: Json = {**empty, "text": text}
    begun: Json = {**message_item(""), "content": [], "status": "in_progress"}
    events: list[Json] = [
        {"type": "response.created", "response": response("", status="in_progress", output=[])},
        {"type": "response.output_item.added", "output_index": 0, "item": begun},
        {"type": "response.content_part.added", **at, "part": empty},
        *({"type": "response.output_text.delta", **at, "delta": p, "logprobs": []} for p in pieces),
        {"type": "response.output_text.done", **at, "text": text, "logprobs": []},
        {"type": "response.content_part.done", **at, "part": part},
        {"type": "response.output_item.done", "output_index": 0, "item": message_item(text)},
        {"type": "response.completed", "response": response(text)},
    ]
    return [{**event, "sequence_number": number} for number, event in enumerate(events)]


@dataclass
class Upstream:
    """Answers in order, the last one again and again; `bodies` keeps what was asked."""

    server: HTTPServer
    bodies: list[Json] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    gone: Event = field(default_factory=Event)

    @property
    def base_url(self) -> str:
        return self.server.url_for("/v1")

    @property
    def provider(self) -> str:
        return f"{self.server.host}:{self.server.port}/v1"

    def answers(
        self,
        *answers: tuple[int, Json | str] | Json | str,
        paths: Iterable[str] = ("/v1/chat/completions", "/v1/responses"),
    ) -> None:
        """Play these in order, whatever is asked."""
        left = list(answers)

        def handle(request: Request) -> Response:
            self._keep(request)
            return _answer(left.pop(0) if len(left) > 1 else left[0])

        self._serve(handle, paths)

    def refuses_format(self, answer: Json | str, *, delay: float = 0.0) -> None:
        """Refuse whatever carries a format, give `answer` (after `delay` seconds) otherwise."""

        def handle(request: Request) -> Response:
            body = self._keep(request)
            if "response_format" in body or "format" in cast("Json", body.get("text", {})):
                return _answer((400, REFUSED))
            self.gone.wait(delay)
            return _answer(answer)

        self._serve(handle, ("/v1/chat/completions", "/v1/responses"))

    def _keep(self, request: Request) -> Json:
        body: Json = json.loads(request.get_data() or b"{}")
        self.bodies.append(body)
        self.headers.append({name.lower(): value for name, value in request.headers.items()})
        return body

    def _serve(self, handle: Callable[[Request], Response], paths: Iterable[str]) -> None:
        self.server.clear()
        for path in paths:
            self.server.expect_request(path, method="POST").respond_with_handler(handle)


def _answer(answer: tuple[int, Json | str] | Json | str) -> Response:
    status, body = answer if isinstance(answer, tuple) else (200, answer)
    if isinstance(body, str):
        kind = "text/event-stream" if body.startswith(("data:", "event:")) else "text/html"
        return Response(body, status=status, content_type=kind)
    return Response(json.dumps(body), status=status, content_type="application/json")
