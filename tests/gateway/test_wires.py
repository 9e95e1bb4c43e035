"""Either endpoint over upstreams that speak no OpenAI wire; models, embeddings, CORS, unknown paths."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from pytest_httpserver import HTTPServer

from structguard.testing import RefusingEndpoint
from tests.gateway.conformance import check_resource, check_stream
from tests.gateway.support import (
    CHAT_FORMAT,
    TEXT_FORMAT,
    VALUE,
    chat,
    json_request,
    response,
    running,
    settings,
)
from tests.gateway.wires import speaking

Json = dict[str, Any]
CLAUDE: Json = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "claude",
    "content": [{"type": "text", "text": json.dumps(VALUE)}],
    "stop_reason": "end_turn",
    "usage": {"input_tokens": 3, "output_tokens": 4},
}
GEMINI: Json = {
    "candidates": [
        {
            "content": {"role": "model", "parts": [{"text": json.dumps(VALUE)}]},
            "finishReason": "STOP",
        }
    ],
    "usageMetadata": {"promptTokenCount": 3, "candidatesTokenCount": 4, "totalTokenCount": 7},
}


@pytest.fixture
def server() -> Iterator[HTTPServer]:
    with HTTPServer(host="127.0.0.1") as made:
        yield made


def config(server: HTTPServer, kind: str) -> Any:
    up = {"kind": kind, "base_url": server.url_for("/"), "api_key_env": "K", "attempts": 1}
    return settings("", environ={"K": "k"}, providers={"up": up})


@pytest.mark.parametrize(
    ("kind", "path", "reply"),
    [
        ("anthropic", "/v1/messages", CLAUDE),
        ("google", "/models/m:generateContent", GEMINI),
    ],
)
def test_both_endpoints_speak_for_a_foreign_wire(
    server: HTTPServer, kind: str, path: str, reply: Json
) -> None:
    server.expect_request(path, method="POST").respond_with_json(reply)
    server.expect_request(f"/v1beta{path}", method="POST").respond_with_json(reply)
    with running(config(server, kind)) as gateway:
        body = response("m", text={"format": TEXT_FORMAT}, metadata={"a": "b"})
        told = gateway.post("/v1/responses", body)
        resource = check_resource(told.json())
        assert json.loads(resource["output"][0]["content"][0]["text"]) == VALUE
        assert resource["usage"]["total_tokens"] == 7
        assert told.headers["x-structguard-enforced"] == "true"
        spoken = gateway.post("/v1/chat/completions", chat("m", response_format=CHAT_FORMAT))
        assert json.loads(spoken.json()["choices"][0]["message"]["content"]) == VALUE
        streamed = gateway.post("/v1/responses", {**body, "stream": True})
        assert streamed.status_code in {200, 502}
        refused = gateway.post("/v1/responses", response("m", tools=[{"type": "mcp"}]))
        assert (refused.status_code, refused.json()["error"]["param"]) == (400, "tools")


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("path", ["/v1/responses", "/v1/chat/completions"])
@pytest.mark.parametrize("wire", ["chat", "responses", "messages"])
def test_with_the_guard_off_nothing_is_claimed(wire: str, path: str, *, stream: bool) -> None:
    """The upstream answers in prose, and nobody looks."""
    with speaking(wire) as provider:
        made = settings("", environ={"K": "k"}, providers={"up": provider})
        with running(made) as gateway:
            told = gateway.post(
                path, json_request(path, "m", stream=stream), x_structguard_mode="off"
            )
    assert told.status_code == 200
    assert "x-structguard-enforced" not in told.headers
    assert '"x-structguard-enforced"' not in told.text


def test_a_claude_stream_becomes_the_documents_events(server: HTTPServer) -> None:
    events: list[Json] = [
        {"type": "message_start", "message": {**CLAUDE, "content": []}},
        {"type": "content_block_start", "index": 0,
         "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0,
         "delta": {"type": "text_delta", "text": "Good "}},
        {"type": "content_block_delta", "index": 0,
         "delta": {"type": "text_delta", "text": "morning."}},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"},
         "usage": {"output_tokens": 4}},
        {"type": "message_stop"},
    ]  # fmt: skip
    text = "".join(f"event: {e['type']}\ndata: {json.dumps(e)}\n\n" for e in events)
    server.expect_request("/v1/messages").respond_with_data(text, content_type="text/event-stream")
    with running(config(server, "anthropic")) as gateway:
        reply = gateway.post("/v1/responses", response("m", stream=True))
        final = check_stream(reply.text)
        assert final["output"][0]["content"][0]["text"] == "Good morning."
        chunks = gateway.post("/v1/chat/completions", chat("m", stream=True)).text
        assert chunks.endswith("data: [DONE]\n\n")
        said = [json.loads(line[6:]) for line in chunks.splitlines() if '"delta":' in line]
    texts = [one["choices"][0]["delta"].get("content") or "" for one in said]
    assert "".join(texts) == "Good morning."


def test_embeddings_come_from_the_first_link_that_gives_them(server: HTTPServer) -> None:
    vectors = {
        "object": "list", "model": "e", "usage": {"prompt_tokens": 2, "total_tokens": 2},
        "data": [{"object": "embedding", "index": 0, "embedding": [0.5, 0.25]}],
    }  # fmt: skip
    server.expect_request("/v1/embeddings", method="POST").respond_with_json(vectors)
    good = {"base_url": server.url_for("/v1"), "attempts": 1}
    down = {"base_url": "http://127.0.0.1:9/v1", "attempts": 1}
    made = settings("", providers={"down": down, "good": good}, models={"e": ["down:e", "good:e"]})
    with running(made) as gateway:
        reply = gateway.post("/v1/embeddings", {"model": "e", "input": ["x"]})
        assert reply.json()["data"][0]["embedding"] == [0.5, 0.25]
        wrong = gateway.post("/v1/embeddings", {"model": "e", "input": []})
        assert (wrong.status_code, wrong.json()["error"]["param"]) == (400, "input")


def test_browsers_of_named_origins_may_call_the_api_and_nothing_else() -> None:
    with RefusingEndpoint("enforce") as endpoint:
        made = settings(endpoint.base_url, cors={"origins": ["https://app.example"]})
        with running(made) as gateway:
            asked = gateway.client.request(
                "OPTIONS",
                "/v1/responses",
                headers={
                    "origin": "https://app.example",
                    "access-control-request-method": "POST",
                    "access-control-request-headers": "authorization,x-stainless-os",
                },
            )
            assert asked.status_code == 204
            assert asked.headers["access-control-allow-origin"] == "https://app.example"
            assert asked.headers["access-control-allow-headers"] == "authorization,x-stainless-os"
            assert asked.headers["vary"] == "origin"  # a cache must not give it to another one
            reply = gateway.post("/v1/responses", response("enforce"), origin="https://app.example")
            assert reply.headers["access-control-allow-origin"] == "https://app.example"
            for path, origin in (("/", "https://app.example"), ("/v1/models", "https://x.example")):
                shown = gateway.get(path, origin=origin)
                assert "access-control-allow-origin" not in shown.headers


def test_a_disabled_endpoint_is_a_404_and_a_path_nobody_has_too() -> None:
    made = settings("http://127.0.0.1:9/v1", endpoints={"responses": {"enabled": True}})
    with running(made) as gateway:
        for reply in (
            gateway.post("/v1/chat/completions", chat("m")),
            gateway.get("/v1/nothing"),
        ):
            assert (reply.status_code, reply.json()["error"]["code"]) == (404, "not_found")
