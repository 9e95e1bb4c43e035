"""An answer that stands only in the thoughts is the answer, whole and streamed, on either wire."""

from __future__ import annotations

import json
from typing import Any

import pytest

from structguard.gateway.promoting import Silent
from structguard.types import JsonObject
from tests.gateway.conformance import check_stream
from tests.gateway.support import chat, json_request, response, running, settings
from tests.gateway.test_ways import ANSWER, CHAT, RESPONSES, event, said
from tests.http.raw import Play, chunked, raw_server

Json = dict[str, Any]
BEGUN: Json = {"id": "resp_1", "object": "response", "status": "in_progress", "output": []}
CALL: Json = {"type": "function_call", "id": "fc", "call_id": "c", "name": "f", "arguments": "{}",
              "status": "completed"}  # fmt: skip


def resource(thought: str, *others: Json) -> Json:
    """A response that only thought, but for other items."""
    summary = [{"type": "summary_text", "text": thought}]
    item = {"type": "reasoning", "id": "rs", "summary": summary}
    return {**BEGUN, "status": "completed", "output": [item, *others]}


def sent(path: str, thought: str, *, stream: bool) -> bytes:
    """What the upstream says: the thought, in two pieces, and nothing else."""
    if path == RESPONSES:
        whole = resource(thought)
        (item,) = whole["output"]
        place: Json = {"item_id": "rs", "output_index": 0, "summary_index": 0}
        name, part = "response.reasoning_summary", {"type": "summary_text", "text": thought}
        events = [
            event("response.created", 0, response=BEGUN),
            event("response.in_progress", 1, response=BEGUN),
            event("response.output_item.added", 2, output_index=0, item={**item, "summary": []}),
            event(f"{name}_part.added", 3, **place, part={**part, "text": ""}),
            event(f"{name}_text.delta", 4, **place, delta=thought[:3]),
            event(f"{name}_text.delta", 5, **place, delta=thought[3:]),
            event(f"{name}_text.done", 6, **place, text=thought),
            event(f"{name}_part.done", 7, **place, part=part),
            event("response.output_item.done", 8, output_index=0, item=item),
            event("response.completed", 9, response=whole),
        ]
    else:
        deltas = [{"role": "assistant", "content": ""}, {"reasoning_content": thought[:3]},
                  {"reasoning_content": thought[3:]}, {}]  # fmt: skip
        choices: list[Json] = [
            {"index": 0, "delta": delta, "finish_reason": None} for delta in deltas
        ]
        choices[-1]["finish_reason"] = "stop"
        chunks = [{"id": "c", "object": "chat.completion.chunk", "choices": [c]} for c in choices]
        events = [f"data: {json.dumps(chunk)}\n\n".encode() for chunk in chunks]
        events.append(b"data: [DONE]\n\n")
        message = {"role": "assistant", "content": "", "reasoning_content": thought}
        whole = {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}
    if stream:
        return chunked(*events)
    raw = json.dumps(whole).encode()
    return b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % len(raw) + raw


def given(path: str, body: object, reply: bytes) -> str:
    """The gateway's reply over an upstream of the same wire."""
    wire = "chat" if path == CHAT else "responses"
    with raw_server(Play([reply])) as server:
        up = {"base_url": f"{server.url}/v1", "api": wire, "attempts": 1}
        with running(settings("", providers={"up": up})) as gateway:
            return gateway.post(path, body).text


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("path", [CHAT, RESPONSES])
def test_an_answer_that_was_only_thought_is_said(path: str, *, stream: bool) -> None:
    text = given(path, json_request(path, "m", stream=stream), sent(path, ANSWER, stream=stream))
    if path == RESPONSES:
        final = check_stream(text) if stream else json.loads(text)
        assert [item["type"] for item in final["output"]] == ["reasoning", "message"]
        assert final["output"][1]["content"][0]["text"] == ANSWER
    else:
        assert said(path, text, stream=stream) == ANSWER


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("path", [CHAT, RESPONSES])
def test_thoughts_that_are_no_answer_stay_thoughts(path: str, *, stream: bool) -> None:
    plain: Json = chat("m", stream=stream) if path == CHAT else response("m", stream=stream)
    form = json_request(path, "m", stream=stream)
    for body, thought in ((plain, ANSWER), (form, "I wonder."), (form, '{"city": "Bonn"}')):
        text = given(path, body, sent(path, thought, stream=stream))
        assert "output_text" not in text
        assert path == RESPONSES or not said(path, text, stream=stream)


def test_thoughts_beside_a_call_stay_thoughts() -> None:
    raw = json.dumps(resource(ANSWER, CALL)).encode()
    reply = b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % len(raw) + raw
    text = given(RESPONSES, json_request(RESPONSES, "m", stream=False), reply)
    assert [item["type"] for item in json.loads(text)["output"]] == ["reasoning", "function_call"]


def test_a_stream_that_only_thinks_holds_no_more_than_its_room() -> None:
    silent = Silent(room=20)
    ends: Json = {"delta": {}, "finish_reason": "stop"}
    for index in (0, 1):
        deltas: list[Json] = [{"delta": {"reasoning_content": '{"city": '}} for _ in range(4)]
        for choice in (*deltas, ends):
            assert not [*silent.answers({"choices": [{"index": index, **choice}]}, JsonObject)]
            assert sum(len(text) for held in silent.thought.values() for text in held) <= 20
