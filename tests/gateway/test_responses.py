"""POST /v1/responses: every resource and every event by the Open Responses document."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from structguard.testing import RefusingEndpoint
from tests.gateway.conformance import check_resource, check_stream, events_of
from tests.gateway.support import (
    TEXT_FORMAT,
    VALUE,
    Running,
    embedded_config,
    response,
    running,
    settings,
)
from tests.gateway.upstream import SAYS, Upstream

Json = dict[str, Any]
TOOL = {
    "type": "function",
    "name": "get_weather",
    "description": "Weather",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
}


@pytest.fixture(scope="module")
def translated(chat_upstream: Upstream) -> Iterator[Running]:
    """The gateway over an upstream that speaks chat only."""
    with running(settings(chat_upstream.base_url)) as gateway:
        yield gateway


@pytest.fixture(scope="module")
def native(enforcing: RefusingEndpoint) -> Iterator[Running]:
    """The gateway over an upstream that speaks responses, with gaps in its resources."""
    with running(embedded_config(enforcing.base_url)) as gateway:
        yield gateway


STATUSES = {
    "cut": ("incomplete", "max_output_tokens"),
    "long": ("incomplete", "max_output_tokens"),
    "filtered": ("incomplete", "content_filter"),
}


@pytest.mark.parametrize("model", sorted(SAYS))
def test_a_translated_reply_is_a_whole_resource(translated: Running, model: str) -> None:
    reply = translated.post("/v1/responses", response(model, tools=[TOOL]))
    resource = check_resource(reply.json())
    status, reason = STATUSES.get(model, ("completed", None))
    assert resource["status"] == status
    assert (resource["incomplete_details"] or {}).get("reason") == reason
    assert resource["tools"][0]["strict"] is False
    assert resource["usage"]["input_tokens_details"] == {"cached_tokens": 0}
    assert reply.headers["x-structguard-provider"] == "up"


@pytest.mark.parametrize("model", sorted(SAYS))
def test_a_translated_stream_keeps_the_order_and_ends_in_the_same_items(
    translated: Running, model: str
) -> None:
    whole = translated.post("/v1/responses", response(model)).json()
    reply = translated.post("/v1/responses", response(model, stream=True))
    assert reply.headers["content-type"].startswith("text/event-stream")
    final = check_stream(reply.text)
    shown = [{k: v for k, v in item.items() if k != "id"} for item in final["output"]]
    assert shown == [{k: v for k, v in item.items() if k != "id"} for item in whole["output"]]
    assert final["status"] == whole["status"]


def test_text_and_calls_of_one_turn_are_items_in_order(translated: Running) -> None:
    output = translated.post("/v1/responses", response("both", tools=[TOOL])).json()["output"]
    assert [item["type"] for item in output] == ["message", "function_call", "function_call"]


def test_calls_and_the_text_before_them_go_back_as_one_assistant_message(
    translated: Running, chat_upstream: Upstream
) -> None:
    first = translated.post("/v1/responses", response("both", tools=[TOOL])).json()
    output = {"type": "function_call_output", "call_id": "call_1", "output": "sunny"}
    again = response("text", tools=[TOOL])
    again["input"] = [{"role": "user", "content": "Where?"}, *first["output"], output]
    assert translated.post("/v1/responses", again).status_code == 200
    messages = chat_upstream.asked[-1]["messages"]
    assert [message["role"] for message in messages] == ["user", "assistant", "tool"]
    assert messages[1]["content"] == "Let me look."
    assert len(messages[1]["tool_calls"]) == 2


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("model", ["enforce", "refuse400", "refuse404", "refuse200", "fenced"])
def test_the_structured_answer_arrives_whatever_the_upstream_does(
    native: Running, model: str, *, stream: bool
) -> None:
    for _ in range(2):
        reply = native.post(
            "/v1/responses", response(model, text={"format": TEXT_FORMAT}, stream=stream)
        )
        final = check_stream(reply.text) if stream else check_resource(reply.json())
        assert json.loads(final["output"][0]["content"][0]["text"]) == VALUE
        refused = model.startswith("refuse")
        assert reply.headers["x-structguard-enforced"] == ("false" if refused else "true")
        if stream:
            text = "".join(
                event["delta"]
                for event in events_of(reply.text)
                if event["type"] == "response.output_text.delta"
            )
            assert json.loads(text) == VALUE


@pytest.mark.parametrize("stream", [False, True])
def test_a_translated_structured_answer_is_healed(translated: Running, *, stream: bool) -> None:
    reply = translated.post(
        "/v1/responses", response("prose", text={"format": TEXT_FORMAT}, stream=stream)
    )
    final = check_stream(reply.text) if stream else check_resource(reply.json())
    assert json.loads(final["output"][0]["content"][0]["text"]) == VALUE
    assert final["text"]["format"]["schema"] is None


def test_a_refused_format_costs_two_requests_once(enforcing: RefusingEndpoint) -> None:
    with running(embedded_config(enforcing.base_url)) as gateway:
        body = response("refuse400", text={"format": TEXT_FORMAT})
        spent = [
            gateway.post("/v1/responses", body).headers["x-structguard-requests"] for _ in range(3)
        ]
    assert spent == ["2", "1", "1"]


def test_an_upstream_without_responses_is_asked_over_chat_from_then_on(
    chat_upstream: Upstream,
) -> None:
    with running(embedded_config(chat_upstream.base_url)) as gateway:
        before = len(chat_upstream.asked)
        for _ in range(2):
            check_resource(gateway.post("/v1/responses", response("text")).json())
    asked = chat_upstream.asked[before:]
    assert ["messages" in body for body in asked] == [False, True, True]


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"background": True}, "background"),
        ({"temperature": "warm"}, "temperature"),
        ({"input": [{"role": "nobody", "content": "x"}]}, "input[0].role"),
        ({"tools": [{"type": "function"}]}, "tools[0].name"),
        ({"tools": [{"type": "file_search"}]}, "tools"),
        ({"input": None}, "input"),
        ({"conversation": "conv_1"}, "conversation"),
        ({"previous_response_id": "resp_none"}, "previous_response_id"),
    ],
)
def test_what_cannot_be_honoured_is_a_400_that_names_it(
    translated: Running, fields: Json, param: str
) -> None:
    reply = translated.post("/v1/responses", response("text", **fields))
    assert reply.status_code == 400
    error = reply.json()["error"]
    assert set(error) == {"message", "type", "param", "code"}
    assert error["param"] == param


def test_tools_that_agents_send_along_are_left_out_with_a_warning(
    translated: Running, chat_upstream: Upstream
) -> None:
    tools = [TOOL, {"type": "web_search"}, {"type": "custom", "name": "apply_patch"}]
    reply = translated.post("/v1/responses", response("text", tools=tools))
    assert reply.status_code == 200
    assert "web_search" in reply.headers["x-structguard-warning"]
    assert [tool["function"]["name"] for tool in chat_upstream.asked[-1]["tools"]] == [
        "get_weather"
    ]


@pytest.mark.parametrize(
    "fields",
    [
        {"instructions": "Be brief.", "temperature": None, "tools": None},
        {"input": [{"type": "message", "role": "system", "content": "Speak like a pirate."},
                   {"type": "message", "role": "user", "content": "Say hello."}]},
        {"input": [{"type": "message", "role": "user", "content": [
            {"type": "input_text", "text": "What is this?"},
            {"type": "input_image", "image_url": "data:image/png;base64,iVBORw0KGgo="}]}]},
        {"input": [{"role": "user", "content": "My name is Alice."},
                   {"type": "message", "role": "assistant", "phase": "final_answer",
                    "content": [{"type": "output_text", "text": "Hello Alice!"}]},
                   {"role": "user", "content": "What is my name?"}]},
        {"tools": [TOOL], "tool_choice": "required"},
        {"tools": [TOOL], "tool_choice": {"type": "function", "name": "get_weather"}},
        {"tools": [TOOL], "tool_choice": {"type": "allowed_tools", "mode": "auto",
                                          "tools": [{"type": "function", "name": "get_weather"}]}},
        {"reasoning": {"effort": "low", "summary": "auto"}, "store": False, "top_logprobs": 0,
         "include": ["reasoning.encrypted_content"], "truncation": "disabled",
         "parallel_tool_calls": True, "metadata": {"a": "b"}, "service_tier": "auto",
         "safety_identifier": "u", "prompt_cache_key": "k", "max_output_tokens": 64,
         "text": {"verbosity": "low", "format": {"type": "text"}}, "unknown_field": 1},
    ],
)  # fmt: skip
@pytest.mark.parametrize("stream", [False, True])
def test_what_the_document_allows_is_taken(
    translated: Running, fields: Json, *, stream: bool
) -> None:
    reply = translated.post("/v1/responses", response("text", **fields, stream=stream))
    assert reply.status_code == 200, reply.text
    final = check_stream(reply.text) if stream else check_resource(reply.json())
    assert final["store"] is (fields.get("store") is not False)
    assert final["metadata"] == fields.get("metadata", {})


def test_a_stream_that_breaks_tells_the_error_and_fails(translated: Running) -> None:
    reply = translated.post("/v1/responses", response("breaks", stream=True))
    events = events_of(reply.text)
    assert [event["type"] for event in events[-2:]] == ["error", "response.failed"]
    final = check_stream(reply.text)
    assert final["error"]["code"]
    assert "127.0.0.1" not in reply.text


def test_an_unusable_answer_is_an_error_where_the_settings_say_so(chat_upstream: Upstream) -> None:
    config = settings(chat_upstream.base_url, guard={"memo": "memory:", "on_unusable": "error"})
    with running(config) as gateway:
        body = response("text", text={"format": TEXT_FORMAT})
        reply = gateway.post("/v1/responses", body)
        assert (reply.status_code, reply.json()["error"]["code"]) == (502, "unusable_answer")
        streamed = gateway.post("/v1/responses", {**body, "stream": True})
        assert check_stream(streamed.text)["error"]["code"] == "unusable_answer"


@pytest.mark.parametrize(
    ("item", "param"),
    [
        ({"role": "tool", "content": "x"}, "input[1].role"),
        ({"role": "user", "content": None}, "input[1].content"),
        ({"role": "user", "content": [{"text": "x"}]}, "input[1].content[0].type"),
        ({"content": "x"}, "input[1].role"),
        ({"type": "function_call", "call_id": "c", "name": "f"}, "input[1].arguments"),
        ({"type": "function_call_output", "output": "x"}, "input[1].call_id"),
        ({"type": "compaction"}, "input[1].encrypted_content"),
        ({"type": "item_reference"}, "input[1].id"),
        ({}, "input[1]"),
        ("x", "input[1]"),
    ],
)
def test_a_faulty_item_is_told_by_its_first_fault(
    translated: Running, item: object, param: str
) -> None:
    body = response("text", input=[{"role": "user", "content": "One?"}, item])
    reply = translated.post("/v1/responses", body)
    told = reply.json()["error"]
    assert (reply.status_code, told["param"]) == (400, param)
    assert "anyOf" not in told["message"] or param == "input[1]"
