"""A gateway behind a gateway: whole resources pass as they came, and chat over a responses upstream."""

from __future__ import annotations

import json
import logging
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from structguard.gateway.blocks import Blocks
from structguard.gateway.config import LogConfig
from structguard.gateway.worker import JsonLines, set_up_logging
from structguard.http import Whole
from structguard.testing import RefusingEndpoint
from tests.gateway.conformance import check_resource, check_stream, events_of
from tests.gateway.support import TEXT_FORMAT, Running, chat, response, running, settings
from tests.gateway.test_chat import chunks_of, text_of
from tests.gateway.test_responses import STATUSES, TOOL
from tests.gateway.upstream import SAYS, Upstream

Json = dict[str, Any]


@pytest.fixture(scope="module")
def inner(chat_upstream: Upstream) -> Iterator[Running]:
    with running(settings(chat_upstream.base_url, pages={"status": False})) as made:
        yield made


@pytest.fixture(scope="module")
def outer(inner: Running) -> Iterator[Running]:
    up = {"base_url": f"{inner.url}/v1", "api": "responses", "attempts": 1}
    made = settings("", providers={"up": up}, models={"alias": "up:text"})
    with running(made) as gateway:
        yield gateway


FINISHES = {"tools": "tool_calls", "both": "tool_calls", "long": "length",
            "cut": "length", "filtered": "content_filter"}  # fmt: skip


@pytest.mark.parametrize("model", sorted(SAYS))
def test_chat_over_responses_says_the_same_whole_and_streamed(outer: Running, model: str) -> None:
    whole = outer.post("/v1/chat/completions", chat(model)).json()["choices"][0]
    body = chat(model, stream=True, stream_options={"include_usage": True})
    chunks = chunks_of(outer.post("/v1/chat/completions", body).text)
    message, said = whole["message"], SAYS[model][0]
    assert text_of(chunks) == (message["content"] or "")
    assert message["refusal"] == said.get("refusal")
    assert message.get("reasoning_content") == said.get("reasoning_content")
    finish = next(c for chunk in chunks for c in chunk["choices"] if c["finish_reason"])
    assert finish["finish_reason"] == whole["finish_reason"] == FINISHES.get(model, "stop")
    calls = [
        call
        for chunk in chunks
        for choice in chunk["choices"]
        for call in choice["delta"].get("tool_calls", ())
    ]
    names = [call["function"]["name"] for call in message.get("tool_calls", ())]
    assert [call["function"]["name"] for call in calls] == names
    assert [call["index"] for call in calls] == list(range(len(calls)))
    assert chunks[-1]["usage"]["total_tokens"] == 12


@pytest.mark.parametrize("model", sorted(SAYS))
def test_a_whole_resource_passes_as_it_came(outer: Running, model: str) -> None:
    resource = check_resource(outer.post("/v1/responses", response(model, tools=[TOOL])).json())
    assert resource["status"] == STATUSES.get(model, ("completed", None))[0]
    streamed = outer.post("/v1/responses", response(model, tools=[TOOL], stream=True))
    final = check_stream(streamed.text)
    assert final["status"] == resource["status"]
    assert outer.get(f"/v1/responses/{final['id']}").json() == final


def test_a_stream_that_breaks_upstream_fails_with_the_next_number(outer: Running) -> None:
    events = events_of(outer.post("/v1/responses", response("breaks", stream=True)).text)
    assert events[-1]["type"] == "response.failed"
    with RefusingEndpoint("cut") as endpoint, running(settings(endpoint.base_url)) as gateway:
        reply = gateway.post("/v1/responses", response("cut", stream=True))
        final = check_stream(reply.text)
        assert final["status"] == "failed"
        whole = gateway.post("/v1/responses", response("cut"))
        assert whole.status_code == 502


