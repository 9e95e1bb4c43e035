"""Line by line what a request may hold, in which order it is checked, and what of it goes upstream."""

from __future__ import annotations

import hashlib
import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from pytest_httpserver import HTTPServer
from websockets.sync.client import connect

from structguard.gateway import socket as sockets
from structguard.testing import RefusingEndpoint
from tests.gateway.conformance import check_resource
from tests.gateway.support import (
    CHAT_FORMAT,
    TEXT_FORMAT,
    Running,
    chat,
    embedded_config,
    response,
    running,
    settings,
)
from tests.gateway.upstream import Upstream

Json = dict[str, Any]
HASH = hashlib.sha256(b"right").hexdigest()
DOCUMENT = json.loads(
    (Path(__file__).parents[1] / "data" / "openresponses-2026-04-24.json").read_text()
)
TOOL: Json = {"type": "function", "name": "f", "parameters": {"type": "object", "properties": {}}}
PIXEL = "data:image/png;base64,iVBORw0KGgo="
RESOURCE: Json = {
    "id": "resp_1", "object": "response", "created_at": 1, "model": "m", "status": "completed",
    "output": [{"type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
                "content": [{"type": "output_text", "text": "Hi.", "annotations": []}]}],
}  # fmt: skip


@pytest.fixture(scope="module")
def gateway(chat_upstream: Upstream) -> Iterator[Running]:
    with running(settings(chat_upstream.base_url)) as made:
        yield made


def test_null_is_absent_for_every_field(gateway: Running) -> None:
    fields = DOCUMENT["components"]["schemas"]["CreateResponseBody"]["properties"]
    body = {**dict.fromkeys(fields), "model": "text", "input": "Where?"}
    check_resource(gateway.post("/v1/responses", body).json())
    parts = {"type": "message", "role": "user", "id": None, "status": None, "phase": None,
             "content": [{"type": "input_text", "text": "Where?"},
                         {"type": "input_image", "image_url": PIXEL, "detail": None}]}  # fmt: skip
    tool = {**TOOL, "description": None, "strict": None}
    inner: Json = {"text": {"format": None, "verbosity": None},
             "reasoning": {"effort": None, "summary": None}, "tools": [tool], "input": [parts]}  # fmt: skip
    check_resource(gateway.post("/v1/responses", {**body, **inner}).json())
    names = ("temperature", "top_p", "stream", "stream_options", "response_format", "tools", "stop",
             "tool_choice", "max_tokens", "max_completion_tokens", "n", "seed", "user",
             "reasoning_effort", "frequency_penalty", "presence_penalty")  # fmt: skip
    assert gateway.post("/v1/chat/completions", {**chat("text"), **dict.fromkeys(names)}).is_success


def test_the_first_fault_in_the_order_of_checks_is_the_one_that_is_told(
    chat_upstream: Upstream,
) -> None:
    """Each request has all the faults from its own on; mending one uncovers the next."""
    up = {"a": {"base_url": chat_upstream.base_url}, "b": {"base_url": chat_upstream.base_url}}
    limits = {"body": 400, "body_seconds": 0.4, "concurrent": 1}
    auth = {"token_hashes": [HASH]}
    right = {"authorization": "Bearer right"}
    made = settings("", providers=up, limits=limits, auth=auth)
    with running(made) as gateway:
        gateway.app.core.busy += 1  # as many as may be

        def told(method: str, path: str, content: bytes, **headers: str) -> tuple[int, object]:
            reply = gateway.client.request(method, path, content=content, headers=headers)
            return reply.status_code, reply.json()["error"]["code"]

        large, nowhere = b"x" * 500, "/v1/chat/completion"
        assert told("PUT", nowhere, large) == (404, "not_found")
        assert told("PUT", "/v1/responses", large) == (405, "method_not_allowed")
        assert told("POST", "/v1/responses", large) == (401, "invalid_api_key")
        assert told("POST", "/v1/responses", large, **right) == (413, None)
        assert told("POST", "/v1/responses", b"{", **right) == (400, "invalid_json")
        wrong = json.dumps({"model": "none", "input": 5}).encode()
        assert told("POST", "/v1/responses", wrong, **right) == (400, None)
        other = json.dumps({"model": "none", "input": "x"}).encode()
        assert told("POST", "/v1/responses", other, **right) == (404, "model_not_found")
        sound = json.dumps({"model": "a:text", "input": "x"}).encode()
        assert told("POST", "/v1/responses", sound, **right) == (429, "too_many_requests")
        gateway.app.core.busy -= 1
        assert gateway.client.post("/v1/responses", content=sound, headers=right).is_success


