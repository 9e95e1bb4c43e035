"""A model's signed thoughts come back to it in the next turn, whatever wire it speaks; nobody else gets them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from pytest_httpserver import HTTPServer
from werkzeug import Request as Received, Response as Answer

from structguard.gateway.thoughts import MARK
from tests.gateway.conformance import check_resource, check_stream
from tests.gateway.load.mix import objects
from tests.gateway.support import (
    CHAT_FORMAT,
    TEXT_FORMAT,
    VALUE,
    Running,
    chat,
    response,
    running,
    settings,
)
from tests.providers.frames import event as frame

Json = dict[str, Any]
TOOL: Json = {
    "type": "function",
    "name": "get_weather",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
}
ARGUMENTS = {"city": "Bonn"}

# --- what each vendor says in the first turn, and what it must get back in the second ---------------

THINKING: Json = {"type": "thinking", "thinking": "They ask where.", "signature": "c2lnbmVk"}
REDACTED: Json = {"type": "redacted_thinking", "data": "b3BhcXVl"}
CLAUDE_CALL: Json = {"type": "tool_use", "id": "toolu_1", "name": "get_weather", "input": ARGUMENTS}
CLAUDE: Json = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "claude",
    "content": [THINKING, REDACTED, {"type": "text", "text": "Let me look."}, CLAUDE_CALL],
    "stop_reason": "tool_use",
    "usage": {"input_tokens": 3, "output_tokens": 4},
}
CLAUDE_EVENTS: list[Json] = [
    {"type": "message_start", "message": {**CLAUDE, "content": []}},
    {"type": "content_block_start", "index": 0,
     "content_block": {"type": "thinking", "thinking": "", "signature": ""}},
    {"type": "content_block_delta", "index": 0,
     "delta": {"type": "thinking_delta", "thinking": "They ask where."}},
    {"type": "content_block_delta", "index": 0,
     "delta": {"type": "signature_delta", "signature": "c2lnbmVk"}},
    {"type": "content_block_stop", "index": 0},
    {"type": "content_block_start", "index": 1, "content_block": REDACTED},
    {"type": "content_block_stop", "index": 1},
    {"type": "content_block_start", "index": 2, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 2,
     "delta": {"type": "text_delta", "text": "Let me look."}},
    {"type": "content_block_stop", "index": 2},
    {"type": "content_block_start", "index": 3, "content_block": {**CLAUDE_CALL, "input": {}}},
    {"type": "content_block_delta", "index": 3,
     "delta": {"type": "input_json_delta", "partial_json": json.dumps(ARGUMENTS)}},
    {"type": "content_block_stop", "index": 3},
    {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 4}},
    {"type": "message_stop"},
]  # fmt: skip

THOUGHT: Json = {
    "reasoningContent": {"reasoningText": {"text": "They ask where.", "signature": "c2lnbmVk"}}
}
CONVERSE_CALL: Json = {
    "toolUse": {"toolUseId": "tooluse_1", "name": "get_weather", "input": ARGUMENTS}
}
CONVERSE: Json = {
    "output": {"message": {"role": "assistant",
                           "content": [THOUGHT, {"text": "Let me look."}, CONVERSE_CALL]}},
    "stopReason": "tool_use",
    "usage": {"inputTokens": 3, "outputTokens": 4, "totalTokens": 7},
}  # fmt: skip
CONVERSE_EVENTS: list[tuple[str, Json]] = [
    ("messageStart", {"role": "assistant"}),
    ("contentBlockDelta", {"contentBlockIndex": 0,
                           "delta": {"reasoningContent": {"text": "They ask where."}}}),
    ("contentBlockDelta", {"contentBlockIndex": 0,
                           "delta": {"reasoningContent": {"signature": "c2lnbmVk"}}}),
    ("contentBlockStop", {"contentBlockIndex": 0}),
    ("contentBlockDelta", {"contentBlockIndex": 1, "delta": {"text": "Let me look."}}),
    ("contentBlockStop", {"contentBlockIndex": 1}),
    ("contentBlockStart", {"contentBlockIndex": 2, "start": {"toolUse": {
        "toolUseId": "tooluse_1", "name": "get_weather"}}}),
    ("contentBlockDelta", {"contentBlockIndex": 2,
                           "delta": {"toolUse": {"input": json.dumps(ARGUMENTS)}}}),
    ("contentBlockStop", {"contentBlockIndex": 2}),
    ("messageStop", {"stopReason": "tool_use"}),
    ("metadata", {"usage": {"inputTokens": 3, "outputTokens": 4, "totalTokens": 7}}),
]  # fmt: skip

GEMINI_CALL: Json = {
    "functionCall": {"id": "call_1", "name": "get_weather", "args": ARGUMENTS},
    "thoughtSignature": "Z29vZ2xl",
}
GEMINI: Json = {
    "candidates": [
        {
            "content": {"role": "model", "parts": [{"text": "Let me look."}, GEMINI_CALL]},
            "finishReason": "STOP",
        }
    ],
    "usageMetadata": {"promptTokenCount": 3, "candidatesTokenCount": 4, "totalTokenCount": 7},
}


def claude(received: Received, body: Json) -> Answer:
    if len(body["messages"]) == 3:
        assert body["messages"][1]["content"] == CLAUDE["content"]
        done = [{"type": "text", "text": "Sunny."}]
        return say({**CLAUDE, "content": done, "stop_reason": "end_turn"})
    if body.get("stream"):
        lines = [f"event: {e['type']}\ndata: {json.dumps(e)}\n\n" for e in CLAUDE_EVENTS]
        return Answer("".join(lines), content_type="text/event-stream")
    return say(CLAUDE)


def converse(received: Received, body: Json) -> Answer:
    if len(body["messages"]) == 3:
        said: Json = CONVERSE["output"]["message"]
        assert body["messages"][1] == said
        done = {"message": {"role": "assistant", "content": [{"text": "Sunny."}]}}
        return say({**CONVERSE, "output": done, "stopReason": "end_turn"})
    if received.path.endswith("-stream"):
        frames = b"".join(frame(name, payload) for name, payload in CONVERSE_EVENTS)
        return Answer(frames, content_type="application/vnd.amazon.eventstream")
    return say(CONVERSE)


def gemini(received: Received, body: Json) -> Answer:
    if len(body["contents"]) == 3:
        assert body["contents"][1]["parts"] == [{"text": "Let me look."}, GEMINI_CALL]
        done: Json = {"content": {"role": "model", "parts": [{"text": "Sunny."}]}}
        return say({**GEMINI, "candidates": [{**done, "finishReason": "STOP"}]})
    if "stream" in received.path:
        return Answer(f"data: {json.dumps(GEMINI)}\r\n\r\n", content_type="text/event-stream")
    return say(GEMINI)


def say(body: Json) -> Answer:
    return Answer(json.dumps(body), content_type="application/json")


VENDORS = {"anthropic": claude, "bedrock": converse, "google": gemini}


class Vendor:
    """A gateway before one vendor's endpoint, that keeps what it was asked and how."""

    def __init__(self, server: HTTPServer, kind: str) -> None:
        self.bodies: list[Json] = []
        self.headers: list[dict[str, str]] = []
        self._answer = VENDORS[kind]
        self.table: Json = {
            "kind": kind, "base_url": server.url_for("/"), "api_key_env": "K", "attempts": 1,
            **({"region": "us-east-1"} if kind == "bedrock" else {}),
        }  # fmt: skip
        for path in (
            "/v1/messages", "/model/m/converse", "/model/m/converse-stream",
            "/models/m:generateContent", "/models/m:streamGenerateContent",
            "/v1beta/models/m:generateContent", "/v1beta/models/m:streamGenerateContent",
        ):  # fmt: skip
            server.expect_request(path).respond_with_handler(self.answer)

    def answer(self, received: Received) -> Answer:
        body = json.loads(received.data)
        self.bodies.append(body)
        self.headers.append({k.lower(): v for k, v in received.headers.items()})
        return self._answer(received, body)


