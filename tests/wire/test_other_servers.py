"""What servers and vendors beyond the common form really send: calls, finish words, citations, frames."""

from __future__ import annotations

import json

import pytest

from structguard.types import Finish, Finished, Kind, StreamEvent, TextDelta, ToolCalled, Usage
from structguard.wire import chat, converse, generate_content, messages, responses
from structguard.wire.base import BadReply, Wire
from tests.wire.test_replies import candidate, chat_body, decode, message, response, said, turn
from tests.wire.test_stream_rules import chunk, reply, run, sse


def piece(name: str = "", arguments: object = None, **more: object) -> dict[str, object]:
    """One piece of a call."""
    function = {"name": name or None, "arguments": arguments}
    return {"function": {k: v for k, v in function.items() if v is not None}, **more}


def called(*pieces: dict[str, object], key: str = "tool_calls") -> list[tuple[str, str, str]]:
    """Id, name and arguments of the calls that these pieces, a chunk each, are."""
    chunks = (chunk({key: [one] if key == "tool_calls" else one["function"]}) for one in pieces)
    events, failure = run(chat.open_stream(), sse(*chunks, chunk({}, "tool_calls"), "[DONE]"))
    assert failure is None
    given = [event.call for event in events if isinstance(event, ToolCalled)]
    assert tuple(given) == reply(events).tool_calls
    assert {call.error for call in given} <= {None}
    return [(call.id, call.name, call.arguments) for call in given]


TWO = [("a", "f", '{"x":1}'), ("b", "g", "{}")]


@pytest.mark.parametrize(
    "pieces",
    [
        [piece("f", '{"x":1}', id="a", index=0), piece("g", "{}", id="b", index=1)],
        [piece("f", '{"x":1}', id="a", index=0), piece("g", "{}", id="b", index=0)],
        [piece("f", '{"x":1}', id="a"), piece("g", "{}", id="b")],
        [piece("f", '{"x":', id="a"), piece("", "1}", id="a"), piece("g", "{}", id="b")],
        [piece("f", '{"x":', id="a", index=0), piece("", "1}", id="z", index=0),
         piece("g", "{}", id="b", index=1)],
        [piece("g", "{}", id="b", index=2), piece("f", '{"x":1}', id="a", index=1)],
        [piece("f", {"x": 1}, id="a", index=0), piece("g", {}, id="b", index=1)],
    ],
)  # fmt: skip
def test_calls_are_told_apart_however_a_server_numbers_them(
    pieces: list[dict[str, object]],
) -> None:
    assert called(*pieces) == TWO


def test_calls_without_number_and_id_are_told_apart_by_name_once_they_are_whole() -> None:
    pieces = [piece("f", '{"x":'), piece("f", "1}"), piece("f", "{}"), piece("g", "{}")]
    assert called(*pieces) == [
        ("call_0", "f", '{"x":1}'),
        ("call_1", "f", "{}"),
        ("call_2", "g", "{}"),
    ]


def test_a_call_as_before_there_were_tools_is_a_call() -> None:
    assert called(piece("f", '{"x"'), piece("", ":1}"), key="function_call") == [
        ("call_0", "f", '{"x":1}')
    ]
    empty = chat_body({"content": "x", "function_call": {"name": "", "arguments": ""}})
    assert decode(chat, empty).tool_calls == ()
    spoken = chunk({"content": "x", "function_call": {"name": None, "arguments": ""}}, "stop")
    events, _ = run(chat.open_stream(), sse(spoken))
    assert reply(events).tool_calls == ()
    body = chat_body({"function_call": {"name": "f", "arguments": "{}"}}, "function_call")
    assert [call.name for call in decode(chat, body).tool_calls] == ["f"]
    assert decode(chat, body).finish == "tool_calls"
    bare = chat_body({"function_call": {"name": "f"}}, "function_call")
    assert [call.arguments for call in decode(chat, bare).tool_calls] == [""]


def test_a_stream_of_whole_messages_is_read() -> None:
    whole = {
        "choices": [{"message": {"role": "assistant", "content": "hi"}, "finish_reason": "stop"}]
    }
    events, _ = run(chat.open_stream(), sse(whole, "[DONE]"))
    assert events[0] == TextDelta("hi")
    assert reply(events).text == "hi"


