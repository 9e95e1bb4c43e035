"""What endpoints answer, as small as it gets."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

ANSWER = '{"answer": "forty-two"}'
SCHEMA: Mapping[str, object] = {
    "type": "object",
    "properties": {"answer": {"type": "string"}},
    "required": ["answer"],
    "additionalProperties": False,
}
FORMAT: Mapping[str, object] = {
    "type": "json_schema",
    "json_schema": {"name": "Answer", "strict": True, "schema": SCHEMA},
}
MESSAGES = [{"role": "user", "content": "hi"}]

CHAT: Mapping[str, object] = {
    "id": "chatcmpl-1",
    "object": "chat.completion",
    "created": 1,
    "model": "m-1",
    "choices": [
        {
            "index": 0,
            "message": {"role": "assistant", "content": ANSWER},
            "finish_reason": "stop",
        }
    ],
    "usage": {"prompt_tokens": 3, "completion_tokens": 5, "total_tokens": 8},
}
RESPONSE: Mapping[str, object] = {
    "id": "resp_1",
    "object": "response",
    "created_at": 1,
    "status": "completed",
    "model": "m-1",
    "output": [
        {
            "type": "message",
            "id": "msg_1",
            "role": "assistant",
            "status": "completed",
            "content": [{"type": "output_text", "text": ANSWER, "annotations": []}],
        }
    ],
    "usage": {"input_tokens": 3, "output_tokens": 5, "total_tokens": 8},
}
REFUSED: Mapping[str, object] = {
    "error": {
        "message": "Invalid parameter: 'response_format' of type 'json_schema' is not supported"
        " with this model.",
        "type": "invalid_request_error",
        "param": "response_format",
        "code": None,
    }
}
WRONG_API: Mapping[str, object] = {
    "error": {
        "message": 'model "m" is not accessible via the /chat/completions endpoint',
        "code": "unsupported_api_for_model",
    }
}
RATE_LIMITED: Mapping[str, object] = {
    "error": {"message": "slow down", "type": "rate_limit_error", "code": "rate_limit_exceeded"}
}


def sse(*events: Mapping[str, object] | str, named: bool = False) -> bytes:
    """Server-sent events; strings go out as they are."""
    return b"".join(_event(event, named=named) for event in events)


def _event(event: Mapping[str, object] | str, *, named: bool) -> bytes:
    if isinstance(event, str):
        return f"data: {event}\n\n".encode()
    name = f"event: {event['type']}\n" if named else ""
    return f"{name}data: {json.dumps(event)}\n\n".encode()


def chat_chunk(delta: Mapping[str, object], finish: str | None = None) -> Mapping[str, object]:
    """One chunk of a chat stream."""
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "model": "m-1",
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
    }


def chat_stream(texts: Iterable[str] = ("{", '"answer": "forty-two"', "}")) -> list[bytes]:
    """A chat stream, one piece an event."""
    return [
        *(sse(chat_chunk({"content": text})) for text in texts),
        sse(chat_chunk({}, "stop")),
        sse("[DONE]"),
    ]


def responses_stream() -> list[bytes]:
    """A responses stream, one piece an event."""
    begun = {**RESPONSE, "status": "in_progress", "output": []}
    item = {"type": "message", "id": "msg_1", "role": "assistant", "content": []}
    events: list[Mapping[str, object]] = [
        {"type": "response.created", "response": begun},
        {"type": "response.output_item.added", "output_index": 0, "item": item},
        {
            "type": "response.output_text.delta",
            "item_id": "msg_1",
            "output_index": 0,
            "content_index": 0,
            "delta": ANSWER,
        },
        {"type": "response.completed", "response": RESPONSE},
    ]
    return [
        sse({**event, "sequence_number": number}, named=True) for number, event in enumerate(events)
    ]
