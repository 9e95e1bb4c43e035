"""Every way a reply goes through: chains whose links speak the client's wire, breaks at every place."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import anyio
import httpx2
import pytest

from structguard.testing import RefusingEndpoint
from tests.gateway.conformance import check_stream, events_of
from tests.gateway.world import (
    CHAT_FORMAT,
    TEXT_FORMAT,
    VALUE,
    chat,
    response,
    running,
    settings,
)
from tests.http.raw import Play, chunked, raw_server

Json = dict[str, Any]
CHAT, RESPONSES = "/v1/chat/completions", "/v1/responses"
ANSWER = json.dumps(VALUE)


def chunk(content: str | None = None, finish: str | None = None) -> bytes:
    """One chunk of a chat stream."""
    delta = {} if content is None else {"content": content}
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    event = {"id": "c", "object": "chat.completion.chunk", "model": "m", "choices": [choice]}
    return f"data: {json.dumps(event)}\n\n".encode()


def chained(first: str, second: str) -> Any:
    """Settings with the alias `both`: one link, then the other."""
    return settings(
        "",
        providers={
            "one": {"base_url": first, "attempts": 1},
            "two": {"base_url": second, "attempts": 1},
        },
        models={"both": ["one:enforce", "two:enforce"]},
    )


def asked(path: str, model: str, *, stream: bool, **fields: object) -> Mapping[str, object]:
    if path == CHAT:
        return chat(model, response_format=CHAT_FORMAT, stream=stream, **fields)
    return response(model, text={"format": TEXT_FORMAT}, stream=stream, **fields)


def said(path: str, text: str, *, stream: bool) -> str:
    """The answer's text, however it came."""
    if path == RESPONSES:
        final = check_stream(text) if stream else json.loads(text)
        return str(final["output"][0]["content"][0]["text"])
    if not stream:
        return str(json.loads(text)["choices"][0]["message"]["content"])
    chunks = [json.loads(line[6:]) for line in text.splitlines() if line.startswith("data: {")]
    return "".join(
        choice["delta"].get("content") or "" for one in chunks for choice in one.get("choices", ())
    )


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("path", [CHAT, RESPONSES])
@pytest.mark.parametrize("broken", [False, True])
def test_a_chain_passes_what_its_links_say_on_the_clients_wire(
    path: str, *, broken: bool, stream: bool
) -> None:
    with RefusingEndpoint("enforce", value=VALUE) as endpoint:
        first = "http://127.0.0.1:9/v1" if broken else endpoint.base_url
        with running(chained(first, endpoint.base_url)) as gateway:
            reply = gateway.post(path, asked(path, "both", stream=stream))
    assert json.loads(said(path, reply.text, stream=stream)) == VALUE
    assert reply.headers["x-structguard-provider"] == ("two" if broken else "one")
    assert reply.headers["x-structguard-enforced"] == "true"


def test_a_chains_schema_that_cannot_be_read_is_the_clients_mistake() -> None:
    broken = {"type": "json_schema", "json_schema": {"name": "x", "schema": {"type": "nonsense"}}}
    with RefusingEndpoint("refuse400", value=VALUE) as endpoint:
        url = endpoint.base_url
        made = settings(
            "",
            providers={
                "one": {"base_url": url, "api": "responses", "attempts": 1},
                "two": {"base_url": url, "api": "responses", "attempts": 1},
            },
            models={"both": ["one:m", "two:m"]},
        )
        with running(made) as gateway:
            for stream in (False, True):
                body = chat("both", response_format=broken, stream=stream)
                reply = gateway.post(CHAT, body)
                assert reply.status_code == 400
                assert reply.json()["error"]["param"] == "response_format"


@pytest.mark.parametrize("wire", ["chat", "responses"])
@pytest.mark.parametrize("path", [CHAT, RESPONSES])
def test_a_stream_without_a_value_fails_where_the_settings_say_so(path: str, wire: str) -> None:
    with RefusingEndpoint("ignore", answer="empty") as endpoint:
        up = {"base_url": endpoint.base_url, "api": wire, "attempts": 1}
        guard = {"memo": "memory:", "on_unusable": "error"}
        with running(settings("", providers={"up": up}, guard=guard)) as gateway:
            text = gateway.post(path, asked(path, "ignore", stream=True)).text
    assert '"unusable_answer"' in text
    assert text.endswith("data: [DONE]\n\n") or path == CHAT


def test_a_translated_chat_stream_that_breaks_says_so_after_what_came() -> None:
    with RefusingEndpoint("cut", value=VALUE) as endpoint:
        up = {"base_url": endpoint.base_url, "api": "responses", "attempts": 1}
        with running(settings("", providers={"up": up})) as gateway:
            text = gateway.post(CHAT, chat("cut", stream=True)).text
    assert text.index('"role":"assistant"') < text.index('"error":{"message"')
    assert "[DONE]" not in text


