"""
What a loopback endpoint says, in the bytes of Chat Completions and Responses, whole or streamed.

Written apart from `wire` on purpose: an endpoint that shares its code with the reader under test would
share its mistakes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

Json: TypeAlias = dict[str, object]
_PIECE = 12  # characters of a streamed delta


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """
    What the endpoint answers: the text, the reasoning and the finish reason of one reply.

    `error` is an error object that takes the place of an answer.
    """

    text: str = ""
    reasoning: str = ""
    finish: str = "stop"
    error: Json | None = None


def chat_reply(said: Said, model: str, number: int) -> Json:
    """A chat completion."""
    message: Json = {"role": "assistant", "content": said.text or None, "refusal": None}
    if said.reasoning:
        message["reasoning_content"] = said.reasoning
    choice: Json = {"index": 0, "message": message, "logprobs": None, "finish_reason": said.finish}
    if said.error is not None:
        choice["error"] = said.error
    return {
        "id": f"chatcmpl-{number}",
        "object": "chat.completion",
        "created": 1_700_000_000 + number,
        "model": model,
        "choices": [choice],
        "usage": {"prompt_tokens": 8, "completion_tokens": 8, "total_tokens": 16},
    }


def chat_events(said: Said, model: str, number: int, *, usage: bool = False) -> Iterator[str]:
    """The same, as server-sent events."""

    def chunk(delta: Json, finish: str | None = None, **more: object) -> str:
        choice: Json = {"index": 0, "delta": delta, "finish_reason": finish, **more}
        return _data(
            {
                "id": f"chatcmpl-{number}",
                "object": "chat.completion.chunk",
                "created": 1_700_000_000 + number,
                "model": model,
                "choices": [choice],
            }
        )

    yield chunk({"role": "assistant", "content": ""})
    for text in _pieces(said.reasoning):
        yield chunk({"reasoning_content": text})
    for text in _pieces(said.text):
        yield chunk({"content": text})
    yield chunk({}, said.finish, **({"error": said.error} if said.error is not None else {}))
    if usage:
        counts = {"prompt_tokens": 8, "completion_tokens": 8, "total_tokens": 16}
        yield _data({"id": f"chatcmpl-{number}", "object": "chat.completion.chunk", "model": model,
                     "created": 1_700_000_000 + number, "choices": [], "usage": counts})  # fmt: skip
    yield "data: [DONE]\n\n"


def response_reply(said: Said, model: str, number: int) -> Json:
    """A response resource."""
    status, cut = _status(said), said.finish == "length"
    return {
        "id": f"resp_{number}",
        "object": "response",
        "created_at": 1_700_000_000 + number,
        "model": model,
        "status": status,
        "error": said.error,
        "incomplete_details": {"reason": "max_output_tokens"} if cut else None,
        "instructions": None,
        "metadata": {},
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "temperature": 1.0,
        "top_p": 1.0,
        "output": [] if status == "failed" else [item for _, item in _items(said, number)],
        "usage": {
            "input_tokens": 8,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": 8,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": 16,
        },
    }


def response_events(said: Said, model: str, number: int) -> Iterator[str]:
    """The same, as named server-sent events."""
    whole = response_reply(said, model, number)
    begun: Json = {**whole, "status": "in_progress", "error": None, "output": [], "usage": None}
    event = _Numbered()
    yield event("response.created", response=begun)
    yield event("response.in_progress", response=begun)
    if said.error is None:
        for index, (text, item) in enumerate(_items(said, number)):
            yield from _item_events(event, index, text, item)
    yield event(f"response.{whole['status']}", response=whole)


def _status(said: Said) -> str:
    if said.error is not None:
        return "failed"
    return "incomplete" if said.finish == "length" else "completed"


def _item_events(event: _Numbered, index: int, text: str, item: Json) -> Iterator[str]:
    is_message = item["type"] == "message"
    position: Json = {"item_id": item["id"], "output_index": index}
    at: Json = {**position, "content_index" if is_message else "summary_index": 0}
    empty: list[Json] = []
    added: Json = {**item, "content" if is_message else "summary": empty}
    if is_message:
        added["status"] = "in_progress"
    yield event("response.output_item.added", output_index=index, item=added)
    name = "output_text" if is_message else "reasoning_summary_text"
    part = "content_part" if is_message else "reasoning_summary_part"
    yield event(f"response.{part}.added", **at, part=_part("", is_message=is_message))
    extra: Json = {"logprobs": list[Json]()} if is_message else {}
    for fragment in _pieces(text):
        yield event(f"response.{name}.delta", **at, delta=fragment, **extra)
    yield event(f"response.{name}.done", **at, text=text, **extra)
    yield event(f"response.{part}.done", **at, part=_part(text, is_message=is_message))
    yield event("response.output_item.done", output_index=index, item=item)


def _part(text: str, *, is_message: bool) -> Json:
    if is_message:
        return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
    return {"type": "summary_text", "text": text}


def _items(said: Said, number: int) -> Iterator[tuple[str, Json]]:
    if said.reasoning:
        summary = [_part(said.reasoning, is_message=False)]
        yield said.reasoning, {"id": f"rs_{number}", "type": "reasoning", "summary": summary}
    if said.text or not said.reasoning:
        message: Json = {
            "id": f"msg_{number}",
            "type": "message",
            "role": "assistant",
            "status": "completed",
            "content": [_part(said.text, is_message=True)],
        }
        yield said.text, message


class _Numbered:
    """Writes named events with their sequence numbers."""

    def __init__(self) -> None:
        self.number = -1

    def __call__(self, kind: str, **fields: object) -> str:
        self.number += 1
        event = {"type": kind, "sequence_number": self.number, **fields}
        return f"event: {kind}\n{_data(event)}"


def _pieces(text: str) -> Iterator[str]:
    for start in range(0, len(text), _PIECE):
        yield text[start : start + _PIECE]


def _data(event: Mapping[str, object]) -> str:
    return f"data: {json.dumps(event)}\n\n"