@pytest.fixture
def server() -> Iterator[HTTPServer]:
    with HTTPServer(host="127.0.0.1") as made:
        yield made
        made.check_assertions()


@pytest.fixture(params=sorted(VENDORS))
def vendor(server: HTTPServer, request: pytest.FixtureRequest) -> Vendor:
    return Vendor(server, request.param)


@pytest.fixture
def gateway(vendor: Vendor) -> Iterator[Running]:
    made = settings("", environ={"K": "k"}, providers={"up": vendor.table})
    with running(made) as found:
        yield found


def first_turn(gateway: Running, *, stream: bool) -> Json:
    reply = gateway.post("/v1/responses", response("m", tools=[TOOL], stream=stream))
    assert reply.status_code == 200, reply.text
    return check_stream(reply.text) if stream else check_resource(reply.json())


def output_of(resource: Json) -> Json:
    call = next(item for item in resource["output"] if item["type"] == "function_call")
    assert json.loads(call["arguments"]) == ARGUMENTS
    return {"type": "function_call_output", "call_id": call["call_id"], "output": "18 degrees"}


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("kept", ["by the gateway", "by the client"])
def test_signed_thoughts_come_back_in_the_next_turn(
    gateway: Running, vendor: Vendor, kept: str, *, stream: bool
) -> None:
    first = first_turn(gateway, stream=stream)
    assert any(str(i.get("encrypted_content", "")).startswith(MARK) for i in first["output"])
    if kept == "by the gateway":
        more: Json = {"previous_response_id": first["id"], "input": [output_of(first)]}
    else:
        user = {"role": "user", "content": "Where?"}
        more = {"input": [user, *first["output"], output_of(first)], "store": False}
    reply = gateway.post("/v1/responses", response("m", tools=[TOOL], **more))
    assert reply.status_code == 200, reply.text  # else the vendor did not get its thoughts back
    assert reply.json()["output"][-1]["content"][0]["text"] == "Sunny."
    assert len(vendor.bodies) == 2
    assert "x-structguard-warning" not in reply.headers