WORDS: list[tuple[Wire, str, Finish]] = [
    (chat, "model_length", "length"),
    (chat, "model_context_window_exceeded", "length"),
    (chat, "MAX_TOKENS", "length"),
    (chat, "sensitive", "filtered"),
    (chat, "eos", "stop"),
    (generate_content, "MODEL_ARMOR", "filtered"),
    (generate_content, "TOO_MANY_TOOL_CALLS", "error"),
    (generate_content, "MISSING_THOUGHT_SIGNATURE", "error"),
    (generate_content, "MALFORMED_RESPONSE", "error"),
    (generate_content, "NO_IMAGE", "error"),
]


@pytest.mark.parametrize(("wire", "word", "finish"), WORDS)
def test_each_makers_word_for_the_finish_is_known(wire: Wire, word: str, finish: Finish) -> None:
    body = (
        chat_body({"content": "x"}, word) if wire is chat else candidate({"text": "x"}, finish=word)
    )
    assert decode(wire, body).finish == finish


@pytest.mark.parametrize(
    "word", ["insufficient_system_resource", "network_error", "abort", "ERROR"]
)
def test_an_endpoint_that_broke_off_has_failed(word: str) -> None:
    with pytest.raises(BadReply) as caught:
        decode(chat, chat_body({"content": "half of the ans"}, word))
    assert chat.classify(caught.value.failure)[0] is Kind.UNAVAILABLE
    events, failure = run(chat.open_stream(), sse(chunk({"content": "half"}), chunk({}, word)))
    assert events == [TextDelta("half")]
    assert failure is not None
    assert chat.classify(failure)[0] is Kind.UNAVAILABLE


# what stands beside the text

CITED = {"type": "char_location", "cited_text": "q"}
URL = {"type": "url_citation", "url": "https://example.com"}


@pytest.mark.parametrize(
    ("wire", "body", "noted"),
    [
        (
            responses,
            response(said({"type": "output_text", "text": "a", "annotations": [URL]},
                          {"type": "output_text", "text": "b", "annotations": [URL]})),
            {"annotations": [URL, URL]},
        ),
        (
            messages,
            message({"type": "text", "text": "a", "citations": [CITED]},
                    {"type": "text", "text": "b", "citations": None}),
            {"citations": [CITED]},
        ),
        (
            converse,
            turn({"citationsContent": {"content": [{"text": "a"}], "citations": [CITED]}},
                 {"text": "b"}),
            {"citations": [CITED]},
        ),
        (chat, chat_body({"content": "ab"}, citations=["https://x"], search_results=[{}]),
         {"citations": ["https://x"], "search_results": [{}]}),
    ],
)  # fmt: skip
def test_citations_are_kept_and_the_text_that_bears_them(
    wire: Wire, body: object, noted: dict[str, object]
) -> None:
    completion = decode(wire, body)
    assert (completion.text, completion.metadata) == ("ab", noted)