def test_a_held_answer_comes_out_when_its_stream_breaks() -> None:
    cut = chunked(chunk("Well"), chunk(", let me"), end=False)
    with raw_server(Play([cut])) as server, running(settings(f"{server.url}/v1")) as gateway:
        text = gateway.post(CHAT, asked(CHAT, "m", stream=True)).text
    assert said(CHAT, text, stream=True) == "Well, let me"
    assert '"error":{"message"' in text


def test_a_held_answer_comes_out_before_a_done_that_no_finish_announced() -> None:
    odd = chunked(chunk("Well"), b"data: [DONE]\n\n")
    with raw_server(Play([odd])) as server, running(settings(f"{server.url}/v1")) as gateway:
        text = gateway.post(CHAT, asked(CHAT, "m", stream=True)).text
    assert said(CHAT, text, stream=True) == "Well"
    assert text.index("Well") < text.index("[DONE]")


def test_a_connection_that_breaks_after_the_end_is_no_loss() -> None:
    ends = chunked(chunk(ANSWER), chunk(finish="stop"), b"data: [DONE]\n\n", end=False)
    with raw_server(Play([ends])) as server, running(settings(f"{server.url}/v1")) as gateway:
        for body in (asked(CHAT, "m", stream=True), chat("m", stream=True)):
            text = gateway.post(CHAT, body).text
            assert json.loads(said(CHAT, text, stream=True)) == VALUE
            assert "error" not in text


@pytest.mark.parametrize(
    "sent",
    [
        chunked(b"data: ", end=False),
        chunked(),
        b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\ndata:",
    ],
    ids=["half an event", "nothing", "a cut body"],
)
def test_a_stream_that_never_begins_is_a_502(sent: bytes) -> None:
    with raw_server(Play([sent])) as server, running(settings(f"{server.url}/v1")) as gateway:
        reply = gateway.post(CHAT, chat("m", stream=True))
    assert reply.status_code == 502
    assert "127.0.0.1" not in reply.text


async def test_a_client_that_leaves_before_a_stream_begins_ends_the_upstream() -> None:
    play = Play([chunked(end=False)], hold=True)
    with raw_server(play) as server, running(settings(f"{server.url}/v1")) as gateway:
        async with httpx2.AsyncClient(base_url=gateway.url) as client:
            with anyio.move_on_after(0.5):
                await client.post(CHAT, json=chat("m", stream=True))
        assert await anyio.to_thread.run_sync(server.closed_by_client.wait, 5)


def test_a_stream_without_done_gets_one() -> None:
    play = Play([chunked(chunk("Hi"), chunk(finish="stop"))])
    with raw_server(play) as server, running(settings(f"{server.url}/v1")) as gateway:
        text = gateway.post(CHAT, chat("m", stream=True)).text
    assert text.endswith("data: [DONE]\n\n")
    assert text.count("[DONE]") == 1


def test_numbers_go_on_without_a_gap_where_an_upstreams_had_one() -> None:
    """Only where something was held: what passes keeps the numbers it came with."""
    events: list[Json] = [
        {"type": "response.created", "response": {"id": "r", "status": "in_progress", "output": []}},
        {"type": "response.output_item.added", "output_index": 0,
         "item": {"id": "i", "type": "message", "role": "assistant", "content": []}},
        {"type": "response.output_text.delta", "output_index": 0, "content_index": 0,
         "item_id": "i", "delta": "It is "},
        {"type": "response.output_text.delta", "output_index": 0, "content_index": 0,
         "item_id": "i", "delta": ANSWER},
        {"type": "response.output_text.done", "output_index": 0, "content_index": 0,
         "item_id": "i", "text": f"It is {ANSWER}"},
        {"type": "response.completed", "response": {"id": "r", "status": "completed", "output": [
            {"id": "i", "type": "message", "role": "assistant", "status": "completed",
             "content": [{"type": "output_text", "text": f"It is {ANSWER}"}]}]}},
    ]  # fmt: skip
    sent = [
        f"event: {one['type']}\ndata: {json.dumps({**one, 'sequence_number': 3 * at})}\n\n".encode()
        for at, one in enumerate(events)
    ]
    with raw_server(Play([chunked(*sent)])) as server:
        up = {"base_url": f"{server.url}/v1", "api": "responses", "attempts": 1}
        with running(settings("", providers={"up": up})) as gateway:
            text = gateway.post(RESPONSES, asked(RESPONSES, "m", stream=True)).text
    told = events_of(text)
    assert [event["sequence_number"] for event in told] == list(range(len(told)))
    assert json.loads(told[-1]["response"]["output"][0]["content"][0]["text"]) == VALUE
