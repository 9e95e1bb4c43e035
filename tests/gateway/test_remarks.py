"""A turn under a format that says something and then calls: the words are a remark, no failed answer."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.gateway.conformance import check_stream
from tests.gateway.support import VALUE, json_request, running, settings
from tests.gateway.wires import WIRES, Voice, speaking

Json = dict[str, Any]
CHAT, RESPONSES = "/v1/chat/completions", "/v1/responses"
TOOL: Json = {"type": "function", "name": "get_weather"}
REMARKS = {"prose": "Let me look.", "fenced": f"```json\n{json.dumps(VALUE)}\n```"}


def with_tool(path: str, **fields: object) -> Json:
    """A body that asks for JSON and offers a tool."""
    nested = {"type": "function", "function": {"name": "get_weather"}}
    return json_request(path, "m", tools=[nested if path == CHAT else TOOL], **fields)


def said(path: str, text: str, *, stream: bool) -> tuple[str, list[str]]:
    """The text of a reply, and the calls after it; on responses their order is checked."""
    if path == RESPONSES:
        output = (check_stream(text) if stream else json.loads(text))["output"]
        assert [item["type"] for item in output] == ["message", "function_call"]
        return output[0]["content"][0]["text"], [output[1]["name"]]
    if not stream:
        given = json.loads(text)["choices"][0]["message"]
        return given["content"], [one["function"]["name"] for one in given["tool_calls"]]
    lines = [json.loads(line[6:]) for line in text.splitlines() if line.startswith("data: {")]
    deltas = [choice["delta"] for one in lines for choice in one["choices"]]
    calls = [one["function"] for delta in deltas for one in delta.get("tool_calls") or ()]
    names = [one["name"] for one in calls if one.get("name")]
    return "".join(delta.get("content") or "" for delta in deltas), names


@pytest.mark.parametrize("on_unusable", ["text", "error"])
@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("path", [CHAT, RESPONSES])
@pytest.mark.parametrize("wire", WIRES)
def test_words_before_a_call_are_no_failed_answer(
    wire: str, path: str, on_unusable: str, *, stream: bool
) -> None:
    guard = {"memo": "memory:", "on_unusable": on_unusable}
    with speaking(wire, Voice(remark=REMARKS["prose"])) as provider:
        made = settings("", environ={"K": "k"}, providers={"up": provider}, guard=guard)
        with running(made) as gateway:
            reply = gateway.post(path, with_tool(path, stream=stream))
    assert (reply.status_code, reply.headers["x-structguard-enforced"]) == (200, "true")
    assert said(path, reply.text, stream=stream) == ("Let me look.", ["get_weather"])
    assert '"x-structguard-enforced":"false"' not in reply.text


@pytest.mark.parametrize("wire", WIRES)
def test_a_value_before_a_call_is_healed_and_stands_before_it(wire: str) -> None:
    with speaking(wire, Voice(remark=REMARKS["fenced"])) as provider:
        made = settings("", environ={"K": "k"}, providers={"up": provider})
        with running(made) as gateway:
            reply = gateway.post(RESPONSES, with_tool(RESPONSES, stream=True))
    text, _ = said(RESPONSES, reply.text, stream=True)
    assert json.loads(text) == VALUE


@pytest.mark.parametrize("wire", ["chat", "responses"])
def test_words_before_calls_are_no_answers_in_prose(wire: str) -> None:
    """After so many the schema would go into the prompt, for an endpoint that enforces it."""
    guard = {"memo": "memory:", "ignored_after": 1}
    path = CHAT if wire == "chat" else RESPONSES
    with speaking(wire, Voice(remark=REMARKS["prose"])) as provider:
        made = settings("", environ={"K": "k"}, providers={"up": provider}, guard=guard)
        with running(made) as gateway:
            for _ in range(2):
                assert gateway.post(path, with_tool(path)).status_code == 200
            assert gateway.app.core.memo.entries() == []
