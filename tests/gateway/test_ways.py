"""Every way a reply goes through: chains whose links speak the client's wire, breaks at every place."""

from __future__ import annotations

import json
from typing import Any

import anyio
import httpx2
import pytest

from structguard.testing import RefusingEndpoint
from tests.gateway.conformance import check_stream, events_of
from tests.gateway.support import (
    TEXT_FORMAT,
    VALUE,
    chat,
    json_request,
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
    return chained_as(first, second, "enforce")


def chained_as(first: str, second: str, model: str) -> Any:
    """As `chained`, both links asked for this model."""
    return settings(
        "",
        providers={
            "one": {"base_url": first, "attempts": 1},
            "two": {"base_url": second, "attempts": 1},
        },
        models={"both": [f"one:{model}", f"two:{model}"]},
    )


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


@pytest.mark.parametrize("order", [("one", "one:enforce"), ("one:enforce", "one")])
def test_an_alias_that_is_called_as_a_provider_is_not_taken_for_it(order: tuple[str, str]) -> None:
    with RefusingEndpoint("enforce", value=VALUE) as endpoint:
        made = settings(
            "",
            providers={
                "one": {"base_url": endpoint.base_url, "api": "chat"},
                "two": {"base_url": endpoint.base_url, "api": "chat"},
            },
            models={"one": ["two:enforce", "one:other"], "lone": ["one:enforce"]},
        )
        with running(made) as gateway:
            told = {
                name: gateway.post(CHAT, chat(name)).headers["x-structguard-provider"]
                for name in (*order, "lone")
            }
    assert told == {"one": "two", "one:enforce": "one", "lone": "one"}


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("path", [CHAT, RESPONSES])
@pytest.mark.parametrize("broken", [False, True])
def test_a_chain_passes_what_its_links_say_on_the_clients_wire(
    path: str, *, broken: bool, stream: bool
) -> None:
    with RefusingEndpoint("enforce", value=VALUE) as endpoint:
        first = "http://127.0.0.1:9/v1" if broken else endpoint.base_url
        with running(chained(first, endpoint.base_url)) as gateway:
            reply = gateway.post(path, json_request(path, "both", stream=stream))
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
            text = gateway.post(path, json_request(path, "ignore", stream=True)).text
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
        text = gateway.post(CHAT, json_request(CHAT, "m", stream=True)).text
    assert said(CHAT, text, stream=True) == "Well, let me"
    assert '"error":{"message"' in text


def test_a_held_answer_comes_out_before_a_done_that_no_finish_announced() -> None:
    odd = chunked(chunk("Well"), b"data: [DONE]\n\n")
    with raw_server(Play([odd])) as server, running(settings(f"{server.url}/v1")) as gateway:
        text = gateway.post(CHAT, json_request(CHAT, "m", stream=True)).text
    assert said(CHAT, text, stream=True) == "Well"
    assert text.index("Well") < text.index("[DONE]")


def test_a_connection_that_breaks_after_the_end_is_no_loss() -> None:
    ends = chunked(chunk(ANSWER), chunk(finish="stop"), b"data: [DONE]\n\n", end=False)
    with raw_server(Play([ends])) as server, running(settings(f"{server.url}/v1")) as gateway:
        for body in (json_request(CHAT, "m", stream=True), chat("m", stream=True)):
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
            text = gateway.post(RESPONSES, json_request(RESPONSES, "m", stream=True)).text
    told = events_of(text)
    assert [event["sequence_number"] for event in told] == list(range(len(told)))
    assert json.loads(told[-1]["response"]["output"][0]["content"][0]["text"]) == VALUE


def event(kind: str, number: int, **fields: object) -> bytes:
    """One event of the responses wire."""
    data = json.dumps({"type": kind, "sequence_number": number, **fields})
    return f"event: {kind}\ndata: {data}\n\n".encode()


BEGUN: Json = {"id": "resp_1", "object": "response", "status": "in_progress", "output": []}
PLACE: Json = {"output_index": 0, "item_id": "m", "content_index": 0}
PART: Json = {"type": "output_text", "text": "", "annotations": [], "logprobs": []}
ITEM: Json = {"type": "message", "id": "m", "role": "assistant", "status": "in_progress", "content": []}  # fmt: skip
OPENED = b"".join(
    (
        event("response.created", 0, response=BEGUN),
        event("response.in_progress", 1, response=BEGUN),
        event("response.output_item.added", 2, output_index=0, item=ITEM),
        event("response.content_part.added", 3, **PLACE, part=PART),
        event("response.output_text.delta", 4, **PLACE, delta="Well", logprobs=[]),
    )
)
FACTS: Json = {"type": "server_error", "code": "boom", "message": "sk-abcdefghijklmnop broke"}
FAILED: Json = {**BEGUN, "status": "failed", "error": {"code": "boom", "message": "it broke"}}
TOLD = {
    "nested, then a cut": (event("error", 5, error=FACTS), False),
    "flat": (event("error", 5, **{**FACTS, "type": "error"}), True),
    "then failed": (event("error", 5, error=FACTS) + event("response.failed", 6, response=FAILED), True),
    "of no kind, then done": (
        f"data: {json.dumps({'error': FACTS})}\n\ndata: [DONE]\n\n".encode(),
        True,
    ),
}  # fmt: skip


@pytest.mark.parametrize("apart", [False, True])
@pytest.mark.parametrize("how", TOLD)
def test_an_error_that_an_upstream_tells_on_its_way_is_told_once(how: str, *, apart: bool) -> None:
    error, ends = TOLD[how]
    pieces = (OPENED, error) if apart else (OPENED + error,)
    up = {"api": "responses", "attempts": 1}
    with (
        raw_server(Play([chunked(*pieces, end=ends)])) as server,
        running(settings("", providers={"up": {"base_url": f"{server.url}/v1", **up}})) as gateway,
    ):
        text = gateway.post(RESPONSES, response("m", stream=True)).text
    final = check_stream(text)
    assert final["error"]["code"] == "boom"
    assert text.count("event: error\n") == text.count("event: response.failed\n") == 1
    assert "sk-abc" not in text


@pytest.mark.parametrize("ends", [False, True])
def test_an_error_on_a_chat_stream_is_told_once_and_in_our_form(*, ends: bool) -> None:
    told = f"data: {json.dumps({'error': FACTS})}\n\n".encode()
    last = (b"data: [DONE]\n\n",) if ends else ()
    sent = chunked(chunk("Well"), told, *last, end=ends)
    with raw_server(Play([sent])) as server, running(settings(f"{server.url}/v1")) as gateway:
        text = gateway.post(CHAT, chat("m", stream=True)).text
    *_, error = [json.loads(line[6:]) for line in text.splitlines() if line.startswith("data: {")]
    assert text.count('"error"') == 1
    assert {**error["error"], "message": ""} == {
        "message": "", "type": "upstream_error", "param": None, "code": "boom",
    }  # fmt: skip
    assert "sk-abc" not in text


@pytest.mark.parametrize("wire", ["chat", "responses"])
def test_a_passing_stream_that_is_cut_says_so(wire: str) -> None:
    path, body = (CHAT, chunk("Well")) if wire == "chat" else (RESPONSES, OPENED)
    up = {"api": wire, "attempts": 1}
    with (
        raw_server(Play([chunked(body, end=False)])) as server,
        running(settings("", providers={"up": {"base_url": f"{server.url}/v1", **up}})) as gateway,
    ):
        made = chat("m", stream=True) if wire == "chat" else response("m", stream=True)
        text = gateway.post(path, made).text
    assert '"code":"stream_truncated"' in text
    assert "127.0.0.1" not in text


@pytest.mark.parametrize("format_", [None, TEXT_FORMAT])
def test_events_without_names_or_numbers_get_both(format_: Json | None) -> None:
    part = {**PART, "text": ANSWER}
    item = {**ITEM, "status": "completed", "content": [part]}
    whole: Json = {**BEGUN, "status": "completed", "output": [item]}
    events: list[Json] = [
        {"type": "response.created", "response": BEGUN},
        {"type": "response.in_progress", "response": BEGUN},
        {"type": "response.output_item.added", "output_index": 0, "item": ITEM},
        {"type": "response.content_part.added", **PLACE, "part": PART},
        {"type": "response.output_text.delta", **PLACE, "delta": ANSWER[:4], "logprobs": []},
        {"type": "response.output_text.delta", **PLACE, "delta": ANSWER[4:], "logprobs": []},
        {"type": "response.output_text.done", **PLACE, "text": ANSWER, "logprobs": []},
        {"type": "response.content_part.done", **PLACE, "part": part},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": whole},
    ]
    sent = chunked(*(f"data: {json.dumps(one)}\n\n".encode() for one in events))
    up = {"api": "responses", "attempts": 1}
    with (
        raw_server(Play([sent])) as server,
        running(settings("", providers={"up": {"base_url": f"{server.url}/v1", **up}})) as gateway,
    ):
        more = {} if format_ is None else {"text": {"format": format_}}
        text = gateway.post(RESPONSES, response("m", stream=True, **more)).text
    assert said(RESPONSES, text, stream=True) == ANSWER


@pytest.mark.parametrize("path", [CHAT, RESPONSES])
def test_passing_streams_that_break_open_the_breaker(path: str) -> None:
    with (
        RefusingEndpoint("cut") as broken,
        RefusingEndpoint("enforce", value=VALUE) as good,
        running(chained_as(broken.base_url, good.base_url, "m")) as gateway,
    ):
        replies = [gateway.post(path, json_request(path, "both", stream=True)) for _ in range(4)]
        assert (len(broken.requests), len(good.requests)) == (3, 1)
    assert all(reply.status_code == 200 for reply in replies)
    assert ["stream_truncated" in reply.text for reply in replies] == [True, True, True, False]
    assert json.loads(said(path, replies[-1].text, stream=True)) == VALUE


ENDED = [
    event("response.created", 0, response=BEGUN),
    event("response.in_progress", 1, response=BEGUN),
    event("response.completed", 2, response={**BEGUN, "status": "completed"}),
]


@pytest.mark.parametrize("asks", [False, True])
@pytest.mark.parametrize("path", [CHAT, RESPONSES])
def test_a_stream_is_over_at_its_end_whether_or_not_the_upstream_hangs_up(
    path: str, *, asks: bool
) -> None:
    """The upstream keeps its reply open: without an end of our own the client waits ten minutes."""
    done = b"data: [DONE]\n\n"
    sent = [chunk('{"city":"Bonn","n":3}'), chunk(finish="stop"), done]
    play = Play([chunked(*(sent if path == CHAT else ENDED), end=False)], hold=True)
    with raw_server(play) as server, running(settings(f"{server.url}/v1")) as gateway:
        body = json_request(path, "m", stream=True) if asks else plain(path)
        reply = gateway.client.post(path, json=body, timeout=5)
        assert reply.text.endswith("data: [DONE]\n\n")
        assert reply.text.count("[DONE]") == 1
        assert server.closed_by_client.wait(5)


def plain(path: str) -> dict[str, object]:
    """A body that asks for a stream, and for no format."""
    return chat("m", stream=True) if path == CHAT else response("m", stream=True)


def test_nothing_is_read_behind_the_end_of_a_response() -> None:
    again = event("response.completed", 3, response={**BEGUN, "status": "completed"})
    play = Play([chunked(b"".join([*ENDED, again]))])
    with raw_server(play) as server, running(settings(f"{server.url}/v1")) as gateway:
        reply = gateway.post(RESPONSES, response("m", stream=True))
    assert check_stream(reply.text)["status"] == "completed"