def test_unknown_fields_go_upstream_where_the_wire_has_a_place(
    gateway: Running, chat_upstream: Upstream
) -> None:
    body = response("text", min_p=0.05, x_vendor={"a": 1})
    assert gateway.post("/v1/responses", body).is_success  # over chat
    assert (chat_upstream.asked[-1]["min_p"], chat_upstream.asked[-1]["x_vendor"]) == (
        0.05,
        {"a": 1},
    )
    assert gateway.post("/v1/chat/completions", chat("text", min_p=0.05)).is_success
    assert chat_upstream.asked[-1]["min_p"] == 0.05


def test_what_agents_send_along_passes_to_an_upstream_on_the_responses_wire() -> None:
    tools = [{"type": "web_search"}, {"type": "custom", "name": "apply_patch"},
             {"type": "namespace", "name": "n", "tools": [TOOL]}]  # fmt: skip
    items = [{"role": "user", "content": "x", "phase": None},
             {"type": "reasoning", "summary": [], "encrypted_content": "theirs"}]  # fmt: skip
    body = response("m", tools=tools, input=items, min_p=0.05, client_metadata={"a": "b"})
    with HTTPServer(host="127.0.0.1") as server:
        server.expect_request("/v1/responses").respond_with_json(RESOURCE)
        up = {"base_url": server.url_for("/v1"), "api": "responses", "attempts": 1}
        with running(settings("", providers={"up": up})) as gateway:
            reply = gateway.post("/v1/responses", body)
        [(request, _)] = server.log
    assert reply.is_success
    assert json.loads(request.data) == body
    assert "x-structguard-warning" not in reply.headers


def test_history_without_ids_and_tools_without_strict_are_taken(
    gateway: Running, chat_upstream: Upstream
) -> None:
    history = [
        {"role": "user", "content": "What is the weather?"},
        {"role": "assistant", "content": "Let me look."},
        {"type": "function_call", "call_id": "call_1", "name": "f", "arguments": "{}"},
        {"type": "function_call", "call_id": "call_2", "name": "f", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "call_1", "output": "1"},
        {"type": "function_call_output", "call_id": "call_2",
         "output": [{"type": "input_text", "text": "2"}]},
    ]  # fmt: skip
    reply = gateway.post("/v1/responses", response("text", input=history, tools=[TOOL]))
    assert check_resource(reply.json())["tools"][0]["strict"] is False
    roles = [message["role"] for message in chat_upstream.asked[-1]["messages"]]
    assert roles == ["user", "assistant", "tool", "tool"]  # one message of text and calls
    assert len(chat_upstream.asked[-1]["messages"][1]["tool_calls"]) == 2


@pytest.mark.parametrize("format_", [TEXT_FORMAT, {"type": "json_object"}, {"type": "text"}])
def test_every_text_format_is_taken(
    gateway: Running, chat_upstream: Upstream, format_: Json
) -> None:
    reply = gateway.post("/v1/responses", response("json", text={"format": format_}))
    told = check_resource(reply.json())["text"]["format"]
    assert told["type"] == format_["type"]
    sent = chat_upstream.asked[-1].get("response_format")
    assert (sent or {"type": "text"})["type"] == format_["type"]


@contextmanager
def canary() -> Iterator[tuple[str, list[object]]]:
    """An address that nobody may ask, and who did."""
    asked: list[object] = []
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(0.1)
        done = threading.Event()

        def wait() -> None:
            while not done.is_set():
                with suppress(TimeoutError):
                    connection, peer = listening.accept()
                    connection.close()
                    asked.append(peer)

        thread = threading.Thread(target=wait)
        thread.start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/x.png", asked
        done.set()
        thread.join()


CLAUDE = {"type": "message", "role": "assistant", "content": [], "stop_reason": "end_turn"}


