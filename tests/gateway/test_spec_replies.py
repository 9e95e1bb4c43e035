"""Line by line what a reply holds, whole and streamed, where it was made here and where it passed."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from typing import Any

import pytest
from pytest_httpserver import HTTPServer

from structguard.gateway.resource import REQUIRED
from structguard.gateway.sequence import Sequence
from structguard.testing import RefusingEndpoint
from structguard.types import Completion, Reasoning, TextDelta, ToolCall, ToolCalled
from tests.gateway.conformance import check_resource, check_stream, events_of
from tests.gateway.load.mix import objects
from tests.gateway.support import (
    CHAT_FORMAT,
    SCHEMA,
    TEXT_FORMAT,
    VALUE,
    Running,
    chat,
    embedded_config,
    response,
    running,
    settings,
)
from tests.gateway.upstream import Upstream

Json = dict[str, Any]
TOOL: Json = {"type": "function", "name": "get_weather", "parameters": {"type": "object"}}


@pytest.fixture(scope="module")
def translated(chat_upstream: Upstream) -> Iterator[Running]:
    with running(settings(chat_upstream.base_url)) as made:
        yield made


@pytest.fixture(scope="module")
def native() -> Iterator[Running]:
    """Over an upstream that speaks Responses and leaves out what it likes."""
    with (
        RefusingEndpoint("enforce", value=VALUE) as endpoint,
        running(embedded_config(endpoint.base_url)) as made,
    ):
        yield made


@pytest.fixture(params=["translated", "native"])
def gateway(request: pytest.FixtureRequest) -> Running:
    found: Running = request.getfixturevalue(request.param)
    return found


def model(gateway: Running, translated: Running) -> str:
    return "json" if gateway is translated else "enforce"


def test_all_required_fields_are_there_and_whole_numbers_are_whole(
    gateway: Running, translated: Running
) -> None:
    assert len(REQUIRED) == 31
    for stream in (False, True):
        body = response(model(gateway, translated), stream=stream, tools=[TOOL])
        reply = gateway.post("/v1/responses", body)
        resource = check_stream(reply.text) if stream else check_resource(reply.json())
        assert resource.keys() >= REQUIRED
        for name in ("created_at", "completed_at", "top_logprobs"):
            assert type(resource[name]) is int, name
        usage = resource["usage"]
        assert all(type(usage[f"{kind}_tokens"]) is int for kind in ("input", "output", "total"))
        assert usage["input_tokens_details"] == {"cached_tokens": 0}
        assert usage["output_tokens_details"] == {"reasoning_tokens": 0}
        assert all(tool["strict"] is False for tool in resource["tools"])
        assert resource["text"]["format"] == {"type": "text"}


def test_an_upstreams_broken_numbers_become_whole() -> None:
    item = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
            "content": [{"type": "output_text", "text": "Hi.", "annotations": []}]}  # fmt: skip
    given = {"id": "resp_1", "object": "response", "created_at": 1700000000.25, "model": "m",
             "completed_at": 1700000001.0, "status": "completed", "output": [item],
             "usage": {"input_tokens": 3.0, "output_tokens": 4, "total_tokens": 7.0}}  # fmt: skip
    for whole in (given, {**dict.fromkeys(REQUIRED), **given}):
        with HTTPServer(host="127.0.0.1") as server:
            server.expect_request("/v1/responses").respond_with_json(whole)
            up = {"base_url": server.url_for("/v1"), "api": "responses", "attempts": 1}
            with running(settings("", providers={"up": up})) as gateway:
                resource = check_resource(gateway.post("/v1/responses", response("m")).json())
        assert resource["created_at"] == 1700000000
        assert type(resource["completed_at"]) is int
        assert type(resource["usage"]["input_tokens"]) is int


def test_ids_are_the_same_in_the_stream_and_in_its_last_object(
    gateway: Running, translated: Running
) -> None:
    reply = gateway.post("/v1/responses", response(model(gateway, translated), stream=True))
    events = events_of(reply.text)
    final = events[-1]["response"]
    assert {e["response"]["id"] for e in events if "response" in e} == {final["id"]}
    items = [e["item"]["id"] for e in events if e["type"] == "response.output_item.added"]
    assert items == [item["id"] for item in final["output"]]
    assert {e["item_id"] for e in events if "item_id" in e} <= set(items)
    assert gateway.get(f"/v1/responses/{final['id']}").json()["id"] == final["id"]


@pytest.mark.parametrize("echo", [False, True])
def test_the_format_is_echoed_with_its_schema_only_where_a_file_says_so(
    chat_upstream: Upstream, *, echo: bool
) -> None:
    made = settings(chat_upstream.base_url, guard={"memo": "memory:", "echo_schema": echo})
    with running(made) as gateway:
        told = gateway.post("/v1/responses", response("json", text={"format": TEXT_FORMAT})).json()
    format_ = told["text"]["format"]
    assert (format_["type"], format_["name"], format_["strict"]) == ("json_schema", "answer", True)
    assert format_["schema"] == (SCHEMA if echo else None)


def test_what_is_not_there_is_left_out_rather_than_null(translated: Running) -> None:
    for name in ("text", "thinks", "both"):
        reply = translated.post("/v1/responses", response(name, tools=[TOOL]))
        for item in reply.json()["output"]:
            assert item.get("phase", "") is not None
            assert item.get("encrypted_content", "") is not None


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("name", "status", "reason"),
    [
        ("text", "completed", None),
        ("tools", "completed", None),
        ("both", "completed", None),
        ("declines", "completed", None),
        ("long", "incomplete", "max_output_tokens"),
        ("filtered", "incomplete", "content_filter"),
    ],
)
def test_how_a_turn_ended(
    translated: Running, name: str, status: str, reason: str | None, *, stream: bool
) -> None:
    reply = translated.post("/v1/responses", response(name, tools=[TOOL], stream=stream))
    resource = check_stream(reply.text) if stream else check_resource(reply.json())
    details = resource["incomplete_details"]
    assert (resource["status"], details and details["reason"]) == (status, reason)


@pytest.mark.parametrize("stream", [False, True])
def test_a_call_that_was_cut_off_is_not_called_complete(
    translated: Running, *, stream: bool
) -> None:
    reply = translated.post("/v1/responses", response("cut", tools=[TOOL], stream=stream))
    resource = check_stream(reply.text) if stream else check_resource(reply.json())
    last = resource["output"][-1]
    assert (last["call_id"], last["status"]) == ("call_2", "incomplete")
    assert last["arguments"] == '{"zone":"E'


def test_a_call_is_whole_where_more_follows_it() -> None:
    start = {"id": "resp_1", "created_at": 1, "model": "m", "metadata": {}}
    one, two = (ToolCall(id=f"call_{at}", name="f", arguments="{}") for at in (1, 2))
    sequence = Sequence(start)
    events = [*sequence.feed(ToolCalled(one)), *sequence.feed(TextDelta("Now")),
              *sequence.feed(ToolCalled(two))]  # fmt: skip
    events += sequence.finish(Completion(text="Now", tool_calls=(one, two), finish="length"), {})
    done = [event["item"] for event in events if event["type"] == "response.output_item.done"]
    assert [(item["type"], item["status"]) for item in done] == [  # type: ignore[index]
        ("function_call", "completed"), ("message", "completed"), ("function_call", "incomplete")
    ]  # fmt: skip


def test_text_that_no_delta_told_is_one_delta() -> None:
    start = {"id": "resp_1", "created_at": 1, "model": "m", "metadata": {}}
    whole = Completion(
        text="All at once.",
        reasoning=(Reasoning(text="Hm."),),
        tool_calls=(ToolCall(id="call_1", name="f", arguments="{}"),),
    )
    events = list(Sequence(start).finish(whole, {}))
    deltas = [(e["type"], e["delta"]) for e in events if str(e["type"]).endswith(".delta")]
    assert deltas == [
        ("response.reasoning_summary_text.delta", "Hm."),
        ("response.output_text.delta", "All at once."),
        ("response.function_call_arguments.delta", "{}"),
    ]


def test_a_stream_is_named_numbered_flushed_and_never_packed(
    gateway: Running, translated: Running
) -> None:
    body = response(model(gateway, translated), stream=True)
    reply = gateway.post("/v1/responses", body, accept_encoding="gzip, br, zstd, deflate")
    assert "content-encoding" not in reply.headers
    assert reply.headers["content-type"].startswith("text/event-stream")
    assert reply.headers["x-accel-buffering"] == "no"
    blocks = reply.text.split("\n\n")
    assert blocks[-2:] == ["data: [DONE]", ""]
    for number, block in enumerate(blocks[:-2]):
        name, data = block.split("\n")
        event = json.loads(data.removeprefix("data: "))
        assert name == f"event: {event['type']}"
        assert event["sequence_number"] == number


def test_an_event_is_there_before_the_next_one_is_made(
    translated: Running, chat_upstream: Upstream
) -> None:
    """The upstream is silent after its first words: they must be with the client by then."""
    with socket.create_connection(("127.0.0.1", int(translated.url.rpartition(":")[2]))) as client:
        client.settimeout(10)
        body = json.dumps(response("hangs", stream=True)).encode()
        head = f"POST /v1/responses HTTP/1.1\r\nhost: x\r\ncontent-length: {len(body)}\r\n\r\n"
        client.sendall(head.encode() + body)
        came = b""
        while b"response.output_text.delta" not in came:
            came += client.recv(65536)
        last = came[came.rindex(b"event: ") :]
        assert last.rstrip().endswith((b"}", b"}\n"))  # whole


@pytest.mark.parametrize("name", ["refuse400", "fenced", "enforce"])
def test_what_a_streams_headers_could_not_say_stands_at_its_end(name: str) -> None:
    with RefusingEndpoint(name, value=VALUE) as endpoint:
        with running(embedded_config(endpoint.base_url)) as gateway:
            body = response(f"x/{name}", text={"format": TEXT_FORMAT}, stream=True)
            reply = gateway.post("/v1/responses", body)
            notes = check_stream(reply.text)["metadata"]
            asked = chat(f"x/{name}", response_format=CHAT_FORMAT, stream=True)
            chunks = gateway.post("/v1/chat/completions", asked)
        last = [chunk for chunk in objects(chunks.text) if chunk.get("choices")][-1]
    for told in (notes, last["metadata"]):
        assert told["x-structguard-source"]
        assert told["x-structguard-provider"] == "upstream"
        assert told["x-structguard-enforced"] == ("false" if name == "refuse400" else "true")
    assert reply.headers["x-structguard-enforced"] == notes["x-structguard-enforced"]
    assert int(reply.headers["x-structguard-requests"]) >= 1


def test_where_no_value_fits_the_text_comes_as_it_came_and_says_so(translated: Running) -> None:
    body = response("text", text={"format": TEXT_FORMAT})
    reply = translated.post("/v1/responses", body)
    assert reply.json()["output"][0]["content"][0]["text"] == "Good morning."
    assert "x-structguard-source" not in reply.headers
    streamed = check_stream(translated.post("/v1/responses", {**body, "stream": True}).text)
    assert streamed["output"][0]["content"][0]["text"] == "Good morning."
    assert "x-structguard-source" not in streamed["metadata"]


@pytest.mark.parametrize("stream", [False, True])
def test_an_unusable_answer_on_chat_is_an_error_where_the_settings_say_so(
    chat_upstream: Upstream, *, stream: bool
) -> None:
    made = settings(chat_upstream.base_url, guard={"memo": "memory:", "on_unusable": "error"})
    with running(made) as gateway:
        body = chat("text", response_format=CHAT_FORMAT, stream=stream)
        reply = gateway.post("/v1/chat/completions", body)
    assert '"unusable_answer"' in reply.text
    assert reply.status_code == (200 if stream else 502)


@pytest.mark.parametrize("stream", [False, True])
def test_calls_are_no_unusable_answer(
    translated: Running, chat_upstream: Upstream, *, stream: bool
) -> None:
    made = settings(chat_upstream.base_url, guard={"memo": "memory:", "on_unusable": "error"})
    with running(made) as gateway:
        asked = response("tools", text={"format": TEXT_FORMAT}, tools=[TOOL], stream=stream)
        reply = gateway.post("/v1/responses", asked)
        resource = check_stream(reply.text) if stream else check_resource(reply.json())
        assert resource["status"] == "completed"
        assert resource["output"][0]["type"] == "function_call"
        tool = {"type": "function", "function": {"name": "get_weather"}}
        body = chat("tools", response_format=CHAT_FORMAT, tools=[tool], stream=stream)
        assert "unusable" not in gateway.post("/v1/chat/completions", body).text


@pytest.mark.parametrize("path", ["responses", "chat/completions"])
def test_a_passing_stream_without_a_value_fails_where_the_settings_say_so(path: str) -> None:
    with RefusingEndpoint("ignore", value=VALUE) as endpoint:
        made = settings(endpoint.base_url, guard={"memo": "memory:", "on_unusable": "error"})
        with running(made) as gateway:
            body = (
                response("ignore", text={"format": TEXT_FORMAT}, stream=True)
                if path == "responses"
                else chat("ignore", response_format=CHAT_FORMAT, stream=True)
            )
            reply = gateway.post(f"/v1/{path}", body)
    assert '"unusable_answer"' in reply.text
    assert "in my own words" not in reply.text
    if path == "responses":
        assert check_stream(reply.text)["status"] == "failed"


def test_models_and_one_model_and_the_operators_pages(translated: Running) -> None:
    for path, kind in (("/healthz", "application/json"), ("/readyz", "application/json"),
                       ("/metrics", "text/plain"), ("/", "text/html")):  # fmt: skip
        reply = translated.get(path)
        assert (reply.status_code, reply.headers["content-type"].startswith(kind)) == (200, True)
        assert reply.headers["x-request-id"]


def test_pages_that_a_file_closes_are_a_404() -> None:
    made = settings("http://127.0.0.1:9/v1", pages={"metrics": False, "status": False})
    with running(made) as gateway:
        assert [gateway.get(path).status_code for path in ("/metrics", "/", "/healthz")] == [404, 404, 200]  # fmt: skip