def block(index: int, start: object, *deltas: object) -> list[dict[str, object]]:
    told: list[dict[str, object]] = [
        {"type": "content_block_start", "index": index, "content_block": start}
    ]
    told += [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
    return [*told, {"type": "content_block_stop", "index": index}]


def test_streamed_citations_are_kept_as_whole_ones_are() -> None:
    cited = {"type": "citations_delta", "citation": CITED}
    events, _ = run(
        messages.open_stream(),
        sse(
            {"type": "message_start", "message": {"id": "m"}},
            *block(0, {"type": "text", "text": ""}, {"type": "text_delta", "text": "a"}, cited),
            *block(1, {"type": "text", "text": ""}, cited),
            {"type": "message_stop"},
        ),
    )
    assert (reply(events).text, reply(events).metadata) == ("a", {"citations": [CITED, CITED]})
    spoken = chunk({"content": "a", "annotations": [URL]})
    probable = {"content": [{"token": "a", "logprob": -0.1}]}
    spoken["choices"][0]["logprobs"] = probable  # type: ignore[index]
    events, _ = run(chat.open_stream(), sse(spoken, spoken, chunk({}, "stop")))
    assert reply(events).metadata == {
        "annotations": [URL, URL],
        "logprobs": {"content": [*probable["content"], *probable["content"]]},
    }


def converse_run(*told: dict[str, object]) -> list[StreamEvent]:
    decoder = converse.open_stream()
    ends: list[dict[str, object]] = [{"messageStop": {"stopReason": "end_turn"}}, {"metadata": {}}]
    events = [event for one in (*told, *ends) for event in decoder.feed_event(one)]
    return events + decoder.close()


def grows(delta: object) -> dict[str, object]:
    return {"contentBlockDelta": {"contentBlockIndex": 0, "delta": delta}}


def test_a_tool_that_bedrock_ran_itself_is_nobodys_to_call() -> None:
    use = {"toolUseId": "t", "name": "nova_grounding", "type": "server_tool_use"}
    result = {"toolUseId": "t", "status": "success"}
    kept = [
        {"toolUse": {**use, "input": {"q": "x"}}},
        {"toolResult": {**result, "content": [{"text": "r"}, {"json": {}}]}},
    ]
    body = turn(*kept, {"text": "hi"})
    assert (decode(converse, body).tool_calls, decode(converse, body).finish) == ((), "stop")
    assert decode(converse, body).metadata == {"items": kept}
    stop: dict[str, object] = {"contentBlockStop": {}}
    events = converse_run(
        {"contentBlockStart": {"start": {"toolUse": use}}},
        grows({"toolUse": {"input": '{"q":'}}),
        grows({"toolUse": {"input": '"x"}'}}),
        stop,
        {"contentBlockStart": {"start": {"toolResult": result}}},
        grows({"toolResult": [{"text": "r"}]}),
        grows({"toolResult": [{"json": {}}]}),
        stop,
        grows({"text": "hi"}),
        grows({"citation": CITED}),
        stop,
    )
    assert [event for event in events if not isinstance(event, Finished)] == [TextDelta("hi")]
    assert reply(events).metadata == {"items": kept, "citations": [CITED]}


def test_a_count_that_is_null_later_stays_as_it_was() -> None:
    start = {"id": "m", "usage": {"input_tokens": 5, "output_tokens": 1}}
    last = {
        "input_tokens": None,
        "output_tokens": 9,
        "output_tokens_details": {"thinking_tokens": 4},
    }
    events, _ = run(
        messages.open_stream(),
        sse(
            {"type": "message_start", "message": start},
            {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": last},
            {"type": "message_stop"},
        ),
    )
    assert reply(events).usage == Usage(input=5, output=9, reasoning=4)


def test_why_a_model_declined_is_kept() -> None:
    why = {"type": "refusal", "category": "cyber"}
    completion = decode(messages, message(stop="refusal", stop_details=why))
    assert completion.finish == "declined"
    assert completion.metadata == {"stop_reason": "refusal", "stop_details": why}


# frames and bodies


@pytest.mark.parametrize(
    ("data", "kind", "said_"),
    [
        ('{"message": "slow down", "code": "rate_limit_exceeded"}', Kind.RATE_LIMITED, "slow down"),
        ('{"message": "slow down", "code": 429}', Kind.RATE_LIMITED, "slow down"),
        ('{"error": {"message": "no", "code": 503}}', Kind.UNAVAILABLE, "no"),
        ("the upstream died", Kind.BAD_RESPONSE, "the upstream died"),
    ],
)
def test_an_event_called_error_is_one_whatever_it_holds(data: str, kind: Kind, said_: str) -> None:
    for wire in (chat, responses, messages, generate_content):
        _, failure = run(wire.open_stream(), f"event: error\ndata: {data}\n\n".encode())
        assert failure is not None
        assert failure.message == said_
        if wire in {chat, responses}:  # whose codes these are
            assert wire.classify(failure)[0] is kind


@pytest.mark.parametrize("streamed", [True, False])
def test_a_byte_order_mark_before_json_means_nothing(streamed: bool) -> None:  # noqa: FBT001
    body = b"\xef\xbb\xbf" + json.dumps(chat_body({"content": "hi"})).encode()
    if streamed:
        events, failure = run(chat.open_stream(), body[:2], body[2:])
        assert failure is None
        assert reply(events).text == "hi"
    else:
        assert chat.decode_reply(body).text == "hi"


def test_the_list_of_chunks_that_google_sends_without_sse_is_a_stream() -> None:
    first = {"candidates": [{"content": {"parts": [{"text": "a"}]}}]}
    raw = json.dumps([first, candidate({"text": "b"})], indent=1).encode()
    events, failure = run(generate_content.open_stream(), raw[:9], raw[9:])
    assert failure is None
    assert (reply(events).text, reply(events).id) == ("ab", "g1")
    _, failure = run(generate_content.open_stream(), json.dumps([first]).encode())
    assert failure is not None
    assert failure.truncated
    told = {"error": {"code": 429, "status": "RESOURCE_EXHAUSTED", "message": "quota"}}
    _, failure = run(generate_content.open_stream(), json.dumps([told]).encode())
    assert failure is not None
    assert generate_content.classify(failure)[0] is Kind.RATE_LIMITED