def test_what_can_be_read_of_the_thoughts_is_a_summary(server: HTTPServer) -> None:
    made = settings("", environ={"K": "k"}, providers={"up": Vendor(server, "anthropic").table})
    with running(made) as gateway:
        for stream in (False, True):
            output = first_turn(gateway, stream=stream)["output"]
            summaries = [part["text"] for item in output for part in item.get("summary", ())]
            assert summaries == ["They ask where."]


def test_another_vendors_model_gets_no_opaque_thoughts_and_the_client_is_told(
    server: HTTPServer,
) -> None:
    asked: list[str] = []

    def answer(received: Received) -> Answer:
        asked.append(received.data.decode())
        return say({**GEMINI, "candidates": [{"content": {"parts": [{"text": "Sunny."}]}}]})

    up = Vendor(server, "anthropic")
    with HTTPServer(host="127.0.0.1") as elsewhere:
        elsewhere.expect_request("/models/m:generateContent").respond_with_handler(answer)
        other = {**up.table, "kind": "google", "base_url": elsewhere.url_for("/")}
        tables = {"up": up.table, "other": other}
        with running(settings("", environ={"K": "k"}, providers=tables)) as gateway:
            first = gateway.post("/v1/responses", response("up:m", tools=[TOOL])).json()
            body = response("other:m", previous_response_id=first["id"], input=[output_of(first)])
            reply = gateway.post("/v1/responses", {**body, "tools": [TOOL]})
    assert reply.status_code == 200, reply.text
    assert "c2lnbmVk" not in asked[0]
    assert "b3BhcXVl" not in asked[0]
    assert "reasoning left out" in reply.headers["x-structguard-warning"]


def test_an_upstream_that_speaks_responses_gets_no_reasoning_that_it_did_not_make(
    server: HTTPServer,
) -> None:
    asked: list[Json] = []

    def answer(received: Received) -> Answer:
        asked.append(json.loads(received.data))
        item = {"type": "message", "id": "msg_9", "role": "assistant", "status": "completed",
                "content": [{"type": "output_text", "text": "Sunny.", "annotations": []}]}  # fmt: skip
        return say({"id": "resp_9", "object": "response", "status": "completed", "output": [item]})

    server.expect_request("/v1/responses").respond_with_handler(answer)
    up = Vendor(server, "anthropic")
    cloud = {"base_url": server.url_for("/v1"), "api": "responses", "attempts": 1}
    tables = {"up": up.table, "cloud": cloud}
    with running(settings("", environ={"K": "k"}, providers=tables)) as gateway:
        for stream in (False, True):
            reply = gateway.post("/v1/responses", response("up:m", tools=[TOOL], stream=stream))
            first = reply.json() if not stream else list(objects(reply.text))[-1]["response"]
            turn = {"previous_response_id": first["id"], "input": [output_of(first)]}
            second = gateway.post("/v1/responses", response("cloud:m", tools=[TOOL], **turn))
            assert second.status_code == 200, second.text
            kinds = [item.get("type") for item in asked[-1]["input"]]
            assert kinds == ["message", "message", "function_call", "function_call_output"]
            # and the first vendor, asked once more, gets them back
            back = {"previous_response_id": second.json()["id"], "input": "Sure?"}
            gateway.post("/v1/responses", response("up:m", tools=[TOOL], **back))
            assert up.bodies[-1]["messages"][1]["content"] == CLAUDE["content"]