@pytest.mark.parametrize("kind", ["openai_compat", "anthropic", "google", "bedrock"])
def test_no_url_of_a_client_is_fetched(kind: str) -> None:
    with canary() as (url, asked), HTTPServer(host="127.0.0.1") as server:
        server.expect_request("/v1/messages").respond_with_json(CLAUDE)
        up = {"kind": kind, "base_url": server.url_for("/v1" if kind == "openai_compat" else "/"),
              "api_key_env": "K", "attempts": 1,
              **({"region": "us-east-1"} if kind == "bedrock" else {})}  # fmt: skip
        image = {"type": "input_image", "image_url": url}
        file = {"type": "input_file", "file_url": url, "filename": "x.pdf"}
        with running(settings("", environ={"K": "k"}, providers={"up": up})) as gateway:
            for part in (image, file):
                content = [{"type": "input_text", "text": "What is this?"}, part]
                item = {"role": "user", "content": content}
                reply = gateway.post("/v1/responses", response("m", input=[item]))
                assert reply.status_code != 500, reply.text
            body = {"model": "m", "messages": [{"role": "user", "content": [
                {"type": "image_url", "image_url": {"url": url}}]}]}  # fmt: skip
            assert gateway.post("/v1/chat/completions", body).status_code != 500
            schema = {"$ref": url}
            told = {"type": "json_schema", "json_schema": {"name": "a", "schema": schema}}
            assert gateway.post("/v1/chat/completions", chat("m", response_format=told)).status_code != 500  # fmt: skip
        assert asked == []


def test_how_a_list_is_to_be_read_is_never_ignored(gateway: Running) -> None:
    kept = gateway.post("/v1/responses", response("text", input="One?")).json()["id"]
    path = f"/v1/responses/{kept}/input_items"
    assert gateway.get(f"{path}?order=asc&limit=1").status_code == 200
    for query, param in (("order=up", "order"), ("after=msg_none", "after"), ("limit=0", "limit")):
        told = gateway.get(f"{path}?{query}")
        assert (told.status_code, told.json()["error"]["param"]) == (400, param)


def test_an_upstreams_redirect_is_not_followed() -> None:
    with canary() as (url, asked), HTTPServer(host="127.0.0.1") as server:
        server.expect_request("/v1/chat/completions").respond_with_data(
            "", 307, headers={"location": url}
        )
        with running(settings(server.url_for("/v1"))) as gateway:
            reply = gateway.post("/v1/chat/completions", chat("m"))
        assert reply.status_code == 502
        assert asked == []
        assert url not in reply.text


def test_a_socket_says_no_done_and_ends_after_its_time(
    gateway: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert sockets.LIFE == 3600.0
    monkeypatch.setattr(sockets, "LIFE", 0.5)
    with connect(gateway.url.replace("http", "ws") + "/v1/responses", proxy=None) as one:
        one.send(json.dumps({"type": "response.create", "model": "text", "input": "x"}))
        messages = [str(message) for message in one]  # until it is closed
        assert (one.close_code, one.close_reason) == (1001, "60 min")
    assert json.loads(messages[-1])["type"] == "response.completed"
    assert not any("[DONE]" in message for message in messages)


def test_a_response_under_way_outlives_its_sockets_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sockets, "LIFE", 0.2)
    with (
        RefusingEndpoint("slow", delay=0.8) as endpoint,
        running(embedded_config(endpoint.base_url)) as made,
        connect(made.url.replace("http", "ws") + "/v1/responses", proxy=None) as one,
    ):
        for _ in range(2):  # the second would begin after its time
            one.send(json.dumps({"type": "response.create", "model": "slow", "input": "x"}))
        kinds = [json.loads(message)["type"] for message in one]  # until it is closed
        assert (one.close_code, one.close_reason) == (1001, "60 min")
    assert kinds.count("response.created") == kinds.count("response.completed") == 1


def test_the_client_s_own_credential_is_passed_on_only_where_a_file_says_so(
    chat_upstream: Upstream,
) -> None:
    own = {"base_url": chat_upstream.base_url}
    for table, sent in ((own, None), ({**own, "credential": "client"}, "Bearer sk-mine")):
        with running(settings("", providers={"up": table})) as gateway:
            reply = gateway.post(
                "/v1/chat/completions", chat("text"), authorization="Bearer sk-mine"
            )
        assert reply.is_success
        assert chat_upstream.headers[-1].get("authorization") == sent


def test_a_format_that_no_wire_can_read_is_a_400_that_names_it(gateway: Running) -> None:
    wrong = {"type": "json_schema", "name": "a", "schema": {"type": "nothing"}}
    reply = gateway.post("/v1/responses", response("text", text={"format": wrong}))
    assert reply.status_code in {200, 400}  # an upstream may take what no validator does
    bad: Json = {**CHAT_FORMAT, "json_schema": {"name": "a", "schema": 5}}
    told = gateway.post("/v1/chat/completions", chat("text", response_format=bad))
    assert told.status_code == 400
    assert told.json()["error"]["param"].startswith("response_format")
