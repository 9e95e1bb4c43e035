"""Whole streams, in the form the vendors document, cut at every byte."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from structguard.types import (
    Completion,
    DeclineDelta,
    Failure,
    Finished,
    Format,
    Kind,
    Reasoning,
    ReasoningDelta,
    StreamEvent,
    TextDelta,
    ToolCall,
    ToolCalled,
    Usage,
)
from structguard.wire import chat, converse, generate_content, messages, responses
from structguard.wire.base import BadReply, StreamDecoder, Wire

RECORDINGS = Path(__file__).parent / "recordings"
OSLO = '{"city":"Oslo"}'
HEADERS = {"x-request-id": "req_1"}

CHAT_NOTES = {"request_id": "req_1", "service_tier": "default", "system_fingerprint": "fp_1"}
NOTES: dict[str, object] = {"request_id": "req_1"}

EXPECTED: dict[str, tuple[Wire, list[StreamEvent]]] = {
    "chat_text": (
        chat,
        [
            TextDelta('{"city":'),
            TextDelta(' "Tromsø ❄'),
            TextDelta('"}'),
            Finished(
                Completion(
                    text='{"city": "Tromsø ❄"}',
                    usage=Usage(input=12, output=7, total=19, reasoning=0, cached_read=4),
                    model="gpt-4o-mini-2024-07-18",
                    id="chatcmpl-9",
                    metadata=CHAT_NOTES,
                )
            ),
        ],
    ),
    "chat_tools": (
        chat,
        [
            ToolCalled(first := ToolCall(id="call_a", name="weather", arguments=OSLO)),
            ToolCalled(second := ToolCall(id="call_b", name="time", arguments='{"zone":"CET"}')),
            Finished(
                Completion(
                    tool_calls=(first, second),
                    finish="tool_calls",
                    usage=Usage(input=40, output=30, total=70),
                    model="gpt-4o-mini-2024-07-18",
                    id="chatcmpl-9",
                    metadata=CHAT_NOTES,
                )
            ),
        ],
    ),
    "chat_reasoning_details": (
        chat,
        [
            ReasoningDelta("Let me"),
            ReasoningDelta(" think."),
            TextDelta("42"),
            Finished(
                Completion(
                    text="42",
                    reasoning=(
                        Reasoning(
                            text="Let me think.",
                            signature="EqQB",
                            raw={
                                "type": "reasoning.text",
                                "text": "Let me think.",
                                "format": "anthropic-claude-v1",
                                "index": 0,
                                "signature": "EqQB",
                            },
                        ),
                        Reasoning(
                            encrypted="gAAA",
                            raw={"type": "reasoning.encrypted", "data": "gAAA", "index": 1},
                        ),
                    ),
                    usage=Usage(input=9, output=11, total=20, reasoning=6),
                    model="anthropic/claude-sonnet-4.5",
                    id="gen-1",
                    metadata=NOTES,
                )
            ),
        ],
    ),
    "chat_reasoning_content": (
        chat,
        [
            ReasoningDelta("First"),
            ReasoningDelta(", add."),
            TextDelta("4"),
            Finished(
                Completion(
                    text="4",
                    reasoning=(
                        Reasoning(text="First, add.", raw={"reasoning_content": "First, add."}),
                    ),
                    usage=Usage(input=5, output=6, total=11, reasoning=4, cached_read=0),
                    model="deepseek-reasoner",
                    id="ds-1",
                    metadata=NOTES,
                )
            ),
        ],
    ),
    "chat_refusal": (
        chat,
        [
            DeclineDelta("I can't"),
            DeclineDelta(" help with that."),
            Finished(
                Completion(
                    text="I can't help with that.",
                    finish="declined",
                    model="gpt-4o-mini-2024-07-18",
                    id="chatcmpl-9",
                    metadata=CHAT_NOTES,
                )
            ),
        ],
    ),
    "responses_tools": (
        responses,
        [
            ReasoningDelta("Looking"),
            ReasoningDelta(" up."),
            TextDelta("One "),
            TextDelta("moment…"),
            ToolCalled(first),
            ToolCalled(third := ToolCall(id="call_b", name="time", arguments="{}")),
            Finished(
                Completion(
                    text="One moment…",
                    tool_calls=(first, third),
                    finish="tool_calls",
                    reasoning=(
                        Reasoning(
                            text="Looking up.",
                            id="rs_1",
                            encrypted="gAAAAB==",
                            raw={
                                "type": "reasoning",
                                "id": "rs_1",
                                "summary": [{"type": "summary_text", "text": "Looking up."}],
                                "encrypted_content": "gAAAAB==",
                            },
                        ),
                    ),
                    usage=Usage(input=30, output=25, total=55, reasoning=8, cached_read=10),
                    model="gpt-5.4",
                    id="resp_1",
                    metadata={"request_id": "req_1", "service_tier": "default"},
                )
            ),
        ],
    ),
    "responses_refusal": (
        responses,
        [
            DeclineDelta("I'm sorry,"),
            DeclineDelta(" no."),
            Finished(
                Completion(
                    text="I'm sorry, no.",
                    finish="declined",
                    model="gpt-5.4",
                    id="resp_1",
                    metadata={"request_id": "req_1", "service_tier": "default"},
                )
            ),
        ],
    ),
    "responses_incomplete": (
        responses,
        [
            TextDelta('{"city": "Os'),
            Finished(
                Completion(
                    text='{"city": "Os',
                    finish="length",
                    usage=Usage(input=30, output=25, total=55, reasoning=8, cached_read=10),
                    model="gpt-5.4",
                    id="resp_1",
                    metadata={"request_id": "req_1", "service_tier": "default"},
                )
            ),
        ],
    ),
    "messages_tools": (
        messages,
        [
            ReasoningDelta("I should"),
            ReasoningDelta(" look."),
            TextDelta("Okay, "),
            TextDelta("één moment."),
            ToolCalled(
                spaced := ToolCall(id="toolu_01", name="weather", arguments='{"city": "Oslo"}')
            ),
            ToolCalled(empty := ToolCall(id="toolu_02", name="now", arguments="{}")),
            Finished(
                Completion(
                    text="Okay, één moment.",
                    tool_calls=(spaced, empty),
                    finish="tool_calls",
                    reasoning=(
                        Reasoning(
                            text="I should look.",
                            signature="EqQBCgIYAg==",
                            raw={
                                "type": "thinking",
                                "thinking": "I should look.",
                                "signature": "EqQBCgIYAg==",
                            },
                        ),
                    ),
                    usage=Usage(input=20, output=89, cached_read=100, cached_write=5),
                    model="claude-sonnet-4-5",
                    id="msg_01",
                    metadata={"request_id": "req_1", "service_tier": "standard"},
                )
            ),
        ],
    ),
    "generate_content_tools": (
        generate_content,
        [
            ReasoningDelta("**Considering**"),
            ReasoningDelta(" more."),
            TextDelta("Voilà"),
            TextDelta(", now"),
            ToolCalled(
                signed := ToolCall(
                    id="local_g-1_0", name="weather", arguments=OSLO, signature="Cs8B"
                )
            ),
            ToolCalled(named := ToolCall(id="x1", name="time", arguments="{}")),
            Finished(
                Completion(
                    text="Voilà, now",
                    tool_calls=(signed, named),
                    finish="tool_calls",
                    reasoning=(
                        Reasoning(text="**Considering** more.", raw={"thought": True}),
                        Reasoning(signature="Dd0C", raw={"thoughtSignature": "Dd0C"}),
                    ),
                    usage=Usage(input=9, output=20, total=41, reasoning=12),
                    model="gemini-3-pro-preview",
                    id="g-1",
                    metadata=NOTES,
                )
            ),
        ],
    ),
}


def decode(wire: Wire, *chunks: bytes, wanted: Format | None = None) -> list[StreamEvent]:
    """All events of these reads; reading stops where the decoder says so."""
    return drain(wire.open_stream(HEADERS, format=wanted), chunks)


def drain(decoder: StreamDecoder, chunks: Sequence[bytes]) -> list[StreamEvent]:
    events: list[StreamEvent] = []
    for chunk in chunks:
        events += decoder.feed(chunk)
        if decoder.done:
            break
    return events + decoder.close()


def ending(decoder: StreamDecoder) -> list[StreamEvent] | Failure:
    """What the end of the bytes brings."""
    try:
        return decoder.close()
    except BadReply as error:
        return error.failure


def recording(name: str) -> bytes:
    return (RECORDINGS / f"{name}.sse").read_bytes()


@pytest.mark.parametrize("name", EXPECTED)
def test_a_stream_gives_its_events_once_and_in_order(name: str) -> None:
    wire, events = EXPECTED[name]
    raw = recording(name)
    assert decode(wire, raw) == events
    assert decode(wire, *(raw[at : at + 1] for at in range(len(raw)))) == events


@pytest.mark.parametrize("ending", [b"\n", b"\r\n", b"\r"])
@pytest.mark.parametrize("name", EXPECTED)
def test_a_stream_is_the_same_wherever_it_is_cut_and_however_lines_end(
    name: str, ending: bytes
) -> None:
    wire, events = EXPECTED[name]
    raw = recording(name).replace(b"\r\n", b"\n").replace(b"\n", ending)
    step = 1 if ending == b"\n" else 7
    for cut in range(0, len(raw) + 1, step):
        assert decode(wire, raw[:cut], raw[cut:]) == events


@pytest.mark.parametrize("name", EXPECTED)
def test_a_stream_that_ends_early_is_truncated_and_says_whether_anything_was_given(
    name: str,
) -> None:
    wire, events = EXPECTED[name]
    raw = recording(name)
    whole = 0
    for cut in range(len(raw)):
        decoder = wire.open_stream(HEADERS)
        given = decoder.feed(raw[:cut])
        end = ending(decoder)
        if isinstance(end, Failure):
            assert end.truncated
            assert end.yielded is bool(given)
            assert wire.classify(end)[0] is Kind.STREAM_TRUNCATED
            assert given == events[: len(given)]
        else:
            whole += 1
            given += end
            assert isinstance(given[-1], Finished)
            assert given[:-1] == events[:-1]
    assert whole < len(raw) / 2  # only behind the finish


@pytest.mark.parametrize("name", EXPECTED)
def test_texts_of_the_events_are_the_text_of_the_reply(name: str) -> None:
    wire, _ = EXPECTED[name]
    *deltas, last = decode(wire, recording(name))
    assert isinstance(last, Finished)
    reply = last.completion
    assert "".join(d.text for d in deltas if isinstance(d, TextDelta | DeclineDelta)) == reply.text
    thoughts = "".join(d.text for d in deltas if isinstance(d, ReasoningDelta))
    assert thoughts == reply.reasoning_text
    assert tuple(d.call for d in deltas if isinstance(d, ToolCalled)) == reply.tool_calls


def test_nothing_is_read_behind_the_terminal_event() -> None:
    raw = recording("responses_refusal")
    decoder = responses.open_stream()
    events = decoder.feed(raw + b'data: {"type":"error","message":"late"}\n\n')
    assert decoder.done
    assert isinstance(events[-1], Finished)
    assert decoder.feed(b"data: x\n\n") == []
    assert decoder.close() == []


CONVERSE: list[StreamEvent] = [
    ReasoningDelta("I should"),
    ReasoningDelta(" look."),
    TextDelta("One "),
    TextDelta("moment…"),
    ToolCalled(asked := ToolCall(id="tooluse_1", name="weather", arguments=OSLO)),
    ToolCalled(bare := ToolCall(id="tooluse_2", name="now", arguments="{}")),
    Finished(
        Completion(
            text="One moment…",
            tool_calls=(asked, bare),
            finish="tool_calls",
            reasoning=(
                Reasoning(
                    text="I should look.",
                    signature="EqQB",
                    raw={"reasoningText": {"text": "I should look.", "signature": "EqQB"}},
                ),
                Reasoning(encrypted="gAAA", raw={"redactedContent": "gAAA"}),
            ),
            usage=Usage(input=20, output=30, total=50, cached_read=7, cached_write=0),
            metadata={"request_id": "req_1"},
        )
    ),
]


def test_converse_takes_botocores_events_and_their_json() -> None:
    lines = (RECORDINGS / "converse_tools.jsonl").read_bytes().splitlines()
    assert drain(converse.open_stream(HEADERS), lines) == CONVERSE
    decoder = converse.open_stream(HEADERS)
    events = [event for line in lines for event in decoder.feed_event(json.loads(line))]
    assert decoder.done
    assert [*events, *decoder.close()] == CONVERSE
    for cut in range(len(lines) - 1):
        decoder = converse.open_stream(HEADERS)
        given = [event for line in lines[:cut] for event in decoder.feed(line)]
        assert given == CONVERSE[: len(given)]
        with pytest.raises(BadReply) as caught:
            decoder.close()
        assert caught.value.failure.truncated
        assert caught.value.failure.yielded is bool(given)
    without_metadata = drain(converse.open_stream(HEADERS), lines[:-1])[-1]
    assert isinstance(without_metadata, Finished)
    assert without_metadata.completion.usage is None


def test_botocores_bytes_become_base64() -> None:
    decoder = converse.open_stream()
    told: list[dict[str, object]] = [
        {"contentBlockDelta": {"delta": {"reasoningContent": {"redactedContent": b"hi"}}}},
        {"contentBlockStop": {}},
        {"messageStop": {"stopReason": "end_turn"}},
    ]
    for event in told:
        assert decoder.feed_event(event) == []
    [finished] = decoder.close()
    assert isinstance(finished, Finished)
    [part] = finished.completion.reasoning
    assert (part.encrypted, part.raw) == ("aGk=", {"redactedContent": "aGk="})
