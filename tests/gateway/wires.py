"""
A real upstream that speaks one of three wires, whole and streamed: words, or a call where tools are given
and nothing has answered one yet.

Its resources are as bare as local servers make them: what the document requires beyond that is ours.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any
from uuid import uuid4

from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from tests.gateway.upstream import chunks, reply

Json = dict[str, Any]
WORDS = "Good morning to you."
ARGUMENTS = '{"location":"San Francisco, CA"}'
PHASES = ("commentary", "final_answer")


@dataclass(frozen=True, slots=True, kw_only=True)
class Voice:
    """What the model says, with what it calls the first tool it is given, and what it says before."""

    words: str = WORDS
    arguments: str = ARGUMENTS
    remark: str = ""

    def name(self, body: Json) -> str | None:
        """The function to call, if there is one and nothing has answered it."""
        tools = body.get("tools") or ()
        if not tools or _is_answered(body):
            return None
        tool: Json = tools[0].get("function") or tools[0]
        return str(tool["name"])


def _is_answered(body: Json) -> bool:
    said = body.get("messages") or body["input"]
    last: Json = said[-1] if isinstance(said, list) else {}
    content: Any = last.get("content")
    parts: list[Json] = content if isinstance(content, list) else []
    kinds = {last.get("type"), last.get("role"), *(part.get("type") for part in parts)}
    return bool(kinds & {"tool", "function_call_output", "tool_result"})


def _chat(voice: Voice, body: Json) -> tuple[Json, list[str]]:
    name = voice.name(body)
    call = {"name": name, "arguments": voice.arguments}
    said: tuple[Json, str] = (
        ({"content": voice.remark or None, "tool_calls": [{"id": "call_1", "type": "function", "function": call}]},
         "tool_calls")
        if name
        else ({"content": voice.words}, "stop")
    )  # fmt: skip
    return reply(*said), [*(_event(one) for one in chunks(*said)), "data: [DONE]\n\n"]


def _responses(voice: Voice, body: Json) -> tuple[Json, list[str]]:
    """Bare resources and events; the model `phases` labels its messages."""
    name = voice.name(body)
    call = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": name,
            "arguments": voice.arguments, "status": "completed"}  # fmt: skip
    phases: Iterable[Json] = (
        [{"phase": phase} for phase in PHASES] if body["model"] == "phases" else [{}]
    )
    words = [_message(voice.words, at, **more) for at, more in enumerate(phases)]
    remarks = [_message(voice.remark, 0)] if voice.remark else []
    output = [*remarks, call] if name else words
    resource = {
        "id": f"resp_{uuid4().hex}", "object": "response", "created_at": 1_700_000_000, "model": "served",
        "status": "completed", "output": output,
        "usage": {"input_tokens": 5, "output_tokens": 7, "total_tokens": 12},
    }  # fmt: skip
    begun = {**resource, "status": "in_progress", "output": [], "usage": None}
    events: list[Json] = [{"type": "response.created", "response": begun}]
    events.append({"type": "response.in_progress", "response": begun})
    for at, item in enumerate(output):
        events += _item_events(voice, at, item)
    events.append({"type": "response.completed", "response": resource})
    return resource, [
        _event({**event, "sequence_number": at}, named=True) for at, event in enumerate(events)
    ]


def _message(words: str, at: int, **more: object) -> Json:
    part = {"type": "output_text", "text": words, "annotations": []}
    return {"type": "message", "id": f"msg_{at}", "role": "assistant", "status": "completed",
            "content": [part], **more}  # fmt: skip


def _item_events(voice: Voice, at: int, item: Json) -> Iterator[Json]:
    place: Json = {"output_index": at, "item_id": item["id"]}
    empty: Json = {"content": []} if item["type"] == "message" else {"arguments": ""}
    opened = {**item, "status": "in_progress", **empty}
    yield {"type": "response.output_item.added", "output_index": at, "item": opened}
    if item["type"] == "message":
        part, place = item["content"][0], {**place, "content_index": 0}
        yield {"type": "response.content_part.added", **place, "part": {**part, "text": ""}}
        words = str(part["text"])
        for start in range(0, len(words), 6):
            delta = words[start : start + 6]
            yield {"type": "response.output_text.delta", **place, "delta": delta}
        yield {"type": "response.output_text.done", **place, "text": words}
        yield {"type": "response.content_part.done", **place, "part": part}
    else:
        name = "response.function_call_arguments"
        yield {"type": f"{name}.delta", **place, "delta": voice.arguments}
        yield {"type": f"{name}.done", **place, "name": item["name"], "arguments": voice.arguments}
    yield {"type": "response.output_item.done", "output_index": at, "item": item}


def _messages(voice: Voice, body: Json) -> tuple[Json, list[str]]:
    name = voice.name(body)
    used = {"type": "tool_use", "id": "call_1", "name": name, "input": json.loads(voice.arguments)}
    remarks: list[Json] = [{"type": "text", "text": voice.remark}] if voice.remark else []
    blocks: list[Json] = [*remarks, used] if name else [{"type": "text", "text": voice.words}]
    whole = {
        "id": "msg_1", "type": "message", "role": "assistant", "model": "served",
        "content": blocks, "stop_reason": "tool_use" if name else "end_turn",
        "usage": {"input_tokens": 5, "output_tokens": 7},
    }  # fmt: skip
    start = {**whole, "content": [], "stop_reason": None}
    events: list[Json] = [{"type": "message_start", "message": start}]
    for at, block in enumerate(blocks):
        events += _block_events(voice, at, block)
    events += [
        {"type": "message_delta", "delta": {"stop_reason": whole["stop_reason"]},
         "usage": {"output_tokens": 7}},
        {"type": "message_stop"},
    ]  # fmt: skip
    return whole, [_event(event, named=True) for event in events]


def _block_events(voice: Voice, at: int, block: Json) -> list[Json]:
    is_text = block["type"] == "text"
    delta: Json = (
        {"type": "text_delta", "text": block["text"]}
        if is_text
        else {"type": "input_json_delta", "partial_json": voice.arguments}
    )
    empty: Json = {"text": ""} if is_text else {"input": {}}
    return [
        {"type": "content_block_start", "index": at, "content_block": {**block, **empty}},
        {"type": "content_block_delta", "index": at, "delta": delta},
        {"type": "content_block_stop", "index": at},
    ]


def _event(event: Json, *, named: bool = False) -> str:
    name = f"event: {event['type']}\n" if named else ""
    return f"{name}data: {json.dumps(event)}\n\n"


_SPEAKERS: Mapping[str, tuple[str, Callable[[Voice, Json], tuple[Json, list[str]]]]] = (
    MappingProxyType(
        {
            "chat": ("/v1/chat/completions", _chat),
            "responses": ("/v1/responses", _responses),
            "messages": ("/v1/messages", _messages),
        }
    )
)
WIRES = tuple(_SPEAKERS)
VOICE = Voice()


@contextmanager
def speaking(wire: str, voice: Voice = VOICE) -> Iterator[Json]:
    """A running upstream of this wire: the provider's table for a gateway's configuration."""
    path, speak = _SPEAKERS[wire]

    def answer(request: Request) -> Response:
        body: Json = json.loads(request.get_data())
        whole, events = speak(voice, body)
        if body.get("stream"):
            return Response("".join(events), content_type="text/event-stream")
        return Response(json.dumps(whole), content_type="application/json")

    with HTTPServer(host="127.0.0.1", threaded=True) as server:
        server.expect_request(path, method="POST").respond_with_handler(answer)
        if wire == "messages":
            yield {"kind": "anthropic", "base_url": server.url_for(""), "api_key_env": "K"}
        else:
            yield {"base_url": server.url_for("/v1"), "api": wire, "attempts": 1}