@pytest.mark.parametrize("text", ["sgr1.!!", "sgr1.", "sgr1.eJwDAAAAAAE="])
def test_a_seal_that_nobody_made_is_a_400(server: HTTPServer, text: str) -> None:
    made = settings("", environ={"K": "k"}, providers={"up": Vendor(server, "anthropic").table})
    item = {"type": "reasoning", "summary": [], "encrypted_content": text}
    with running(made) as gateway:
        body = response("m", input=[{"role": "user", "content": "x"}, item])
        reply = gateway.post("/v1/responses", body)
    assert (reply.status_code, reply.json()["error"]["param"]) == (400, "input")


def test_bedrock_is_asked_for_the_format_and_streams_on_both_endpoints(server: HTTPServer) -> None:
    asked: list[Json] = []

    def answer(received: Received) -> Answer:
        asked.append(json.loads(received.data))
        assert received.headers["authorization"] == "Bearer k"
        if received.path.endswith("-stream"):
            delta = {"contentBlockIndex": 0, "delta": {"text": json.dumps(VALUE)}}
            events: list[tuple[str, Json]] = [("messageStart", {"role": "assistant"}), ("contentBlockDelta", delta),
                      ("contentBlockStop", {"contentBlockIndex": 0}),
                      ("messageStop", {"stopReason": "end_turn"}),
                      ("metadata", {"usage": CONVERSE["usage"]})]  # fmt: skip
            frames = b"".join(frame(name, payload) for name, payload in events)
            return Answer(frames, content_type="application/vnd.amazon.eventstream")
        content = [{"text": json.dumps(VALUE)}]
        done = {"message": {"role": "assistant", "content": content}}
        return say({**CONVERSE, "output": done, "stopReason": "end_turn"})

    for path in ("/model/m/converse", "/model/m/converse-stream"):
        server.expect_request(path).respond_with_handler(answer)
    up = {"kind": "bedrock", "region": "us-east-1", "base_url": server.url_for("/"),
          "api_key_env": "K", "attempts": 1}  # fmt: skip
    with running(settings("", environ={"K": "k"}, providers={"up": up})) as gateway:
        whole = gateway.post("/v1/responses", response("m", text={"format": TEXT_FORMAT}))
        resource = check_resource(whole.json())
        assert json.loads(resource["output"][0]["content"][0]["text"]) == VALUE
        assert resource["usage"]["total_tokens"] == 7
        assert whole.headers["x-structguard-enforced"] == "true"
        body = response("m", text={"format": TEXT_FORMAT}, stream=True)
        streamed = check_stream(gateway.post("/v1/responses", body).text)
        assert json.loads(streamed["output"][0]["content"][0]["text"]) == VALUE
        spoken = gateway.post("/v1/chat/completions", chat("m", response_format=CHAT_FORMAT))
        assert json.loads(spoken.json()["choices"][0]["message"]["content"]) == VALUE
        chunks = gateway.post(
            "/v1/chat/completions", chat("m", response_format=CHAT_FORMAT, stream=True)
        )
        assert chunks.text.endswith("data: [DONE]\n\n")
    assert all("outputConfig" in body for body in asked)


@pytest.mark.parametrize(
    ("status", "kind", "told"),
    [(429, "ThrottlingException", 429), (403, "AccessDeniedException", 502),
     (400, "ValidationException", 400), (500, "InternalServerException", 502)],
)  # fmt: skip
def test_bedrocks_errors_have_the_tables_status(
    server: HTTPServer, status: int, kind: str, told: int
) -> None:
    body = json.dumps({"message": "no"})
    headers = {"x-amzn-errortype": kind, "content-type": "application/json"}
    server.expect_request("/model/m/converse").respond_with_data(body, status, headers)
    up = {"kind": "bedrock", "region": "us-east-1", "base_url": server.url_for("/"),
          "api_key_env": "K", "attempts": 1}  # fmt: skip
    with running(settings("", environ={"K": "k"}, providers={"up": up})) as gateway:
        reply = gateway.post("/v1/responses", response("m"))
    assert (reply.status_code, set(reply.json()["error"])) == (
        told, {"message", "type", "param", "code"},
    )  # fmt: skip
