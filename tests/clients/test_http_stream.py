"""Event streams through a transport: pure, cut at every byte, healed or handed on as they came."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from structguard.clients.http_stream import EventStream
from structguard.clients.replies import get, items
from structguard.clients.streams import StreamHealer
from structguard.types import Api, Format, JsonSchema
from structguard.wire.sse import SseReader
from tests.clients.endpoint import (
    FENCED,
    SCHEMA,
    VALUE,
    Json,
    chat_chunks,
    response_events,
    sse,
)
from tests.clients.vendors import google_events, message_events

ASKED = JsonSchema(schema=SCHEMA)
PIECES = [FENCED[at : at + 9] for at in range(0, len(FENCED), 9)]
STRICT = [VALUE[at : at + 4] for at in range(0, len(VALUE), 4)]
WIRES: list[Api] = ["chat", "responses", "messages", "generate_content"]

ERRORS: list[tuple[Api, Json]] = [
    ("chat", {"error": {"message": "no", "code": 400}}),
    ("chat", {"choices": [{"index": 0, "delta": {}, "finish_reason": "error"}]}),
    ("responses", {"type": "error", "code": "server_error", "message": "no"}),
    ("responses", {"type": "response.failed", "response": {"error": {"message": "no"}}}),
    ("messages", {"type": "error", "error": {"type": "overloaded_error"}}),
    ("generate_content", {"error": {"code": 503, "status": "UNAVAILABLE"}}),
]


def stream_of(api: Api, pieces: list[str]) -> bytes:
    match api:
        case "chat":
            return sse(chat_chunks(pieces)).encode()
        case "responses":
            return sse(response_events(pieces), named=True, done=False).encode()
        case "messages":
            return sse(message_events(pieces), named=True, done=False).encode()
        case _:
            return sse(google_events(pieces), done=False).encode()


def opened(api: Api, *, degraded: bool, confirm: bool = False) -> EventStream:
    def asked() -> Format:
        return ASKED

    return EventStream(api, StreamHealer(api, asked, degraded), confirm)


def run(events: EventStream, reads: list[bytes]) -> bytes:
    """Peek until it has begun, then feed, as a transport does."""
    left = iter(reads)
    for data in left:
        if events.peek(data):
            break
    else:
        events.ended()
    return events.head() + b"".join(map(events.feed, left)) + events.close()


def events_of(data: bytes) -> Iterator[Any]:
    reader = SseReader()
    for _, found in (*reader.feed(data), *reader.close()):
        if found != b"[DONE]":
            yield json.loads(found)


def texts_of(data: bytes, api: Api) -> list[str]:
    """The text deltas of a stream as its client reads them."""
    found: list[object] = []
    for event in events_of(data):
        if api == "responses":
            if event["type"] == "response.output_text.delta":
                found.append(event["delta"])
        elif api == "messages":
            found.append(get(event.get("delta"), "text"))
        elif api == "chat":
            found += [get(get(choice, "delta"), "content") for choice in event["choices"]]
        else:
            parts = [p for one in event["candidates"] for p in items(one["content"], "parts")]
            found += [get(part, "text") for part in parts]
    return [text for text in found if isinstance(text, str) and text]


@pytest.mark.parametrize("api", WIRES)
def test_a_degraded_stream_gives_bare_json_wherever_it_is_cut(api: Api) -> None:
    whole = stream_of(api, PIECES)
    expected = run(opened(api, degraded=True), [whole])
    assert "".join(texts_of(expected, api)) == VALUE
    for at in range(1, len(whole), 7):
        events = opened(api, degraded=True)
        assert run(events, [whole[:at], whole[at:]]) == expected
        assert events.healer.source == "fenced"
    bytewise = [whole[at : at + 1] for at in range(len(whole))]
    assert run(opened(api, degraded=True, confirm=True), bytewise) == expected


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("api", WIRES)
def test_a_stream_of_strict_json_is_handed_on_byte_for_byte(api: Api, newline: str) -> None:
    whole = b": welcome\nid: 7\nretry: 5\n\n" + stream_of(api, STRICT) + b": bye\n"
    whole = whole.replace(b"\n", newline.encode())
    for size in (1, 2, 17, len(whole)):
        reads = [whole[at : at + size] for at in range(0, len(whole), size)]
        assert run(opened(api, degraded=False), reads) == whole


@pytest.mark.parametrize("api", WIRES)
def test_prose_under_an_accepted_format_is_held_and_healed(api: Api) -> None:
    out = run(opened(api, degraded=False), [stream_of(api, PIECES)])
    assert "".join(texts_of(out, api)) == VALUE


@pytest.mark.parametrize("api", WIRES)
def test_the_end_of_a_healed_stream_stays(api: Api) -> None:
    last = list(events_of(run(opened(api, degraded=True), [stream_of(api, PIECES)])))[-1]
    ends: dict[Api, object] = {
        "chat": lambda: last["choices"][0]["finish_reason"] == "stop",
        "responses": lambda: last["type"] == "response.completed",
        "messages": lambda: last["type"] == "message_stop",
        "generate_content": lambda: last["candidates"][0]["finishReason"] == "STOP",
    }
    check = ends[api]
    assert callable(check)
    assert check()


@pytest.mark.parametrize("api", WIRES)
def test_a_cut_stream_gives_what_it_held(api: Api) -> None:
    whole = stream_of(api, ["Sure, ", "well"])
    marker = b"well"
    cut = whole[: whole.index(marker) + len(marker) + 1]
    cut = cut[: cut.rindex(b"\n\n") + 2]
    out = run(opened(api, degraded=True), [cut])
    assert "".join(texts_of(out, api)) == "Sure, "


@pytest.mark.parametrize("api", WIRES)
def test_confirming_waits_for_a_sign_of_an_answer(api: Api) -> None:
    whole = stream_of(api, PIECES)
    blocks = [block + b"\n\n" for block in whole.split(b"\n\n") if block]
    events = opened(api, degraded=True, confirm=True)
    waited = 0
    for block in blocks:
        waited += 1
        if events.peek(block):
            break
    first = next(n for n, block in enumerate(blocks, 1) if b"Sure" in block)
    assert (waited, events.answered) == (first, True)
    hasty = opened(api, degraded=False)
    assert hasty.peek(blocks[0])


@pytest.mark.parametrize(("api", "event"), ERRORS)
def test_an_error_before_any_answer_is_no_stream(api: Api, event: dict[str, Any]) -> None:
    for data in (sse([event], done=False), f"data: {json.dumps(event)}"):
        events = opened(api, degraded=False)
        run(events, [data.encode()])
        assert events.failure == event
        assert not events.answered


@pytest.mark.parametrize(
    ("api", "event"),
    [
        ("chat", {"choices": [{"index": 0, "delta": {"tool_calls": [{"index": 0}]}}]}),
        ("responses", {"type": "response.output_item.added", "item": {"type": "function_call"}}),
        ("responses", {"type": "response.refusal.delta", "delta": "no"}),
        ("messages", {"type": "content_block_start", "content_block": {"type": "tool_use"}}),
        ("messages", {"type": "message_delta", "delta": {"stop_reason": "refusal"}}),
        (
            "generate_content",
            {"candidates": [{"content": {"parts": [{"functionCall": {"name": "f"}}]}}]},
        ),
    ],
)
def test_tool_calls_and_declines_are_answers(api: Api, event: dict[str, Any]) -> None:
    events = opened(api, degraded=True, confirm=True)
    assert events.peek(sse([event], done=False).encode())
    assert events.answered


def test_thoughts_and_calls_beside_a_held_text_are_handed_on() -> None:
    parts: list[Any] = [
        {"text": "hm", "thought": True},
        {"text": FENCED},
        {"functionCall": {"name": "f"}},
        {"text": "", "thoughtSignature": "sig"},
    ]
    chunks: list[Any] = [
        {"candidates": [{"content": {"parts": parts}}]},
        {"candidates": [{"content": {"parts": [{"text": "", "thoughtSignature": "end"}]}}]},
        {"candidates": [{"finishReason": "STOP"}]},
    ]
    out = run(opened("generate_content", degraded=True), [sse(chunks, done=False).encode()])
    found = list(events_of(out))
    kept: list[Any] = [
        part
        for one in found
        for candidate in one["candidates"]
        for part in items(candidate.get("content"), "parts")
    ]
    assert [part for part in kept if set(map(str, part)) != {"text"}] == [
        parts[0], parts[2], parts[3], {"text": "", "thoughtSignature": "end"},
    ]  # fmt: skip
    assert "".join(part.get("text", "") for part in kept if not part.get("thought")) == VALUE
    assert found[-1] == chunks[2]


def test_two_candidates_are_healed_each_on_its_own() -> None:
    def chunk(index: int, text: str, finish: str | None = None) -> Any:
        content = {"parts": [{"text": text}]}
        return {"index": index, "content": content, **({"finishReason": finish} if finish else {})}

    chunks = [
        {"candidates": [chunk(0, "```json\n"), chunk(1, "So: ")]},
        {"candidates": [chunk(0, VALUE + "\n```", "STOP"), chunk(1, VALUE, "STOP")]},
    ]
    out = list(
        events_of(
            run(opened("generate_content", degraded=True), [sse(chunks, done=False).encode()])
        )
    )
    told: dict[int, str] = {}
    for candidate in (one for event in out for one in event["candidates"]):
        text = "".join(part["text"] for part in candidate["content"]["parts"])
        told[candidate["index"]] = told.get(candidate["index"], "") + text
    assert told == {0: VALUE, 1: VALUE}


def test_a_terminal_mark_comes_after_what_was_held() -> None:
    chunks = chat_chunks(["Well, ", "no."], finish=None)
    out = run(opened("chat", degraded=True), [sse(chunks).encode()])
    assert out.endswith(b"data: [DONE]\n\n")
    assert "".join(texts_of(out, "chat")) == "Well, no."


def test_of_several_answers_each_is_read_to_its_end() -> None:
    """One that starts as JSON tells nothing about the next."""

    def chunk(index: int, text: str, finish: str | None = None) -> Any:
        return {"choices": [{"index": index, "delta": {"content": text}, "finish_reason": finish}]}

    chunks = [chunk(0, VALUE), chunk(1, FENCED), chunk(1, "", "stop"), chunk(0, "", "stop")]
    events = opened("chat", degraded=False)
    events.many = True
    out = run(events, [sse(chunks).encode()])
    told = {0: "", 1: ""}
    for event in events_of(out):
        for choice in event["choices"]:
            told[choice["index"]] += choice["delta"].get("content") or ""
    assert told == {0: VALUE, 1: VALUE}


def test_after_a_start_as_json_a_single_answer_is_read_no_more() -> None:
    head, tail = sse(chat_chunks([VALUE[:5]], finish=None), done=False).encode(), b"data: {oops\n"
    assert run(opened("chat", degraded=False), [head, tail, tail]) == head + tail + tail


def fed(healer: StreamHealer, *events: Json) -> list[object]:
    return [out for event in events for out in healer.feed(event)]


def test_converse_events_pass_as_they_are() -> None:
    event: Json = {"contentBlockDelta": {"delta": {"text": FENCED}}}
    healer = StreamHealer("converse", lambda: ASKED, degraded=True)
    assert fed(healer, event) == [event]
    assert list(healer.rest()) == []


def test_white_space_waits_for_what_it_belongs_to() -> None:
    pieces = [" ", "\n", VALUE]
    out = run(opened("chat", degraded=False), [stream_of("chat", pieces)])
    assert "".join(texts_of(out, "chat")).strip() == VALUE


def test_a_schema_that_only_we_cannot_read_holds_the_text_to_its_end() -> None:
    def unreadable() -> Format:
        raise ValueError("broken")

    events = EventStream("chat", StreamHealer("chat", unreadable, degraded=False), confirm=False)
    out = run(events, [stream_of("chat", STRICT)])
    assert "".join(texts_of(out, "chat")) == VALUE


def test_googles_word_on_the_prompt_is_handed_on_while_a_text_is_held() -> None:
    feedback: Json = {"promptFeedback": {"blockReason": "SAFETY"}}
    healer = StreamHealer("generate_content", lambda: ASKED, degraded=True)
    begun, *_ = google_events(["Sure: ", "more"])
    assert feedback in fed(healer, begun, feedback)