def test_models_can_be_looked_up_and_items_paged(outer: Running) -> None:
    assert outer.get("/v1/models/alias").json()["owned_by"] == "up"
    body = response("text", input=[{"role": "user", "content": str(at)} for at in range(3)])
    made = outer.post("/v1/responses", body).json()
    where = f"/v1/responses/{made['id']}/input_items"
    first = outer.get(f"{where}?order=asc&limit=2").json()
    assert [item["content"][0]["text"] for item in first["data"]] == ["0", "1"]
    assert first["has_more"] is True
    rest = outer.get(f"{where}?order=asc&after={first['last_id']}").json()
    assert [item["content"][0]["text"] for item in rest["data"]] == ["2"]
    assert outer.get(f"{where}?limit=0").status_code == 400
    assert outer.get("/v1/responses/none/input_items").status_code == 404
    assert outer.client.put("/v1/models").status_code == 405


def test_off_mode_and_an_unreadable_format_are_told_apart(outer: Running) -> None:
    raw = outer.post(
        "/v1/responses", response("prose", text={"format": TEXT_FORMAT}), x_structguard_mode="off"
    )
    assert raw.status_code == 200
    nameless = {"format": {"type": "json_schema", "name": "x"}}
    reply = outer.post("/v1/responses", response("text", text=nameless))
    assert reply.status_code == 400


def test_a_handshake_without_a_token_is_a_401_and_another_path_is_a_404(
    chat_upstream: Upstream,
) -> None:
    made = settings(
        chat_upstream.base_url, auth={"token_hashes": ["0" * 64]}, limits={"concurrent": 1}
    )
    with running(made) as gateway:
        where = gateway.url.replace("http", "ws")
        with pytest.raises(InvalidStatus) as caught, connect(f"{where}/v1/responses", proxy=None):
            pass
        assert caught.value.response.status_code == 401
        with pytest.raises(InvalidStatus) as caught, connect(f"{where}/v1/other", proxy=None):
            pass
        assert caught.value.response.status_code == 404
        assert json.loads(caught.value.response.body)["error"]["code"] == "not_found"


def test_a_socket_answers_one_response_at_a_time(inner: Running) -> None:
    url = inner.url.replace("http", "ws") + "/v1/responses"
    with connect(url, proxy=None) as socket:
        for model in ("hangs", "text", "text"):
            socket.send(json.dumps({"type": "response.create", "model": model, "input": "x"}))
        while True:
            event = json.loads(socket.recv(timeout=5))
            if event["type"] == "error":
                break
        assert (event["status"], event["error"]["code"]) == (409, "response_in_progress")


@pytest.mark.parametrize("anyio_backend", ["asyncio", "trio"])
@pytest.mark.parametrize("size", [1, 7, 10_000])
async def test_blocks_are_whole_events_wherever_the_reads_cut(
    anyio_backend: str, size: int
) -> None:
    del anyio_backend
    text = b'data: {"a": 1}\r\n\r\n: ping\r\n\r\ndata: {"finish_reason":"stop"}\r\n\r\ndata: [DONE]'

    class Cut:
        status, headers = 200, Whole(status=200, headers={}, body=b"").headers

        async def aread(self) -> bytes:
            return text

        async def aiter(self) -> AsyncIterator[bytes]:
            for at in range(0, len(text), size):
                yield text[at : at + size]

        async def aclose(self) -> None:
            pass

    blocks = Blocks(Cut(), "chat")
    got = [block async for block in blocks]
    assert all(block.endswith(b"\n\n") for block in got)
    assert b"".join(got) == text.replace(b"\r\n", b"\n") + b"\n\n"
    assert blocks.ended


def test_log_lines_can_be_json() -> None:
    record = logging.LogRecord("n", logging.INFO, "", 0, "told %s", ("é",), None)
    line = json.loads(JsonLines().format(record))
    assert (line["level"], line["logger"], line["message"]) == ("info", "n", "told é")
    root = logging.getLogger()
    before = root.handlers[:], root.level
    try:
        set_up_logging(LogConfig(format="json", level="warning"))
        assert isinstance(root.handlers[0].formatter, JsonLines)
    finally:
        root.handlers[:], root.level = before
        logging.getLogger("structguard").setLevel(logging.NOTSET)
        logging.getLogger("uvicorn.error").setLevel(logging.NOTSET)
