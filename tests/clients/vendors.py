"""Replies of Anthropic and Google, and endpoints of theirs that refuse a format or ignore it."""

from __future__ import annotations

import json
from collections.abc import Callable

from werkzeug import Request, Response

from tests.clients.endpoint import Json, Upstream, sse

MESSAGES_PATH = "/v1/messages"
GOOGLE_PATH = "/v1/models/gemini-x:generateContent"
GOOGLE_STREAM = "/v1/models/gemini-x:streamGenerateContent"
CONVERSE_PATH = "/model/claude/converse"

NO_OUTPUT_CONFIG: Json = {
    "type": "error",
    "error": {
        "type": "invalid_request_error",
        "message": "output_config.format: structured outputs are not supported by this model",
    },
}
NO_SCHEMA: Json = {
    "error": {
        "code": 400,
        "message": "response_schema is not supported for this model",
        "status": "INVALID_ARGUMENT",
    }
}


def message(text: str, *, stop: str = "end_turn", **fields: object) -> Json:
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-x",
        "content": [{"type": "text", "text": text}],
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": {"input_tokens": 3, "output_tokens": 5},
        **fields,
    }


def message_events(pieces: list[str]) -> list[Json]:
    started: Json = {**message(""), "content": [], "stop_reason": None}
    return [
        {"type": "message_start", "message": started},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "ping"},
        *(
            {
                "type": "content_block_delta",
                "index": 0,
                "delta": {"type": "text_delta", "text": piece},
            }
            for piece in pieces
        ),
        {"type": "content_block_stop", "index": 0},
        {
            "type": "message_delta",
            "delta": {"stop_reason": "end_turn", "stop_sequence": None},
            "usage": {"output_tokens": 9},
        },
        {"type": "message_stop"},
    ]


def message_stream(pieces: list[str]) -> str:
    return sse(message_events(pieces), named=True, done=False)


def candidates(text: str, *, finish: str | None = "STOP") -> Json:
    candidate: Json = {"content": {"role": "model", "parts": [{"text": text}]}, "index": 0}
    if finish:
        candidate["finishReason"] = finish
    return {
        "candidates": [candidate],
        "usageMetadata": {"promptTokenCount": 3, "candidatesTokenCount": 5, "totalTokenCount": 8},
        "modelVersion": "gemini-x",
        "responseId": "r1",
    }


def google_events(pieces: list[str]) -> list[Json]:
    """As Google sends them: the last piece and the finish in one chunk."""
    return [candidates(piece, finish="STOP" if piece is pieces[-1] else None) for piece in pieces]


def google_stream(pieces: list[str]) -> str:
    return sse(google_events(pieces), done=False).replace("\n", "\r\n")


def converse(text: str) -> Json:
    return {
        "output": {"message": {"role": "assistant", "content": [{"text": text}]}},
        "stopReason": "end_turn",
        "usage": {"inputTokens": 1, "outputTokens": 1, "totalTokens": 2},
        "metrics": {"latencyMs": 1},
    }


def asks_for_json(body: Json) -> bool:
    """Whether a request of either vendor carries a format."""
    google = body.get("generationConfig", {})
    return bool(
        body.get("response_format")
        or "format" in body.get("text", {})
        or "format" in body.get("output_config", {})
        or "outputConfig" in body
        or {"responseMimeType", "responseSchema", "responseJsonSchema"} & set(google)
    )


class Vendor(Upstream):
    """An endpoint that knows every path above; `raw` keeps each body as it came."""

    def refuses(self, refusal: Json, answer: Json | str, *, status: int = 400) -> None:
        """Refuse what carries a format, else answer."""
        self.plays(lambda body: (status, refusal) if asks_for_json(body) else (200, answer))

    def plays(self, reply: Callable[[Json], tuple[int, Json | str]]) -> None:
        """Answer by what was asked."""

        def handle(request: Request) -> Response:
            status, answer = reply(self._keep(request))
            return respond(answer, status)

        self._serve(
            handle,
            (
                MESSAGES_PATH,
                GOOGLE_PATH,
                GOOGLE_STREAM,
                CONVERSE_PATH,
                "/v1/chat/completions",
                "/v1/responses",
            ),
        )

    @property
    def host_url(self) -> str:
        return self.server.url_for("").rstrip("/")

    @property
    def host(self) -> str:
        return f"{self.server.host}:{self.server.port}"


def respond(answer: Json | str, status: int = 200) -> Response:
    if isinstance(answer, str):
        streams = answer.startswith(("data:", "event:", ":"))
        kind = "text/event-stream" if streams else "text/html"
        return Response(answer, status=status, content_type=kind)
    return Response(json.dumps(answer), status=status, content_type="application/json")
