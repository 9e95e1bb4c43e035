"""What is JSON and not for orjson: half a surrogate pair, an integer beyond 64 bits. No answer is lost."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given, strategies as st
from pytest_httpserver import HTTPServer
from werkzeug import Response

from structguard.gateway.writing import MARK, TOO_DEEP, packed, unpacked
from tests.gateway.support import chat, response, running, settings
from tests.gateway.upstream import chunks, reply

Json = dict[str, Any]
CHAT, RESPONSES = "/v1/chat/completions", "/v1/responses"
HALF, LARGE = "half \ud83d of it", 2**70
LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.text(st.characters(codec=None)),
    st.floats(-1e9, 1e9),
)
VALUES = st.recursive(
    LEAVES, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=8
)


@given(VALUES)
def test_what_was_packed_is_unpacked(value: object) -> None:
    text = packed(value)
    assert unpacked(text) == value
    assert unpacked(text.decode()) == value
    assert json.loads(text) == value


def test_only_what_orjson_cannot_hold_is_marked() -> None:
    assert not packed({"a": "\U0001f600", "n": 2**63}).startswith(MARK)
    for value in (HALF, LARGE, {HALF: 1}):
        assert packed(value).startswith(MARK)


def test_what_is_too_deep_is_still_told_apart() -> None:
    value: object = None
    for _ in range(300):
        value = [value]
    with pytest.raises(orjson.JSONEncodeError, match=TOO_DEEP):
        packed(value)
    with pytest.raises(TypeError):
        packed(object())


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("store", ["memory", "disk"])
def test_half_a_pair_crosses_and_is_kept(
    store: str, httpserver: HTTPServer, tmp_path: Path, *, stream: bool
) -> None:
    message = {"content": HALF, "reasoning_details": [{"type": "reasoning.text", "n": LARGE}]}
    events = "".join(f"data: {json.dumps(one)}\n\n" for one in chunks(message, "stop"))
    answer = (
        Response(events + "data: [DONE]\n\n", content_type="text/event-stream")
        if stream
        else Response(json.dumps(reply(message)), content_type="application/json")
    )
    httpserver.expect_request(CHAT).respond_with_response(answer)
    up = {"base_url": httpserver.url_for("/v1"), "api": "chat", "attempts": 1}
    url = "memory:" if store == "memory" else f"disk:{tmp_path}"
    with running(settings("", providers={"up": up}, store={"url": url})) as gateway:
        first = gateway.post(RESPONSES, response("m", stream=stream))
        assert first.status_code == 200, first.text
        told = [line[5:] for line in first.text.split("\n") if line.startswith("data:")]
        resource = json.loads(told[-2])["response"] if stream else json.loads(first.text)
        assert said(resource) == HALF
        kept = gateway.get(f"{RESPONSES}/{resource['id']}")
        assert kept.status_code == 200, kept.text
        assert said(json.loads(kept.text)) == HALF
        body = response("m", previous_response_id=resource["id"], stream=stream)
        assert gateway.post(RESPONSES, body).status_code == 200
    again = json.loads(httpserver.log[1][0].get_data())["messages"]
    assert again[1]["content"] == HALF


def said(resource: Json) -> str:
    text: str = resource["output"][-1]["content"][0]["text"]
    return text


@pytest.mark.parametrize("stream", [False, True])
def test_half_a_pair_of_a_responses_upstream_reaches_a_chat_client(
    httpserver: HTTPServer, *, stream: bool
) -> None:
    part = {"type": "output_text", "text": HALF, "annotations": []}
    item = {"type": "message", "id": "m1", "role": "assistant", "content": [part]}
    whole = {"id": "r", "object": "response", "status": "completed", "output": [item]}
    delta = {"type": "response.output_text.delta", "output_index": 0, "content_index": 0,
             "item_id": "m1", "delta": HALF}  # fmt: skip
    events = "".join(
        f"event: {one['type']}\ndata: {json.dumps(one)}\n\n"
        for one in (delta, {"type": "response.completed", "response": whole})
    )
    answer = (
        Response(events, content_type="text/event-stream")
        if stream
        else Response(json.dumps(whole), content_type="application/json")
    )
    httpserver.expect_request(RESPONSES).respond_with_response(answer)
    up = {"base_url": httpserver.url_for("/v1"), "api": "responses", "attempts": 1}
    with running(settings("", providers={"up": up})) as gateway:
        found = gateway.post(CHAT, chat("m", stream=stream))
    assert found.status_code == 200, found.text
    assert json.dumps(HALF)[1:-1] in found.text


def test_a_chat_bodys_own_text_does_not_take_the_formats_place(httpserver: HTTPServer) -> None:
    whole = {"id": "r", "object": "response", "status": "completed", "output": [
        {"type": "message", "content": [{"type": "output_text", "text": "Bonn."}]}]}  # fmt: skip
    httpserver.expect_request(RESPONSES).respond_with_json(whole)
    up = {"base_url": httpserver.url_for("/v1"), "api": "responses", "attempts": 1}
    with running(settings("", providers={"up": up})) as gateway:
        refused = [
            gateway.post(CHAT, chat("m", text=text)) for text in ({"format": {"type": "x"}}, "x", 1)
        ]
        taken = gateway.post(CHAT, chat("m", text={"verbosity": "low"}))
        both = gateway.post(CHAT, chat("m", text={"other": 1}, verbosity="high"))
    assert [(one.status_code, one.json()["error"]["param"]) for one in refused] == [
        (400, "text")
    ] * 3
    assert (taken.status_code, both.status_code) == (200, 200)
    sent = [request.get_json()["text"] for request, _ in httpserver.log]
    assert sent == [{"verbosity": "low"}, {"other": 1, "verbosity": "high"}]
